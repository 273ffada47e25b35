#!/usr/bin/env python3
"""Runs BoTorch and Optuna on the searches that `karasu bench search --export` spells out.

Every method sees the same searches, targets, noise and, for RGPE, the same supports.
The output has the form of `karasu bench search --json`, with seconds per suggestion.

    pip install -r scripts/peers/requirements.txt
    karasu bench search --runs scout.csv --export searches.json
    karasu bench search --runs scout.csv --scenarios solo,A3 --json --details > ours.json
    python scripts/peers/peers.py searches.json --ours ours.json

--every K takes each K-th search only, of ours too. Give both commands the same --seeds.
"""
import argparse
import json
import math
import multiprocessing
import statistics
import sys
import time
import warnings

import numpy as np


def normalised(features, reference):
    """Features scaled to [0, 1] by the range of the candidates."""
    low, high = reference.min(0), reference.max(0)
    return (features - low) / np.where(high > low, high - low, 1.0)


class BoTorch:
    """SingleTaskGP on log runtime; noisy expected improvement of log cost under the target."""

    def __init__(self, search, seed):
        import torch
        self.torch = torch
        torch.manual_seed(seed)
        torch.set_num_threads(1)
        self.features = np.array(search["features"])
        self.x = torch.tensor(normalised(self.features, self.features), dtype=torch.double)
        self.rate = torch.tensor(search["log_rate"], dtype=torch.double)
        self.log_target = math.log(search["target_seconds"])
        self.noise = 0.01  # variance of the log runtime: the protocol's .1 squared
        self.sobol = list(torch.quasirandom.SobolEngine(3, scramble=True, seed=seed).draw(64).double())
        self.seed = seed

    def fit(self, x, y):
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from botorch.models.transforms import Standardize
        from gpytorch.mlls import ExactMarginalLogLikelihood
        y = y.unsqueeze(-1)
        gp = SingleTaskGP(x, y, self.torch.full_like(y, self.noise), outcome_transform=Standardize(1))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(gp.likelihood, gp))
        return gp

    def model(self, x, y):
        return self.fit(x, y)

    def initial(self, free):
        """The free candidate nearest to the next Sobol point, for the first three runs."""
        point = self.sobol.pop(0)
        return min(free, key=lambda i: float(((self.x[i] - point) ** 2).sum()))

    def next(self, free, observed):
        if len(observed) < 3 or len([o for o in observed if o[1] is not None]) < 2:
            return self.initial(free)
        from botorch.acquisition.logei import qLogNoisyExpectedImprovement
        from botorch.acquisition.objective import GenericMCObjective
        from botorch.sampling import SobolQMCNormalSampler
        seen = [o for o in observed if o[1] is not None]
        x = self.torch.stack([self.x[i] for i, _ in seen])
        y = self.torch.tensor([v for _, v in seen], dtype=self.torch.double)
        gp = self.model(x, y)

        def cost(samples, X=None):
            # The rate is known for every candidate, so no model has to learn it.
            nearest = self.torch.cdist(X.reshape(-1, X.shape[-1]), self.x).argmin(-1)
            return -(samples[..., 0] + self.rate[nearest].reshape(X.shape[:-1]))

        acquisition = qLogNoisyExpectedImprovement(
            model=gp, X_baseline=x, prune_baseline=False,
            sampler=SobolQMCNormalSampler(self.torch.Size([128]), seed=self.seed),
            objective=GenericMCObjective(cost), constraints=[lambda s: s[..., 0] - self.log_target])
        with self.torch.no_grad():
            values = acquisition(self.torch.stack([self.x[i] for i in free]).unsqueeze(1))
        return free[int(values.argmax())]


class BoTorchRGPE(BoTorch):
    """The ranking-weighted ensemble of BoTorch's meta-learning recipe over the supports."""

    def __init__(self, search, seed):
        super().__init__(search, seed)
        self.base = []
        for s in search["supports"]:
            x = self.torch.tensor(normalised(np.array(s["features"]), self.features), dtype=self.torch.double)
            y = self.torch.tensor(s["log_runtime"], dtype=self.torch.double)
            if len(y) >= 2:
                self.base.append(self.fit(x, (y - y.mean()) / max(float(y.std()), 1e-6)))

    def model(self, x, y):
        target = self.fit(x, y)
        if not self.base:
            return target
        torch = self.torch
        from botorch.sampling import SobolQMCNormalSampler
        losses = []
        for gp in self.base:
            with torch.no_grad():
                sampler = SobolQMCNormalSampler(torch.Size([256]), seed=self.seed)
                losses.append(ranking_loss(torch, sampler(gp.posterior(x)).squeeze(-1), y))
        loo = []
        for k in range(len(y)):
            keep = [i for i in range(len(y)) if i != k]
            gp = self.fit(x[keep], y[keep]) if len(keep) > 1 else target
            with torch.no_grad():
                sampler = SobolQMCNormalSampler(torch.Size([256]), seed=self.seed + k)
                loo.append(sampler(gp.posterior(x[k:k + 1])).reshape(-1))
        losses.append(ranking_loss(torch, torch.stack(loo, -1), y))
        losses = torch.stack(losses)
        best = losses.argmin(0)
        weight = torch.bincount(best, minlength=len(losses)).double() / losses.shape[1]
        dilute = losses[:-1].double().median(1).values > losses[-1].double().quantile(.95)
        weight[:-1][dilute] = 0
        weight = weight / weight.sum()
        return Mixture(self.base + [target], weight, float(y.mean()), max(float(y.std()), 1e-6))


def ranking_loss(torch, samples, y):
    """Number of misranked pairs of each sample (Feurer et al. 2018, eq. 1)."""
    wrong = (samples.unsqueeze(-1) < samples.unsqueeze(-2)) ^ (y.unsqueeze(-1) < y.unsqueeze(-2))
    return wrong.sum((-1, -2))


def Mixture(models, weight, mean, sd):
    """Weighted sum of posteriors, as the RGPE recipe adds them, in the target's units."""
    import torch
    from botorch.models.gpytorch import GPyTorchModel
    from botorch.posteriors.gpytorch import GPyTorchPosterior
    from gpytorch.distributions import MultivariateNormal
    from gpytorch.models import GP

    class RGPE(GP, GPyTorchModel):
        _num_outputs = 1

        @property
        def num_outputs(self):
            return 1

        def posterior(self, X, observation_noise=False, posterior_transform=None, output_indices=None):
            total, cov = 0, 0
            for i, (gp, w) in enumerate(zip(models, weight)):
                if w == 0:
                    continue
                p = gp.posterior(X)
                m, c = p.mean.squeeze(-1), p.distribution.covariance_matrix
                if i < len(models) - 1:  # supports are standardised
                    m, c = mean + sd * m, sd * sd * c
                total, cov = total + w * m, cov + w * w * c
            jitter = 1e-8 * torch.eye(cov.shape[-1], dtype=cov.dtype)
            return GPyTorchPosterior(MultivariateNormal(total, cov + jitter))

    return RGPE()


class Optuna:
    """An Optuna study over the index triple; constraints say whether the target was met."""

    def __init__(self, search, seed, sampler):
        import optuna
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.optuna = optuna
        self.features = [tuple(f) for f in search["features"]]
        self.rate = search["log_rate"]
        self.log_target = math.log(search["target_seconds"])
        kind = {"tpe": optuna.samplers.TPESampler, "gp": optuna.samplers.GPSampler}[sampler]
        options = {"n_startup_trials": 3} if sampler == "gp" else {"n_startup_trials": 3, "multivariate": True}
        self.study = optuna.create_study(sampler=kind(seed=seed, constraints_func=lambda t: (t.user_attrs["violation"],), **options))
        self.low, self.high = np.array(self.features).min(0), np.array(self.features).max(0)
        self.trial = None

    def next(self, free, observed):
        if self.trial is not None:
            i, y = observed[-1]
            # A run without a runtime is as bad as the worst candidate.
            y = y if y is not None else self.log_target + 2
            self.trial.set_user_attr("violation", y - self.log_target)
            self.study.tell(self.trial, y + self.rate[i])
        self.trial = self.study.ask()
        point = np.array([self.trial.suggest_float(f"x{d}", self.low[d], max(self.high[d], self.low[d] + 1e-9)) for d in range(3)])
        scale = np.where(self.high > self.low, self.high - self.low, 1)
        return min(free, key=lambda i: float((((np.array(self.features[i]) - point) / scale) ** 2).sum()))


METHODS = {
    "botorch-nei": BoTorch,
    "botorch-rgpe": BoTorchRGPE,
    "optuna-tpe": lambda s, seed: Optuna(s, seed, "tpe"),
    "optuna-gp": lambda s, seed: Optuna(s, seed, "gp"),
}


def play(task):
    """One search: ratios and found flags by run, and the seconds of each suggestion."""
    name, search, seed, runs, nothing = task
    warnings.filterwarnings("ignore")
    method = METHODS[name](search, seed)
    best_there_is = min(c for c in search["valid_cost"] if c is not None)
    observed, free, best = [], list(range(len(search["features"]))), math.inf
    ratios, found, seconds = [], [], []
    for _ in range(runs):
        if free:
            start = time.perf_counter()
            i = method.next(free, observed)
            seconds.append(time.perf_counter() - start)
            free.remove(i)
            observed.append((i, search["log_runtime"][i]))
            if search["valid_cost"][i] is not None:
                best = min(best, search["valid_cost"][i])
        found.append(best < math.inf)
        ratios.append(best / best_there_is if best < math.inf else nothing)
    return ratios, found, seconds


def row(name, results):
    ratios = np.array([r for r, _, _ in results])
    found = np.array([f for _, f, _ in results])
    return {
        "method": name, "scenario": "A3" if name.endswith("rgpe") else "solo", "searches": len(results),
        "mean": ratios.mean(0).tolist(), "median": np.median(ratios, 0).tolist(), "found": found.mean(0).tolist(),
        "auc": float((ratios.mean(0) - 1).mean()),
        "ratios": ratios.tolist(),
        "suggest_seconds": statistics.median(s for _, _, seconds in results for s in seconds),
    }


def subset(ours, every):
    """One of our rows over each K-th search."""
    if len(ours["ratios"]) == 0:
        raise SystemExit("--ours was written without --details")
    ratios = np.array(ours["ratios"])[::every]
    return {"method": "karasu:" + ours["method"], "scenario": ours["scenario"], "searches": len(ratios),
            "mean": ratios.mean(0).tolist(), "median": np.median(ratios, 0).tolist(), "auc": float((ratios.mean(0) - 1).mean())}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("searches", help="file written by: karasu bench search --export FILE")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--every", type=int, default=1, help="take each K-th search")
    parser.add_argument("--ours", help="file written by: karasu bench search --json --details")
    parser.add_argument("--workers", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with open(args.searches, encoding="utf-8") as f:
        spelt = json.load(f)
    searches = spelt["searches"][::args.every]
    start, rows = time.time(), []
    if args.ours:
        with open(args.ours, encoding="utf-8") as f:
            rows = [subset(r, args.every) for r in json.load(f)["rows"]]
    with multiprocessing.get_context("spawn").Pool(args.workers) as pool:
        for name in args.methods.split(","):
            tasks = [(name, s, k, spelt["max_runs"], spelt["nothing_valid"]) for k, s in enumerate(searches)]
            rows.append(row(name, pool.map(play, tasks, chunksize=4)))
            print(f"{name}: {len(searches)} searches", file=sys.stderr)
    if args.json:
        json.dump({"rows": rows, "wall_seconds": time.time() - start}, sys.stdout, indent=1)
        return
    print(f"{'METHOD':17} {'SCENARIO':8} " + " ".join(f"{'n=' + str(n):>6}" for n in (1, 2, 3, 5, 10)) + f" {'AUC':>6} {'MS':>8}")
    for r in rows:
        speed = f"{1000 * r['suggest_seconds']:8.1f}" if "suggest_seconds" in r else f"{'':8}"
        print(f"{r['method']:17} {r['scenario']:8} " + " ".join(f"{r['mean'][n - 1]:6.3f}" for n in (1, 2, 3, 5, 10)) + f" {r['auc']:6.3f} {speed}")


if __name__ == "__main__":
    main()
