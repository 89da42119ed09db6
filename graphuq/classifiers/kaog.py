"""KAOG and MKAOG: classes as components of nearest neighbours, and no parameter to tune."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from graphuq import validation
from graphuq.classifiers.nearest import Nearest
from graphuq.labels import Labels

MERGES = ("strict", "mean")


class AssociatedGraph(NamedTuple):
    """A K-associated graph: every item points to those of its K nearest that share its class."""

    K: int
    component: NDArray[np.int64]  # (n,), of each vertex; directions of edges do not matter
    sizes: NDArray[np.int64]  # (R,), N_a
    edges: NDArray[np.int64]  # (R,), within each component, where all edges are

    @property
    def purities(self) -> NDArray[np.float64]:
        """phi_a = D_a / (2 K), eq. (2), where D_a = 2 edges / N_a, eq. (1)."""
        return self.edges / (self.sizes * self.K)


def associated_graphs(
    X: NDArray[np.float64], codes: NDArray[np.int64]
) -> Iterator[AssociatedGraph]:
    """Yield the K-associated graphs of K = 1, ..., n - 1, Algorithm 1.

    Every graph holds the edges of the one before, so each step only joins components of the last.
    """
    n = codes.size
    nearest = Nearest(X)
    rows = np.empty((n, 0), dtype=np.int64)
    component, out_degrees = np.arange(n), np.zeros(n, dtype=np.int64)
    for K in range(1, n):
        if rows.shape[1] < K:
            rows = nearest.rows(min(4 * K, n - 1))
        heads = rows[:, K - 1]
        tails = np.flatnonzero(codes[heads] == codes)
        out_degrees[tails] += 1
        links = sparse.coo_array(
            (np.ones(tails.size), (component[tails], component[heads[tails]])),
            shape=(component.max() + 1,) * 2,
        )
        _, joined = csgraph.connected_components(links, directed=False)
        component = joined[component].astype(np.int64)
        # whole numbers, divided once: equal purities compare as equal
        edges = np.bincount(component, weights=out_degrees).astype(np.int64)
        yield AssociatedGraph(K, component, np.bincount(component), edges)


class KAssociatedOptimalGraph(ClassifierMixin, BaseEstimator):
    """KAOG and MKAOG: each class as the purest components of nearest neighbours.

    K grows from 1. A component C_b of the K-associated graph, in which every item points to those
    of its K nearest that share its class, replaces those of the optimal graph that it is made of
    if its purity phi_b is no less than theirs: than the largest of them in KAOG [1]_, than their
    unweighted mean in MKAOG [2]_ (section 3.1). Growth stops, with the merges at this K kept,
    once the average degree rises by less than D(K) / K, that is once D(K) / K falls (Algorithm 2).

    A new item x belongs to C_a with probability proportional to phi_a m_a / K_a, where m_a of its
    K_a nearest training items are in C_a; that of a class is the sum over its components. An
    isolated vertex has purity 0 and claims nothing: an x that lies next to it and in reach of no
    other component is given its class, the limit of a small purity.

    Parameters
    ----------
    merge : {"strict", "mean"}
        KAOG or MKAOG. The mean lets components of high purity absorb impure and isolated ones:
        fewer and larger components, which mislabelled items fragment less; but where classes
        truly interleave, it smooths over their detail.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    components_ : ndarray of int, shape (n,)
        The component, 0 .. R - 1, of every training item.
    purities_ : ndarray, shape (R,)
        phi_a of each component: 1 if each of its items has all of its K_a nearest in it, 0 for an
        isolated item.
    n_neighbors_ : ndarray of int, shape (R,)
        K_a of each component: the last K at which it was found with no less purity than before.
    component_classes_ : ndarray, shape (R,)
        The class that each component is of.
    n_features_in_ : int
    feature_names_in_ : ndarray, shape (d,)
        Where X was a data frame with names.

    Raises
    ------
    ValueError
        An unknown ``merge``; features that are missing, infinite or too large to square; fewer
        than two classes in y, which must label every item: -1 is a class like any other here.

    Notes
    -----
    Distances are Euclidean and unscaled. Of equally distant items the earlier row is the nearer.
    Cost grows with the K at which growth stops: 2 or 3 on most data, but up to the size of the
    largest class if classes lie far apart.

    References
    ----------
    .. [1] Bertini, Zhao, Motta, Lopes, "A nonparametric classification method based on
       K-associated graphs", Information Sciences 181 (2011).
    .. [2] Mohammadi, Adel Mehraban, Bigdeli, Raahemi, Akbari, "A noise resilient and
       non-parametric graph-based classifier", KDIR 2014.

    Examples
    --------
    >>> X = [[0.0], [1.0], [2.0], [3.0], [8.0], [9.0], [9.5]]
    >>> y = ["low", "low", "high", "low", "high", "high", "high"]
    >>> KAssociatedOptimalGraph(merge="strict").fit(X, y).components_
    array([0, 0, 2, 1, 3, 3, 3])
    >>> model = KAssociatedOptimalGraph(merge="mean").fit(X, y)
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

    def __init__(self, merge: str = "strict") -> None:
        self.merge = merge

    def fit(self, X: Any, y: Any) -> Self:
        """Build the optimal graph of the training items, Algorithm 2.

        Parameters
        ----------
        X : array_like, shape (n, d)
        y : array_like, shape (n,)

        Returns
        -------
        self
        """
        validation.one_of("merge", self.merge, MERGES)
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        validation.squarable(X)
        labels = Labels(np.arange(X.shape[0]), y)
        check_classification_targets(labels.values)
        self.classes_, codes = labels.classes, labels.indices
        graphs = associated_graphs(X, codes)
        last = next(graphs)
        component, purities, K = last.component, last.purities, np.full(last.sizes.size, 1)
        for graph in graphs:
            whole = np.empty(purities.size, dtype=np.int64)
            whole[component] = graph.component
            accepted = graph.purities >= self._required(purities, whole, graph.sizes.size)
            # new components are numbered after the old ones, then gaps are closed
            component = np.where(
                accepted[graph.component], purities.size + graph.component, component
            )
            kept, component = np.unique(component, return_inverse=True)
            purities = np.concatenate([purities, graph.purities])[kept]
            K = np.concatenate([K, np.full(graph.sizes.size, graph.K)])[kept]
            # D(K) / K < D(K - 1) / (K - 1) in whole numbers, as a tie must not stop growth
            if graph.edges.sum() * last.K < last.edges.sum() * graph.K:
                break
            last = graph
        first = np.unique(component, return_index=True)[1]
        self.components_, self.purities_, self.n_neighbors_ = component, purities, K
        self.component_classes_ = self.classes_[codes[first]]
        self._codes, self._nearest = codes, Nearest(X)
        return self

    def _required(
        self, purities: NDArray[np.float64], whole: NDArray[np.int64], n_wholes: int
    ) -> NDArray[np.float64]:
        """Return the purity that each whole must reach to replace its parts: line 8."""
        if self.merge == "strict":
            largest = np.zeros(n_wholes)
            np.maximum.at(largest, whole, purities)
            return largest
        mean = np.bincount(whole, weights=purities) / np.bincount(whole)
        return mean * (1 - 1e-12)  # the mean of equal purities may be rounded up

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of every class, shape (m, n_classes)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        validation.squarable(X)
        K = self.n_neighbors_.max()
        rows = self._nearest.rows(K, X)
        component = self.components_[rows]
        linked = np.arange(K) < self.n_neighbors_[component]
        share = np.where(linked, (self.purities_ / self.n_neighbors_)[component], 0.0)
        classes = np.arange(self.classes_.size)
        scores = np.stack(
            [np.where(self._codes[rows] == k, share, 0.0).sum(axis=1) for k in classes], axis=1
        )
        lost = scores.sum(axis=1) == 0
        scores[lost] = self._codes[rows[lost, :1]] == classes
        return scores / scores.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class, of equally probable ones the first, shape (m,)."""
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]
