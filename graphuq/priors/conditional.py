"""The field at all nodes, given the field that a likelihood reads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from graphuq.priors.gaussian import Gaussian
from graphuq.utils.memory import require_memory
from graphuq.utils.typing import Array, Nodes

NONE = np.empty(0, dtype=np.intp)


class Rows(NamedTuple):
    """How the summaries of draws determine the field at some nodes.

    A summary is [w, x]. E[u | field read] is ``loadings`` w, and one of the x at nodes whose field
    was read.
    """

    loadings: Array
    """Shape (rows, size of w)."""
    deviation: Array
    """sqrt(Var[u_i | field read]), shape (rows,); the same for every draw."""
    known: NDArray[np.intp]
    """Rows that x holds."""
    columns: NDArray[np.intp]
    """Where x holds them."""

    def mean(self, summaries: Array) -> Array:
        """Return E[u_i | field read], shape (rows, draws), for one summary in each row.

        The numbers of a draw are side by side in memory.
        """
        width = self.loadings.shape[1]
        if not width:
            return summaries[:, self.columns].T
        mean = summaries[:, :width] @ self.loadings.T
        if self.known.size:
            mean[:, self.known] = summaries[:, width + self.columns]
        return mean.T


MakeRows = Callable[[Array, NDArray[np.int32]], Rows]
"""A function instead of a method, so that other processes get it without the basis."""


class Conditional(ABC):
    """The law of the field at all nodes given the field at the nodes that are read.

    Fields have shape (draws, C, m): C independent fields at m nodes, each with this law. C is 1 for
    two classes, else the number of classes.

    Attributes
    ----------
    law : Gaussian
        Prior law of the field read, noise included.
    basis : ndarray, shape (N, p)
        A matrix with one row per node; the input of ``rows``.
    which : ndarray of int, shape (N,)
        The position of each node among those read, or -1.
    rows : callable
        Returns the `Rows` of some nodes, given their rows of ``basis`` and ``which``.
    n_modes, n_traced : int
        Modes and traced nodes, of which `trace` returns draws.
    n_read : int
        Values of the field read that a posterior needs besides its modes, or 0.
    n_summary : int
        Numbers in a summary, or 0 where it is the whole field, which is too much to store.
    """

    law: Gaussian
    basis: Array
    which: NDArray[np.int32]
    rows: MakeRows
    n_modes: int
    n_traced: int
    n_read: int = 0
    n_summary: int = 0

    @property
    def numbers_per_draw(self) -> int:
        """Numbers that are stored of each field of a draw."""
        return self.n_modes + self.n_traced + self.n_read + self.n_summary

    def energy(self, fields: Array) -> Array:
        """Return minus the log prior density of each draw, up to a constant, shape (draws,)."""
        energies = self._energy(_in_rows(fields))
        return np.asarray(energies.reshape(fields.shape[:2]).sum(axis=1))

    def summarize(self, fields: Array) -> Array:
        """Return what determines all nodes, shape (draws, C, n_summary)."""
        return self._summarize(_in_rows(fields)).reshape(*fields.shape[:2], -1)

    def trace(self, fields: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return the modes z (draws, C, n_modes) and traced nodes (draws, C, n_traced)."""
        modes, traced = self._trace(_in_rows(fields), rng)
        shape = fields.shape[:2]
        return modes.reshape(*shape, self.n_modes), traced.reshape(*shape, self.n_traced)

    @abstractmethod
    def _energy(self, fields: Array) -> Array:
        """Return the energy of each field, one field in each row."""

    @abstractmethod
    def _summarize(self, fields: Array) -> Array:
        """Return the summary of each field, one field in each row."""

    @abstractmethod
    def _trace(self, fields: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return modes and traced nodes of each field, one field in each row."""


def _in_rows(fields: Array) -> Array:
    """Return all fields of all draws as the rows of a matrix, for one product."""
    return fields.reshape(-1, fields.shape[2])


class FieldPrior(Protocol):
    """What the law given the field at all nodes reads of a prior."""

    @property
    def n_nodes(self) -> int:
        """Number of nodes N."""

    @property
    def law(self) -> Gaussian:
        """The law of the whole field."""

    def modes_from_field(self) -> Array:
        """Return M (N, p): the modes are u' M."""


class GivenAll(Conditional):
    """All nodes when the likelihood reads all of them: nothing is left to infer."""

    def __init__(self, prior: FieldPrior, traced: Nodes) -> None:
        self.law = prior.law
        self.basis = prior.law.basis
        self.which = np.arange(prior.n_nodes, dtype=np.int32)
        self.rows = _same_field
        self._to_modes = prior.modes_from_field()
        self.n_modes, self.n_traced = self._to_modes.shape[1], traced.size
        self._traced = traced

    def _energy(self, fields: Array) -> Array:
        return self.law.energy(fields)

    def _summarize(self, fields: Array) -> Array:
        """Return the field itself."""
        return fields

    def _trace(self, fields: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return the modes and the field at the traced nodes."""
        return fields @ self._to_modes, fields[:, self._traced]


def _same_field(basis: Array, which: NDArray[np.int32]) -> Rows:
    """Return rows that read the field itself, without variance."""
    n = which.size
    return Rows(np.empty((n, 0)), np.zeros(n), np.arange(n), which.astype(np.intp))


def require_gain_memory(n_labeled: int, n_wanted: int, n_modes: int) -> None:
    """Raise MemoryError if the gain, which draws of the field need, exceeds the memory."""
    require_memory(
        3 * 8.0 * n_labeled * (n_wanted + n_modes),
        f"the gain from {n_labeled} labeled to {n_wanted} nodes",
        "name fewer nodes at a time",
    )


def draws_at_a_time(n_nodes: int) -> int:
    """Return the number of draws of the field at ``n_nodes`` nodes per block."""
    return int(np.clip(2**22 // max(n_nodes, 1), 1, 256))
