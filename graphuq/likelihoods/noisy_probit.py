"""Noise before the threshold and flips after it: probit whose labels may be plainly wrong."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from graphuq import validation
from graphuq.jit import cached_njit

_SQRT_HALF = math.sqrt(0.5)
_INVERSE_SQRT_2PI = 1 / math.sqrt(2 * math.pi)


@cached_njit
def _potential(u, seen):  # type: ignore[no-untyped-def]
    """Phi = - sum_j log(f + (1 - 2 f) Psi(y(j) u(j); gamma)): Psi if not flipped, 1 - Psi if so."""
    gamma, flip = seen.parameters[0], seen.parameters[1]
    phi = 0.0
    for j in range(seen.y.size):
        right = 0.5 * math.erfc(-seen.y[j] * u[seen.rows[j], 0] / gamma * _SQRT_HALF)
        phi -= math.log(flip + (1.0 - 2.0 * flip) * right)
    return phi


@cached_njit
def _gradient(u, seen, out):  # type: ignore[no-untyped-def]
    """Write dPhi/du into ``out``."""
    gamma, flip = seen.parameters[0], seen.parameters[1]
    out[:] = 0.0
    for j in range(seen.y.size):
        scaled = seen.y[j] / gamma * u[seen.rows[j], 0]
        right = 0.5 * math.erfc(-scaled * _SQRT_HALF)
        density = math.exp(-0.5 * scaled * scaled) * _INVERSE_SQRT_2PI
        slope = (1.0 - 2.0 * flip) * density / (flip + (1.0 - 2.0 * flip) * right)
        out[seen.rows[j], 0] -= seen.y[j] / gamma * slope


@dataclass(frozen=True)
class NoisyProbit:
    """Probit labels of which some are flipped: y(j) = +-S(u(j) + eta(j)), minus at ``flip_rate``.

    Phi(u) = - sum_j log(f + (1 - 2 f) Psi(y(j) u(j); gamma)) with flip rate f: probit (section 3.1
    of Bertozzi et al. 2017) for f = 0, and the level-set model of gamma_ls^2 = 2 / log(1/f - 1) as
    gamma goes to 0.

    Parameters
    ----------
    gamma : float or "auto"
        Standard deviation of the noise on the field, before the threshold.
    flip_rate : float in (0, 1/2) or "auto"
        Probability that a label is wrong wherever the field is.

    Raises
    ------
    ValueError
        ``gamma`` not positive, ``flip_rate`` outside (0, 1/2).

    Examples
    --------
    >>> NoisyProbit(gamma=0.1, flip_rate=0.05)
    NoisyProbit(gamma=0.1, flip_rate=0.05)
    """

    gamma: float | str = validation.AUTO
    flip_rate: float | str = validation.AUTO

    ranges: ClassVar[dict[str, tuple[float, float]]] = {
        "gamma": (0.01, 1.0),
        "flip_rate": (0.001, 0.3),
    }
    reads: ClassVar[str] = "labelled"
    multiclass: ClassVar[bool] = True
    potential: ClassVar[Any] = staticmethod(_potential)
    gradient: ClassVar[Any] = staticmethod(_gradient)

    def __post_init__(self) -> None:
        if not validation.is_auto(self.gamma):
            validation.positive("gamma", self.gamma)
        if validation.is_auto(self.flip_rate):
            return
        if not 0 < validation.real("flip_rate", self.flip_rate) < 0.5:
            raise ValueError(f"flip_rate must lie in (0, 1/2), got {self.flip_rate}")

    @property
    def sign_model(self) -> tuple[float, float]:
        """Noise before the threshold; a wrong sign after it has odds f / (1 - f)."""
        flip_rate = float(self.flip_rate)
        return float(self.gamma), math.log1p(-flip_rate) - math.log(flip_rate)

    def sign_model_of(self, n_classes: int) -> tuple[float, float]:
        """Return `sign_model` where a wrong label may be any of ``n_classes`` - 1."""
        noise, cost = self.sign_model
        return noise, cost + math.log(n_classes - 1)
