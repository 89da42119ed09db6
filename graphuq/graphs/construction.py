"""Similarity graphs from features: edges, weights, symmetrising, bridges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from graphuq import validation
from graphuq.graphs.graph import Graph

WEIGHTS = ("self-tuning", "gaussian", "binary", "cosine")
SYMMETRISE = ("union", "mean", "mutual")


def knn_graph(
    X: Any,
    n_neighbors: int = 20,
    *,
    weights: str = "self-tuning",
    tau: float | None = None,
    symmetrise: str = "union",
    connect: bool = False,
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

    Returns
    -------
    Graph
        Sparse. It may be disconnected unless ``connect`` is true.

    Raises
    ------
    ValueError, TypeError
        NaN or infinite features, ``n_neighbors`` not below n, an unknown option.

    Examples
    --------
    >>> graph = knn_graph([[0.0], [1.0], [2.0], [9.0], [10.0]], n_neighbors=1)
    >>> graph.n_components
    2
    >>> knn_graph([[0.0], [1.0], [2.0], [9.0], [10.0]], n_neighbors=1, connect=True).n_components
    1
    """
    from sklearn.neighbors import NearestNeighbors

    X = _prepared(X, weights, tau)
    n = X.shape[0]
    validation.one_of("symmetrise", symmetrise, SYMMETRISE)
    validation.integer("n_neighbors", n_neighbors, 1, n - 1, f"X has only {n} rows")
    _, j = NearestNeighbors(n_neighbors=n_neighbors).fit(X).kneighbors()
    i, j = np.repeat(np.arange(n), n_neighbors), j.ravel()
    squared = _squared_lengths(X, i, j)
    scale = _scales(weights, tau, lambda: squared.reshape(n, -1).max(axis=1), n)
    adjacency = _symmetric(
        _sparse(i, j, _weigh(squared, scale[i] * scale[j], weights), n), symmetrise
    )
    if connect:
        adjacency = _bridged(adjacency, X, scale, weights)
    return Graph(adjacency)


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
    X = _prepared(X, weights, tau)
    n = X.shape[0]
    search = NearestNeighbors(radius=radius).fit(X)

    def squared_to_kth() -> NDArray[np.float64]:
        validation.integer("n_neighbors", n_neighbors, 1, n - 1, f"X has only {n} rows")
        kth = search.kneighbors(n_neighbors=n_neighbors, return_distance=False)[:, -1]
        return _squared_lengths(X, np.arange(n), kth)

    scale = _scales(weights, tau, squared_to_kth, n)
    links = search.radius_neighbors_graph(mode="connectivity").tocoo()
    i, j = links.row, links.col
    adjacency = _sparse(i, j, _weigh(_squared_lengths(X, i, j), scale[i] * scale[j], weights), n)
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
    X = _prepared(X, weights, tau)
    n = X.shape[0]
    validation.memory(
        3 * 8.0 * n * n, f"a full graph of {n} nodes", "use knn_graph, or fewer nodes"
    )
    from scipy.spatial import distance  # slow to import, and most graphs come without it

    squared = distance.squareform(distance.pdist(X, "sqeuclidean"))

    def squared_to_kth() -> NDArray[np.float64]:
        validation.integer("n_neighbors", n_neighbors, 1, n - 1, f"X has only {n} rows")
        # position 0 of each sorted row is the item itself
        return np.partition(squared, n_neighbors, axis=1)[:, n_neighbors]

    scale = _scales(weights, tau, squared_to_kth, n)
    adjacency = _weigh(squared, np.multiply.outer(scale, scale), weights)
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


def _prepared(X: Any, weights: str, tau: float | None) -> NDArray[np.float64]:
    validation.one_of("weights", weights, WEIGHTS)
    if weights == "gaussian":
        if tau is None:
            raise ValueError("gaussian weights need a scale: give tau, in units of X")
        validation.positive("tau", tau)
    elif tau is not None:
        raise ValueError(f"tau is the scale of gaussian weights; {weights} weights take none")
    X = validation.features(X)
    if weights == "cosine":
        norms = np.linalg.norm(X, axis=1)
        if not norms.all():
            raise ValueError(
                f"row {int(norms.argmin())} of X is zero and has no direction: drop it, or use "
                "other weights than cosine"
            )
        return X / norms[:, None]
    return X - X.mean(axis=0)  # the search for neighbours loses digits far from the origin


def _squared_lengths(
    X: NDArray[np.float64], i: NDArray[np.int64], j: NDArray[np.int64]
) -> NDArray[np.float64]:
    """|x_i - x_j|^2, exactly 0 for duplicates, which the search does not promise."""
    squared = np.empty(i.size)
    block = max(1, 10**7 // X.shape[1])
    for start in range(0, i.size, block):
        part = slice(start, start + block)
        difference = X[i[part]] - X[j[part]]
        squared[part] = np.einsum("ij,ij->i", difference, difference)
    return squared


def _scales(
    weights: str, tau: float | None, squared_to_kth: Callable[[], NDArray[np.float64]], n: int
) -> NDArray[np.float64]:
    """tau_i of eq. (15): the distance to the K-th neighbour, or the fixed tau."""
    if weights != "self-tuning":
        return np.full(n, 1.0 if tau is None else tau)
    kth_distance = np.sqrt(squared_to_kth())
    # An item with K duplicates takes the smallest scale of the others, not 0, so that it still has
    # edges to more than its duplicates.
    duplicate = kth_distance == 0
    if duplicate.all():
        return np.ones_like(kth_distance)
    return np.where(duplicate, kth_distance[~duplicate].min(), kth_distance)


def _weigh(
    squared: NDArray[np.float64], scale: NDArray[np.float64], weights: str
) -> NDArray[np.float64]:
    """Weights from squared lengths and tau_i tau_j, eq. (15)."""
    if weights == "binary":
        return np.ones_like(squared)
    if weights == "cosine":  # of unit vectors
        cosine = 1 - squared / 2
        return np.where(abs(cosine) < 1e-14, 0.0, cosine)  # right angles, to rounding
    w: NDArray[np.float64] = np.exp(-squared / (2 * scale))
    return w


def _sparse(
    i: NDArray[np.int64], j: NDArray[np.int64], w: NDArray[np.float64], n: int
) -> sparse.csr_array:
    kept = w > 0  # cosines below zero, and weights that underflow, are no edges
    return sparse.csr_array(sparse.coo_array((w[kept], (i[kept], j[kept])), shape=(n, n)))


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
        weight = max(_weigh(np.array([squared]), scale[[i]] * scale[[j]], weights)[0], lightest)
        bridge = sparse.coo_array(([weight, weight], ([i, j], [j, i])), shape=A.shape)
        A = sparse.csr_array(A + bridge)
