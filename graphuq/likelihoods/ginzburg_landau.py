"""Ginzburg-Landau: a double well at every node, and labels that observe the field itself."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from graphuq.likelihoods.contract import Likelihood
from graphuq.likelihoods.label_rule import label_rule
from graphuq.utils import validation
from graphuq.utils.jit import cached_njit


@cached_njit
def _potential(v, seen):  # type: ignore[no-untyped-def]
    """Phi_gl(v; y) = sum_i W_epsilon(v(i)) + sum_j |y(j) - v(j)|^2 / (2 gamma^2), section 3.3."""
    epsilon, gamma = seen.parameters[0], seen.parameters[1]
    wells, misfit = 0.0, 0.0
    if v.shape[1] > 1:
        for i in range(v.shape[0]):
            wells += _simplex_well(v[i])
        for j in range(seen.y.size):
            misfit += _squared_distance(v[seen.rows[j]], seen.y[j])
        return wells * 4.0 / epsilon + misfit / (2.0 * gamma**2)
    for i in range(v.shape[0]):
        wells += (v[i, 0] ** 2 - 1.0) ** 2
    for j in range(seen.y.size):
        misfit += (seen.y[j] - v[seen.rows[j], 0]) ** 2
    return wells / (4.0 * epsilon) + misfit / (2.0 * gamma**2)


@cached_njit
def _gradient(v, seen, out):  # type: ignore[no-untyped-def]
    """Write dPhi/dv into ``out``."""
    epsilon, gamma = seen.parameters[0], seen.parameters[1]
    if v.shape[1] > 1:
        for i in range(v.shape[0]):
            _set_simplex_slope(v[i], 4.0 / epsilon, out[i])
        for j in range(seen.y.size):
            at, slope = v[seen.rows[j]], out[seen.rows[j]]
            for k in range(at.size):
                slope[k] += (at[k] - _vertex(seen.y[j], k, at.size)) / gamma**2
        return
    for i in range(v.shape[0]):
        out[i, 0] = v[i, 0] * (v[i, 0] ** 2 - 1.0) / epsilon
    for j in range(seen.y.size):
        out[seen.rows[j], 0] -= (seen.y[j] - v[seen.rows[j], 0]) / gamma**2


@cached_njit
def _simplex_well(v):  # type: ignore[no-untyped-def]
    """Return prod_k max(1 - w_k, 0)^2 + sum_k min(w_k, 0)^2 + |v + 1/K - w|^2 of one node."""
    mean = v.mean()
    product, outside = 1.0, v.size * mean**2
    for k in range(v.size):
        w = v[k] - mean + 1.0 / v.size
        product = product * (1.0 - w) if w < 1.0 else 0.0
        outside += min(w, 0.0) ** 2
    return product**2 + outside


@cached_njit
def _set_simplex_slope(v, factor, out):  # type: ignore[no-untyped-def]
    """Write ``factor`` times the gradient of `_simplex_well` into ``out``."""
    mean = v.mean()
    product = 1.0
    for k in range(v.size):
        w = v[k] - mean + 1.0 / v.size
        product = product * (1.0 - w) if w < 1.0 else 0.0
    for k in range(v.size):
        w = v[k] - mean + 1.0 / v.size
        out[k] = 2.0 * min(w, 0.0)
        if product > 0.0:
            out[k] -= 2.0 * product * (product / (1.0 - w))
    common = out.mean()  # w does not see the mean of v
    for k in range(v.size):
        out[k] = factor * (out[k] - common + 2.0 * mean)


@cached_njit
def _vertex(c, k, n_classes):  # type: ignore[no-untyped-def]
    """Return component k of e_c - 1 / K."""
    return (1.0 if k == c else 0.0) - 1.0 / n_classes


@cached_njit
def _squared_distance(v, c):  # type: ignore[no-untyped-def]
    total = 0.0
    for k in range(v.size):
        total += (v[k] - _vertex(c, k, v.size)) ** 2
    return total


@dataclass(frozen=True)
class GinzburgLandau(Likelihood):
    """A field drawn to -1 and +1 by double wells, observed with noise: y(j) = v(j) + eta(j).

    Phi(v) = sum_i (v(i)^2 - 1)^2 / (4 epsilon) + sum_j |y(j) - v(j)|^2 / (2 gamma^2);
    Bertozzi et al. 2018, section 3.3. The label of a node is the field itself. The posterior has
    many modes when epsilon is small.

    With K > 2 classes, v(i) is a vector and class c is the vertex e_c - 1/K of the simplex, whose
    center is 0, the mean of the prior: y(j) is that vertex, and the well of a node is

    4 / epsilon (prod_k max(1 - w_k, 0)^2 + sum_k min(w_k, 0)^2 + |v + 1/K - w|^2),

    where w is v + 1/K projected onto the plane sum_k w_k = 1. On the simplex this is the multi-well
    potential prod_k |w - e_k|_1^2 / 4 = prod_k (1 - w_k)^2 of Garcia-Cardona, Merkurjev, Bertozzi,
    Flenner and Percus 2014. They project onto the simplex at every step. A field with a Gaussian
    prior is not confined to the simplex. The other terms, which are ours, attract it: they are 0 on
    the simplex only, and keep the gradient continuous. With the factor, the well between two
    vertices is that of two classes, with barrier 1 / (4 epsilon), for any K. Vertices are sqrt(2)
    apart, while -1 and +1 are 2 apart: the same gamma is more noise by this ratio.

    Parameters
    ----------
    epsilon : float
        Width of the wells: small values pin the field to -1 or +1, or the vertices.
    gamma : float
        Standard deviation of the noise on the labels, in each of their components.

    Raises
    ------
    ValueError
        ``epsilon`` or ``gamma`` not positive.

    Examples
    --------
    >>> import graphuq as gq
    >>> gq.GinzburgLandau(epsilon=10.0, gamma=0.6)
    GinzburgLandau(epsilon=10.0, gamma=0.6)

    Halfway between two of three vertices is the barrier 1 / (4 epsilon):

    >>> import numpy as np
    >>> from graphuq.likelihoods.contract import Observed
    >>> v = np.array([[0.5, 0.5, 0.0]]) - 1 / 3
    >>> no_labels = Observed(np.empty(0), np.empty(0, dtype=int), np.array([10.0, 0.6]))
    >>> round(gq.GinzburgLandau.potential(v, no_labels), 6)
    0.025
    >>> round(gq.GinzburgLandau(10.0, 0.6).log_normalizer(n_classes=3), 3)  # 3 log(sqrt(2 pi) 0.6)
    1.224
    """

    epsilon: float
    gamma: float

    reads: ClassVar[str] = "all"
    label: ClassVar[str] = "field"
    multiclass: ClassVar[bool] = True
    potential: ClassVar[Any] = staticmethod(_potential)
    gradient: ClassVar[Any] = staticmethod(_gradient)

    def __post_init__(self) -> None:
        validation.positive("epsilon", self.epsilon)
        validation.positive("gamma", self.gamma)

    def log_normalizer(self, n_classes: int = 2) -> float:
        """Return that of labels N(v(j), gamma^2 I), for each; the wells belong to the prior."""
        one = 0.5 * math.log(2 * math.pi) + math.log(self.gamma)
        return label_rule(n_classes).n_fields * one
