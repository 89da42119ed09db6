"""The prior density of hyperparameters: weak, but not flat."""

from __future__ import annotations

import math
from collections.abc import Mapping

from graphuq.priors.gaussian_prior import base_name
from graphuq.priors.whittle_matern import MEAN_ALPHA

# For K > 2 classes these are exponential too. Their mean is the middle of their range on the
# logarithmic scale.
SCALES = ("tau", "gamma")


def log_prior(
    values: Mapping[str, float], ranges: Mapping[str, tuple[float, float]], n_classes: int
) -> float:
    """Return the log of the prior density of parameters, up to a constant.

    Alpha is exponential with mean 4. For two classes the log density is - alpha / 4, on alpha's own
    scale. The level is half-normal with the deviation of a node's field, 1 (Gelman 2006 has such
    weak priors for deviations). Weights are uniform. All other parameters are flat on the
    logarithmic scale on which they are searched.

    For K > 2 classes there may be only one label of each class. These labels contain so little
    information that the mode of the prior decides, and the mode of an exponential density is at the
    smallest alpha. The densities are therefore those of the logarithms, log x - x / m, whose mode
    is the mean m. Tau and gamma have such a density, too; without labels they stay in the middle of
    their ranges.

    Parameters
    ----------
    values : mapping from name to float
        The open parameters.
    ranges : mapping from name to (float, float)
        The range of each.
    n_classes : int

    Examples
    --------
    >>> log_prior({"alpha": 2.0, "gamma": 0.3}, {"alpha": (1, 10), "gamma": (0.01, 1)}, 2)
    -0.5
    >>> at = [log_prior({"gamma": gamma}, {"gamma": (0.01, 1)}, 3) for gamma in (0.05, 0.1, 0.2)]
    >>> at.index(max(at))
    1
    """
    level = -0.5 * values.get("level", 0.0) ** 2
    alphas = [name for name in values if base_name(name) == "alpha"]
    if n_classes == 2:
        return level - sum(values[name] for name in alphas) / MEAN_ALPHA
    means = {
        name: math.sqrt(math.prod(ranges[name])) for name in values if base_name(name) in SCALES
    }
    means |= dict.fromkeys(alphas, MEAN_ALPHA)
    return level + sum(math.log(values[name]) - values[name] / mean for name, mean in means.items())
