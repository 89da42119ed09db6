"""What theory says of a scaling: the cut and the bounds of Ando and Zhang 2007.

Numbers are those of the source, see `laplacian_kernel`; b / (ac) = 16, that of least squares. The
bounds hold for the expected error on the nodes not labelled, with the best lambda, when n labelled
nodes are drawn uniformly. Above 1 they say nothing of the error itself, and their order of the
scalings is only a hint: benchmarks/ando_zhang.py sets it beside the accuracies.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from graphuq import validation
from graphuq.classifiers.laplacian_kernel import checked_factors, kernel_diagonal
from graphuq.eigenpairs import lowest
from graphuq.graphs import Graph
from graphuq.labels import Labels
from graphuq.spectrum import Spectrum

Array = NDArray[np.float64]

# a and b / (ac) in Theorem 1, where b = c = 1/2
SMALL_LOSS = 1 / 16
RATIO = 16.0

# An eigenvalue below this share of the largest is zero to rounding.
ZERO = 1e-13


def cut(graph: Any, y: Any, S: Any = None) -> float:
    """Return cut(L_S, y), Definition 2: what L_S costs the true labels.

    sum over pairs (j, j') of w_jj' / 2 times 1 / S_j + 1 / S_j' where y_j and y_j' differ, and
    (S_j^(-1/2) - S_j'^(-1/2))^2 where they agree. Both orders of a pair count.

    Parameters
    ----------
    graph : Graph or adjacency, n nodes
    y : array_like, shape (n,)
        The class of every node.
    S : array_like, shape (n,), optional
        `scaling_factors`; 1 by default.

    Raises
    ------
    ValueError
        Lengths that differ, fewer than two classes or a missing one, scaling factors that are not
        positive.

    Examples
    --------
    >>> cut([[0, 1, 0], [1, 0, 2], [0, 2, 0]], y=[0, 0, 1])
    4.0
    """
    graph, y, S = _checked(graph, y, S)
    i, j, w = _edges(graph)
    apart = y[i] != y[j]
    within = (S[i] ** -0.5 - S[j] ** -0.5) ** 2
    return float((w / 2 * np.where(apart, 1 / S[i] + 1 / S[j], within)).sum())


def tr_p(K: Any, p: float) -> float:
    """Return tr_p(K) = ((1/m) sum_j K_jj^p)^(1/p), Theorem 1.

    Parameters
    ----------
    K : array_like, shape (m, m) or (m,)
        A kernel matrix, or its diagonal.
    p : float
        Above 0, and infinity for the largest entry.

    Raises
    ------
    ValueError
        ``p`` not above 0, a diagonal with negative entries.

    Examples
    --------
    >>> tr_p([[3.0, 1.0], [1.0, 4.0]], p=2)
    3.5355339059327378
    """
    K = np.asarray(K, dtype=np.float64)
    diagonal = K.diagonal() if K.ndim == 2 else K
    if diagonal.ndim != 1 or not (diagonal >= 0).all():
        raise ValueError(
            "K must be a kernel matrix or its diagonal, whose entries are not negative"
        )
    p, largest = _power(p, 0.0), float(diagonal.max())
    if p == np.inf or largest == 0:
        return largest
    # powers of shares do not overflow
    return float(largest * np.mean((diagonal / largest) ** p) ** (1 / p))


def kernel_bound(
    graph: Any, y: Any, n_labels: int, alpha: float, S: Any = None, *, p: float = 1.0
) -> float:
    """Return the bound of Theorem 2 on the error without projection.

    C_p n^(-p/(p+1)) ((alpha s + cut(L_S, y)) tr_p(K))^(p/(p+1)) with s = sum_j 1 / S_j,
    K = (alpha S^(-1) + L_S)^(-1) and C_p = 16^(p/(p+1)) (p^(1/(p+1)) + p^(-p/(p+1))).

    Parameters
    ----------
    graph : Graph or adjacency, m nodes
    y : array_like, shape (m,)
        The class of every node.
    n_labels : int
        n.
    alpha : float
    S : array_like, shape (m,), optional
        `scaling_factors`; 1 by default.
    p : float
        Above 0, infinity included. A larger one falls faster with n, but tr_p(K) grows with it
        unless K_jj is constant, as under K-scaling.

    Raises
    ------
    ValueError
        Parameters out of range, shapes that do not fit.
    MemoryError
        K_jj needs a dense inverse, which does not fit.

    Examples
    --------
    >>> pair = [[0, 1], [1, 0]]
    >>> round(kernel_bound(pair, ["a", "b"], n_labels=1, alpha=0.5, p=np.inf), 3)
    57.6
    """
    graph, y, S = _checked(graph, y, S)
    validation.integer("n_labels", n_labels, 1, graph.n_nodes)
    K = S * kernel_diagonal(graph, alpha)
    penalty = alpha * float((1 / S).sum()) + cut(graph, y, S)
    return _generalisation(penalty * tr_p(K, p), n_labels, p)


def component_bound(graph: Any, y: Any, n_labels: int, S: Any = None, *, p: float = 1.0) -> float:
    """Return the bound of Theorem 3: Theorem 2 by the graph's pure components, at the best alpha.

    C_p n^(-p/(p+1)) (sqrt(s t_1) + sqrt(cut(L_S, y) t_2))^(2p/(p+1)), where t_1 is tr_p of
    S_j / m_l and t_2 that of S_j / lambda_2(G_l), for j in the component G_l of m_l nodes. The
    components are those of the graph without edges between classes.

    Parameters
    ----------
    graph, y, n_labels, S
        As in `kernel_bound`.
    p : float
        At least 1, infinity included.

    Raises
    ------
    ValueError
        Parameters out of range, shapes that do not fit.

    Examples
    --------
    >>> import scipy.linalg
    >>> cliques = scipy.linalg.block_diag(1 - np.eye(4), 1 - np.eye(4))
    >>> component_bound(cliques, [0, 0, 0, 0, 1, 1, 1, 1], n_labels=8)  # 2 sqrt(16 q / n)
    4.0
    """
    graph, y, S = _checked(graph, y, S)
    validation.integer("n_labels", n_labels, 1, graph.n_nodes)
    p = _power(p, 1.0)
    pure = _pure_subgraph(graph, y)
    size = np.bincount(pure.component)[pure.component]
    size_trace = tr_p(S / size, p)
    gap_trace = tr_p(S / _second_eigenvalues(pure)[pure.component], p)
    root = np.sqrt((1 / S).sum() * size_trace) + np.sqrt(cut(graph, y, S) * gap_trace)
    return _generalisation(float(root**2), n_labels, p)


class Projection(NamedTuple):
    """What `projection_bound` returns.

    Examples
    --------
    >>> import scipy.linalg
    >>> cliques = scipy.linalg.block_diag(1 - np.eye(4), 1 - np.eye(4))
    >>> found = projection_bound(cliques, [0, 0, 0, 0, 1, 1, 1, 1], n_labels=8, rank=2)
    >>> found.bound, found.delta
    (4.0, 0.0)
    """

    bound: float
    delta: float


def projection_bound(graph: Any, y: Any, n_labels: int, rank: int, S: Any = None) -> Projection:
    """Return the bound on the error with projection on r eigenvectors of L_S, section 4.

    16 delta_r + 8 sqrt(r / n), with delta_r = (|L_S(G) - L_S(G')|_2 + d) / lambda_(r+1)(L_S(G)) of
    Theorem 4, G' the pure subgraph as in `component_bound`, and d the largest over its components
    of sum_jj' w_jj' (S_j^(-1/2) - S_j'^(-1/2))^2 / (2 m_l). The projection of a class's indicator
    misses at most a share delta_r of its square.

    Two departures from the print. Theorem 4 has no w_jj' in d, which is right only for weights up
    to 1. And eq. (5) is 16 delta_r^2 + 32 sqrt(r / n): Theorem 4 gives delta_r, not its square,
    and the best lambda gives 8.

    Parameters
    ----------
    graph, y, n_labels, S
        As in `kernel_bound`.
    rank : int
        r, below m.

    Returns
    -------
    bound, delta : float
        delta is delta_r.

    Raises
    ------
    ValueError
        Parameters out of range, shapes that do not fit.

    Examples
    --------
    >>> import scipy.linalg
    >>> cliques = scipy.linalg.block_diag(1 - np.eye(4), 1 - np.eye(4))
    >>> projection_bound(cliques, [0, 0, 0, 0, 1, 1, 1, 1], n_labels=8, rank=2).bound
    4.0
    """
    graph, y, S = _checked(graph, y, S)
    m = graph.n_nodes
    validation.integer("n_labels", n_labels, 1, m)
    validation.integer("rank", rank, 1, m - 1, f"the graph has {m} nodes")
    pure = _pure_subgraph(graph, y)
    scaled, pure_scaled = _scaled_laplacian(graph, S), _scaled_laplacian(pure, S)
    top = _gershgorin(scaled)
    gap = float(lowest(scaled, rank + 1, bound=top)[0][rank])
    between = scaled - pure_scaled
    norm = 0.0
    if abs(between).max() > 0:
        norm = -float(lowest(-between, 1, bound=_gershgorin(between))[0][0])
    i, j, w = _edges(pure)
    size = np.bincount(pure.component)
    uneven = np.bincount(pure.component[i], w * (S[i] ** -0.5 - S[j] ** -0.5) ** 2 / 2, size.size)
    d = float((uneven / size).max())
    delta = (norm + d) / gap if gap > ZERO * top else np.inf
    return Projection(float(delta / SMALL_LOSS + 8 * np.sqrt(rank / n_labels)), delta)


def _generalisation(product: float, n_labels: int, p: float) -> float:
    """C_p (product / n)^(p/(p+1)), which Theorems 2 and 3 share; C_p tends to 16."""
    if p == np.inf:
        return RATIO * product / n_labels
    power = p / (p + 1)
    return float((RATIO * product / n_labels) ** power * (p ** (1 / (p + 1)) + p**-power))


def _pure_subgraph(graph: Graph, y: NDArray[np.int64]) -> Graph:
    """Drop the edges between classes; the components left are pure, Definition 3."""
    i, j, w = _edges(graph)
    same = y[i] == y[j]
    return Graph(sparse.coo_array((w[same], (i[same], j[same])), shape=graph.adjacency.shape))


def _second_eigenvalues(pure: Graph) -> Array:
    """lambda_2 of L on each component; infinity for one node, for which tr_p has no such term."""
    values = np.full(pure.n_components, np.inf)
    for k in range(pure.n_components):
        nodes = np.flatnonzero(pure.component == k)
        if nodes.size > 1:
            part = Graph(pure.adjacency[nodes][:, nodes])
            values[k] = Spectrum.of(part, 1, "combinatorial").values[0]
    return values


def _scaled_laplacian(graph: Graph, S: Array) -> sparse.csr_array:
    """L_S of Definition 1."""
    root = sparse.diags_array(S**-0.5)
    return sparse.csr_array(root @ sparse.csr_array(graph.laplacian("combinatorial")) @ root)


def _gershgorin(M: sparse.csr_array) -> float:
    """Bound the eigenvalues from above."""
    return float(abs(M).sum(axis=1).max())


def _edges(graph: Graph) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
    """Return ends and weights of edges, in both directions."""
    edges = sparse.coo_array(graph.adjacency)
    return *edges.coords, edges.data


def _checked(graph: Any, y: Any, S: Any) -> tuple[Graph, NDArray[np.int64], Array]:
    graph = Graph.of(graph)
    m = graph.n_nodes
    if np.shape(y) != (m,):
        raise ValueError(f"y must give the class of each of {m} nodes, got shape {np.shape(y)}")
    classes = Labels(np.arange(m), y).indices
    return graph, classes, checked_factors(np.ones(m) if S is None else S, m)


def _power(p: float, low: float) -> float:
    if p == np.inf:
        return p
    p = validation.real("p", p)
    if not p >= low or p == 0:
        raise ValueError(f"p must be {'at least 1' if low else 'above 0'}, got {p:g}")
    return p
