"""Probit: noise before the threshold, y(j) = S(u(j) + eta(j)), eta(j) ~ N(0, gamma^2)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from graphuq import validation
from graphuq.jit import cached_njit

_SQRT_HALF = math.sqrt(0.5)
_LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)
# Below this many standard deviations the asymptotic series of the normal tail has relative error
# under 1e-17 with the terms kept here; erfc would underflow from -38 on.
_TAIL = -20.0


@cached_njit
def _tail_series(x):  # type: ignore[no-untyped-def]
    """Return 1 - 1/x^2 + 3/x^4 - 15/x^6 ...: Psi(x; 1) = phi(x) / -x times this, x << 0."""
    term, total, inverse = 1.0, 1.0, 1.0 / (x * x)
    for k in range(1, 11):
        term *= -(2 * k - 1) * inverse
        total += term
    return total


@cached_njit
def log_cdf(x):  # type: ignore[no-untyped-def]
    """Return log Psi(x; 1), the log of the standard normal distribution function."""
    if x > 0.0:
        return math.log1p(-0.5 * math.erfc(x * _SQRT_HALF))
    if x > _TAIL:
        return math.log(0.5 * math.erfc(-x * _SQRT_HALF))
    return -0.5 * x * x - math.log(-x) - _LOG_SQRT_2PI + math.log(_tail_series(x))


@cached_njit
def log_cdf_slope(x):  # type: ignore[no-untyped-def]
    """Return the derivative of `log_cdf`, phi(x) / Psi(x; 1)."""
    if x > _TAIL:
        return math.exp(-0.5 * x * x - _LOG_SQRT_2PI) / (0.5 * math.erfc(-x * _SQRT_HALF))
    return -x / _tail_series(x)


@cached_njit
def _potential(u, seen):  # type: ignore[no-untyped-def]
    """Phi_p(u; y) = - sum_j log Psi(y(j) u(j); gamma), section 3.1."""
    gamma = seen.parameters[0]
    phi = 0.0
    for j in range(seen.y.size):
        phi -= log_cdf(seen.y[j] * u[seen.rows[j], 0] / gamma)
    return phi


@cached_njit
def _gradient(u, seen, out):  # type: ignore[no-untyped-def]
    """Write dPhi/du into ``out``."""
    gamma = seen.parameters[0]
    out[:] = 0.0
    for j in range(seen.y.size):
        scaled = seen.y[j] / gamma
        out[seen.rows[j], 0] -= scaled * log_cdf_slope(scaled * u[seen.rows[j], 0])


@dataclass(frozen=True)
class Probit:
    """Labels are signs of a noisy field: y(j) = S(u(j) + eta(j)), eta(j) ~ N(0, gamma^2).

    Phi(u) = - sum_j log Psi(y(j) u(j); gamma), with Psi the distribution function of
    N(0, gamma^2); Bertozzi et al. 2017, section 3.1.

    Parameters
    ----------
    gamma : float or "auto"
        Standard deviation of the noise, in units of the field, whose prior deviation is 1.
        Errors are likeliest where the field is near zero. With "auto", the default, the labels
        choose it: `graphuq.tune`.

    Raises
    ------
    ValueError
        ``gamma`` not positive.

    Examples
    --------
    >>> Probit(gamma=0.1)
    Probit(gamma=0.1)
    """

    gamma: float | str = validation.AUTO

    ranges: ClassVar[dict[str, tuple[float, float]]] = {"gamma": (0.01, 1.0)}
    reads: ClassVar[str] = "labelled"
    multiclass: ClassVar[bool] = True
    potential: ClassVar[Any] = staticmethod(_potential)
    gradient: ClassVar[Any] = staticmethod(_gradient)

    def __post_init__(self) -> None:
        if not validation.is_auto(self.gamma):
            validation.positive("gamma", self.gamma)

    @property
    def sign_model(self) -> tuple[float, float]:
        """Noise before the threshold, and no wrong signs after it."""
        return float(self.gamma), math.inf
