"""The prior density of hyperparameters: weak, but not flat."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from graphuq.priors.gaussian_prior import base_name
from graphuq.priors.whittle_matern import MEAN_ALPHA

# Parameters that are searched and sampled on their own scale; all others on a logarithmic one.
LINEAR = ("alpha", "weight", "level")

# For K > 2 classes these are exponential too. Their mean is the middle of their range on the
# logarithmic scale.
SCALES = ("tau", "gamma")


class Density(NamedTuple):
    """The density p(x) of a parameter, log p(x) = power log x - rate x - curvature x^2 / 2.

    It is up to a constant.
    """

    power: float = 0.0
    rate: float = 0.0
    curvature: float = 0.0

    def log(self, x: float) -> float:
        """Return log p(x)."""
        power = self.power * math.log(x) if self.power else 0.0  # x may be 0
        return power - self.rate * x - 0.5 * self.curvature * x**2

    def of_logarithm(self) -> Density:
        """Return the density of log x, still as a function of x."""
        return self._replace(power=self.power + 1)


def density_of(name: str, ends: tuple[float, float], n_classes: int) -> Density:
    """Return the prior density of a parameter, over its range.

    Alpha is exponential with mean 4. The level is half-normal with the deviation of a node's field,
    1 (Gelman 2006 has such weak priors for deviations). Weights are uniform. For K > 2 classes tau
    and gamma are exponential with the geometric mean of their range. All other parameters are flat
    on the logarithmic scale.

    Parameters
    ----------
    name : str
    ends : (float, float)
        The range of the parameter.
    n_classes : int

    Examples
    --------
    >>> density_of("level", (0.0, 3.0), 2).log(2.0)
    -2.0
    >>> density_of("tau", (0.01, 1.0), 2).of_logarithm()
    Density(power=0.0, rate=0.0, curvature=0.0)
    """
    base = base_name(name)
    if base == "alpha":
        return Density(rate=1 / MEAN_ALPHA)
    if base == "level":
        return Density(curvature=1.0)
    if base == "weight":
        return Density()
    if n_classes > 2 and base in SCALES:
        return Density(rate=1 / math.sqrt(math.prod(ends)))
    return Density(power=-1.0)


def log_prior(
    values: Mapping[str, float], ranges: Mapping[str, tuple[float, float]], n_classes: int
) -> float:
    """Return the log of the prior density that `graphuq.tune` maximizes, up to a constant.

    It is that of `density_of`, on the scale on which each parameter is searched. For two classes
    the log density is - alpha / 4 - level^2 / 2.

    For K > 2 classes there may be only one label of each class. These labels contain so little
    information that the mode of the prior decides, and the mode of an exponential density is at the
    smallest alpha. The densities of alpha, tau and gamma are therefore those of the logarithms,
    log x - x / m, whose mode is the mean m. Without labels alpha stays at 4, and tau and gamma in
    the middle of their ranges.

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
    total = 0.0
    for name, x in values.items():
        density = density_of(name, ranges[name], n_classes)
        base = base_name(name)
        if base not in LINEAR or (base == "alpha" and n_classes > 2):
            density = density.of_logarithm()
        total += density.log(x)
    return total
