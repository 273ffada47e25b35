"""BoTorch's meta-learning recipe: the ranking-weighted ensemble over supports.

Feurer, Letham and Bakshy: Scalable Meta-Learning for Bayesian Optimization (2018).
"""
import copy

import torch
from botorch.models import SingleTaskGP
from botorch.models.model import Model
from botorch.models.transforms import Standardize
from botorch.posteriors.gpytorch import GPyTorchPosterior
from botorch.sampling import SobolQMCNormalSampler
from gpytorch.distributions import MultivariateNormal

from gaussian import NoisyEI, Recipe, fit

RANKS = 256  # samples of each model's ranking, as in BoTorch's tutorial
JITTER = 1e-8


class Ensemble(NoisyEI):
    """NoisyEI over the weighted sum of the supports' processes and the target's own."""

    def __init__(self, search, seed, noise_sd, recipe=Recipe()):
        super().__init__(search, seed, noise_sd, recipe)
        self.supports = []
        for shape, log_runtime in search.supports:
            x, y = self.space.scaled(shape), torch.tensor(log_runtime)
            if recipe.bound:
                y = y.clamp(max=search.log_target + recipe.bound)
            y = y + self.rate(x) if recipe.outcome == "cost" else y
            if len(y) > 1:
                mean, sd = y.mean(), y.std().clamp(min=1e-3)
                self.supports.append((fit(x, (y - mean) / sd, recipe, noise_sd / float(sd)), mean, sd))

    def next(self, free, observed):
        x, y, _ = self.data(observed)
        if not self.supports or self.recipe.design != "none":
            return super().next(free, observed)
        return self.best(self.model(x, y), x, free, self.any_valid(observed))

    def model(self, x, y):
        if not self.supports:
            return super().model(x, y)
        y = y + self.rate(x) if self.recipe.outcome == "cost" else y
        processes, means, sds = (list(v) for v in zip(*self.supports))
        if len(y) < 2:
            weights = torch.ones(len(processes)).double() / len(processes)
            return self.levelled(Weighted(processes, means, sds, weights), x, y)
        own = fit(x, y, self.recipe, self.noise_sd)
        weights = self.weights(processes, own, x, y)
        if self.recipe.level == "target":
            means, sds = [y.mean()] * len(means), [y.std().clamp(min=1e-3)] * len(sds)
        return Weighted([*processes, own], [*means, 0.0], [*sds, 1.0], weights)

    def levelled(self, out, x, y):
        """The supports alone, where there is nothing to rank: through the only run; before
        it around the target, as targets are near what jobs take, or at their own level."""
        with torch.no_grad():
            if len(y):
                out.shift = y[0] - out.posterior(x).mean[0, 0]
            elif self.recipe.level == "target":
                runtime = out.posterior(self.x).mean[:, 0]
                runtime = runtime - self.cost if self.recipe.outcome == "cost" else runtime
                out.shift = self.search.log_target - runtime.mean()
        return out

    def weights(self, processes, own, x, y):
        """Share of samples in which each process, the target's last, misranks fewest pairs."""
        losses = [self.losses(p, x, y) for p in processes]
        # The target's own counts by what it says of each run without that run.
        samples = torch.stack([self.samples(self.without(own, x, y, j), x) for j in range(len(y))], 1)
        left_out = samples.diagonal(dim1=1, dim2=2).unsqueeze(-1)
        wrong = (left_out < samples) ^ (y.unsqueeze(-1) < y)
        losses.append(wrong.sum((-1, -2)))
        losses = torch.stack(losses)
        weights = torch.bincount(losses.argmin(0), minlength=len(losses)).double() / losses.shape[1]
        if self.recipe.dilution == "drop":
            worse = losses[:-1].double().median(1).values > losses[-1].double().quantile(0.95)
            weights[:-1][worse] = 0
            weights = weights / weights.sum() if weights.sum() > 0 else torch.eye(len(weights)).double()[-1]
        return weights

    def samples(self, process, x):
        """RANKS x n samples of a process at n inputs."""
        with torch.no_grad():
            return SobolQMCNormalSampler(torch.Size([RANKS]), seed=self.seed)(process.posterior(x)).squeeze(-1)

    def losses(self, process, x, y):
        """Misranked pairs in each of RANKS samples (equation 1 of the paper)."""
        samples = self.samples(process, x)
        wrong = (samples.unsqueeze(-1) < samples.unsqueeze(-2)) ^ (y.unsqueeze(-1) < y)
        return wrong.sum((-1, -2))

    def without(self, own, x, y, j):
        """The target's process, with its hyper-parameters, on all runs but the j-th."""
        keep = [k for k in range(len(y)) if k != j]
        rest = y[keep].unsqueeze(-1)
        known = self.recipe.noise == "known"
        gp = SingleTaskGP(
            x[keep], rest, torch.full_like(rest, self.noise_sd**2) if known else None,
            likelihood=None if known else copy.deepcopy(own.likelihood),
            covar_module=copy.deepcopy(own.covar_module), mean_module=copy.deepcopy(own.mean_module),
            outcome_transform=Standardize(1) if len(rest) > 1 else None)
        return gp.eval()


class Weighted(Model):
    """Sum of w_i (mean_i + sd_i f_i), with the w_i^2-weighted covariances."""

    num_outputs = 1
    batch_shape = torch.Size()

    def __init__(self, processes, means, sds, weights):
        super().__init__()
        used = [k for k, w in enumerate(weights) if w > 0]
        self.parts = [(processes[k], float(means[k]), float(sds[k]), float(weights[k])) for k in used]
        self.shift = 0.0

    def posterior(self, X, output_indices=None, observation_noise=False, posterior_transform=None):
        mean, covariance = self.shift, 0
        for process, level, sd, weight in self.parts:
            p = process.posterior(X).distribution
            mean = mean + weight * (level + sd * p.mean)
            covariance = covariance + (weight * sd) ** 2 * p.covariance_matrix
        jitter = JITTER * torch.eye(X.shape[-2], dtype=X.dtype)
        return GPyTorchPosterior(MultivariateNormal(mean, covariance + jitter))
