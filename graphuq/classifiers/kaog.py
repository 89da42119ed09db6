"""KAOG and MKAOG: classifiers without parameters, by components of nearest neighbors."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from graphuq.labels.labels import Labels
from graphuq.utils import validation
from graphuq.utils.features import refuse_masks_and_dates, require_spread, require_squarable
from graphuq.utils.memory import require_memory
from graphuq.utils.typing import Array

MERGES = ("strict", "mean")


class Nearest:
    """Rows of X in order of their distance; the earlier of equally distant rows is first.

    Duplicates and features on a grid make ties common, and a search returns tied rows in any order,
    or leaves some out. Distances that agree to ten digits count as equal, since those between
    features such as 0.1 and 0.3 are ties except for rounding.

    Parameters
    ----------
    X : ndarray, shape (n, d)

    Examples
    --------
    >>> Nearest(np.array([[0.0], [1.0], [-1.0], [1.0]])).rows(2)
    array([[1, 2],
           [3, 0],
           [0, 1],
           [1, 0]])
    """

    def __init__(self, X: Array) -> None:
        self._X = X
        # a tree computes each distance directly; brute force loses digits to cancellation
        self._search = NearestNeighbors(algorithm="ball_tree").fit(X)

    def rows(self, K: int, queries: Array | None = None) -> NDArray[np.int64]:
        """Return the K nearest rows to each query, shape (m, K).

        Without ``queries``, return those of each row of X among the others.
        """
        n, itself = self._X.shape[0], int(queries is None)
        queries = self._X if queries is None else queries
        rows = np.empty((queries.shape[0], K), dtype=np.int64)
        undecided = np.arange(queries.shape[0])
        requested = K + itself
        while undecided.size:
            requested = min(requested + K, n)
            require_memory(
                40.0 * undecided.size * requested,
                f"the order of {requested} neighbors of {undecided.size} items",
                "use fewer items",
            )
            distances, found = self._search.kneighbors(queries[undecided], requested)
            distances = _to_ten_digits(distances)
            if itself:
                distances[found == undecided[:, None]] = np.inf
            order = np.lexsort((found, distances))
            rows[undecided] = np.take_along_axis(found, order, axis=1)[:, :K]
            # there may be more rows at the distance of the last one found: search again
            distances = np.take_along_axis(distances, order, axis=1)
            tied = distances[:, K - 1] == distances[:, requested - 1 - itself]
            undecided = undecided[tied & (requested < n)]
        return rows


def _to_ten_digits(distances: Array) -> Array:
    shifted = distances * (2**20 + 1)  # Veltkamp's splitting keeps the first 33 of 53 bits
    return shifted - (shifted - distances)


class AssociatedGraph(NamedTuple):
    """A K-associated graph: every item points to those of its K nearest that share its class.

    Attributes
    ----------
    K : int
    component : ndarray of int, shape (n,)
        Weakly connected component of each item.
    sizes : ndarray of int, shape (R,)
        Number of items N_a of each component.
    edges : ndarray of int, shape (R,)
        Number of edges in each component.
    """

    K: int
    component: NDArray[np.int64]
    sizes: NDArray[np.int64]
    edges: NDArray[np.int64]

    @property
    def purities(self) -> Array:
        """phi_a = D_a / (2 K), eq. (2), where D_a = 2 edges / N_a, eq. (1)."""
        return self.edges / (self.sizes * self.K)


def associated_graphs(X: Array, codes: NDArray[np.int64]) -> Iterator[AssociatedGraph]:
    """Yield the K-associated graphs of K = 1, ..., n - 1, Algorithm 1.

    Every graph contains the edges of the previous one, so each step only merges components.
    """
    n = codes.size
    nearest = Nearest(X)
    rows = np.empty((n, 0), dtype=np.int64)
    component, out_degrees = np.arange(n), np.zeros(n, dtype=np.int64)
    for K in range(1, n):
        if rows.shape[1] < K:
            rows = nearest.rows(min(4 * K, n - 1))
        # edges from each item to its K-th neighbor, if that is of its class
        heads = rows[:, K - 1]
        tails = np.flatnonzero(codes[heads] == codes)
        out_degrees[tails] += 1
        # merge the components that these edges connect
        links = sparse.coo_array(
            (np.ones(tails.size), (component[tails], component[heads[tails]])),
            shape=(component.max() + 1,) * 2,
        )
        _, merged = csgraph.connected_components(links, directed=False)
        component = merged[component].astype(np.int64)
        # integers are divided only once, so that equal purities compare as equal
        edges = np.bincount(component, weights=out_degrees).astype(np.int64)
        yield AssociatedGraph(K, component, np.bincount(component), edges)


class KAssociatedOptimalGraph(ClassifierMixin, BaseEstimator):
    """KAOG, MKAOG and KAG: each class as components of nearest neighbors.

    In the K-associated graph every item points to those of its K nearest neighbors that share its
    class. K grows from 1. A component C_b of this graph replaces the components of the optimal
    graph that it consists of, if its purity phi_b is at least as large as the largest of theirs in
    KAOG [1]_, or as their unweighted mean in MKAOG [2]_ (section 3.1). Growth stops when the
    average degree rises by less than D(K) / K, that is when D(K) / K decreases (Algorithm 2). The
    merges at this last K are kept. With ``n_neighbors`` there is one graph, that of the given K,
    and its components are those of the classifier (KAG, Algorithm 1).

    A new item x belongs to C_a with probability proportional to phi_a m_a / K_a, where m_a of its
    K_a nearest training items are in C_a. The probability of a class is the sum over its
    components. An isolated item has purity 0 and contributes nothing. If the neighbors of x belong
    to isolated items only, x gets the class of the nearest, as in the limit of a small purity.

    Parameters
    ----------
    merge : {"strict", "mean"}
        KAOG or MKAOG. With the mean, pure components absorb impure and isolated ones. Components
        are fewer and larger, and mislabeled items fragment them less; but details of classes that
        interleave are lost. It has no effect if ``n_neighbors`` is given.
    n_neighbors : int, optional
        K of the K-associated graph, less than the number of training items. By default K grows.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    components_ : ndarray of int, shape (n,)
        Component of every training item, from 0 to R - 1.
    purities_ : ndarray, shape (R,)
        phi_a of each component: 1 if it contains the K_a nearest neighbors of each of its items, 0
        for an isolated item.
    n_neighbors_ : ndarray of int, shape (R,)
        K_a of each component: the last K at which its purity did not decrease.
    component_classes_ : ndarray, shape (R,)
        Class of each component.
    n_features_in_ : int
    feature_names_in_ : ndarray, shape (d,)
        Names of the columns, if X was a data frame.

    Raises
    ------
    ValueError
        An unknown ``merge``; ``n_neighbors`` out of range; features that are missing, infinite or
        too large to square; fewer than two classes in y. Every item must have a class; -1 is a
        class like any other here.

    Notes
    -----
    Distances are Euclidean, without scaling. The earlier of equally distant rows counts as the
    nearer one. The cost grows with the last K, which is 2 or 3 for most data, but up to the size of
    the largest class if classes are far apart.

    References
    ----------
    .. [1] Bertini, Zhao, Motta, Lopes, "A nonparametric classification method based on
       K-associated graphs", Information Sciences 181 (2011).
    .. [2] Mohammadi, Adel Mehraban, Bigdeli, Raahemi, Akbari, "A noise resilient and
       non-parametric graph-based classifier", KDIR 2014.

    Examples
    --------
    >>> import graphuq as gq
    >>> X = [[0.0], [1.0], [2.0], [3.0], [8.0], [9.0], [9.5]]
    >>> y = ["low", "low", "high", "low", "high", "high", "high"]
    >>> gq.KAssociatedOptimalGraph(merge="strict").fit(X, y).components_
    array([0, 0, 2, 1, 3, 3, 3])
    >>> model = gq.KAssociatedOptimalGraph(merge="mean").fit(X, y)
    >>> model.components_
    array([0, 0, 1, 0, 2, 2, 2])
    >>> model.purities_, model.n_neighbors_
    (array([0.5, 0. , 1. ]), array([2, 2, 2]))
    >>> model.predict([[2.1], [7.0]])
    array(['low', 'high'], dtype='<U4')
    >>> model.predict_proba([[2.1], [7.0]]).round(2)
    array([[0., 1.],
           [1., 0.]])
    """

    def __init__(self, merge: str = "strict", n_neighbors: int | None = None) -> None:
        self.merge = merge
        self.n_neighbors = n_neighbors

    def fit(self, X: Any, y: Any) -> Self:
        """Build the graph of the training items: Algorithm 2, or 1 with ``n_neighbors``.

        Parameters
        ----------
        X : array_like, shape (n, d)
        y : array_like, shape (n,)

        Returns
        -------
        self
        """
        validation.one_of("merge", self.merge, MERGES)
        refuse_masks_and_dates(X)
        validation.unmasked("y", y)
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        require_squarable(X)
        require_spread(X)
        labels = Labels(np.arange(X.shape[0]), y)
        check_classification_targets(labels.values)
        self.classes_, codes = labels.classes, labels.indices
        if self.n_neighbors is None:
            component, purities, K = self._optimal(X, codes)
        else:
            most = X.shape[0] - 1
            chosen = validation.integer("n_neighbors", self.n_neighbors, 1, most)
            graph = next(islice(associated_graphs(X, codes), chosen - 1, None))
            component, purities = graph.component, graph.purities
            K = np.full(graph.sizes.size, chosen)
        first = np.unique(component, return_index=True)[1]
        self.components_, self.purities_, self.n_neighbors_ = component, purities, K
        self.component_classes_ = self.classes_[codes[first]]
        self._codes, self._nearest = codes, Nearest(X)
        return self

    def _optimal(
        self, X: Array, codes: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], Array, NDArray[np.int64]]:
        """Return the component of each item, and the purity and K of each component."""
        # start from the components of the 1-associated graph
        graphs = associated_graphs(X, codes)
        last = next(graphs)
        component, purities, K = last.component, last.purities, np.full(last.sizes.size, 1)
        for graph in graphs:
            # merge components into one of the K-associated graph if it is pure enough
            whole = np.empty(purities.size, dtype=np.int64)
            whole[component] = graph.component
            accepted = graph.purities >= self._required(purities, whole, graph.sizes.size)
            # number new components after the old ones, then close the gaps
            component = np.where(
                accepted[graph.component], purities.size + graph.component, component
            )
            kept, component = np.unique(component, return_inverse=True)
            purities = np.concatenate([purities, graph.purities])[kept]
            K = np.concatenate([K, np.full(graph.sizes.size, graph.K)])[kept]
            # stop if D(K) / K < D(K - 1) / (K - 1); in integers, since a tie must not stop growth
            if graph.edges.sum() * last.K < last.edges.sum() * graph.K:
                break
            last = graph
        return component, purities, K

    def _required(self, purities: Array, whole: NDArray[np.int64], n_wholes: int) -> Array:
        """Return the purity that each merged component must reach: line 8 of Algorithm 2."""
        if self.merge == "strict":
            largest = np.zeros(n_wholes)
            np.maximum.at(largest, whole, purities)
            return largest
        mean = np.bincount(whole, weights=purities) / np.bincount(whole)
        return mean * (1 - 1e-12)  # rounding may increase the mean of equal purities

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of every class, shape (m, n_classes)."""
        check_is_fitted(self)
        refuse_masks_and_dates(X)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        require_squarable(X)
        K = self.n_neighbors_.max()
        rows = self._nearest.rows(K, X)
        component = self.components_[rows]
        linked = np.arange(K) < self.n_neighbors_[component]
        share = np.where(linked, (self.purities_ / self.n_neighbors_)[component], 0.0)
        classes = np.arange(self.classes_.size)
        # phi_a m_a / K_a, summed over the components of each class
        scores = np.stack(
            [np.where(self._codes[rows] == k, share, 0.0).sum(axis=1) for k in classes], axis=1
        )
        # only isolated items are near: the class of the nearest
        lost = scores.sum(axis=1) == 0
        scores[lost] = self._codes[rows[lost, :1]] == classes
        return scores / scores.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class, and the first of equally probable ones, shape (m,)."""
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]
