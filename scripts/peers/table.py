"""The tables that peers.py prints."""
import importlib.metadata
import platform

import numpy as np

SHOWN = (1, 2, 3, 5, 10)
SHOWN_FRONT = (1, 3, 5, 10)
REFERENCE = "evidence"


def versions():
    out = {"python": platform.python_version()}
    for package in ("botorch", "gpytorch", "torch", "optuna"):
        try:
            out[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            pass
    return out


def write(rows, fronts):
    if rows:
        write_rows(rows)
        write_lead(rows, "scenario", lambda r: np.array(r["ratios"]), -1)
    if fronts:
        write_fronts(fronts)
        write_lead(fronts, "objectives", lambda r: np.array(r["volumes"]), 1)


def times(row, reference):
    """Milliseconds of the row, and how many times those of the reference they are."""
    ratio = ""
    if row["method"] != reference["method"]:
        ratio = f"{row['seconds_later'] / reference['seconds_later']:8.1f}"
    return f"{1e3 * row['seconds_first']:8.2f} {1e3 * row['seconds_later']:8.2f} {1e3 * row['seconds_search']:8.1f} {ratio:>8}"


def write_rows(rows):
    print(f"\nBest valid cost so far over the best there is, mean over {rows[0]['searches']} searches; milliseconds a suggestion")
    width = max(len(r["method"]) for r in rows)
    print(f"{'method':{width}} scenario " + " ".join(f"{'n=' + str(n):>6}" for n in SHOWN)
          + f" {'AUC':>6} {'to 10%':>6} {'first':>8} {'later':>8} {'search':>8} {'x later':>8}")
    for r in rows:
        ours = next(o for o in rows if o["method"] == REFERENCE and o["scenario"] == r["scenario"])
        print(f"{r['method']:{width}} {r['scenario']:8} " + " ".join(f"{r['mean'][n - 1]:6.3f}" for n in SHOWN)
              + f" {r['auc']:6.3f} {r['runs_to_10pct']:6.1f} " + times(r, ours))


def write_fronts(rows):
    print(f"\nHypervolume of the valid runs so far over that of all, mean over {rows[0]['searches']} searches; milliseconds a suggestion")
    width = max(len(r["method"]) for r in rows)
    print(f"{'objectives':13} {'method':{width}} scenario " + " ".join(f"{'n=' + str(n):>6}" for n in SHOWN_FRONT)
          + f" {'mean':>6} {'first':>8} {'later':>8} {'search':>8} {'x later':>8}")
    for r in rows:
        ours = next(o for o in rows if o["method"] == REFERENCE and o["scenario"] == r["scenario"] and o["objectives"] == r["objectives"])
        print(f"{r['objectives']:13} {r['method']:{width}} {r['scenario']:8} "
              + " ".join(f"{r['hypervolume'][n - 1]:6.3f}" for n in SHOWN_FRONT)
              + f" {np.mean(r['hypervolume']):6.3f} " + times(r, ours))


def write_lead(rows, group, values, sign):
    """By how much the reference is ahead of each method with the same knowledge, run by
    run, with the standard error of the mean over searches. Behind: marked."""
    print(f"\nLead of {REFERENCE} at each n, mean and standard error over searches; ! is behind")
    width = max(len(r["method"]) for r in rows)
    for r in rows:
        if r["method"] == REFERENCE:
            continue
        ours = next(o for o in rows if o["method"] == REFERENCE and o["scenario"] == r["scenario"] and o[group] == r[group])
        lead = sign * (values(ours) - values(r))
        mean, error = lead.mean(0), lead.std(0) / np.sqrt(len(lead))
        print(f"{r['method']:{width}} {r[group]:13} "
              + " ".join(f"{m:+.3f}±{e:.3f}{'!' if m < 0 else ' '}" for m, e in zip(mean, error)))
