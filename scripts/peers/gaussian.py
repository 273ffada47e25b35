"""BoTorch alone: a Gaussian process on log runtime and constrained noisy EI of log cost."""
import dataclasses

import numpy as np
import torch
from botorch.acquisition.logei import qLogExpectedImprovement, qLogNoisyExpectedImprovement, qLogProbabilityOfFeasibility
from botorch.acquisition.objective import GenericMCObjective
from botorch.fit import fit_gpytorch_mll
from botorch.models import ModelListGP, SingleTaskGP
from botorch.models.model import Model
from botorch.models.transforms import Standardize
from botorch.models.utils.gpytorch_modules import get_covar_module_with_dim_scaled_prior
from botorch.posteriors.gpytorch import GPyTorchPosterior
from botorch.sampling import SobolQMCNormalSampler
from gpytorch.distributions import MultivariateNormal
from gpytorch.means import ConstantMean, LinearMean
from gpytorch.mlls import ExactMarginalLogLikelihood

from recipe import choice

SAMPLES = 128  # of the posterior, quasi-Monte Carlo; BoTorch's own examples use as many


@dataclasses.dataclass(frozen=True)
class Recipe:
    """What may be chosen where BoTorch leaves the choice to its user; defaults first."""

    features: str = choice("shape", "grid", "memory")
    """shape: total cores, cores a node, GiB a core; grid: nodes for total cores;
    memory: shape, and total memory beyond 1 GiB a core. All log2."""
    scale: str = choice("unit", "standard")
    """unit: between 0 and 1 over the candidates, which BoTorch's priors are made for;
    standard: mean 0, deviation 1."""
    design: str = choice("baseline", "sobol", "none")
    """First three runs. baseline: the same as our baseline's; sobol: candidates nearest
    to points of a scrambled Sobol sequence over the unit cube; none: with supports only,
    the ensemble from the first run on."""
    outcome: str = choice("cost", "runtime", "both")
    """What the process models, the other following from the known rate. cost: log cost,
    as CherryPick; runtime: log runtime; both: each by a process of its own."""
    kernel: str = choice("matern", "rbf")
    """matern: 5/2; rbf. With a length scale a feature, and BoTorch's priors."""
    mean: str = choice("linear", "constant")
    """linear in the features; constant, BoTorch's default."""
    noise: str = choice("known", "inferred")
    """known: the .1 that the protocol adds to log runtimes; inferred."""
    bound: float = 0
    """Log runtimes count as at most so much above the log target; 0: as seen."""
    failed: str = choice("bound", "drop")
    """A run without a runtime. bound: as if at the bound, or the largest seen; drop."""
    nothing: str = choice("feasibility", "nei", "worst")
    """While no run is valid. feasibility: the most likely one to be; nei: as else;
    worst: expected improvement on the dearest candidate at the target."""
    level: str = choice("target", "own")
    """Of supports in an ensemble. target: mean and deviation of the target's own runs, its
    target before the first; own: those of each support."""
    dilution: str = choice("keep", "drop")
    """Supports that rank worse than the target's own process nearly always. keep: as
    weighted; drop: without weight."""
    reference: str = choice("limit", "front")
    """Reference point of a hypervolume. limit: the dearest candidate at the target; front:
    a tenth of its range beyond the front so far, BoTorch's usual guess."""


class Space:
    """Candidates as the model sees them, n x d."""

    def __init__(self, search, recipe):
        self.search, self.recipe = search, recipe
        self.raw = self.columns(search.features)
        if recipe.scale == "unit":
            self.shift, self.width = self.raw.min(0), np.ptp(self.raw, 0)
        else:
            self.shift, self.width = self.raw.mean(0), self.raw.std(0)
        self.width = np.where(self.width > 0, self.width, 1.0)
        self.x = self.scaled(search.features)

    def columns(self, shape):
        total, cores, memory = shape.T
        if self.recipe.features == "grid":
            return np.stack([total - cores, cores, memory], 1)
        if self.recipe.features == "memory":
            left = total + np.log2(np.maximum(2.0**memory - 1, 0.25))
            return np.stack([total, cores, memory, left], 1)
        return shape

    def scaled(self, shape):
        return torch.tensor((self.columns(shape) - self.shift) / self.width, dtype=torch.double)

    def sobol(self, seed):
        """Generator of the candidates nearest to a Sobol sequence."""
        unit = np.ptp(self.raw, 0)
        unit = (self.raw - self.raw.min(0)) / np.where(unit > 0, unit, 1)
        engine = torch.quasirandom.SobolEngine(unit.shape[1], scramble=True, seed=seed)
        while True:
            point = engine.draw(1).double().numpy()
            yield ((unit - point) ** 2).sum(1)


def fit(x, y, recipe, noise_sd):
    """SingleTaskGP of n x d inputs and n log runtimes, fitted by its marginal likelihood."""
    y = y.unsqueeze(-1)
    gp = SingleTaskGP(
        x, y, torch.full_like(y, noise_sd**2) if recipe.noise == "known" else None,
        covar_module=get_covar_module_with_dim_scaled_prior(x.shape[-1], use_rbf_kernel=recipe.kernel == "rbf"),
        mean_module=LinearMean(x.shape[-1]) if recipe.mean == "linear" else ConstantMean(),
        outcome_transform=Standardize(1) if len(y) > 1 else None)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(gp.likelihood, gp))
    return gp


class NoisyEI:
    """Three runs by design, then the largest constrained log noisy EI over all candidates."""

    def __init__(self, search, seed, noise_sd, recipe=Recipe()):
        torch.manual_seed(seed)
        self.search, self.recipe, self.seed, self.noise_sd = search, recipe, seed, noise_sd
        self.space = Space(search, recipe)
        self.x = self.space.x
        self.cost = torch.tensor(search.offset["cost"])
        self.sobol = self.space.sobol(seed)

    def designed(self, free, n):
        if self.recipe.design == "baseline" and n < len(self.search.design):
            return self.search.design[n]
        distance = next(self.sobol)
        return min(free, key=lambda i: distance[i])

    def data(self, observed):
        """Inputs, log runtimes and indices of the runs that the model is told."""
        target, bound = self.search.log_target, self.recipe.bound
        seen = [y for _, y in observed if y is not None]
        worst = target + bound if bound else max(seen, default=target)
        rows = []
        for i, y in observed:
            if y is not None:
                rows.append((i, min(y, target + bound) if bound else y))
            elif self.recipe.failed == "bound":
                rows.append((i, worst))
        index = [i for i, _ in rows]
        return self.x[index], torch.tensor([y for _, y in rows], dtype=torch.double), index

    def next(self, free, observed):
        x, y, index = self.data(observed)
        if len(observed) < 3 or len(y) < 2:
            return self.designed(free, len(observed))
        return self.best(self.model(x, y), x, free, self.any_valid(observed))

    def any_valid(self, observed):
        return any(y is not None and y <= self.search.log_target and not self.search.timeout[i] for i, y in observed)

    def model(self, x, y):
        """Of log runtimes y at x, in the recipe's outcome."""
        outcome = self.recipe.outcome
        if outcome == "both":
            return ModelListGP(*(fit(x, v, self.recipe, self.noise_sd) for v in (y, y + self.rate(x))))
        return fit(x, y + self.rate(x) if outcome == "cost" else y, self.recipe, self.noise_sd)

    def rate(self, x):
        """Log cost minus log runtime at inputs of any shape x d."""
        at = torch.cdist(x.reshape(-1, x.shape[-1]), self.x).argmin(-1)
        return self.cost[at].reshape(x.shape[:-1])

    def best(self, model, x, free, any_valid):
        """The free candidate of largest acquisition value; the first of equals."""
        sampler = SobolQMCNormalSampler(torch.Size([SAMPLES]), seed=self.seed)
        constraints = [lambda samples: samples[..., 0] - self.search.log_target]
        if self.recipe.outcome == "cost":
            model = AsRuntime(model, self.rate)
        objective = GenericMCObjective(self.negative_cost)
        if self.recipe.nothing == "worst" and not any_valid or len(x) == 0:
            worst = -(self.cost.max() + self.search.log_target)
            acquisition = qLogExpectedImprovement(model, worst, sampler, objective, constraints=constraints)
        elif self.recipe.nothing == "feasibility" and not any_valid:
            acquisition = qLogProbabilityOfFeasibility(model, constraints, sampler=sampler)
        else:
            acquisition = qLogNoisyExpectedImprovement(
                model, x, sampler=sampler, prune_baseline=False,
                objective=objective, constraints=constraints)
        with torch.no_grad():
            return free[int(acquisition(self.x[free].unsqueeze(1)).argmax())]

    def negative_cost(self, samples, X=None):
        if self.recipe.outcome == "both":
            return -samples[..., 1]
        return -(samples[..., 0] + self.rate(X))


class AsRuntime(Model):
    """A model of log cost as one of log runtime: what is known of each input is taken off."""

    num_outputs = 1

    def __init__(self, model, rate):
        super().__init__()
        self.model, self.rate = model, rate

    @property
    def batch_shape(self):
        return self.model.batch_shape

    def posterior(self, X, output_indices=None, observation_noise=False, posterior_transform=None):
        p = self.model.posterior(X)
        normal = p.distribution
        return GPyTorchPosterior(MultivariateNormal(normal.mean - self.rate(X), normal.lazy_covariance_matrix))
