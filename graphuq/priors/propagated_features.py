"""Features averaged along the links of a graph, for priors on features."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from graphuq.graphs import Graph
from graphuq.utils import validation
from graphuq.utils.features import (
    check_new_features,
    check_new_weights,
    check_node_features,
    digest,
    require_spread,
)
from graphuq.utils.threads import one_blas_thread
from graphuq.utils.typing import Array
from graphuq.utils.words import count

# Steps of the walk that averages. An even number serves also where neighbors differ.
HOPS = 4
MAX_HOPS = 100

# Of more features than this, as many principal components are kept.
COMPONENTS = 100

# A smaller spread, relative to that of X or the largest, is rounding.
MIN_SPREAD = 1e-8

NO_SPREAD = "X is the same for all items, which carries no information: use the graph alone"


@dataclass(frozen=True, eq=False)
class PropagatedFeatures:
    """What the features of the items around each node are on average.

    Z = P^h X with P = (D + s I)^-1 (A + s I): a walk of h steps, each to a neighbor in proportion
    to the weight of the edge, or nowhere with the weight s, the mean of the entries of A that are
    not 0. Wu et al. 2019, *Simplifying graph convolutional networks*, classify by such Z. Here
    `LinearPrior` and `FeaturePrior` take it in place of X. A node without links keeps its features.

    Beyond 100 features the first 100 principal components of X stand for X, so that a sparse X may
    be large. A new item far from all others then loses what lies outside of these.

    Parameters
    ----------
    X : array_like or sparse matrix, shape (N, d)
        Features, one row for each node; they are copied. Scale columns of different units first,
        and rows of word counts to length 1.
    graph : Graph, or what makes one
        Links that are known beside X. A graph of nearest neighbors in X adds little.
    hops : int
        h; 0 leaves the features where they are. With an even number two items are alike if their
        neighbors are, also where links join items of different classes, if nodes have many links.

    Attributes
    ----------
    values : ndarray, shape (N, r)
        Z, with r = d up to 100 features, and else at most 100.

    Raises
    ------
    ValueError, TypeError
        Missing or infinite features, or another number of rows than of nodes. Priors refuse
        averages that are the same for all nodes, as in a complete graph.

    Examples
    --------
    >>> import graphuq as gq
    >>> path = gq.Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> gq.PropagatedFeatures([[0.0], [0.0], [6.0]], path, hops=1).values.ravel()
    array([0., 2., 3.])
    >>> features = gq.PropagatedFeatures([[0.0], [0.0], [6.0]], path)
    >>> gq.LinearPrior(features) + gq.Level()
    LinearPrior(3 x 1, 4 hops) + Level(auto)
    >>> features.with_hops(2)
    PropagatedFeatures(3 x 1, 2 hops)
    >>> features.require_spread()                              # passes, since they are not constant
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
        X = check_node_features(self.X, graph.n_nodes, accept_sparse=True).copy()
        if sparse.issparse(X):
            X.eliminate_zeros()
        object.__setattr__(self, "graph", graph)
        object.__setattr__(self, "X", X)
        self._set_hops(self.hops)

    def _set_hops(self, hops: Any) -> None:
        object.__setattr__(self, "hops", validation.integer("hops", hops, 0, MAX_HOPS))

    def with_hops(self, hops: int) -> PropagatedFeatures:
        """Return the same features after another number of steps; principal components are kept.

        Parameters
        ----------
        hops : int
        """
        other = copy.copy(self)
        other._set_hops(hops)
        for name in ("values", "is_constant"):
            other.__dict__.pop(name, None)
        return other

    @property
    def is_reduced(self) -> bool:
        """Whether there are so many features that principal components stand for them."""
        return bool(self.X.shape[1] > COMPONENTS)

    @cached_property
    def is_constant(self) -> bool:
        """Whether all nodes have the same averages, but for rounding, as in a complete graph."""
        if not require_spread(self.X):
            return True
        probe = np.random.default_rng(0).standard_normal((self.X.shape[1], 2))
        start = np.asarray(self.X @ probe)
        return bool((np.ptp(self._walk(start), axis=0) <= MIN_SPREAD * np.ptp(start, axis=0)).all())

    def require_spread(self) -> None:
        """Refuse features that are the same for all nodes, or are after all steps."""
        if not require_spread(self.X):
            raise ValueError(NO_SPREAD)
        if self.is_constant:
            raise ValueError(
                f"after {count(self.hops, 'step')} along the graph all nodes have the same "
                "features: take fewer hops, or X itself"
            )

    def fingerprint(self) -> dict[str, Any]:
        """Return plain values that identify X, the graph and the steps.

        ``mark`` changes with the order of the nodes.
        """
        weights = np.random.default_rng(0).standard_normal(len(self.values))
        mark = float(np.sum((weights @ self.values) ** 2))
        return {"features": digest(self.X), "hops": self.hops, "mark": mark}

    @cached_property
    def _stay(self) -> float:
        """The weight s of staying."""
        A = self.graph.adjacency
        weights = A.data if sparse.issparse(A) else A[A > 0]
        return float(weights.mean()) if weights.size else 1.0

    @cached_property
    def _steps(self) -> Any:
        """P."""
        A, s = self.graph.adjacency, self._stay
        eye = sparse.eye_array if sparse.issparse(A) else np.eye
        return sparse.diags_array(s / (self.graph.degrees + s)) @ (A / s + eye(self.graph.n_nodes))

    def _walk(self, Z: Array) -> Array:
        """Return P^h Z."""
        for _ in range(self.hops):
            Z = np.asarray(self._steps @ Z)
        return Z

    @cached_property
    def _directions(self) -> Array | None:
        """The principal directions that are kept, shape (d, r), or None for all features."""
        if not self.is_reduced:
            return None
        if not require_spread(self.X):
            raise ValueError(NO_SPREAD)
        from sklearn.decomposition import PCA  # takes a moment to import

        n_kept = min(COMPONENTS, self.X.shape[0] - 1)
        with one_blas_thread():
            found = PCA(n_kept, svd_solver="arpack", random_state=0).fit(self.X)
        sizes = found.singular_values_
        return np.asarray(found.components_[sizes > MIN_SPREAD * sizes.max()].T)

    def _along(self, X: Any) -> Array:
        """Return X in the directions that are kept, as a dense matrix."""
        if self._directions is not None:
            return np.asarray(X @ self._directions)
        return np.asarray(X.toarray() if sparse.issparse(X) else X)

    @cached_property
    def values(self) -> Array:
        """Z."""
        with one_blas_thread():
            return self._walk(self._along(self.X))

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
            Missing or infinite features, other shapes, negative weights.
        """
        n, d = self.X.shape
        weights = check_new_weights(weights, n)
        X = check_new_features(X, weights.shape[0])
        if X.shape[1] != d:
            raise ValueError(
                f"new items must have the {d} features of the known ones, got {X.shape[1]}"
            )
        total = np.asarray(weights.sum(axis=1)) + self._stay
        to_known = sparse.diags_array(1 / total) @ weights
        Z, new = self._along(self.X), self._along(X)
        for _ in range(self.hops):
            new = to_known @ Z + (self._stay / total)[:, None] * new
            Z = np.asarray(self._steps @ Z)
        return np.asarray(new)

    def __repr__(self) -> str:
        n, d = self.X.shape
        return f"PropagatedFeatures({n} x {d}, {count(self.hops, 'hop')})"
