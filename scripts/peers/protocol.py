"""The searches that `karasu bench search --export` spells out, and how one is played.

Nothing here knows a method. A method is an object with

    next(free, observed) -> index of the candidate to run

where free lists the indices of candidates not yet run and observed the runs so far as
pairs of index and ln(seconds), None where a run gave no runtime.
"""
import math
import statistics
import time

import numpy as np


class Search:
    """One search: n candidates with d = 3 features, and what a run of each gives."""

    def __init__(self, spelt):
        nodes, cores, memory = np.array(spelt["features"], dtype=float).T
        self.workload = spelt["workload"]
        # log2 of total cores, of cores a node and of GiB a core; n x 3.
        self.features = shape_of(spelt["features"])
        # log2 of nodes, of cores a node and of GiB a core; n x 3.
        self.grid = np.stack([nodes, cores, memory], 1)
        self.log_target = math.log(spelt["target_seconds"])
        # What to add to ln(seconds) to get the log objective; n each.
        self.offset = {k: np.array(v) for k, v in spelt["log_offset"].items()}
        self.log_runtime = spelt["log_runtime"]
        self.timeout = np.array([o == "timeout" for o in spelt["outcome"]])
        self.valid_cost = np.array([math.inf if c is None else c for c in spelt["valid_cost"]])
        self.valid = np.isfinite(self.valid_cost)
        self.design = spelt["design"]
        self.supports = [(shape_of(s["features"]), np.array(s["log_runtime"])) for s in spelt["supports"]]

    def true_objectives(self, names):
        """n x len(names) log objectives without noise; NaN where a run is not valid."""
        log_runtime = np.full(len(self.valid), math.nan)
        log_runtime[self.valid] = np.log(self.valid_cost[self.valid]) - self.offset["cost"][self.valid]
        return np.stack([log_runtime + self.offset[k] for k in names], 1)


def shape_of(features):
    """n x 3 of log2 total cores, log2 cores a node, log2 GiB a core."""
    nodes, cores, memory = np.array(features, dtype=float).reshape(-1, 3).T
    return np.stack([nodes + cores, cores, memory], 1)


def play(search, method, runs):
    """The indices tried, in order, and the processor seconds of each suggestion: what it
    would take on the clock of a machine that has nothing else to do."""
    observed, free, seconds = [], list(range(len(search.valid))), []
    for _ in range(runs):
        if not free:
            break
        start = time.process_time()
        i = method.next(list(free), list(observed))
        seconds.append(time.process_time() - start)
        free.remove(i)
        observed.append((i, search.log_runtime[i]))
    return [i for i, _ in observed], seconds


def ratios(search, tried, runs, nothing):
    """Best valid cost so far over the best there is, after each of the runs."""
    cost = search.valid_cost[tried]
    best = np.minimum.accumulate(np.append(cost, np.full(runs - len(cost), math.inf)))
    return np.where(np.isfinite(best), best / search.valid_cost.min(), nothing)


def hypervolumes(search, tried, runs, names, margin=0.1):
    """Hypervolume of the valid runs so far over that of all valid configurations, after
    each run: log objectives, reference point margin nats beyond the worst valid value."""
    points = search.true_objectives(names)
    reference = np.nanmax(points, 0) + margin
    total = hypervolume(points[search.valid], reference)
    out = []
    for n in range(1, runs + 1):
        found = [i for i in tried[:n] if search.valid[i]]
        out.append(hypervolume(points[found], reference) / total)
    return np.array(out)


def hypervolume(points, reference):
    """Area that points (k x 2, both to be minimised) dominate within the reference."""
    area, edge = 0.0, reference[0]
    for first, second in sorted(map(tuple, points), key=lambda p: p[1]):
        if first < edge and second < reference[1]:
            area += (edge - first) * (reference[1] - second)
            edge = first
    return area


def row(name, scenario, ratio, seconds, nothing, wall=None):
    """A row in the form of `karasu bench search --json`; ratio is searches x runs."""
    ratio = np.array(ratio)
    return {
        "method": name, "scenario": scenario, "searches": len(ratio),
        "mean": ratio.mean(0).tolist(), "median": np.median(ratio, 0).tolist(),
        "found": (ratio != nothing).mean(0).tolist(), "auc": float(ratio.mean() - 1),
        "runs_to_10pct": float(runs_to(ratio).mean()), "wall_seconds": wall,
        "ratios": ratio.tolist(), **speed(seconds),
    }


def front_row(objectives, name, scenario, volume, seconds):
    """A row in the form of `karasu bench pareto --json`; volume is searches x runs."""
    volume = np.array(volume)
    return {
        "objectives": objectives, "method": name, "scenario": scenario, "searches": len(volume),
        "hypervolume": volume.mean(0).tolist(), "volumes": volume.tolist(), **speed(seconds),
    }


DESIGN = 3  # runs that methods with an initial design begin with


def speed(seconds):
    """Seconds of the first suggestion of a search, of those after the initial design
    (medians over suggestions), and of all of a search (mean over searches)."""
    later = [s for search in seconds for s in search[DESIGN:]]
    return {
        "seconds_first": statistics.median(search[0] for search in seconds), "seconds_later": statistics.median(later),
        "seconds_search": statistics.mean(sum(search) for search in seconds),
    }


def runs_to(ratio, within=1.1):
    """Runs until the ratio stays within the bound, runs + 1 where never."""
    near = ratio <= within
    return np.where(near.any(1), near.argmax(1), ratio.shape[1]) + 1
