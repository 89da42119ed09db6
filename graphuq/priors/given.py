"""From the field at the nodes that are read to the field at all nodes.

A sign model reads the field at the labeled nodes alone, so a chain samples it there. Given the
field there, the rest of the graph is Gaussian, with a known mean and variance.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.linalg import blas

from graphuq.priors.field import Field
from graphuq.priors.gaussian import Gaussian
from graphuq.utils.memory import require_memory
from graphuq.utils.typing import Array, Nodes
from graphuq.utils.white_noise import white_noise

# Smaller eigenvalues of a matrix of norm 1 are rounding, and so are smaller shares of a variance.
ROUNDING, CERTAIN = 1e-13, 1e-12

# Rows of a product at a time: SciPy's BLAS lets no other thread of Python work meanwhile.
BLOCK = 2048


class Rows(NamedTuple):
    """How summaries w of draws determine the field at some nodes: its mean is ``loadings`` w."""

    loadings: Array
    """Shape (rows, size of w)."""
    deviation: Array
    """sqrt(Var[u_i | field read]), shape (rows,); the same for every draw."""
    columns: NDArray[np.intp] | None = None
    """Where a summary that is the field itself holds the rows; None for others."""

    def mean(self, summaries: Array) -> Array:
        """Return E[u_i | field read], shape (rows, draws), for one summary in each row.

        The numbers of a draw are side by side in memory.
        """
        if self.columns is not None:
            return summaries[:, self.columns].T
        return (summaries @ self.loadings.T).T


MakeRows = Callable[[Array, NDArray[np.int32]], Rows]
"""A function instead of a method, so that other processes get it without the basis."""


class Conditional(ABC):
    """The field at all nodes given the field at the nodes that are read.

    Fields have shape (draws, C, m): C independent fields at m nodes, each with this distribution. C
    is 1 for two classes, else the number of classes.

    Attributes
    ----------
    law : Gaussian
        Prior distribution of the field read, noise included.
    basis : ndarray, shape (N, P)
        A matrix with one row for each node; the input of ``rows``.
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

    def _energy(self, fields: Array) -> Array:
        """Return the energy of each field, one field in each row."""
        return self.law.energy(fields)

    @abstractmethod
    def _summarize(self, fields: Array) -> Array:
        """Return the summary of each field, one field in each row."""

    @abstractmethod
    def _trace(self, fields: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return modes and traced nodes of each field, one field in each row."""


def _in_rows(fields: Array) -> Array:
    """Return all fields of all draws as the rows of a matrix, for one product."""
    return fields.reshape(-1, fields.shape[2])


class GivenAll(Conditional):
    """All nodes when the likelihood reads all of them: nothing is left to infer."""

    def __init__(self, field: Field, traced: Nodes) -> None:
        self.law, self._traced = field.whole, traced
        self.basis = self.law.basis
        self.which = np.arange(self.law.size, dtype=np.int32)
        self.rows = _same_field
        loadings = field.loadings(field.rows(slice(None)))[:, field.modes]
        # z given u: its mean u' M, and a root of its covariance, which a tail leaves
        self._to_modes = self.law.solve(loadings.T).T
        left, axes = linalg.eigh(np.eye(loadings.shape[1]) - loadings.T @ self._to_modes)
        self._open = axes * np.sqrt(np.where(left > CERTAIN, left, 0.0))
        self.n_modes, self.n_traced = loadings.shape[1], traced.size

    def _summarize(self, fields: Array) -> Array:
        """Return the field itself."""
        return fields

    def _trace(self, fields: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return the modes and the field at the traced nodes."""
        modes = fields @ self._to_modes
        if self._open.any():
            modes += white_noise(rng, *modes.shape) @ self._open.T
        return modes, fields[:, self._traced]


def _same_field(basis: Array, which: NDArray[np.int32]) -> Rows:
    """Return rows that read the field itself, without variance."""
    return Rows(np.empty((which.size, 0)), np.zeros(which.size), which.astype(np.intp))


class Given(Conditional):
    """All nodes given x = u_J + noise at the labeled nodes, with noise ~ N(0, noise^2) or none.

    With G = C_JJ + noise^2 I, E[u_i | x] = C_iJ G^+ x and Var[u_i | x] = C_ii - C_iJ G^+ C_Ji.
    With G's basis U and variances kappa, both come from the rows of the prior's basis, through
    C_.J U kappa^(-1/2), and from the whitened kappa^(-1/2) U' x. ``nodes`` must be sorted, as those
    of `Labels` are.

    Parameters
    ----------
    field : Field
    nodes : ndarray of int
        J.
    traced : ndarray of int
        Nodes whose field is drawn.
    noise : float
    """

    def __init__(
        self, field: Field, nodes: Nodes, traced: Nodes | None = None, noise: float = 0.0
    ) -> None:
        traced = np.empty(0, dtype=np.int64) if traced is None else traced
        self._noise, self.law = noise, field.at(nodes).with_noise(noise)
        self._whiten = np.sqrt(self.law.inverse_variances)[:, None] * self.law.basis.T
        at_nodes = field.rows(nodes)
        own = field.nugget(at_nodes)
        if own.any() and self.law.has_tail:  # the nugget is seen outside of the basis, too
            outside = np.eye(nodes.size) - self.law.basis @ self.law.basis.T
            self._whiten = self.law.basis @ self._whiten + outside / self.law.tail
        self.n_summary = self._whiten.shape[0]
        self.basis, self.n_traced = field.basis, traced.size
        self.which = np.full(field.basis.shape[0], -1, dtype=np.int32)
        self.which[nodes] = np.arange(nodes.size)
        self._loads = field.weights[:, None] * (at_nodes.T @ self._whiten.T)
        self._level_loads = field.level**2 * self._whiten.sum(axis=1)
        self._own_loads = own[:, None] * self._whiten.T
        self._moments = field.without_basis()
        self.rows = partial(
            _rows_of, self._loads, self._level_loads, self._own_loads, self._moments, noise
        )
        # Matheron's rule: the field at ``nodes`` and the traced nodes, and what x says of it
        both = np.concatenate([nodes, np.setdiff1d(traced, nodes)])
        rows = field.rows(both)
        self._loadings, self._own = field.loadings(rows), np.sqrt(field.nugget(rows))
        self._position = np.argsort(both)[np.searchsorted(np.sort(both), traced)]
        self._modes = field.modes
        self.n_modes = self._modes.size
        self.n_read = 0 if field.modes_determine_field else nodes.size
        cross = [self._loadings[: nodes.size, self._modes].T, field.covariance(traced, nodes)]
        self._gain = self.law.solve(np.vstack(cross))

    def extend(self, mean: Array, spread: Array) -> Callable[..., tuple[Array, Array]]:
        """Return a function to mean and variance at some nodes, if x ~ N(mean, S S').

        The whitened x is then Gaussian, too, with a mean h and a covariance R. With a node's row l
        of C_.J U kappa^(-1/2), its mean is l h and its variance C_ii - l (I - R) l'. Since l is
        linear in the row b of the basis, l (I - R) l' is |b T|^2 for a T that is triangular, or has
        fewer columns: one product.

        Parameters
        ----------
        mean : ndarray, shape (J,)
        spread : ndarray, shape (J, q)
            S.

        Returns
        -------
        callable
            Takes rows of ``basis`` and ``which``, as `rows` does, and returns two arrays.
        """
        assert not self._noise  # the field itself is Gaussian
        loads = np.vstack([self._loads, self._level_loads])
        R = self._whiten @ spread
        told, axes = linalg.eigh(np.eye(len(R)) - R @ R.T)
        # labels that others contradict may tell less than nothing: their sites are negative
        each = [
            (sign, _triangular(loads @ (axes[:, of] * np.sqrt(abs(told[of])))))
            for sign, of in ((1.0, told > 0), (-1.0, told < -ROUNDING))
            if of.any()
        ]
        at_labeled = mean, np.einsum("ij,ij->i", spread, spread)
        return partial(_extend, loads @ (self._whiten @ mean), each, self._moments, at_labeled)

    def _summarize(self, fields: Array) -> Array:
        """Return the whitened field."""
        return fields @ self._whiten.T

    def _trace(self, fields: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return modes and traced nodes, by Matheron's rule."""
        # 1. draw (z, u, x) from the prior
        z = white_noise(rng, fields.shape[0], self._loadings.shape[1])
        u = z @ self._loadings.T
        if self._own.any():
            u += self._own * white_noise(rng, *u.shape)
        x = u[:, : self.law.size]
        if self._noise:
            x = x + self._noise * white_noise(rng, *x.shape)
        # 2. correct z and u by the difference between the given x and the drawn x
        shift = (fields - x) @ self._gain.T
        modes = z[:, self._modes] + shift[:, : self.n_modes]
        return modes, u[:, self._position] + shift[:, self.n_modes :]


def _rows_of(
    loads: Array,
    level_loads: Array,
    own_loads: Array,
    field: Field,
    noise: float,
    basis: Array,
    which: NDArray[np.int32],
) -> Rows:
    """Return the conditional moments of some nodes."""
    loadings = basis @ loads
    if field.level:
        loadings += level_loads
    read = which >= 0
    loadings[read] += own_loads[which[read]]
    # what the field read explains of each node's variance is subtracted from the whole
    total = field.variances_of(basis)
    left = total - np.einsum("ij,ij->i", loadings, loadings)
    if not noise:
        left[read] = 0.0
    left[left < CERTAIN * total] = 0.0  # rounding
    return Rows(loadings, np.sqrt(left))


def _extend(
    to_mean: Array,
    each: list[tuple[float, Array]],
    field: Field,
    at_labeled: tuple[Array, Array],
    basis: Array,
    which: NDArray[np.int32],
) -> tuple[Array, Array]:
    """Return mean and variance of some nodes; the last number of each column is for the level."""
    mean = basis @ to_mean[:-1] + to_mean[-1]
    variance = field.variances_of(basis)
    for sign, T in each:
        variance -= sign * _row_squares(basis, T)
    known = np.flatnonzero(which >= 0)
    for found, exact in zip((mean, variance), at_labeled, strict=True):
        found[known] = exact[which[known]]
    return mean, np.maximum(variance, 0.0)


def _triangular(F: Array) -> Array:
    """Return T with T T' = F F', lower triangular or with fewer columns than rows."""
    return np.ascontiguousarray(linalg.qr(F.T, mode="r", check_finite=False)[0][: F.shape[0]].T)


def _row_squares(basis: Array, T: Array) -> Array:
    """Return |[b, 1] T|^2 of each row b."""
    width = basis.shape[1]
    square, level = np.ascontiguousarray(T[:width, :width]), T[width]
    # a triangular factor takes two thirds of the time
    triangular = square.shape[1] == width
    squares = np.full(len(basis), (level[width:] ** 2).sum())
    for first in range(0, len(basis), BLOCK):
        rows = basis[first : first + BLOCK]
        found = blas.dtrmm(1.0, square.T, rows.T).T if triangular else rows @ square
        found += level[:width]
        squares[first : first + BLOCK] += np.einsum("ij,ij->i", found, found)
    return squares


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
