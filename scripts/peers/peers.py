#!/usr/bin/env python3
"""Karasu beside BoTorch and Optuna: the same searches, quality and seconds.

The searches are those of `karasu bench search`: the same table, targets, noise, first
runs and, for methods that learn from others, the same traces (scenario A3). Ours are
replayed on one thread in the same call, the others on one thread in this process.

    pip install -r scripts/peers/requirements.txt
    go build -o bin/karasu ./cmd/karasu

    python scripts/peers/peers.py --karasu bin/karasu --runs scout.csv
    python scripts/peers/peers.py --karasu bin/karasu --runs scout.csv --every 1 --json peers.json
    python scripts/peers/peers.py --karasu bin/karasu --runs scout.csv --methods botorch-nei,botorch-nei:mean=constant
    python scripts/peers/peers.py --karasu bin/karasu --runs scout.csv --methods none --fronts botorch-nehvi

A method may be followed by a colon and choices of its recipe, key=value,key=value, to
see what they matter: scripts/peers/gaussian.py and tuners.py list them. All methods on
90 searches take some seven minutes of one core.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings

import protocol
import recipe
import table

OURS = ("evidence", "karasu", "cherrypick", "random")
FRONTS = (("cost", "runtime"), ("cost", "energy"))
PEERS = {
    "botorch-nei": "solo", "botorch-rgpe": "A3", "optuna-tpe": "solo", "optuna-gp": "solo",
    "botorch-nehvi": "solo",
}


def recipe_of(name):
    """The method of a name, and its recipe. Imports are late: Optuna alone needs no BoTorch."""
    kind, _, choices = name.partition(":")
    if kind.startswith("optuna"):
        import tuners
        return kind, recipe.parse(tuners.Recipe, choices)
    import gaussian
    return kind, recipe.parse(gaussian.Recipe, choices)


def build(name, search, seed, noise_sd, objectives=None):
    """A fresh method for one search."""
    kind, chosen = recipe_of(name)
    if kind.startswith("optuna"):
        import tuners
        return {"optuna-tpe": tuners.TPE, "optuna-gp": tuners.GP}[kind](search, seed, chosen)
    if kind == "botorch-nehvi":
        import front
        return front.NoisyEHVI(search, seed, noise_sd, chosen, objectives)
    if kind == "botorch-rgpe":
        import ensemble
        return ensemble.Ensemble(search, seed, noise_sd, chosen)
    import gaussian
    return gaussian.NoisyEI(search, seed, noise_sd, chosen)


def play(name, spelt, searches, judge, objectives=None):
    """What judge makes of each search, searches x runs, and the seconds of suggestions."""
    judged, seconds = [], []
    for k, search in enumerate(searches):
        method = build(name, search, k, spelt["noise_sd"], objectives)
        tried, took = protocol.play(search, method, spelt["max_runs"])
        judged.append(judge(search, tried))
        seconds.append(took)
        if sys.stderr.isatty():
            print(f"\r{name} {k + 1}/{len(searches)} ", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    return judged, seconds


def replay(args, *command):
    """JSON that a bench command of karasu prints, on one thread."""
    try:
        out = subprocess.run(
            [args.karasu, "bench", *command, "--runs", args.runs, "--seeds", "1", "--seed", str(args.seed)],
            env={**os.environ, "GOMAXPROCS": "1"}, stdout=subprocess.PIPE, check=False)
    except OSError as e:
        raise SystemExit(f"--karasu: {e}; build it with: go build -o bin/karasu ./cmd/karasu") from None
    if out.returncode != 0:
        raise SystemExit(f"{args.karasu} bench {' '.join(command)}: exit status {out.returncode}")
    return out.stdout


def searches_of(args):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "searches.json")
        replay(args, "search", "--export", path)
        with open(path, encoding="utf-8") as f:
            spelt = json.load(f)
    return spelt, [protocol.Search(s) for s in spelt["searches"][::args.every]]


def compare_searches(args, spelt, searches, rows, save):
    """Appends a row for each of our methods and of the others, and saves after each."""
    runs, nothing = spelt["max_runs"], spelt["nothing_valid"]
    ours = json.loads(replay(args, "search", "--methods", ",".join(OURS), "--scenarios", "solo,A3", "--json", "--details"))
    for r in ours["rows"]:
        if r["scenario"] == "A3" and r["method"] in ("cherrypick", "random"):
            continue  # they ignore supports
        rows.append(protocol.row(r["method"], r["scenario"], r["ratios"][::args.every], r["seconds"][::args.every], nothing))
    for name in args.methods:
        start = time.time()
        judged, seconds = play(name, spelt, searches, lambda s, tried: protocol.ratios(s, tried, runs, nothing))
        rows.append(protocol.row(name, PEERS[name.partition(":")[0]], judged, seconds, nothing, time.time() - start))
        print(f"{name}: {len(searches)} searches in {time.time() - start:.0f} s", file=sys.stderr)
        save()


def compare_fronts(args, spelt, searches, rows, save):
    """The same of two objectives."""
    runs = spelt["max_runs"]
    ours = json.loads(replay(
        args, "pareto", "--methods", "evidence,random", "--scenarios", "solo,A3", "--json", "--details",
        "--objectives", ";".join(",".join(f) for f in FRONTS)))
    for objectives in FRONTS:
        joined = ",".join(objectives)
        for r in ours["rows"]:
            if r["objectives"] == joined and (r["method"], r["scenario"]) != ("random", "A3"):
                rows.append(protocol.front_row(
                    joined, r["method"], r["scenario"], r["volumes"][::args.every], r["seconds"][::args.every]))
        for name in args.fronts:
            start = time.time()
            judged, seconds = play(
                name, spelt, searches, lambda s, tried: protocol.hypervolumes(s, tried, runs, objectives), objectives)
            rows.append(protocol.front_row(joined, name, "solo", judged, seconds))
            print(f"{name} {joined}: {len(searches)} searches in {time.time() - start:.0f} s", file=sys.stderr)
            save()


def write_json(path, content):
    """Replaces the file in one step, so that a run that is stopped leaves the last one."""
    with open(path + ".part", "w", encoding="utf-8") as f:
        json.dump(content, f, indent=1)
    os.replace(path + ".part", path)


def names(text):
    """Names of methods, separated by commas, as are the choices of their recipes."""
    if text == "none":
        return []
    out = []
    for part in text.split(","):
        if "=" in part and ":" not in part and out:
            out[-1] += "," + part
        else:
            out.append(part)
    for name in out:
        if name.partition(":")[0] not in PEERS:
            raise argparse.ArgumentTypeError(f"{name!r}: want some of {', '.join(PEERS)}, or none")
    return out


def separated(args, parser):
    """Each method where its number of objectives belongs."""
    for name in args.methods:
        if name.startswith("botorch-nehvi"):
            parser.error(f"--methods: {name} is for two objectives: use --fronts")
    for name in args.fronts:
        if not name.startswith("botorch-nehvi"):
            parser.error(f"--fronts: {name} is for one objective: use --methods")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", required=True, metavar="FILE", help="run table (CSV), as for karasu bench search")
    parser.add_argument("--karasu", default="karasu", metavar="PROGRAM", help="default: karasu")
    parser.add_argument("--seed", type=int, default=1, help="of the searches, as for karasu bench search; default 1")
    parser.add_argument("--every", type=int, default=3, metavar="K",
                        help="take each K-th search. There are 15 a workload, three repeats of five targets, so that 3 (default) "
                        "is one of each workload and target, and 1 all")
    parser.add_argument("--methods", type=names, default=names("botorch-nei,botorch-rgpe:design=none,optuna-tpe,optuna-gp"),
                        metavar="NAMES", help="one objective; none for none")
    parser.add_argument("--fronts", type=names, default=names("botorch-nehvi"), metavar="NAMES", help="two objectives; none for none")
    parser.add_argument("--json", metavar="FILE", help="also write the rows, in the form of karasu bench search --json")
    args = parser.parse_args()
    if args.every < 1:
        parser.error("--every must be 1 or more")
    separated(args, parser)
    warnings.filterwarnings("ignore")
    for name in args.methods + args.fronts:
        recipe_of(name)
    if any(name.startswith("botorch") for name in args.methods + args.fronts):
        import torch
        torch.set_num_threads(1)
    start, rows, fronts = time.time(), [], []

    def save():
        if args.json:
            write_json(args.json, {
                "rows": rows, "fronts": fronts, "seed": args.seed, "every": args.every, "versions": table.versions(),
                "wall_seconds": time.time() - start,
            })

    spelt, searches = searches_of(args)
    if args.methods:
        compare_searches(args, spelt, searches, rows, save)
    if args.fronts:
        compare_fronts(args, spelt, searches, fronts, save)
    print(f"seed {args.seed}, {len(searches)} of {len(spelt['searches'])} searches, {', '.join(f'{k} {v}' for k, v in table.versions().items())}")
    table.write(rows, fronts)


if __name__ == "__main__":
    main()
