"""Similarity graphs from features: edges, weights, symmetrization, bridges.

Bridges are the shortest edges between the components of a graph. Two graphs on the same nodes,
such as citations and similar words, have a union.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from graphuq.graphs.graph import Graph
from graphuq.graphs.neighbor_lists import adjacency_of_lists
from graphuq.graphs.neighbor_search import (
    MAX_LINKS,
    SEARCH_ROUNDING,
    TIE_TOLERANCE,
    Exact,
    squared_lengths,
)
from graphuq.graphs.neighbors import (
    WEIGHTS,
    Neighbors,
    center_of,
    center_or_normalize,
    check_items,
    scales,
    sparse_weights,
    weigh,
)
from graphuq.utils import validation
from graphuq.utils.features import check_features
from graphuq.utils.memory import require_memory
from graphuq.utils.typing import Array, Nodes
from graphuq.utils.warnings import warn

# Neighbors of an item, if their number is not given.
N_NEIGHBORS = 20

SYMMETRIZATIONS = ("union", "mean", "mutual")

# Distances in one block of the search for bridges.
BRIDGE_BLOCK = 10**7

# An edge with less than this share of the heaviest weight of one of its ends connects nothing: to
# rounding the graph falls apart there. Near-duplicates have such edges to all other items. Bridges
# may be lighter than a node's heaviest weight where that is such a share of the usual one.
NEGLIGIBLE = 1e-6


def knn_graph(
    X: Any = None,
    n_neighbors: int | None = None,
    *,
    neighbors: Any = None,
    weights: str = "self-tuning",
    tau: float | None = None,
    symmetrise: str = "union",
    connect: bool = False,
    method: str = "auto",
) -> Graph:
    """Connect every item to its nearest neighbors.

    Distances add up all columns. Scale columns of different units first, for example with
    scikit-learn's ``StandardScaler``.

    The graph does not depend on the order of the rows: an item is connected to all neighbors that
    are as near as the K-th, up to 10 times K of them or 10^7 in the whole graph, whichever is more.

    Parameters
    ----------
    X : array_like, shape (n, d), optional
        One row for each item. Either X or ``neighbors`` is given. Texts that index a data frame
        are the names of the nodes.
    n_neighbors : int, optional
        K, by default 20, or as many as ``neighbors`` list. The scale tau_i of self-tuning weights
        is the distance to the K-th neighbor.
    neighbors : (indices, distances), optional
        What another package found: two arrays of shape (n, K), or (n, K + 1) if they list each
        item among its own neighbors, which is dropped. Distances are Euclidean, or 1 - cos for
        cosine weights. The lists of umap (the first two of its three) and pynndescent are taken as
        they are. scikit-learn and faiss give distances first. faiss and hnswlib give squared
        distances: take the root. Ties beyond the list are dropped.
    weights : {"self-tuning", "gaussian", "binary", "cosine"}
        "self-tuning" is exp(-|x_i - x_j|^2 / (2 tau_i tau_j)), eq. (15). "gaussian" is the same
        with one fixed ``tau``. "binary" is 1. "cosine" is the cosine of the angle between x_i and
        x_j; the nearest neighbors are then those with the smallest angles.
    tau : float, optional
        Scale of ``"gaussian"``, in units of X.
    symmetrise : {"union", "mean", "mutual"}
        Keep an edge if one of its ends is a nearest neighbor of the other (the paper's choice);
        average the two directions; or keep it only if both ends are.
    connect : bool
        Connect separate components by their shortest edges. The weight of such an edge is at least
        the smallest that a node has for its heaviest edge. Edges of equal length are all added, and
        edges with less than 1e-6 of the heaviest weight of one end do not count as connections.
        This needs X.
    method : {"auto", "exact", "approximate"}
        How neighbors are found. "approximate" uses faiss (``pip install 'graphuq[neighbors]'``)
        and finds at least 98% of the true neighbors of a sample; which ones depends on the order
        of the rows. "auto" is exact up to 100,000 items.

    Returns
    -------
    Graph
        Sparse, and possibly disconnected unless ``connect`` is true. Its ``recall`` is the share
        of true neighbors found, measured on a sample.

    Raises
    ------
    ValueError, TypeError
        NaN or infinite features, ``n_neighbors`` of n or more, an unknown option; neighbors that
        are missing or listed twice, distances that are negative.
    ImportError
        faiss is needed and not installed.

    Warns
    -----
    RuntimeWarning
        So many neighbors or bridges have the same length that only some are kept.

    Examples
    --------
    >>> import graphuq as gq
    >>> X = [[0.0], [1.0], [2.0], [9.0], [10.0]]
    >>> gq.knn_graph(X, n_neighbors=1).n_components
    2
    >>> gq.knn_graph(X, n_neighbors=1, connect=True).n_components
    1

    The same neighbors, as scikit-learn finds them:

    >>> from sklearn.neighbors import NearestNeighbors
    >>> X = [[0.0], [1.0], [2.5], [9.0], [10.0]]
    >>> distances, indices = NearestNeighbors(n_neighbors=3).fit(X).kneighbors(X)
    >>> given = gq.knn_graph(neighbors=(indices, distances))
    >>> bool(abs(given.adjacency - gq.knn_graph(X, n_neighbors=2).adjacency).max() < 1e-12)
    True
    """
    validation.one_of("symmetrise", symmetrise, SYMMETRIZATIONS)
    connect = validation.boolean("connect", connect)
    if (X is None) == (neighbors is None):
        raise TypeError("knn_graph needs either X, the items, or neighbors=(indices, distances)")
    if neighbors is not None:
        if connect or method != "auto":
            raise ValueError(
                "connect and method need X, and neighbors are given: leave them out; for a "
                "connected graph take graph.largest_component(), or pass X"
            )
        given = adjacency_of_lists(neighbors, n_neighbors, weights, tau)
        return Graph(_symmetrize(given, symmetrise))
    n_neighbors = N_NEIGHBORS if n_neighbors is None else n_neighbors
    found = Neighbors(X, n_neighbors, weights, tau, method)
    return build_graph(found, symmetrise, connect, _row_names(X))


def build_graph(
    neighbors: Neighbors, symmetrise: str = "union", connect: bool = False, names: Any = None
) -> Graph:
    """Return the graph of items and their neighbors; see `knn_graph`."""
    adjacency = _symmetrize(neighbors.adjacency(), symmetrise)
    if connect:
        adjacency = bridge_components(adjacency, neighbors.X, neighbors.scale, neighbors.weights)
    graph = Graph(adjacency, names)
    graph.recall = neighbors.recall
    return graph


def connect_by_features(graph: Graph, X: Array) -> Graph:
    """Return a graph with its components connected by their shortest edges; see `knn_graph`.

    Such an edge has the weight of eq. (15), where tau_i is the length of the longest edge of item
    i, but at least the smallest that a node has for its heaviest edge.

    Parameters
    ----------
    graph : Graph
    X : ndarray, shape (n, d)
        Checked features of its nodes.

    Examples
    --------
    >>> pairs = Graph([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]])
    >>> connected = connect_by_features(pairs, np.array([[0.0], [1.0], [3.0], [4.0]]))
    >>> connected.n_components, connected.adjacency.toarray()[1, 2].round(3)
    (1, np.float64(1.0))
    """
    if graph.n_components == 1:
        return graph
    adjacency, X = sparse.csr_array(graph.adjacency), X - center_of(X)
    i, j = adjacency.nonzero()
    longest = np.zeros(graph.n_nodes)
    np.maximum.at(longest, i, squared_lengths(X, i, j))
    # an item without an edge has the usual scale, and so have duplicates
    apart = longest > 0
    usual = np.median(longest[apart]) if apart.any() else 1.0
    scale = np.sqrt(np.where(apart, longest, usual))
    return Graph(bridge_components(adjacency, X, scale, "self-tuning"), graph.nodes)


def epsilon_graph(
    X: Any,
    radius: float,
    *,
    weights: str = "gaussian",
    tau: float | None = None,
    n_neighbors: int = 10,
) -> Graph:
    """Connect items closer than ``radius``.

    Parameters
    ----------
    X : array_like, shape (n, d)
        One row for each item.
    radius : float
        Largest length of an edge, up to rounding, in units of X; with cosine weights the length
        between the unit vectors x_i / |x_i|.
    weights, tau
        As in `knn_graph`; ``tau`` defaults to ``radius`` for Gaussian weights.
    n_neighbors : int
        K. The scale tau_i of self-tuning weights is the distance to the K-th neighbor.

    Returns
    -------
    Graph
        Sparse, and disconnected if ``radius`` is small.

    Raises
    ------
    ValueError, TypeError
        As in `knn_graph`; a ``radius`` that is not positive.

    Examples
    --------
    >>> import graphuq as gq
    >>> gq.epsilon_graph([[0.0], [1.0], [2.0]], radius=1.5, weights="binary")
    Graph(3 nodes, 2 edges, sparse)
    """
    from sklearn.neighbors import NearestNeighbors

    radius = validation.positive("radius", radius)
    validation.one_of("weights", weights, WEIGHTS)
    if weights == "gaussian" and tau is None:
        tau = radius
    names, X = _row_names(X), check_items(X, weights, tau)
    X, n = center_or_normalize(X, weights, center_of(X)), X.shape[0]
    reach = radius * (1 + TIE_TOLERANCE)  # rounding must not decide about edges of this length
    search = NearestNeighbors(radius=reach).fit(X)

    def squared_to_kth() -> Array:
        validation.integer("n_neighbors", n_neighbors, 1, n - 1, f"X has only {n} rows")
        kth = search.kneighbors(n_neighbors=n_neighbors, return_distance=False)[:, -1]
        return squared_lengths(X, np.arange(n), kth)

    # scales, edges and weights; then both directions
    scale = scales(weights, tau, squared_to_kth, n)
    links = search.radius_neighbors_graph(mode="connectivity").tocoo()
    i, j = links.row, links.col
    adjacency = sparse_weights(
        i, j, weigh(squared_lengths(X, i, j), scale[i] * scale[j], weights), (n, n)
    )
    return Graph(_symmetrize(adjacency, "union"), names)


def full_graph(
    X: Any,
    *,
    weights: str = "self-tuning",
    tau: float | None = None,
    n_neighbors: int = 10,
    self_loops: bool = False,
) -> Graph:
    """Connect all pairs of items.

    Parameters
    ----------
    X : array_like, shape (n, d)
        One row for each item.
    weights, tau
        As in `knn_graph`.
    n_neighbors : int
        K. The scale tau_i of self-tuning weights is the distance to the K-th neighbor.
    self_loops : bool
        Keep a_ii = 1, which the paper's formulas for the weights give. Self-loops weaken the other
        edges relative to the degrees, most where degrees are small.

    Returns
    -------
    Graph
        Dense.

    Raises
    ------
    ValueError, TypeError
        As in `knn_graph`; negative cosines.
    MemoryError
        The n x n weights do not fit.

    Examples
    --------
    >>> import graphuq as gq
    >>> gq.full_graph([[0.0], [1.0], [3.0]], weights="gaussian", tau=1.0).adjacency.round(3)
    array([[0.   , 0.607, 0.011],
           [0.607, 0.   , 0.135],
           [0.011, 0.135, 0.   ]])
    """
    validation.boolean("self_loops", self_loops)
    names, X = _row_names(X), check_items(X, weights, tau)
    X, n = center_or_normalize(X, weights, center_of(X)), X.shape[0]
    require_memory(3 * 8.0 * n * n, f"a full graph of {n} nodes", "use knn_graph, or fewer nodes")
    from scipy.spatial import distance  # slow to import, and rarely needed

    squared = distance.squareform(distance.pdist(X, "sqeuclidean"))

    def squared_to_kth() -> Array:
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
    return Graph(adjacency, names)


def _row_names(X: Any) -> Any:
    """Return the texts that index a data frame, None for numbers and without an index."""
    index: Any = getattr(X, "index", None)
    return index.to_numpy() if getattr(index, "inferred_type", "") == "string" else None


def pca(X: Any, n_components: int = 50) -> Array:
    """Project features on their leading principal components.

    Parameters
    ----------
    X : array_like, shape (n, d)
        One row for each item; columns are centered, not scaled.
    n_components : int
        At most min(n, d).

    Returns
    -------
    ndarray, shape (n, n_components)
        Coordinates along the components, by decreasing variance.

    Raises
    ------
    ValueError
        ``n_components`` above min(n, d).

    Examples
    --------
    >>> import graphuq as gq
    >>> abs(gq.pca([[0.0, 0.0], [3.0, 4.0]], n_components=1)).ravel()
    array([2.5, 2.5])
    """
    from sklearn.decomposition import PCA

    X = check_features(X)
    center_of(X)  # warns of cells that dwarf their column
    validation.integer("n_components", n_components, 1, min(X.shape), "it is limited by X's shape")
    solver = "covariance_eigh" if X.shape[1] <= X.shape[0] else "full"
    projected: Array = PCA(n_components, svd_solver=solver).fit_transform(X)
    return projected


def _symmetrize(A: sparse.csr_array, how: str) -> sparse.csr_array:
    if how == "union":
        return A.maximum(A.T)
    if how == "mutual":
        return A.minimum(A.T)
    return (A + A.T) / 2


def bridge_components(
    A: sparse.csr_array, X: Array, scale: Array, weights: str
) -> sparse.csr_array:
    """Add the shortest edges out of the smallest components until one component is left.

    The shortest edge out of any component belongs to a minimum spanning tree, so the total length
    added is minimal. Edges of equal length are all added, so that the order of the rows does not
    matter. Each bridge is at least as heavy as the smallest of the nodes' heaviest weights. The
    lightest weight of all would not do: among near-duplicates it is arbitrarily small.

    Parameters
    ----------
    A : csr_array, shape (n, n)
        The weights of a graph.
    X : ndarray, shape (n, d)
    scale : ndarray, shape (n,)
    weights : str
        See `graphuq.graphs.neighbors.weigh`.

    Warns
    -----
    RuntimeWarning
        More edges are equally short than are added.
    """
    if not A.nnz:
        raise ValueError(
            "no edge has a weight above zero: take a larger tau, or other weights than cosine"
        )
    heaviest = np.asarray(A.max(axis=1).todense()).ravel()
    usual = np.median(heaviest[heaviest > 0])
    floor = heaviest[heaviest > NEGLIGIBLE * usual].min()
    links = sparse.coo_array(A)
    i, j = links.coords
    holds = links.data >= NEGLIGIBLE * np.maximum(heaviest[i], heaviest[j])
    held = sparse_weights(i[holds], j[holds], links.data[holds], A.shape)
    while True:
        count, component = csgraph.connected_components(held, directed=False)
        if count == 1:
            return A
        # the shortest edges out of each of the smallest components
        sizes = np.bincount(component)
        found = [
            _shortest_edges(X, np.flatnonzero(component == c), np.flatnonzero(component != c))
            for c in np.flatnonzero(sizes == sizes.min())
        ]
        i, j, squared = (np.concatenate(part) for part in zip(*found, strict=True))
        w = np.maximum(weigh(squared, scale[i] * scale[j], weights), floor)
        bridges = sparse.csr_array(sparse.coo_array((w, (i, j)), shape=A.shape))
        bridges = bridges.maximum(bridges.T)
        A, held = A.maximum(bridges), held.maximum(bridges)


def _shortest_edges(X: Array, inside: Nodes, outside: Nodes) -> tuple[Nodes, Nodes, Array]:
    """Return all edges between two sets of items that are as short as the shortest."""
    from scipy.spatial import distance

    if inside.size * outside.size > BRIDGE_BLOCK:
        # only items whose nearest one outside is as near as any, up to the rounding of the search
        nearest = outside[Exact(X[outside]).nearest(X[inside], 1)[:, 0]]
        reach = squared_lengths(X, inside, nearest)
        rounding = SEARCH_ROUNDING * float(np.einsum("ij,ij->i", X, X).max())
        inside = inside[reach <= reach.min() * (1 + TIE_TOLERANCE) + rounding]
    best = np.inf
    i, j, squared = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0)
    cut = False
    for block in np.array_split(inside, -(-inside.size * outside.size // BRIDGE_BLOCK)):
        lengths = distance.cdist(X[block], X[outside], "sqeuclidean")
        shortest = float(lengths.min())
        if shortest > best * (1 + TIE_TOLERANCE):
            continue
        best = min(best, shortest)
        row, column = np.nonzero(lengths <= best * (1 + TIE_TOLERANCE))
        # with those of earlier blocks that are as short
        kept = squared <= best * (1 + TIE_TOLERANCE)
        cut &= bool(kept.any())
        i = np.append(i[kept], block[row])
        j = np.append(j[kept], outside[column])
        squared = np.append(squared[kept], lengths[row, column])
        if squared.size > MAX_LINKS:
            i, j, squared, cut = i[:MAX_LINKS], j[:MAX_LINKS], squared[:MAX_LINKS], True
    if cut:
        warn(
            f"more than {MAX_LINKS:.0e} edges between two components are equally short: only so "
            "many are added, and which ones depends on the order of the rows; drop duplicate rows"
        )
    return i, j, squared


def union(graph_a: Any, graph_b: Any) -> Graph:
    """Add the weights of two graphs on the same nodes, each scaled to the same mean degree.

    A = d A_a / d_a + d A_b / d_b, with the mean degrees d_a and d_b and their mean d. Without the
    scales, the graph whose weights have the larger unit would decide. The union is connected if
    one of the graphs is. A sum of priors keeps the graphs apart, and weighs them by the evidence.

    Parameters
    ----------
    graph_a, graph_b : Graph, adjacency or networkx.Graph
        Node i of one is node i of the other.

    Returns
    -------
    Graph
        Dense if both are. Its ``recall`` is the smaller one.

    Raises
    ------
    ValueError
        Graphs of different sizes, with different names of nodes, or without edges.

    Examples
    --------
    >>> import graphuq as gq
    >>> path, edge = [[0, 1, 0], [1, 0, 1], [0, 1, 0]], [[0, 0, 6], [0, 0, 0], [6, 0, 0]]
    >>> both = gq.union(path, edge)
    >>> both.adjacency.round(2)
    array([[0., 2., 4.],
           [2., 0., 2.],
           [4., 2., 0.]])
    """
    first, second = Graph.of(graph_a), Graph.of(graph_b)
    if first.n_nodes != second.n_nodes:
        raise ValueError(
            f"the union needs graphs on the same nodes, got {first.n_nodes} and {second.n_nodes}: "
            "build both from the same items, in the same order"
        )
    means = [float(graph.degrees.mean()) for graph in (first, second)]
    if not all(means):
        which = "first" if means[1] else "second"
        raise ValueError(f"the {which} graph has no edge: leave it out of the union")
    parts = [
        graph.adjacency * (np.mean(means) / mean)
        for graph, mean in zip((first, second), means, strict=True)
    ]
    if first.is_sparse or second.is_sparse:
        parts = [sparse.csr_array(part) for part in parts]
    both = Graph(parts[0] + parts[1], _common_names(first, second))
    both.recall = min(first.recall, second.recall)
    return both


def _common_names(first: Graph, second: Graph) -> Any:
    """Return the names of the nodes, which one of the graphs may lack."""
    if not np.array_equal(first.nodes, second.nodes):
        positions = np.arange(first.n_nodes)
        if np.array_equal(first.nodes, positions):
            return second.nodes
        if not np.array_equal(second.nodes, positions):
            at = int(np.flatnonzero(first.nodes != second.nodes)[0])
            raise ValueError(
                f"the graphs name node {at} differently, {first.nodes[at]!r} and "
                f"{second.nodes[at]!r}: bring the nodes of both into the same order"
            )
    return first.nodes
