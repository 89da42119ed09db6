"""Ginzburg-Landau: a double well at every node, and labels that observe the field itself."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from graphuq import validation
from graphuq.jit import cached_njit


@cached_njit
def _potential(v, seen):  # type: ignore[no-untyped-def]
    """Phi_gl(v; y) = sum_i W_epsilon(v(i)) + sum_j |y(j) - v(j)|^2 / (2 gamma^2), section 3.3."""
    epsilon, gamma = seen.parameters[0], seen.parameters[1]
    wells = 0.0
    for i in range(v.shape[0]):
        wells += (v[i, 0] ** 2 - 1.0) ** 2
    misfit = 0.0
    for j in range(seen.y.size):
        misfit += (seen.y[j] - v[seen.rows[j], 0]) ** 2
    return wells / (4.0 * epsilon) + misfit / (2.0 * gamma**2)


@cached_njit
def _gradient(v, seen, out):  # type: ignore[no-untyped-def]
    """Write dPhi/dv into ``out``."""
    epsilon, gamma = seen.parameters[0], seen.parameters[1]
    for i in range(v.shape[0]):
        out[i, 0] = v[i, 0] * (v[i, 0] ** 2 - 1.0) / epsilon
    for j in range(seen.y.size):
        out[seen.rows[j], 0] -= (seen.y[j] - v[seen.rows[j], 0]) / gamma**2


@dataclass(frozen=True)
class GinzburgLandau:
    """A field drawn to -1 and +1 by double wells, observed with noise: y(j) = v(j) + eta(j).

    Phi(v) = sum_i (v(i)^2 - 1)^2 / (4 epsilon) + sum_j |y(j) - v(j)|^2 / (2 gamma^2);
    Bertozzi et al. 2017, section 3.3. The label of a node is the field itself. The posterior has
    many modes when epsilon is small.

    Parameters
    ----------
    epsilon : float
        Width of the wells: small values pin the field to -1 or +1.
    gamma : float
        Standard deviation of the noise on the labels.

    Raises
    ------
    ValueError
        ``epsilon`` or ``gamma`` not positive.

    Examples
    --------
    >>> GinzburgLandau(epsilon=10.0, gamma=0.6)
    GinzburgLandau(epsilon=10.0, gamma=0.6)
    """

    epsilon: float
    gamma: float

    reads: ClassVar[str] = "all"
    label: ClassVar[str] = "field"
    potential: ClassVar[Any] = staticmethod(_potential)
    gradient: ClassVar[Any] = staticmethod(_gradient)

    def __post_init__(self) -> None:
        validation.positive("epsilon", self.epsilon)
        validation.positive("gamma", self.gamma)

    @property
    def log_normaliser(self) -> float:
        """Labels are N(v(j), gamma^2); the wells belong to the prior."""
        return 0.5 * math.log(2 * math.pi) + math.log(self.gamma)
