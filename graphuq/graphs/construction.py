"""Similarity graphs from features: edges, weights, symmetrising, bridges."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from graphuq import validation
from graphuq.graphs.graph import Graph
from graphuq.graphs.neighbours import (
    Neighbours,
    checked,
    placed,
    scales,
    sparse_weights,
    squared_lengths,
    weigh,
)

SYMMETRISE = ("union", "mean", "mutual")


def knn_graph(
    X: Any,
    n_neighbors: int = 20,
    *,
    weights: str = "self-tuning",
    tau: float | None = None,
    symmetrise: str = "union",
    connect: bool = False,
    method: str = "auto",
) -> Graph:
    """Join every item to its nearest neighbours.

    Parameters
    ----------
    X : array_like, shape (n, d)
        One row an item.
    n_neighbors : int
        K; with self-tuning weights also the neighbour whose distance is the scale tau_i.
    weights : {"self-tuning", "gaussian", "binary", "cosine"}
        a_ij = exp(-|x_i - x_j|^2 / (2 tau_i tau_j)), eq. (15); the same with one fixed ``tau``; 1;
        or the cosine of the angle between x_i and x_j (neighbours are then found by angle).
    tau : float, optional
        Scale of ``"gaussian"``, in units of X.
    symmetrise : {"union", "mean", "mutual"}
        Keep an edge if either end names the other (the paper's choice); average the two
        directions; or keep it only if both do.
    connect : bool
        Bridge separate components by their shortest connecting edges, each at least as heavy as
        the lightest edge of the graph.
    method : {"auto", "exact", "approximate"}
        How neighbours are found: exactly up to 100,000 items, beyond them approximately, by faiss
        (``pip install 'graphuq[neighbours]'``), with at least 98% of the true neighbours of a
        sample of items.

    Returns
    -------
    Graph
        Sparse. It may be disconnected unless ``connect`` is true. Its ``recall`` is the share of
        true neighbours, of a sample, that were found.

    Raises
    ------
    ValueError, TypeError
        NaN or infinite features, ``n_neighbors`` not below n, an unknown option.
    ImportError
        faiss is needed and missing.

    Examples
    --------
    >>> graph = knn_graph([[0.0], [1.0], [2.0], [9.0], [10.0]], n_neighbors=1)
    >>> graph.n_components
    2
    >>> knn_graph([[0.0], [1.0], [2.0], [9.0], [10.0]], n_neighbors=1, connect=True).n_components
    1
    """
    validation.one_of("symmetrise", symmetrise, SYMMETRISE)
    return joined(Neighbours(X, n_neighbors, weights, tau, method), symmetrise, connect)


def joined(neighbours: Neighbours, symmetrise: str = "union", connect: bool = False) -> Graph:
    """Return the graph of items and their neighbours; see `knn_graph`."""
    adjacency = _symmetric(neighbours.adjacency(), symmetrise)
    if connect:
        adjacency = _bridged(adjacency, neighbours.X, neighbours.scale, neighbours.weights)
    graph = Graph(adjacency)
    graph.recall = neighbours.recall
    return graph


def epsilon_graph(
    X: Any,
    radius: float,
    *,
    weights: str = "gaussian",
    tau: float | None = None,
    n_neighbors: int = 10,
) -> Graph:
    """Join items closer than ``radius``.

    Parameters
    ----------
    X : array_like, shape (n, d)
        One row an item.
    radius : float
        Largest length of an edge, in units of X; with cosine weights between the directions
        x_i / |x_i|.
    weights, tau
        As in `knn_graph`; ``tau`` defaults to ``radius`` for Gaussian weights.
    n_neighbors : int
        The neighbour whose distance is the scale tau_i of self-tuning weights.

    Returns
    -------
    Graph
        Sparse, and disconnected if ``radius`` is small.

    Raises
    ------
    ValueError, TypeError
        As in `knn_graph`; ``radius`` not positive.

    Examples
    --------
    >>> epsilon_graph([[0.0], [1.0], [2.0]], radius=1.5, weights="binary")
    Graph(3 nodes, 2 edges, sparse)
    """
    from sklearn.neighbors import NearestNeighbors

    radius = validation.positive("radius", radius)
    if weights == "gaussian" and tau is None:
        tau = radius
    X = checked(X, weights, tau)
    X, n = placed(X, weights, X.mean(axis=0)), X.shape[0]
    search = NearestNeighbors(radius=radius).fit(X)

    def squared_to_kth() -> NDArray[np.float64]:
        validation.integer("n_neighbors", n_neighbors, 1, n - 1, f"X has only {n} rows")
        kth = search.kneighbors(n_neighbors=n_neighbors, return_distance=False)[:, -1]
        return squared_lengths(X, np.arange(n), kth)

    scale = scales(weights, tau, squared_to_kth, n)
    links = search.radius_neighbors_graph(mode="connectivity").tocoo()
    i, j = links.row, links.col
    adjacency = sparse_weights(
        i, j, weigh(squared_lengths(X, i, j), scale[i] * scale[j], weights), (n, n)
    )
    return Graph(_symmetric(adjacency, "union"))


def full_graph(
    X: Any,
    *,
    weights: str = "self-tuning",
    tau: float | None = None,
    n_neighbors: int = 10,
    self_loops: bool = False,
) -> Graph:
    """Join all pairs of items.

    Parameters
    ----------
    X : array_like, shape (n, d)
        One row an item.
    weights, tau
        As in `knn_graph`.
    n_neighbors : int
        The neighbour whose distance is the scale tau_i of self-tuning weights.
    self_loops : bool
        Keep a_ii = 1, as the paper's own experiments do. It weakens the links between nodes
        relative to the degrees, most where degrees are small.

    Returns
    -------
    Graph
        Dense.

    Raises
    ------
    ValueError, TypeError
        As in `knn_graph`; cosines below zero.
    MemoryError
        The n x n weights do not fit.

    Examples
    --------
    >>> full_graph([[0.0], [1.0], [3.0]], weights="gaussian", tau=1.0).adjacency.round(3)
    array([[0.   , 0.607, 0.011],
           [0.607, 0.   , 0.135],
           [0.011, 0.135, 0.   ]])
    """
    X = checked(X, weights, tau)
    X, n = placed(X, weights, X.mean(axis=0)), X.shape[0]
    validation.memory(
        3 * 8.0 * n * n, f"a full graph of {n} nodes", "use knn_graph, or fewer nodes"
    )
    from scipy.spatial import distance  # slow to import, and most graphs come without it

    squared = distance.squareform(distance.pdist(X, "sqeuclidean"))

    def squared_to_kth() -> NDArray[np.float64]:
        validation.integer("n_neighbors", n_neighbors, 1, n - 1, f"X has only {n} rows")
        # position 0 of each sorted row is the item itself
        return np.partition(squared, n_neighbors, axis=1)[:, n_neighbors]

    scale = scales(weights, tau, squared_to_kth, n)
    adjacency = weigh(squared, np.multiply.outer(scale, scale), weights)
    np.fill_diagonal(adjacency, 1.0 if self_loops else 0.0)
    if weights == "cosine" and adjacency.min() < 0:
        i, j = np.unravel_index(adjacency.argmin(), adjacency.shape)
        raise ValueError(
            f"cosine weights must not be negative, but rows {i} and {j} have cosine "
            f"{adjacency[i, j]:.3g}: use non-negative features, knn_graph, or Gaussian weights"
        )
    return Graph(adjacency)


def pca(X: Any, n_components: int = 50) -> NDArray[np.float64]:
    """Project images, or other wide features, on their leading principal components.

    Parameters
    ----------
    X : array_like, shape (n, d)
        One row an item; columns are centred, not scaled.
    n_components : int
        At most min(n, d).

    Returns
    -------
    ndarray, shape (n, n_components)
        Coordinates along the components, largest variance first.

    Raises
    ------
    ValueError
        More components than min(n, d).

    Examples
    --------
    >>> abs(pca([[0.0, 0.0], [3.0, 4.0]], n_components=1)).ravel()
    array([2.5, 2.5])
    """
    from sklearn.decomposition import PCA

    X = validation.features(X)
    validation.integer("n_components", n_components, 1, min(X.shape), "it is limited by X's shape")
    solver = "covariance_eigh" if X.shape[1] <= X.shape[0] else "full"
    projected: NDArray[np.float64] = PCA(n_components, svd_solver=solver).fit_transform(X)
    return projected


def _symmetric(A: sparse.csr_array, how: str) -> sparse.csr_array:
    if how == "union":
        return A.maximum(A.T)
    if how == "mutual":
        return A.minimum(A.T)
    return (A + A.T) / 2


def _bridged(
    A: sparse.csr_array, X: NDArray[np.float64], scale: NDArray[np.float64], weights: str
) -> sparse.csr_array:
    """Add the shortest edge out of the smallest component until one component is left.

    The shortest edge out of any component belongs to a minimum spanning tree, so this adds the
    least total length.
    """
    from scipy.spatial import distance

    if not A.nnz:
        raise ValueError(
            "no edge has a weight above zero: take larger weights (tau), or other than cosine"
        )
    lightest = A.data.min()
    while True:
        count, component = csgraph.connected_components(A, directed=False)
        if count == 1:
            return A
        smallest = np.bincount(component).argmin()
        inside = np.flatnonzero(component == smallest)
        outside = np.flatnonzero(component != smallest)
        best: tuple[float, int, int] = (np.inf, 0, 0)
        for block in np.array_split(inside, -(-inside.size * outside.size // 10**7)):
            lengths = distance.cdist(X[block], X[outside], "sqeuclidean")
            row, column = np.unravel_index(lengths.argmin(), lengths.shape)
            found = (float(lengths[row, column]), int(block[row]), int(outside[column]))
            best = min(best, found)
        squared, i, j = best
        weight = max(weigh(np.array([squared]), scale[[i]] * scale[[j]], weights)[0], lightest)
        bridge = sparse.coo_array(([weight, weight], ([i, j], [j, i])), shape=A.shape)
        A = sparse.csr_array(A + bridge)
