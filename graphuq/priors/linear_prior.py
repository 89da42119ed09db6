"""The Gaussian prior of fields that are linear in the features."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg, sparse

from graphuq.priors.field import Field, narrow
from graphuq.priors.on_features import ALL_ITEMS, OnFeatures
from graphuq.utils.memory import require_memory
from graphuq.utils.row_blocks import row_slices
from graphuq.utils.typing import Array, Nodes

# Up to so many features, the basis has a column for each of them.
ALL_COLUMNS = 100

# A smaller share of a row's squared length, outside of the directions of the basis, is rounding.
MIN_REST = 1e-12


@dataclass(frozen=True, eq=False)
class LinearPrior(OnFeatures):
    """A Gaussian prior on fields that are linear in the features.

    u_i = (x_i - m)' w with m the mean of all rows and w ~ N(0, I / s^2), where s^2 is the mean of
    |x_i - m|^2, so that the mean variance of a node is 1. This is the prior of Bayesian linear
    classification (Rasmussen and Williams 2006, section 3.1). Added to a `Prior`, it lets
    directions in the features explain what the graph does not. Features should have comparable
    scales; those that are constant change nothing.

    Up to 800 items or 100 features the prior is exact. Beyond, covariances with the labeled items
    and all variances are exact. Covariances between other items go through the labeled ones.

    A new item farther from m than any known item is taken back to the largest of their distances.
    What it lost is variance of its own, so that labels say less the farther it is.

    Parameters
    ----------
    X : array_like, sparse matrix or PropagatedFeatures, shape (N, d)
        Features, one row for each node; they are copied. A sparse matrix stays sparse.

    Raises
    ------
    ValueError, TypeError
        Missing or infinite features, features that are constant.
    MemoryError
        More than 100 features of more than 800 items, before nodes are labeled, that do not fit in
        memory as a dense matrix.

    Examples
    --------
    >>> import numpy as np
    >>> import graphuq as gq
    >>> X = np.array([[0.0], [1.0], [5.0]])
    >>> prior = gq.LinearPrior(X)
    >>> prior.covariance([0], [0, 1, 2]).round(3)
    array([[ 0.857,  0.429, -1.286]])
    >>> float(prior.variance().mean().round(6))
    1.0
    >>> prior
    LinearPrior(3 x 1)
    >>> prior.rows([[2.0]]).shape          # of a new item
    (1, 2)
    """

    X: Any
    labeled: Nodes | None = dataclasses.field(default=None, repr=False)

    def __post_init__(self) -> None:
        self._check(accept_sparse=True)

    def with_labeled(self, nodes: Nodes) -> LinearPrior:
        """Return the prior whose covariances with labeled nodes are exact.

        Parameters
        ----------
        nodes : ndarray of int
        """
        if self.n_nodes <= ALL_ITEMS or self._features.shape[1] <= ALL_COLUMNS:
            return self
        other = object.__new__(LinearPrior)
        for name in ("X", "_mean", "_lengths", "_scale", "_identity"):
            object.__setattr__(other, name, getattr(self, name))
        object.__setattr__(other, "labeled", np.asarray(nodes))
        return other

    @cached_property
    def _mean(self) -> Array:
        """m, exactly where a column is constant, so that it changes nothing."""
        X = self._features
        low, high = (np.asarray(end.todense() if sparse.issparse(end) else end).ravel()
                     for end in (X.min(axis=0), X.max(axis=0)))  # fmt: skip
        return np.where(low == high, low, np.asarray(X.mean(axis=0)).ravel())

    @cached_property
    def _lengths(self) -> Array:
        """|x_i - m| of all items."""
        return self._lengths_of(self._features)

    @cached_property
    def _scale(self) -> float:
        """S."""
        return float(np.sqrt(np.mean(self._lengths**2)))

    @cached_property
    def _directions(self) -> Array | None:
        """Orthonormal directions of the basis, shape (d, r); None for those of the features."""
        n, d = self._features.shape
        spanned = np.arange(n) if n <= ALL_ITEMS else self.labeled
        if spanned is None or d <= max(ALL_COLUMNS, spanned.size):
            return None
        what = f"the directions of {spanned.size} items in {d} features"
        require_memory(3 * 8.0 * d * spanned.size, what, "keep fewer features, the commonest words")
        return np.asarray(linalg.qr(self._centered(spanned).T, mode="economic")[0])

    def _centered(self, nodes: Nodes) -> Array:
        """Return x_i - m of some nodes, as a dense matrix."""
        return np.asarray(_dense(self._features[nodes]) - self._mean)

    def _lengths_of(self, X: Any) -> Array:
        """Return |x - m| of the rows of X.

        Sums of squares and products would lose them in columns far from 0, so that rows of a
        sparse matrix are made dense, some at a time.
        """
        found = np.empty(X.shape[0])
        for part in row_slices(X.shape[0], X.shape[1]):
            found[part] = np.linalg.norm(_dense(X[part]) - self._mean, axis=1)
        return found

    def _along(self, X: Any) -> Array:
        """Return (x - m)' q of the rows of X for each direction q of the basis."""
        Q = self._directions
        if Q is not None and sparse.issparse(X):
            return np.asarray(X @ Q - self._mean @ Q)
        centered = _dense(X) - self._mean
        return np.asarray(centered if Q is None else centered @ Q)

    def rows(self, X: Any) -> Array:
        """Return rows of the basis for items with these features, shape (m, P).

        The last column is the deviation of variance that an item does not share.

        Parameters
        ----------
        X : array_like or sparse matrix, shape (m, d)
        """
        X = X if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
        d = self._features.shape[1]
        if X.ndim != 2 or X.shape[1] != d:
            raise ValueError(
                f"X must have a row for each item and the {d} features of the prior, got shape "
                f"{X.shape}"
            )
        n, width = X.shape
        if self._directions is not None:
            width = self._directions.shape[1]
        require_memory(
            8.0 * n * width, f"{width} columns for {n} items", "keep fewer features, or reduce them"
        )
        lengths, found = self._lengths_of(X), np.empty((n, width + 1))
        kept = np.minimum(1.0, self._lengths.max() / np.maximum(lengths, np.finfo(float).tiny))
        for part in row_slices(n, X.shape[1]):
            shared = self._along(X[part]) * kept[part, None]
            found[part, :-1] = shared
            squares = lengths[part] ** 2
            rest = squares - np.einsum("ij,ij->i", shared, shared)
            found[part, -1] = np.sqrt(np.where(rest > MIN_REST * squares, rest, 0.0))
        found /= self._scale
        return found

    @cached_property
    def field(self) -> Field:
        """The field at all nodes."""
        basis = self.rows(self._features)
        own = np.ones(basis.shape[1])
        return Field(basis, np.append(own[:-1], 0.0), own)

    def field_at(self, nodes: Nodes) -> Field:
        """Return the field at some nodes, exactly.

        Parameters
        ----------
        nodes : ndarray of int
        """
        basis = narrow(self._centered(nodes) / self._scale)
        own = np.ones(basis.shape[1])
        return Field(basis, own, own)

    def _block(self, rows: Nodes, columns: Nodes) -> Array:
        return np.asarray(self._centered(rows) @ self._centered(columns).T / self._scale**2)

    def fingerprint(self) -> dict[str, Any]:
        """Return plain values that identify this prior; see `Prior.fingerprint`."""
        return {"kind": "linear", "nodes": self.n_nodes, "rank": 0, **self._identity}

    def __repr__(self) -> str:
        return f"LinearPrior({self._shown})"


def _dense(X: Any) -> Any:
    return X.toarray() if sparse.issparse(X) else X
