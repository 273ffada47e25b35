"""Optuna: its tree-structured Parzen estimator and its Gaussian process."""
import dataclasses
import warnings

import numpy as np
import optuna
from optuna.samplers._tpe.parzen_estimator import _ParzenEstimator

from recipe import choice

AXES = ("total", "cores", "memory")


@dataclasses.dataclass(frozen=True)
class Recipe:
    """What may be chosen where Optuna leaves the choice to its user; defaults first."""

    space: str = choice("shape", "grid", "index")
    """Parameters. shape: total cores, cores a node, GiB a core; grid: nodes for total cores
    (both log2, as numbers); index: one categorical parameter, the candidate."""
    pick: str = choice("all", "near")
    """all: the candidate not yet run that the sampler's own criterion is best at; near: the
    one nearest to the point that the sampler suggests."""
    failed: str = choice("bound", "drop")
    """A run without a runtime. bound: as if at the worst seen; drop: not told."""


class Tuner:
    """A study whose trials are the runs; a constraint says how far they are over the target."""

    def __init__(self, search, seed, recipe):
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
        self.search, self.recipe = search, recipe
        points = search.grid if recipe.space == "grid" else search.features
        low, high = points.min(0), points.max(0)
        if recipe.space == "index":
            choices = optuna.distributions.CategoricalDistribution(range(len(points)))
            self.distributions, self.params = {"index": choices}, [{"index": i} for i in range(len(points))]
        else:
            use = [k for k in range(len(AXES)) if high[k] > low[k]]
            self.distributions = {AXES[k]: optuna.distributions.FloatDistribution(low[k], high[k]) for k in use}
            self.params = [{AXES[k]: float(p[k]) for k in use} for p in points]
        self.free, self.told = [], 0
        self.study = optuna.create_study(sampler=self.sampler(seed))

    def next(self, free, observed):
        if len(observed) < len(self.search.design):
            return self.search.design[len(observed)]
        for i, y in observed[self.told:]:
            self.tell(i, y, observed)
        self.told, self.free = len(observed), free
        trial = self.study.ask(self.distributions)
        # What is run counts, not what was asked for: it is added with its result.
        self.study.tell(trial, state=optuna.trial.TrialState.FAIL)
        return self.nearest(trial.params, free)

    def tell(self, i, y, observed):
        if y is None and self.recipe.failed == "drop":
            return
        if y is None:
            y = max((v for _, v in observed if v is not None), default=self.search.log_target + 1)
        self.study.add_trial(optuna.trial.create_trial(
            params=self.params[i], distributions=self.distributions, value=y + self.search.offset["cost"][i],
            constraints={"runtime": y - self.search.log_target}))

    def nearest(self, params, free):
        if self.recipe.space == "index" and params["index"] in free:
            return params["index"]
        return min(free, key=lambda i: sum(((self.params[i][k] - v) / self.width(k)) ** 2 for k, v in params.items()))

    def width(self, name):
        d = self.distributions[name]
        return 1 if name == "index" else d.high - d.low


class TPE(Tuner):
    """Tree-structured Parzen estimator (Bergstra et al. 2011; Watanabe 2023)."""

    def sampler(self, seed):
        sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=1, multivariate=True, constant_liar=False)
        if self.recipe.pick == "all":
            tuner = self

            class OverCandidates(_ParzenEstimator):
                """Draws the candidates not yet run, so that the best of all is suggested."""

                def sample(self, rng, size):
                    return {
                        k: np.array([d.to_internal_repr(tuner.params[i][k]) for i in tuner.free])
                        for k, d in tuner.distributions.items()}

            sampler._parzen_estimator_cls = OverCandidates
        return sampler


class GP(Tuner):
    """Gaussian process with constrained log expected improvement."""

    def sampler(self, seed):
        tuner = self

        class OverCandidates(optuna.samplers.GPSampler):
            """Optimises the acquisition function over the candidates not yet run."""

            def _optimize_acqf(self, acqf, best_params):
                if tuner.recipe.pick != "all":
                    return super()._optimize_acqf(acqf, best_params)
                params = [tuner.params[i] for i in tuner.free]
                x = acqf.search_space.get_normalized_params(params, params)
                return x[int(np.argmax(acqf.eval_acqf_no_grad(x)))]

        return OverCandidates(seed=seed, n_startup_trials=1)
