"""From the field at the labeled nodes to the field at all nodes.

A sign model reads the field at the labeled nodes alone, so a chain samples it there. Given the
field there, the rest of the graph is Gaussian, with a known mean and variance.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.linalg import blas

from graphuq.priors.conditional import NONE, Conditional, Rows
from graphuq.priors.expansion import Expansion
from graphuq.priors.gaussian import Gaussian
from graphuq.utils.typing import Array, Nodes
from graphuq.utils.white_noise import white_noise

# Smaller eigenvalues of a matrix of norm 1 are rounding.
ROUNDING = 1e-13

# Rows of a product at a time: SciPy's BLAS lets no other thread of Python work meanwhile.
BLOCK = 2048

ExtendRows = Callable[[Array, NDArray[np.int32]], tuple[Array, Array]]


class _GivenRead(Conditional):
    """Base of `GivenLabeled` and `GivenColumns`: x = u_J + noise is read."""

    def _read(self, law: Gaussian, noise: float, stores_field: bool) -> None:
        """Set the law of x, and the summary: whitened x, and E[u_J | x] if ``stores_field``."""
        self.law, self._noise, self._stores_field = law, noise, stores_field
        self._whiten = np.sqrt(law.inverse_variances)[:, None] * law.basis.T
        self.n_summary = self._whiten.shape[0] + stores_field * law.size

    def _place(self, n_nodes: int, nodes: Nodes) -> None:
        """Set the position in x of each node, -1 for nodes that are not read."""
        self.which = np.full(n_nodes, -1, dtype=np.int32)
        self.which[nodes] = np.arange(nodes.size)

    def _left_at_labeled(self) -> Array:
        """Return Var[u_J | x]: with C_JJ = G - noise^2 I it is C_JJ - C_JJ G^+ C_JJ."""
        return self._noise**2 - self._noise**4 * self.law.precision_diagonal()

    def _energy(self, fields: Array) -> Array:
        """Return the energy under N(0, G)."""
        return self.law.energy(fields)

    def _summarize(self, fields: Array) -> Array:
        """Return the whitened field, and E[u_J | x] where that does not determine it."""
        whitened = fields @ self._whiten.T
        if not self._stores_field:
            return whitened
        at_labeled = fields
        if self._noise:
            at_labeled = fields - self._noise**2 * self.law.solve(fields)
        return np.hstack([whitened, at_labeled])


class Rest(Protocol):
    """Draws of what the modes leave open of the field at some nodes."""

    def draw(self, size: int, rng: np.random.Generator) -> Array:
        """Return independent draws, one in each row."""


class NodesPrior(Protocol):
    """What `GivenLabeled` reads of a `graphuq.priors.gaussian_prior.GaussianPrior`."""

    @property
    def n_nodes(self) -> int:
        """Number of nodes N."""

    @property
    def expansion(self) -> Expansion:
        """The covariance of all nodes."""

    @property
    def modes_determine_field(self) -> bool:
        """Whether the modes leave nothing open."""

    def at(self, nodes: Any) -> Gaussian:
        """Return the law of the field at some nodes alone."""

    def covariance(self, rows: Any, columns: Any) -> Array:
        """Return the covariance block between two lists of nodes."""

    def mode_loadings(self, nodes: Any) -> Array:
        """Return A: the modes z contribute A z to the field at some nodes."""

    def rest(self, nodes: Nodes) -> Rest | None:
        """Return what the modes leave open of the field at some nodes."""


class GivenLabeled(_GivenRead):
    """All nodes given x = u_J + noise at the labeled nodes, with noise ~ N(0, noise^2) or none.

    With G = C_JJ + noise^2 I, E[u_i | x] = C_iJ G^+ x and Var[u_i | x] = C_ii - C_iJ G^+ C_Ji.
    With G's basis U and variances kappa, both come from the rows of the prior's expansion, through
    C_.J U kappa^(-1/2), and from the whitened kappa^(-1/2) U' x. ``nodes`` must be sorted, as those
    of `Labels` are.
    """

    def __init__(self, prior: NodesPrior, nodes: Nodes, traced: Nodes, noise: float = 0.0) -> None:
        whole = prior.expansion
        # without a tail, and through noise, x adds nothing to the whitened field
        self._read(prior.at(nodes).with_noise(noise), noise, whole.tail > 0 or noise == 0)
        self._place(prior.n_nodes, nodes)
        self.basis = whole.basis
        self._matheron = _Matheron(prior, nodes, traced, self.law, noise)
        self.n_modes, self.n_traced = self._matheron.n_modes, traced.size
        self.n_read = 0 if prior.modes_determine_field else nodes.size
        self._loads = whole.weights[:, None] * (whole.at(nodes).T @ self._whiten.T)
        self._level_loads = whole.constant * self._whiten.sum(axis=1)
        self._moments = whole._replace(basis=np.empty((0, 0)))
        left = self._left_at_labeled()
        self.rows = partial(
            _given_labeled, self._loads, self._level_loads, self._moments, left, self._stores_field
        )

    def extend(self, mean: Array, spread: Array) -> ExtendRows:
        """Return a function to mean and variance at some nodes, if x ~ N(mean, S S').

        The whitened x is then Gaussian, too, with a mean h and a covariance R. With a node's row l
        of C_.J U kappa^(-1/2), its mean is l h and its variance C_ii - l (I - R) l'. Since l is
        linear in the row b of the prior's expansion, l (I - R) l' is |b T|^2 for a T that is
        triangular, or has fewer columns: one product.

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

    def _trace(self, fields: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draw modes and traced nodes from their joint law given the field read."""
        return self._matheron.draw(fields, rng)


class ColumnsPrior(Protocol):
    """What `GivenColumns` reads of a `graphuq.SolvedPrior`."""

    @property
    def nodes(self) -> Nodes:
        """The nodes at which the prior is known, sorted."""

    @property
    def columns(self) -> Array:
        """Covariances of all nodes with them."""

    @property
    def variances(self) -> Array:
        """Variances of all nodes."""

    @property
    def n_nodes(self) -> int:
        """Number of nodes N."""

    def at(self, nodes: Any) -> Gaussian:
        """Return the law of the field at some nodes alone."""

    def places(self, nodes: Any) -> NDArray[np.intp]:
        """Return the positions of some nodes in ``nodes``."""


class GivenColumns(_GivenRead):
    """All nodes given x = u_J + noise, where C_.J is known and eigenvectors are not."""

    n_modes = 0

    def __init__(
        self, prior: ColumnsPrior, nodes: Nodes, traced: Nodes, noise: float = 0.0
    ) -> None:
        self._read(prior.at(nodes).with_noise(noise), noise, noise == 0)
        self._place(prior.n_nodes, nodes)
        self.basis = np.column_stack([prior.columns, prior.variances])
        self.n_traced = traced.size
        loads = np.zeros((prior.nodes.size + 1, self._whiten.shape[0]))
        place = prior.places(nodes)
        loads[place] = self._whiten.T
        self.rows = partial(_given_columns, loads, self._left_at_labeled(), self._stores_field)
        both = np.concatenate([nodes, traced])
        at_both, first = np.unique(both, return_inverse=True)
        self._joint, self._order = prior.at(at_both), first
        cross = prior.columns[traced][:, place]
        self._gain = self.law.solve(cross)

    def _trace(self, fields: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draw traced nodes given the field read, by Matheron's rule; there are no modes."""
        drawn = self._joint.draw(fields.shape[0], rng)[:, self._order]
        x, u = drawn[:, : self.law.size], drawn[:, self.law.size :]
        if self._noise:
            x = x + self._noise * white_noise(rng, *x.shape)
        return np.empty((fields.shape[0], 0)), u + (fields - x) @ self._gain.T


def _given_columns(
    loads: Array,
    left_at_labeled: Array,
    stores_field: bool,
    basis: Array,
    which: NDArray[np.int32],
) -> Rows:
    """Return the conditional moments of some nodes."""
    return _moments(basis @ loads, basis[:, -1], left_at_labeled, stores_field, which)


def _given_labeled(
    loads: Array,
    level_loads: Array,
    whole: Expansion,
    left_at_labeled: Array,
    stores_field: bool,
    basis: Array,
    which: NDArray[np.int32],
) -> Rows:
    """Return the conditional moments of some nodes."""
    loadings = basis @ loads
    if whole.constant:
        loadings += level_loads
    return _moments(loadings, whole.variances_of(basis), left_at_labeled, stores_field, which)


def _moments(
    loadings: Array,
    total: Array,
    left_at_labeled: Array,
    stores_field: bool,
    which: NDArray[np.int32],
) -> Rows:
    # what the field read explains of each node's variance is subtracted from the whole
    left = total - np.einsum("ij,ij->i", loadings, loadings)
    known = np.flatnonzero(which >= 0)
    columns = which[known].astype(np.intp)
    left[known] = left_at_labeled[columns]
    left[left < 1e-12 * total] = 0.0  # rounding
    if not stores_field:
        known = columns = NONE
    return Rows(loadings, np.sqrt(left), known, columns)


def _triangular(F: Array) -> Array:
    """Return T with T T' = F F', lower triangular or with fewer columns than rows."""
    return np.ascontiguousarray(linalg.qr(F.T, mode="r", check_finite=False)[0][: F.shape[0]].T)


def _extend(
    to_mean: Array,
    each: list[tuple[float, Array]],
    whole: Expansion,
    at_labeled: tuple[Array, Array],
    basis: Array,
    which: NDArray[np.int32],
) -> tuple[Array, Array]:
    """Return mean and variance of some nodes; the last number of each column is for the level."""
    mean = basis @ to_mean[:-1] + to_mean[-1]
    variance = whole.variances_of(basis)
    for sign, T in each:
        variance -= sign * _row_squares(basis, T)
    known = np.flatnonzero(which >= 0)
    for found, exact in zip((mean, variance), at_labeled, strict=True):
        found[known] = exact[which[known]]
    return mean, np.maximum(variance, 0.0)


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


class _Matheron:
    """Joint draws of modes z and traced nodes given x, by Matheron's rule.

    Draw (z, u, x) from the prior, then add Cov((z, u), x) G^+ (given x - drawn x).
    """

    def __init__(
        self, prior: NodesPrior, nodes: Nodes, traced: Nodes, law: Gaussian, noise: float
    ) -> None:
        self._n_labeled, self._noise = nodes.size, noise
        hidden = np.setdiff1d(traced, nodes)
        both = np.concatenate([nodes, hidden])
        self._position = np.argsort(both)[np.searchsorted(np.sort(both), traced)]
        self._modes_to_field = prior.mode_loadings(both).T
        self.n_modes = self._modes_to_field.shape[0]
        self._rest = prior.rest(both)
        cross = np.vstack([self._modes_to_field[:, : nodes.size], prior.covariance(traced, nodes)])
        self._gain = law.solve(cross)

    def draw(self, fields: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return modes and traced nodes, one draw in each row."""
        # 1. draw (z, u, x) from the prior
        z = white_noise(rng, fields.shape[0], self.n_modes)
        u = z @ self._modes_to_field
        if self._rest is not None:
            u += self._rest.draw(fields.shape[0], rng)
        x = u[:, : self._n_labeled]
        if self._noise:
            x = x + self._noise * white_noise(rng, *x.shape)
        # 2. correct z and u by the difference between the given x and the drawn x
        shift = (fields - x) @ self._gain.T
        return z + shift[:, : self.n_modes], u[:, self._position] + shift[:, self.n_modes :]
