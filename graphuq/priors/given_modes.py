"""The field at all nodes, given the white noise of its columns and the prior's parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq.priors.gaussian import Gaussian
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.priors.given import Conditional, Rows
from graphuq.priors.prior import Prior
from graphuq.priors.sum_prior import SumPrior
from graphuq.utils.typing import Array, Nodes


def is_latent_prior(prior: GaussianPrior) -> bool:
    """Return whether a prior is one on a graph without a tail, or its sum with a level."""
    parts = prior.parts if isinstance(prior, SumPrior) else (prior,)
    return len(parts) == 1 and isinstance(parts[0], Prior) and parts[0].modes_determine_field


def graph_of(prior: GaussianPrior) -> Prior:
    """Return the prior on the graph."""
    graph = prior.graph_part
    assert isinstance(graph, Prior)
    return graph


def columns_of(prior: GaussianPrior) -> NDArray[np.bool_]:
    """Return which of the level and the columns of the basis make the field, shape (1 + P,)."""
    return np.append(bool(prior.field.level), prior.field.used)


def directions(prior: GaussianPrior, nodes: Nodes) -> Array:
    """Return the columns that make the field at some nodes: ones for the level, and the basis.

    Parameters
    ----------
    prior : GaussianPrior
        The parameters may be any.
    nodes : ndarray of int
    """
    rows = prior.field.rows(nodes)
    return np.hstack([np.ones((len(rows), 1)), rows])[:, columns_of(prior)]


def append_parameters(z: Array, parameters: Array) -> Array:
    """Return what `GivenModes` reads: z (draws, C, p), each followed by its draw's parameters.

    Parameters
    ----------
    z : ndarray, shape (draws, C, p)
    parameters : ndarray, shape (draws, n)
    """
    shape = *z.shape[:2], parameters.shape[1]
    return np.concatenate([z, np.broadcast_to(parameters[:, None], shape)], axis=2)


class GivenModes(Conditional):
    """All nodes given z and the prior's parameters, which vary from draw to draw.

    What is read is z followed by ``names``, some of the prior's parameters. The field is
    B diag(sigma) z, with the draw's own sigma, and nothing is left to infer. A level is the first
    column of B. The prior has no nugget.
    """

    def __init__(self, prior: GaussianPrior, traced: Nodes, names: tuple[str, ...] = ()) -> None:
        field, self._columns = prior.field, columns_of(prior)
        self.basis = field.basis if field.used.all() else field.basis[:, field.used]
        self.which = np.full(prior.n_nodes, -1, dtype=np.int32)
        self.rows = _level_and_columns if self._columns[0] else _all_columns
        self._prior, self._names = prior, names
        self._at_traced = directions(prior, traced)
        self._modes = np.flatnonzero(np.append(True, field.is_mode)[self._columns])
        self.n_summary = int(self._columns.sum())
        self.n_modes, self.n_traced = self._modes.size, traced.size
        self.n_read = 0 if field.modes_determine_field else self.n_summary + len(names)
        self.law = Gaussian(np.empty((self.n_summary, 0)), np.empty(0), 1.0)  # of z

    def _energy(self, fields: Array) -> Array:
        """Return the energy of z."""
        return np.asarray(0.5 * (fields[:, : self.n_summary] ** 2).sum(axis=1))

    def _summarize(self, fields: Array) -> Array:
        """Return diag(sigma) z of each draw."""
        if not self._names:
            return fields * self._sigma()
        each, of = np.unique(fields[:, self.n_summary :], axis=0, return_inverse=True)
        sigma = [self._sigma(**dict(zip(self._names, row, strict=True))) for row in each.tolist()]
        return fields[:, : self.n_summary] * np.stack(sigma)[of.ravel()]

    def _trace(self, fields: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return z of the modes and the field at the traced nodes."""
        return fields[:, self._modes], self._summarize(fields) @ self._at_traced.T

    def _sigma(self, **values: Any) -> Array:
        """Return the prior deviations of all columns at some parameters."""
        return self._prior.with_parameters(**values).deviations()[self._columns]


def _all_columns(basis: Array, which: NDArray[np.int32]) -> Rows:
    """Return rows that multiply all columns, without variance."""
    return Rows(basis, np.zeros(which.size))


def _level_and_columns(basis: Array, which: NDArray[np.int32]) -> Rows:
    """Return rows that multiply the level and all columns, without variance."""
    ones = np.ones((which.size, 1), dtype=basis.dtype)
    return Rows(np.hstack([ones, basis]), np.zeros(which.size))
