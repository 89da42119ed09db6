"""A weighted graph: its adjacency, Laplacians, connectivity."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from graphuq.graphs.foreign import adjacency_of_edges, is_foreign, read_foreign
from graphuq.graphs.mistaken_weights import warn_of_distances
from graphuq.utils import validation
from graphuq.utils.outliers import DWARFING_RATIO
from graphuq.utils.read_only import freeze_matrix
from graphuq.utils.typing import Array
from graphuq.utils.warnings import warn
from graphuq.utils.words import choose_form, count

Matrix = Any  # a dense float64 ndarray or a scipy.sparse.csr_array

# Warn only if one edge, or at most this share of edges, outweighs the rest.
HEAVY_SHARE = 0.05

# ten million of the heaviest edges have a finite sum
MAX_WEIGHT = 1e300
LAPLACIANS = ("normalized", "combinatorial", "signless")


def check_laplacian(name: str, kind: str) -> str:
    """Return the kind of a Laplacian; the British spelling of earlier scripts is accepted."""
    british = isinstance(kind, str) and kind == "normalised"
    return validation.one_of(name, "normalized" if british else kind, LAPLACIANS)


class Graph:
    """An undirected graph with non-negative weights A = {a_ij}.

    Parameters
    ----------
    adjacency : array_like, sparse matrix, DataFrame, networkx.Graph or igraph.Graph, shape (n, n)
        Symmetric, finite and non-negative. Self-loops a_ii are kept. The weights of a graph of
        networkx or igraph are its edge attribute ``weight``, 1 by default.
    nodes : array_like, shape (n,), optional
        Names of the nodes; by default the positions 0..n-1, or the names in a networkx graph, the
        vertex attribute ``name`` of an igraph graph, or the index of a data frame. Results refer to
        nodes by position, beside which they keep the names: ``graph.nodes[i]`` is that of node i.
        Nodes of networkx that are called 0..n-1 have these positions, in whatever order they were
        added.

    Attributes
    ----------
    adjacency : ndarray or csr_array of float64, shape (n, n)
    nodes : ndarray, shape (n,)
    degrees : ndarray, shape (n,)
        d_ii = sum_j a_ij.
    recall : float
        Share of true neighbors that `knn_graph` found, measured on a sample; 1 if the search was
        exact, and for other graphs.

    Raises
    ------
    ValueError
        A matrix that is not square, finite, non-negative and symmetric. The message names an entry.

    Warns
    -----
    RuntimeWarning
        A single edge, or at most one in twenty, is at least 1000 times as heavy as all others; the
        weights look like distances; nodes of networkx or igraph are called by other numbers than
        0..n-1; their edges have numbers, and none is called ``weight``.

    Examples
    --------
    >>> import graphuq as gq
    >>> graph = gq.Graph([[0, 1, 0], [1, 0, 2], [0, 2, 0]])
    >>> graph
    Graph(3 nodes, 2 edges, dense)
    >>> graph.degrees, graph.names
    (array([1., 3., 2.]), None)
    >>> graph.laplacian("combinatorial")
    array([[ 1., -1.,  0.],
           [-1.,  3., -2.],
           [ 0., -2.,  2.]])

    The larger component of a disconnected graph:

    >>> pair_and_one = gq.Graph.of([[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    >>> pair_and_one.n_components, pair_and_one.component
    (2, array([0, 0, 1]))
    >>> pair = pair_and_one.largest_component()
    >>> pair.n_nodes, pair.n_edges, pair.is_sparse, pair.nodes
    (2, 1, False, array([0, 1]))
    >>> pair.require_connected()
    >>> pair.normalized_adjacency()
    array([[0., 1.],
           [1., 0.]])
    """

    recall = 1.0

    def __init__(self, adjacency: Any, nodes: Any = None) -> None:
        if is_foreign(adjacency):
            adjacency, nodes = read_foreign(adjacency, nodes)
        self.adjacency = freeze_matrix(_check_adjacency(adjacency))
        _warn_of_heavy_edges(self.adjacency)
        warn_of_distances(self.adjacency)
        n = self.adjacency.shape[0]
        self.nodes: NDArray[Any] = (
            np.arange(n) if nodes is None else validation.unmasked("nodes", nodes)
        )
        if self.nodes.shape != (n,):
            raise ValueError(f"nodes must name {n} nodes, got shape {self.nodes.shape}")

    @classmethod
    def of(cls, graph: Any) -> Graph:
        """Return ``graph`` itself, or a `Graph` built from an adjacency matrix."""
        return graph if isinstance(graph, Graph) else cls(graph)

    @classmethod
    def from_edge_index(
        cls, edge_index: Any, edge_weight: Any = None, n_nodes: int | None = None
    ) -> Graph:
        """Return the undirected graph of listed edges, as PyTorch Geometric and others list them.

        Parameters
        ----------
        edge_index : array_like or tensor of int, shape (2, E)
            The nodes at both ends of each edge.
        edge_weight : array_like or tensor, shape (E,), optional
            Without weights, each pair of nodes that is listed has weight 1. Weights of a pair that
            is listed more than once, in one or both directions, are added, unless the list has
            every edge in both directions with one weight: then each counts once.
        n_nodes : int, optional
            Number of nodes, if the last ones may have no edge.

        Returns
        -------
        Graph
            Sparse.

        Raises
        ------
        ValueError, TypeError
            Not two rows of nodes counted from 0, weights that are negative or not finite, a tensor
            on a device.

        Examples
        --------
        >>> import graphuq as gq
        >>> gq.Graph.from_edge_index([[0, 1, 1, 2], [1, 0, 2, 1]], n_nodes=4)
        Graph(4 nodes, 2 edges, sparse)
        >>> gq.Graph.from_edge_index([[0, 1, 1], [1, 0, 2]], [0.5, 1.5, 3.0]).degrees
        array([2., 5., 3.])
        """
        return cls(adjacency_of_edges(edge_index, edge_weight, n_nodes))

    @property
    def n_nodes(self) -> int:
        """Number of nodes N."""
        return int(self.adjacency.shape[0])

    @property
    def names(self) -> NDArray[Any] | None:
        """The names of the nodes, or None if these are the positions 0..n-1."""
        return None if np.array_equal(self.nodes, np.arange(self.n_nodes)) else self.nodes

    @property
    def n_edges(self) -> int:
        """Number of edges with positive weight, self-loops included."""
        loops = np.count_nonzero(self.adjacency.diagonal())
        entries = self.adjacency.nnz if self.is_sparse else np.count_nonzero(self.adjacency)
        return int(entries + loops) // 2

    @property
    def is_sparse(self) -> bool:
        """Whether the adjacency is sparse."""
        return bool(sparse.issparse(self.adjacency))

    @cached_property
    def degrees(self) -> Array:
        """Degrees d_ii = sum_j a_ij."""
        return np.asarray(self.adjacency.sum(axis=1), dtype=np.float64)

    @cached_property
    def component(self) -> NDArray[np.int64]:
        """Index of each node's connected component; 0 is the largest component."""
        _, raw = csgraph.connected_components(sparse.csr_array(self.adjacency), directed=False)
        # number the components by size
        by_size = np.argsort(-np.bincount(raw), kind="stable")
        rank = np.empty_like(by_size)
        rank[by_size] = np.arange(by_size.size)
        return rank[raw].astype(np.int64)

    @property
    def n_components(self) -> int:
        """Number of connected components."""
        return int(self.component.max()) + 1

    def laplacian(self, kind: str = "normalized") -> Matrix:
        """Return L = I - D^(-1/2) A D^(-1/2), eq. (1), or another Laplacian.

        Parameters
        ----------
        kind : {"normalized", "combinatorial", "signless"}
            Combinatorial is D - A, and signless is the normalized I + D^(-1/2) A D^(-1/2).
        """
        if check_laplacian("kind", kind) == "combinatorial":
            A, diagonal = self.adjacency, self.degrees
        else:
            A, diagonal = self.normalized_adjacency(), np.ones(self.n_nodes)
        if kind == "signless":
            A = -A
        if self.is_sparse:
            return sparse.csr_array(sparse.diags_array(diagonal) - A)
        return np.diag(diagonal) - A

    def normalized_adjacency(self) -> Matrix:
        """Return D^(-1/2) A D^(-1/2)."""
        isolated = np.flatnonzero(self.degrees == 0)
        if isolated.size:
            raise ValueError(
                f"{count(isolated.size, 'node')} {choose_form(isolated.size, 'has', 'have')} no "
                f"edge, first node {isolated[0]}: "
                "take graph.largest_component()"
            )
        scale = 1 / np.sqrt(self.degrees)
        if self.is_sparse:
            D = sparse.diags_array(scale)
            return sparse.csr_array(D @ self.adjacency @ D)
        return scale[:, None] * self.adjacency * scale

    def largest_component(self) -> Graph:
        """Return the subgraph of the largest component; ``nodes`` keeps the names of its nodes."""
        kept = np.flatnonzero(self.component == 0)
        A = self.adjacency[kept][:, kept] if self.is_sparse else self.adjacency[np.ix_(kept, kept)]
        part = Graph(A, self.nodes[kept])
        part.recall = self.recall
        return part

    def require_connected(self) -> None:
        """Refuse a disconnected graph, whose Laplacian has several zero eigenvalues."""
        if self.n_components == 1:
            return
        sizes = np.bincount(self.component)
        listed = ", ".join(map(str, sizes[:5])) + (", ..." if sizes.size > 5 else "")
        alone = np.flatnonzero(sizes[self.component] == 1)
        isolated = (
            f"; {count(alone.size, 'node')} {choose_form(alone.size, 'is', 'are')} isolated, first "
            f"node {alone[0]}"
            if alone.size
            else ""
        )
        raise ValueError(
            f"the graph is disconnected: {sizes.size} components of {listed} nodes{isolated}. "
            "Take graph.largest_component(), bridge the gaps with knn_graph(..., connect=True), or "
            "take larger weights (tau, radius, n_neighbors)"
        )

    def __repr__(self) -> str:
        kind = "sparse" if self.is_sparse else "dense"
        return f"Graph({self.n_nodes} nodes, {self.n_edges} edges, {kind})"


def _check_adjacency(adjacency: Any) -> Matrix:
    validation.require_in_place("adjacency", adjacency)
    given = type(adjacency).__name__
    try:
        if validation.has_mask(adjacency):
            raise TypeError("masked weights; fill them in, adjacency.filled(0)")
        if not sparse.issparse(adjacency):
            adjacency = np.asarray(adjacency)
        if adjacency.ndim == 0:
            raise TypeError("no rows")
        if adjacency.dtype.kind in "cmM":
            raise TypeError(f"{adjacency.dtype} weights")
        if sparse.issparse(adjacency):
            A = sparse.csr_array(adjacency, dtype=np.float64, copy=True)
            A.check_format(full_check=True)  # indices out of range would read foreign memory
            A.sum_duplicates()
            A.eliminate_zeros()
        else:
            A = np.array(adjacency, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(
            "adjacency must be a numeric matrix, a scipy sparse matrix, or a graph of networkx or "
            f"igraph, got {given} ({error})"
        ) from error
    if A.ndim != 2 or A.shape[0] != A.shape[1] or A.shape[0] < 2:
        raise ValueError(f"adjacency must be square with at least two nodes, got shape {A.shape}")
    weights = A.data if sparse.issparse(A) else A.ravel()
    for fault, what in ((~np.isfinite(weights), "finite"), (weights < 0, "non-negative")):
        if fault.any():
            i, j = _entry(A, int(np.flatnonzero(fault)[0]))
            raise ValueError(
                f"weights must be {what}: a[{i}, {j}] = {A[i, j]} ({fault.sum()} such "
                f"{choose_form(fault.sum(), 'entry', 'entries')}); fix or drop those edges"
            )
    heaviest = weights.max(initial=0.0)
    if 0 < heaviest < validation.MIN_POSITIVE:
        raise ValueError(
            f"no weight is larger than {heaviest:g}, so that inverses of degrees overflow: "
            "multiply all weights by one number"
        )
    if heaviest > MAX_WEIGHT:
        raise ValueError(
            f"a weight is {heaviest:g}, so that sums of weights overflow: multiply all weights by "
            "one number"
        )
    # symmetric to rounding; then made exactly so
    gap = abs(A - A.T)
    if gap.max() > 1e-10 * max(heaviest, np.finfo(float).tiny):
        entries = gap.data if sparse.issparse(gap) else gap.ravel()
        i, j = _entry(gap, int(entries.argmax()))
        rows = np.unique(np.diff(A.indptr)).tolist() if sparse.issparse(A) else []
        neighbors = (
            f"; if each row has its {rows[0]} nearest neighbors, take gq.knn_graph(X, {rows[0]})"
            if len(rows) == 1
            else ""
        )
        raise ValueError(
            f"adjacency must be symmetric: a[{i}, {j}] = {A[i, j]:.12g} but a[{j}, {i}] = "
            f"{A[j, i]:.12g}; symmetrize it, for example (A + A.T) / 2{neighbors}"
        )
    return (A + A.T) / 2 if gap.max() > 0 else A


def _warn_of_heavy_edges(A: Matrix) -> None:
    """Warn of edges that outweigh the rest."""
    weights = A.data if sparse.issparse(A) else A.ravel()
    heaviest = weights.max(initial=0.0)
    heavy = weights > heaviest / 2
    next_weight = weights.max(initial=0.0, where=~heavy)
    n_heavy = np.count_nonzero(heavy)
    few = n_heavy <= max(2, HEAVY_SHARE * np.count_nonzero(weights))  # an edge has two entries
    if few and 0 < next_weight <= heaviest / DWARFING_RATIO:
        i, j = _entry(A, int(weights.argmax()))
        warn(
            f"edge ({i}, {j}) has weight {heaviest:g}, and all lighter edges have at most "
            f"{next_weight:g}: it outweighs them and isolates its two nodes; "
            "correct it, or rescale the weights, for example by their logarithms"
        )


def _entry(A: Matrix, position: int) -> tuple[int, int]:
    """Return the row and column of the stored value at ``position``."""
    if sparse.issparse(A):
        row = int(np.searchsorted(A.indptr, position, side="right")) - 1
        return row, int(A.indices[position])
    return divmod(position, A.shape[1])


def require_modes(graph: Graph) -> int:
    """Return the number of modes of a graph, and refuse one that joins no two nodes."""
    if graph.n_components == graph.n_nodes:
        raise ValueError("the graph has no edge between two nodes, and so no modes: add edges")
    return graph.n_nodes - graph.n_components


def laplacian_parts(graph: Graph, laplacian: str) -> tuple[Any, Array, float]:
    """Return L, q_0 and an upper bound of the eigenvalues.

    The signless Laplacian has q_0 too, of eigenvalue 2.

    A node without an edge has a loop here: its row of L is 0, as a component's of its own must be,
    or 2 of the signless Laplacian.
    """
    if not graph.degrees.all():
        loops = np.where(graph.degrees == 0, graph.adjacency.max(), 0.0)
        looped = graph.adjacency + (
            sparse.diags_array(loops) if graph.is_sparse else np.diag(loops)
        )
        graph = Graph(looped, graph.nodes)
    if laplacian == "combinatorial":
        null, bound = np.ones(graph.n_nodes), 2 * graph.degrees.max()
    else:
        null, bound = np.sqrt(graph.degrees), 2.0
    return graph.laplacian(laplacian), null / np.linalg.norm(null), bound
