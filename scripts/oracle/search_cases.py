#!/usr/bin/env python3
"""Writes random cases for the test of the evidence method against its reference.

    search_cases.py REFERENCE.py > optimizer/search/testdata/evidence_cases.json

REFERENCE.py is the Python reference of the method (needs numpy). Each case is a
small space, supports and the first runs of a search; for every step the file
holds the reference's choice, its criterion, and the mixture's mean and variance.
"""
import importlib.util
import json
import sys

import numpy as np

CASES, STEPS = 50, 4


def load(path):
    spec = importlib.util.spec_from_file_location("reference", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def case(ref, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 13))
    nodes = rng.choice([1, 2, 3, 4, 6, 8, 12, 16, 24, 32], n)
    cores = rng.choice([1, 2, 4, 8, 16], n)
    gib = cores * rng.choice([1.875, 4, 7.625, 2], n)
    extra = rng.integers(-2, 3, (n, 1)) * 0.5 if seed % 5 == 0 else None
    usd = np.round(rng.uniform(0.05, 2, n), 3)
    target = float(np.round(np.exp(rng.uniform(3, 8)), 1))
    target_bytes = float(rng.choice([0, 1e9, 3e10, 1e11]))
    x = ref.feats(nodes, cores, gib / cores, extra)
    slope = rng.normal([-0.6, 0, -0.1], [0.2, 0.2, 0.2])

    def runtimes(points):
        level = rng.normal(np.log(target), 0.7)
        return np.round(level + points[:, :3] @ slope + rng.normal(0, 0.15, len(points)), 3)

    supports, stored = [], []
    for _ in range(int(rng.integers(0, 7)) if seed % 4 else 0):
        m = int(rng.integers(1, 8))
        at = rng.integers(0, n, m)
        y = runtimes(x[at]) if rng.random() < 0.75 else np.round(rng.normal(6, 1, m), 3)
        cls, key = int(rng.choice([0, 2, 2, 2])), "w%d" % rng.integers(0, 3)
        size = float(rng.choice([0, 1e9, 2e10, 1e11]))
        supports.append((cls, key, x[at], y, size))
        stored.append(dict(Class=cls, Workload=key, At=at.tolist(), LogRuntime=y.tolist(), InputBytes=size))

    search = ref.Search(x, np.log2(nodes * gib), np.log(nodes * usd / 3600), target, supports, target_bytes)
    truth, steps = runtimes(x), []
    for _ in range(min(STEPS, n)):
        w, mu, var = search.predict()
        i, ei = search.ask()
        mean = w @ mu
        steps.append(dict(Next=i, EI=ei, Mean=mean.tolist(), Variance=(w @ (var + (mu - mean) ** 2)).tolist(), LogRuntime=float(truth[i])))
        search.tell(i, float(truth[i]))
    return dict(
        Nodes=nodes.tolist(), Cores=cores.tolist(), GiB=gib.tolist(), Extra=[] if extra is None else extra[:, 0].tolist(),
        USD=usd.tolist(), Target=target, InputBytes=target_bytes, Supports=stored, Hypotheses=len(search.lw), Steps=steps,
    )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    reference = load(sys.argv[1])
    cases = [case(reference, seed) for seed in range(CASES)]
    print("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]")
