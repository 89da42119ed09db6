"""A Gaussian field on all nodes, u = B diag(w)^(1/2) z + s b + d e: a factor, a level and a nugget.

Every prior is parameters that make such a field. z, b and e are white noise: nodes share z through
the basis B, all of them share the level b, and e is independent from node to node.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from graphuq.priors.gaussian import MIN_RELATIVE_DEVIATION, ROUNDING, Gaussian
from graphuq.utils.memory import require_memory
from graphuq.utils.row_blocks import is_dask, map_rows
from graphuq.utils.typing import Array, Nodes

# Share of the largest variance up to which what is not a covariance is rounding.
MAX_ASYMMETRY = 1e-8


@dataclass(frozen=True, eq=False)
class Field:
    """The covariance C_ij = b_i' diag(w) b_j + s^2, and C_ii = b_i' diag(v) b_i + s^2 + rho^2.

    The own weights v exceed w where a column of the basis holds deviations of variance that nodes
    do not share with each other: the nugget of node i is d_i^2 = b_i' diag(v - w) b_i + rho^2.

    Attributes
    ----------
    basis : ndarray, memory map or Dask array, shape (N, P)
        b_i in row i.
    weights : ndarray, shape (P,)
        w >= 0.
    own_weights : ndarray, shape (P,)
        v.
    level : float
        s, the deviation of a level that all nodes share.
    tail : float
        rho, the deviation of independent noise on every node.
    is_mode : ndarray of bool, shape (P,)
        Columns whose z is traced, as the modes of a graph are. A level is one too, the first.
    orthonormal : bool
        Whether the columns of the basis are orthonormal.
    rounding : float
        Share of the largest deviation below which directions of the field are rounding.

    Examples
    --------
    Two nodes that share a level of variance 1/4, with variance 1 of their own:

    >>> own = Field(np.ones((2, 1)), np.array([0.0]), np.array([1.0]), level=0.5)
    >>> own.variance(), own.covariance(np.array([0, 1]), np.array([1]))
    (array([1.25, 1.25]), array([[0.25],
           [1.25]]))
    >>> own.nugget(own.rows([0]))
    array([1.])

    Fields add up, and a field times a weight has this share of its variance:

    >>> both = Field.sum([(0.5, own), (0.25, own)], level=1.0)
    >>> both.variance(), both.at(np.array([0, 1])).covariance().round(6).tolist()
    (array([1.9375, 1.9375]), [[1.9375, 1.1875], [1.1875, 1.9375]])
    """

    basis: Any
    weights: Array
    own_weights: Array
    level: float = 0.0
    tail: float = 0.0
    is_mode: Any = None
    orthonormal: bool = False
    rounding: float = ROUNDING

    def __post_init__(self) -> None:
        for name in ("weights", "own_weights"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float64))
        weights, own, shape = self.weights, self.own_weights, np.shape(self.basis)
        if len(shape) != 2 or weights.shape != own.shape or weights.shape != shape[1:]:
            raise ValueError(
                "a Field takes a basis of shape (nodes, P), and P weights and own weights, got "
                f"shapes {shape}, {weights.shape} and {own.shape}"
            )
        wrong = ~((weights >= 0) & (own >= weights) & np.isfinite(own))
        if wrong.any():
            i = int(wrong.argmax())
            raise ValueError(
                "weights of a Field must be at least 0, and its own weights finite and at least "
                f"as large, got {weights[i]:g} and {own[i]:g} in column {i}"
            )
        if self.is_mode is None:
            object.__setattr__(self, "is_mode", np.zeros(weights.size, dtype=bool))

    @classmethod
    def of_covariance(cls, C: Any) -> Field:
        """Return the field of a covariance matrix.

        Raises
        ------
        ValueError
            C is not finite, not symmetric, zero, or has a negative eigenvalue.

        Examples
        --------
        >>> C = np.array([[1.0, 0.5], [0.5, 2.0]])
        >>> Field.of_covariance(C).covariance(np.array([0]), np.array([0, 1])).round(6)
        array([[1. , 0.5]])
        """
        C = np.asarray(C, dtype=np.float64)
        if C.ndim != 2 or C.shape[0] != C.shape[1] or not np.isfinite(C).all():
            raise ValueError(
                f"a covariance must be a square matrix of finite numbers, got shape {C.shape}"
            )
        scale = float(np.diag(C).max(initial=0.0))
        if not scale > 0:
            raise ValueError(
                f"a covariance must have a positive variance, got at most {scale:g} on its diagonal"
            )
        lopsided = float(abs(C - C.T).max(initial=0.0))
        if lopsided > MAX_ASYMMETRY * scale:
            raise ValueError(
                f"a covariance must be symmetric, got C and C' that differ by {lopsided:.2g}"
            )
        variances, basis = linalg.eigh((C + C.T) / 2, check_finite=False)
        if variances[0] < -MAX_ASYMMETRY * scale:
            raise ValueError(
                f"a covariance must have no negative eigenvalue, got {variances[0]:.2g}: a kernel "
                "of distances along a graph may have some"
            )
        variances = np.maximum(variances, 0.0)
        return cls(basis, variances, variances, rounding=MIN_RELATIVE_DEVIATION)

    @classmethod
    def sum(cls, terms: list[tuple[float, Field]], level: float = 0.0) -> Field:
        """Return the sum of independent fields, each times the root of its weight, and a level."""
        fields = [field for _, field in terms]
        if len(fields) == 1:
            basis = fields[0].basis
        else:
            n, width = fields[0].basis.shape[0], sum(field.weights.size for field in fields)
            require_memory(
                8.0 * n * width,
                f"a sum of priors with {width} columns on {n} nodes",
                "take fewer modes (rank=...) or fewer inducing points",
            )
            basis = np.hstack([field.basis for field in fields])
        levels = (w * field.level**2 for w, field in terms)
        return cls(
            basis,
            np.concatenate([w * field.weights for w, field in terms]),
            np.concatenate([w * field.own_weights for w, field in terms]),
            float(np.sqrt(level**2 + sum(levels))),
            float(np.sqrt(sum(w * field.tail**2 for w, field in terms))),
            np.concatenate([field.is_mode for field in fields]),
            len(fields) == 1 and fields[0].orthonormal,
            max(field.rounding for field in fields),
        )

    def some(self, nodes: Nodes) -> Field:
        """Return the field at some nodes, which are numbered anew."""
        return dataclasses.replace(self, basis=self.rows(nodes), orthonormal=False)

    def rows(self, nodes: Any) -> Array:
        """Return rows of the basis, in float64."""
        some = self.basis[nodes]
        return np.asarray(some.compute() if is_dask(some) else some, dtype=np.float64)

    def nugget(self, rows: Array) -> Array:
        """Return d_i^2 of nodes with these rows of the basis."""
        own = np.einsum("ij,ij,j->i", rows, rows, self.own_weights - self.weights)
        return np.asarray(self.tail**2 + own)

    def variances_of(self, rows: Array) -> Array:
        """Return the variances of nodes with these rows of the basis, shape (rows,)."""
        own = np.einsum("ij,ij,j->i", rows, rows, self.own_weights)
        return np.asarray(self.tail**2 + own + self.level**2)

    def variance(self) -> Array:
        """Return the variance of every node, shape (N,)."""
        found = np.empty(self.basis.shape[0])
        work = partial(Field.variances_of, self.without_basis())
        for nodes, part in map_rows(work, self.basis, self.weights.size):
            found[nodes] = part
        return found

    def without_basis(self) -> Field:
        """Return this without its basis, for work on rows of it in other processes."""
        return dataclasses.replace(self, basis=np.empty((0, self.weights.size)))

    def covariance(self, left: Nodes, right: Nodes) -> Array:
        """Return the covariance block between two lists of nodes."""
        rows = self.rows(left)
        block = (rows * self.weights) @ self.rows(right).T + self.level**2
        same = np.equal.outer(left, right)
        block[same] += np.broadcast_to(self.nugget(rows)[:, None], same.shape)[same]
        return block

    @property
    def used(self) -> NDArray[np.bool_]:
        """Columns that nodes share: all modes, and others of a weight above 0."""
        return np.asarray((self.weights > 0) | self.is_mode)

    @cached_property
    def _used(self) -> Any:
        """The same: a slice, which makes no copy, if these are all columns."""
        return slice(None) if self.used.all() else self.used

    def loadings(self, rows: Array) -> Array:
        """Return F of nodes with these rows: (b, z) ~ N(0, I) contribute F (b, z) to the field."""
        shared = rows[:, self._used] * np.sqrt(self.weights[self._used])
        return np.hstack([np.full((len(rows), 1), self.level), shared]) if self.level else shared

    @property
    def modes(self) -> Nodes:
        """Columns of `loadings` that are modes."""
        return np.flatnonzero(np.append([True] * bool(self.level), self.is_mode[self._used]))

    @property
    def modes_determine_field(self) -> bool:
        """Whether the modes leave nothing of the field open."""
        used = self.weights > 0
        return bool(
            self.tail == 0 and self.is_mode[used].all() and (self.own_weights == self.weights).all()
        )

    def root(self, nodes: Nodes) -> Array:
        """Return F, at most as wide as there are ``nodes``, with F F' = C_JJ."""
        rows = self.rows(nodes)
        if self.rounding == ROUNDING and not self.nugget(rows).any():
            return narrow(self.loadings(rows))
        return self.at(nodes).root()

    def at(self, nodes: Nodes) -> Gaussian:
        """Return the distribution of the field at ``nodes`` alone, in O(J P min(J, P)).

        Singular values of F, unlike eigenvalues of F F', distinguish a variance of zero from
        rounding.
        """
        rows = self.rows(nodes)
        own = self.nugget(rows)
        F = self.loadings(rows)
        if (own == own[0]).all():
            if not F.shape[1]:
                F = np.zeros((len(rows), 1))
            U, S, _ = linalg.svd(F, full_matrices=False, check_finite=False)
            kept = max(self.rounding * S[0], 1e-300) <= S
            kept[:1] = True
            tail = float(np.sqrt(own[0]))
            U, S = np.ascontiguousarray(U[:, kept]), S[kept]
            return Gaussian(U, S**2 + tail**2, tail)
        U, S, _ = linalg.svd(np.hstack([F, np.diag(np.sqrt(own))]), full_matrices=False)
        kept = self.rounding * S[0] <= S
        return Gaussian(np.ascontiguousarray(U[:, kept]), S[kept] ** 2, 0.0)

    @cached_property
    def whole(self) -> Gaussian:
        """The distribution of the field at all nodes, without deviations in columns of the basis.

        With F = Q R the covariance is Q R R' Q' + rho^2. Own weights that exceed weights are left
        out: with them the factor would be as wide as there are nodes.
        """
        if self.orthonormal and not self.level:
            return Gaussian(self.basis, self.weights + self.tail**2, self.tail)
        Q, R = linalg.qr(self.loadings(self.rows(slice(None))), mode="economic", check_finite=False)
        U, S, _ = linalg.svd(R, full_matrices=False)
        return Gaussian(np.ascontiguousarray(Q @ U), S**2 + self.tail**2, self.tail)

    def draw(self, size: int, rng: np.random.Generator) -> Array:
        """Return draws of the field at all nodes, one in each row."""
        rows = self.rows(slice(None))
        F, own = self.loadings(rows), self.nugget(rows)
        fields = np.asarray(rng.standard_normal((size, F.shape[1])) @ F.T)
        if own.any():
            fields += np.sqrt(own) * rng.standard_normal(fields.shape)
        return fields


def narrow(F: Array) -> Array:
    """Return a root of F F' with at most as many columns as rows."""
    if F.shape[0] >= F.shape[1]:
        return F
    return np.ascontiguousarray(linalg.qr(F.T, mode="r", check_finite=False)[0][: F.shape[0]].T)
