"""BoTorch for two objectives: noisy expected hypervolume improvement of log objectives."""
import torch
from botorch.acquisition.logei import qLogProbabilityOfFeasibility
from botorch.acquisition.multi_objective.logei import qLogNoisyExpectedHypervolumeImprovement
from botorch.acquisition.multi_objective.objective import GenericMCMultiOutputObjective
from botorch.models import ModelListGP
from botorch.sampling import SobolQMCNormalSampler
from botorch.utils.multi_objective.hypervolume import infer_reference_point

from gaussian import SAMPLES, AsRuntime, NoisyEI, Recipe, fit


class NoisyEHVI(NoisyEI):
    """Three runs by design, then the largest constrained log NEHVI over all candidates."""

    def __init__(self, search, seed, noise_sd, recipe=Recipe(), objectives=("cost", "runtime")):
        super().__init__(search, seed, noise_sd, recipe)
        self.offsets = torch.stack([torch.tensor(search.offset[k]) for k in objectives], -1)

    def model(self, x, y):
        if self.recipe.outcome == "both":
            each = self.offset(x) + y.unsqueeze(-1)
            return ModelListGP(*(fit(x, v, self.recipe, self.noise_sd) for v in (y, *each.T)))
        return super().model(x, y)

    def best(self, model, x, free, any_valid):
        sampler = SobolQMCNormalSampler(torch.Size([SAMPLES]), seed=self.seed)
        constraints = [lambda samples: samples[..., 0] - self.search.log_target]
        if self.recipe.outcome == "cost":
            model = AsRuntime(model, self.rate)
        if not any_valid:
            acquisition = qLogProbabilityOfFeasibility(model, constraints, sampler=sampler)
        else:
            acquisition = qLogNoisyExpectedHypervolumeImprovement(
                model, self.reference(model, x), x, sampler=sampler, prune_baseline=False,
                objective=GenericMCMultiOutputObjective(self.negative), constraints=constraints)
        with torch.no_grad():
            return free[int(acquisition(self.x[free].unsqueeze(1)).argmax())]

    def negative(self, samples, X=None):
        """Log objectives are log runtime plus what is known of each candidate."""
        if self.recipe.outcome == "both":
            return -samples[..., 1:]
        return -(samples[..., :1] + self.offset(X))

    def offset(self, x):
        at = torch.cdist(x.reshape(-1, x.shape[-1]), self.x).argmin(-1)
        return self.offsets[at].reshape(*x.shape[:-1], -1)

    def reference(self, model, x):
        """In negated log objectives."""
        if self.recipe.reference == "limit":
            return -(self.offsets.max(0).values + self.search.log_target)
        with torch.no_grad():
            mean = model.posterior(x).mean
        value = self.negative(mean, x)
        met = mean[..., 0] <= self.search.log_target
        return infer_reference_point(value[met] if met.any() else value)
