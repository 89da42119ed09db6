"""The prior density of hyperparameters, which `graphuq.tune` and `graphuq.sample_jointly` share.

Parameters are independent a priori. Their densities are weak, and truncated to the ranges in which
they are searched or sampled.

- alpha, the smoothness of the field: exponential with mean 4. A few labels say little about it, and
  the largest alpha that explains them would leave only one mode. The mean is a choice of graphuq.
- tau, the inverse length: exponential with mean 0.3. Such a density penalizes complexity for fields
  in two dimensions (Fuglstad, Simpson, Lindgren and Rue 2019).
- gamma, the deviation of the noise before the threshold, in units of that of the field: half-Cauchy
  with scale 0.2 for two classes. Gelman (2006) recommends half-Cauchy densities for deviations.
  Most of their mass is at small values, and their tail is heavy, so that labels of classes that
  overlap overrule it. For K > 2 classes gamma is exponential with mean 0.1. Such a density
  penalizes complexity for the deviation of Gaussian noise (Simpson, Rue, Riebler, Martins and
  Sorbye 2017).
- the deviation of the level: half-normal with deviation 1, that of a node's field. It is a limit of
  the half-t densities of Gelman (2006).
- the weights of a sum: uniform.
- length scales, in units of the median distance between items: log-normal about 1, with deviation
  0.5 of the logarithm. The median is a usual choice of this parameter (Garreau, Jitkrittum and
  Kanagawa 2017, Large sample analysis of the median heuristic), and the deviation is a choice of
  graphuq. A few labels would otherwise choose scales at which no two items are alike. Only
  `log_prior` has this density, since length scales are not sampled.
- all others, such as flip rates and gamma of `graphuq.LevelSet`: uniform in their logarithm.

The mode of a density depends on the scale of the parameter. `graphuq.tune` maximizes the density of
log alpha, log tau and log gamma, whose modes are the means and scales above, and that of the log
odds of a weight, whose mode is 1/2. On the parameters' own scales alpha and gamma would be their
smallest values and a weight often 0 or 1, and a few labels do not contradict these. The density of
the level is that of the level itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from graphuq.priors.gaussian_prior import base_name

# Parameters that are searched and sampled on their own scale; all others on a logarithmic one.
# This places the points; of a weight the density of its log odds is maximized all the same.
LINEAR = ("alpha", "weight", "level")

MEAN_ALPHA, MEAN_TAU = 4.0, 0.3

# Deviation of the logarithm of parameters that have a typical value, `GaussianPrior.typical`.
LOG_DEVIATION = 0.5

# The deviation of the level's density, and of the level itself for labels by class.
LEVEL_SCALE = 1.0

# Scales of gamma, for two classes and for more. On development sets the half-Cauchy density had
# better log scores than the exponential one for two classes, and worse ones for more.
NOISE_SCALE, MEAN_NOISE = 0.2, 0.1


class Density(NamedTuple):
    """The density p(x) of a parameter x >= 0, up to a constant.

    log p(x) = power log x - rate x - curvature x^2 / 2 - log(1 + tail x^2)
    """

    power: float = 0.0
    rate: float = 0.0
    curvature: float = 0.0
    tail: float = 0.0

    def log(self, x: float) -> float:
        """Return log p(x)."""
        power = self.power * math.log(x) if self.power else 0.0  # x may be 0
        return power - self.rate * x - 0.5 * self.curvature * x**2 - math.log1p(self.tail * x**2)

    def of_logarithm(self) -> Density:
        """Return the density of log x, still as a function of x."""
        return self._replace(power=self.power + 1)


def density_of(name: str, n_classes: int, *, noisy: bool) -> Density:
    """Return the prior density of a parameter.

    Parameters
    ----------
    name : str
    n_classes : int
    noisy : bool
        Whether gamma is the deviation of noise before the threshold, as of probit.

    Examples
    --------
    >>> density_of("level", 2, noisy=True).log(2.0)
    -2.0
    >>> density_of("gamma", 2, noisy=False).of_logarithm() == Density()
    True
    """
    base = base_name(name)
    if base == "alpha":
        return Density(rate=1 / MEAN_ALPHA)
    if base == "tau":
        return Density(rate=1 / MEAN_TAU)
    if base == "level":
        return Density(curvature=LEVEL_SCALE**-2)
    if base == "weight":
        return Density()
    if base == "gamma" and noisy:
        return Density(tail=NOISE_SCALE**-2) if n_classes == 2 else Density(rate=1 / MEAN_NOISE)
    return Density(power=-1.0)


def log_prior(
    values: Mapping[str, float],
    n_classes: int,
    *,
    noisy: bool,
    typical: Mapping[str, float] | None = None,
) -> float:
    """Return the log of the prior density that `graphuq.tune` maximizes, up to a constant.

    It is that of `density_of`: of the level itself, the log odds of weights and the logarithm of
    all others.

    Parameters
    ----------
    values : mapping from name to float
        The open parameters.
    n_classes : int
    noisy : bool
        As in `density_of`.
    typical : mapping from name to float, optional
        Parameters with a typical value, `GaussianPrior.typical`, are log-normal about it.

    Examples
    --------
    >>> log_prior({"level": 2.0, "flip_rate": 0.1}, 2, noisy=True)
    -2.0
    >>> at = [log_prior({"gamma": gamma}, 2, noisy=True) for gamma in (0.1, 0.2, 0.4)]
    >>> at.index(max(at))
    1
    >>> log_prior({"length_scale": 3.0}, 2, noisy=True, typical={"length_scale": 3.0})
    0.0
    >>> log_prior({"weight": 0.5}, 2, noisy=True) > log_prior({"weight": 0.9}, 2, noisy=True)
    True
    """
    total, typical = 0.0, typical or {}
    for name, x in values.items():
        if name in typical:
            total -= 0.5 * (math.log(x / typical[name]) / LOG_DEVIATION) ** 2
            continue
        density = density_of(name, n_classes, noisy=noisy)
        base = base_name(name)
        if base == "weight":  # p(log(x / (1 - x))) = p(x) x (1 - x)
            total += density.log(x) + (math.log(x * (1 - x)) if 0 < x < 1 else -math.inf)
        else:
            total += (density if base == "level" else density.of_logarithm()).log(x)
    return total
