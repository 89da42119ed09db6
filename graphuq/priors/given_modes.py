"""The field at all nodes, given the modes and the prior's parameters."""

from __future__ import annotations

import math
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from graphuq.priors.component_level import ComponentLevel
from graphuq.priors.gaussian import Gaussian
from graphuq.priors.given import Conditional, Rows
from graphuq.priors.prior import Prior
from graphuq.priors.sum_prior import SumPrior
from graphuq.utils.typing import Array, Nodes

LatentPrior: TypeAlias = Prior | SumPrior
"""A prior on a graph without a tail, or its sum with a level, levels of components, or both."""


def is_latent_prior(prior: Any) -> TypeGuard[LatentPrior]:
    """Return whether a prior is one on a graph without a tail, or its sum with a level."""
    parts = prior.parts if isinstance(prior, SumPrior) else (prior,)
    return len(parts) == 1 and isinstance(parts[0], Prior) and parts[0].modes_determine_field


def graph_of(prior: LatentPrior) -> Prior:
    """Return the prior on the graph."""
    graph = prior.graph_part
    assert isinstance(graph, Prior)
    return graph


def has_level(prior: LatentPrior) -> bool:
    """Return whether a level is the first mode."""
    return isinstance(prior, SumPrior) and prior.level != 0


def levels_of(prior: LatentPrior) -> ComponentLevel | None:
    """Return the levels of components, if the prior has them."""
    parts = prior.parts if isinstance(prior, SumPrior) else ()
    return next((part for part in parts if isinstance(part, ComponentLevel)), None)


def directions(prior: LatentPrior, nodes: Nodes) -> Array:
    """Return which component some nodes are in, if components have levels, and the modes there.

    Parameters
    ----------
    prior : Prior or SumPrior
    nodes : ndarray of int
    """
    modes, levels = graph_of(prior).modes_at(nodes), levels_of(prior)
    return modes if levels is None else np.hstack([levels.field.basis[nodes], modes])


def share_and_deviations(prior: LatentPrior) -> tuple[float, Array]:
    """Return the share of the graph in the variance, and deviations of levels of components."""
    levels = levels_of(prior)
    if levels is None:
        return 1.0, np.empty(0)
    assert isinstance(prior, SumPrior)
    graph, of_levels = prior.weights.tolist()
    return graph, np.full(levels.n_components, math.sqrt(of_levels))


def append_parameters(modes: Array, parameters: Array) -> Array:
    """Return what `GivenModes` reads: modes (draws, C, p), each followed by its draw's parameters.

    Parameters
    ----------
    modes : ndarray, shape (draws, C, p)
    parameters : ndarray, shape (draws, n)
    """
    shape = *modes.shape[:2], parameters.shape[1]
    return np.concatenate([modes, np.broadcast_to(parameters[:, None], shape)], axis=2)


class GivenModes(Conditional):
    """All nodes given the modes z and the prior's parameters, which vary from draw to draw.

    What is read is z followed by ``names``, some of the prior's parameters. The field is
    Q diag(sigma) z, with the draw's own sigma, and nothing is left to infer. A level is the first
    mode, along ones, and levels of components come next.
    """

    def __init__(self, prior: LatentPrior, traced: Nodes, names: tuple[str, ...] = ()) -> None:
        self._has_level = has_level(prior)
        self.basis = (
            graph_of(prior).vectors
            if levels_of(prior) is None
            else directions(prior, np.arange(prior.n_nodes))
        )
        self.which = np.full(prior.n_nodes, -1, dtype=np.int32)
        self.rows = _level_and_modes if self._has_level else _all_modes
        self._prior, self._traced, self._names = prior, traced, names
        self.n_modes = self.n_summary = self.basis.shape[1] + self._has_level
        self.n_traced = traced.size
        self.law = Gaussian(np.empty((self.n_modes, 0)), np.empty(0), 1.0)  # of z

    def _energy(self, fields: Array) -> Array:
        """Return the energy of z."""
        return np.asarray(0.5 * (fields[:, : self.n_modes] ** 2).sum(axis=1))

    def _summarize(self, fields: Array) -> Array:
        """Return diag(sigma) z of each draw."""
        if not self._names:
            return fields * self._sigma()
        each, of = np.unique(fields[:, self.n_modes :], axis=0, return_inverse=True)
        sigma = [self._sigma(**dict(zip(self._names, row, strict=True))) for row in each.tolist()]
        return fields[:, : self.n_modes] * np.stack(sigma)[of.ravel()]

    def _trace(self, fields: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return the modes z and the field at the traced nodes."""
        modes = self.rows(directions(self._prior, self._traced), self.which[self._traced])
        return fields[:, : self.n_modes], self._summarize(fields) @ modes.loadings.T

    def _sigma(self, **values: Any) -> Array:
        """Return the prior deviations of all modes, the level's first, at some parameters."""
        prior = self._prior.with_parameters(**values)
        share, of_components = share_and_deviations(prior)
        sigma = np.append(of_components, math.sqrt(share) * graph_of(prior).sigma)
        if self._has_level:
            assert isinstance(prior, SumPrior)
            return np.append(float(prior.level), sigma)
        return sigma


def _all_modes(basis: Array, which: NDArray[np.int32]) -> Rows:
    """Return rows that multiply all modes, without variance."""
    return Rows(basis, np.zeros(which.size))


def _level_and_modes(basis: Array, which: NDArray[np.int32]) -> Rows:
    """Return rows that multiply the level and all modes, without variance."""
    ones = np.ones((which.size, 1), dtype=basis.dtype)
    return Rows(np.hstack([ones, basis]), np.zeros(which.size))
