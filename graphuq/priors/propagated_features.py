"""Features averaged along the links of a graph, for priors on features."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, svds

from graphuq.graphs import Graph
from graphuq.utils import validation
from graphuq.utils.features import check_node_features, digest, require_spread
from graphuq.utils.typing import Array

# Steps of the walk that averages. An even number keeps signs where neighbors differ.
HOPS = 4
MAX_HOPS = 100

# Of more features than this, as many principal components of their averages are kept.
COMPONENTS = 100

# A smaller spread, relative to that of X, is rounding.
MIN_SPREAD = 1e-8


@dataclass(frozen=True, eq=False)
class PropagatedFeatures:
    """What the features of the items around each node are on average.

    Z = P^h X with P = (D + s I)^-1 (A + s I): a walk of h steps, each to a neighbor in proportion
    to the weight of the edge, or nowhere with the weight s, which is the mean weight of the edges.
    Wu et al. 2019, *Simplifying graph convolutional networks*, classify by Z. Here `LinearPrior`
    and `FeaturePrior` take it in place of X. A node without links keeps its features.

    Beyond 100 features Z has their first 100 principal components. P^h X is never formed, so that a
    sparse X may be large.

    Parameters
    ----------
    X : array_like or sparse matrix, shape (N, d)
        Features, one row for each node. Scale columns of different units first, and rows of word
        counts to length 1.
    graph : Graph, or what makes one
        Links that are known beside X. A graph of nearest neighbors in X adds little.
    hops : int
        h; 0 leaves the features where they are. With an even number two items are alike if their
        neighbors are, also where links join items of different classes.

    Attributes
    ----------
    values : ndarray, shape (N, min(d, 100))
        Z.

    Raises
    ------
    ValueError, TypeError
        Missing or infinite features, or another number of rows than of nodes.

    Examples
    --------
    >>> import graphuq as gq
    >>> path = gq.Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> gq.PropagatedFeatures([[0.0], [0.0], [6.0]], path, hops=1).values.ravel()
    array([0., 2., 3.])
    >>> features = gq.PropagatedFeatures([[0.0], [0.0], [6.0]], path)
    >>> gq.LinearPrior(features) + gq.Level()
    LinearPrior(3 x 1, 4 hops) + Level(auto)
    >>> features.is_constant, features.is_reduced, features.fingerprint()["hops"]
    (False, False, 4)
    >>> features.of_new([[0, 0, 1]], [[2.0]]).round(2)         # a new item with a link to the last
    array([[2.54]])
    """

    X: Any
    graph: Any
    hops: int = HOPS

    def __post_init__(self) -> None:
        graph = Graph.of(self.graph)
        X = check_node_features(self.X, graph.n_nodes, accept_sparse=True)
        object.__setattr__(self, "graph", graph)
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "hops", validation.integer("hops", self.hops, 0, MAX_HOPS))

    def fingerprint(self) -> dict[str, Any]:
        """Return plain values that identify what was propagated, and how far."""
        return {"hops": self.hops, "features": digest(self.X)}

    @cached_property
    def _stay(self) -> float:
        """S, the weight of staying."""
        A = self.graph.adjacency
        weights = A.data if sparse.issparse(A) else A[A > 0]
        return float(weights.mean()) if weights.size else 1.0

    def _step(self, Z: Array) -> Array:
        """Return P Z."""
        total = self.graph.degrees + self._stay
        return np.asarray((self.graph.adjacency @ Z + self._stay * Z) / total[:, None])

    def _step_back(self, Z: Array) -> Array:
        """Return P' Z."""
        Z = Z / (self.graph.degrees + self._stay)[:, None]
        return np.asarray(self.graph.adjacency @ Z + self._stay * Z)

    @property
    def is_reduced(self) -> bool:
        """Whether there are so many features that their principal components are kept."""
        return min(self.X.shape) > COMPONENTS

    @cached_property
    def _directions(self) -> Array | None:
        """The principal directions that are kept, shape (d, 100), or None for all features."""
        if not self.is_reduced:
            return None

        def forward(V: Array) -> Array:
            Z = np.asarray(self.X @ V)
            for _ in range(self.hops):
                Z = self._step(Z)
            return Z - Z.mean(axis=0)

        def back(U: Array) -> Array:
            Z = U - U.mean(axis=0)
            for _ in range(self.hops):
                Z = self._step_back(Z)
            return np.asarray(self.X.T @ Z)

        columns = LinearOperator(
            self.X.shape,
            dtype=np.float64,
            matvec=lambda v: forward(v.reshape(-1, 1)).ravel(),
            rmatvec=lambda u: back(u.reshape(-1, 1)).ravel(),
            matmat=forward,
            rmatmat=back,
        )
        start = np.random.default_rng(0).standard_normal(min(self.X.shape))
        return np.asarray(svds(columns, COMPONENTS, v0=start)[2].T)

    def _along(self, X: Any) -> Array:
        """Return X in the directions that are kept, as a dense matrix."""
        if self._directions is not None:
            return np.asarray(X @ self._directions)
        return np.asarray(X.toarray() if sparse.issparse(X) else X)

    @cached_property
    def is_constant(self) -> bool:
        """Whether all nodes have the same averages, but for rounding, as in a complete graph."""
        spread = require_spread(self.X)
        return spread == 0 or bool(np.ptp(self.values, axis=0).max() <= MIN_SPREAD * spread)

    @cached_property
    def values(self) -> Array:
        """Z."""
        Z = self._along(self.X)
        for _ in range(self.hops):
            Z = self._step(Z)
        return Z

    def of_new(self, weights: Any, X: Any) -> Array:
        """Return the averages of new items, which have links to known ones, shape (m, r).

        Those of the known ones do not change.

        Parameters
        ----------
        weights : array_like or sparse array, shape (m, N)
            Weights of their links.
        X : array_like or sparse matrix, shape (m, d)

        Raises
        ------
        ValueError
            Another number of columns.
        """
        X = X if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != self.X.shape[1]:
            raise ValueError(
                f"new items must have the {self.X.shape[1]} features of the known ones, got shape "
                f"{X.shape}"
            )
        weights = sparse.csr_array(weights)
        total = np.asarray(weights.sum(axis=1)) + self._stay
        Z, new = self._along(self.X), self._along(X)
        for _ in range(self.hops):
            new = (weights @ Z + self._stay * new) / total[:, None]
            Z = self._step(Z)
        return np.asarray(new)
