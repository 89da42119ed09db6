"""The cut and the bounds of Ando and Zhang 2007, which compare scalings in theory.

Equation numbers are those of the source; see `laplacian_kernel`. b / (ac) = 16, as for least
squares. The bounds hold for the expected error on unlabeled nodes, and those but `oracle_bound` for
the best lambda, if the n labeled nodes are drawn uniformly and the kernel is
(alpha S^(-1) + L_S)^(-1). That of L-scaling is another, (alpha I + L_S)^(-1). A bound above 1 says
nothing about the error itself, and the order of the bounds only suggests an order of the scalings:
benchmarks/papers/ando_zhang.py compares it with the accuracies.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from graphuq.classifiers.laplacian_kernel import check_factors, kernel_diagonal
from graphuq.graphs import Graph
from graphuq.graphs.eigensolver import smallest_eigenpairs
from graphuq.graphs.spectrum import Spectrum
from graphuq.labels.labels import Labels
from graphuq.utils import validation
from graphuq.utils.typing import Array

# a and b / (ac) in Theorem 1, where b = c = 1/2
SMALL_LOSS = 1 / 16
LOSS_RATIO = 16.0

# An eigenvalue below this share of the largest is zero to rounding.
ZERO_SHARE = 1e-13


def cut(graph: Any, y: Any, S: Any = None) -> float:
    """Return cut(L_S, y), Definition 2: the penalty of L_S for the true labels.

    The sum over ordered pairs (j, j') of w_jj' / 2 times 1 / S_j + 1 / S_j' if y_j and y_j' differ,
    and (S_j^(-1/2) - S_j'^(-1/2))^2 if they agree.

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
        Different lengths, fewer than two classes, missing classes, scaling factors that are not
        positive.

    Examples
    --------
    >>> import graphuq as gq
    >>> gq.classifiers.cut([[0, 1, 0], [1, 0, 2], [0, 2, 0]], y=[0, 0, 1])
    4.0
    """
    graph, y, S = _check_problem(graph, y, S)
    i, j, w = _edges(graph)
    differ = y[i] != y[j]
    within = (S[i] ** -0.5 - S[j] ** -0.5) ** 2
    return float((w / 2 * np.where(differ, 1 / S[i] + 1 / S[j], within)).sum())


def tr_p(K: Any, p: float) -> float:
    """Return tr_p(K) = ((1/m) sum_j K_jj^p)^(1/p), Theorem 1.

    Parameters
    ----------
    K : array_like, shape (m, m) or (m,)
        A kernel matrix, or its diagonal.
    p : float
        Positive; infinity gives the largest entry.

    Raises
    ------
    ValueError
        ``p`` that is not positive, a diagonal with negative entries.

    Examples
    --------
    >>> import graphuq as gq
    >>> gq.classifiers.tr_p([[3.0, 1.0], [1.0, 4.0]], p=2)
    3.5355339059327378
    """
    K = np.asarray(K, dtype=np.float64)
    diagonal = K.diagonal() if K.ndim == 2 else K
    if diagonal.ndim != 1 or not (diagonal >= 0).all():
        raise ValueError(
            "K must be a kernel matrix or its diagonal, with a diagonal that is not negative"
        )
    p, largest = _check_power(p, 0.0), float(diagonal.max())
    if p == np.inf or largest == 0:
        return largest
    # powers of ratios to the largest entry do not overflow
    return float(largest * np.mean((diagonal / largest) ** p) ** (1 / p))


def oracle_bound(
    graph: Any, y: Any, n_labels: int, alpha: float, reg: float, S: Any = None, *, p: float = 1.0
) -> float:
    """Return the bound of Theorem 1: the error at a given lambda, by the best scores of all.

    16 inf_f ((1/m) |f - Y|^2 + lambda sum_k f_k' K^(-1) f_k) + (tr_p(K) / (lambda n))^p, with
    K = (alpha S^(-1) + L_S)^(-1) and the indicators Y of all classes. The infimum is
    sum_ik lambda v_i / (1 + m lambda v_i) (q_i' Y_k)^2, with the eigenpairs v_i, q_i of K^(-1).

    Parameters
    ----------
    graph, y, n_labels, alpha, S, p
        As in `kernel_bound`.
    reg : float
        lambda.

    Raises
    ------
    ValueError
        Parameters out of range, shapes that do not fit.
    MemoryError
        K_jj needs a dense inverse, which does not fit.

    Examples
    --------
    >>> import graphuq as gq
    >>> pair = [[0, 1], [1, 0]]
    >>> round(gq.classifiers.oracle_bound(pair, ["a", "b"], 1, alpha=0.5, reg=1.0), 3)
    11.867
    """
    graph, y, S = _check_problem(graph, y, S)
    validation.integer("n_labels", n_labels, 1, graph.n_nodes)
    alpha, reg = validation.positive("alpha", alpha), validation.positive("reg", reg)
    p = _check_power(p, 0.0)
    trace = tr_p(S * kernel_diagonal(graph, alpha), p)
    values, vectors = np.linalg.eigh(_scaled_laplacian(graph, S).toarray() + np.diag(alpha / S))
    Y = np.eye(y.max() + 1)[y]
    risk = float((reg * values / (1 + y.size * reg * values) @ (vectors.T @ Y) ** 2).sum())
    with np.errstate(over="ignore"):
        return float(risk / SMALL_LOSS + np.power(trace / (reg * n_labels), p))


def kernel_bound(
    graph: Any, y: Any, n_labels: int, alpha: float, S: Any = None, *, p: float = 1.0
) -> float:
    """Return the bound of Theorem 2: the error without projection.

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
        Positive, possibly infinite. With a larger p the bound decreases faster in n, but tr_p(K)
        increases, unless K_jj is constant as for K-scaling.

    Raises
    ------
    ValueError
        Parameters out of range, shapes that do not fit.
    MemoryError
        K_jj needs a dense inverse, which does not fit.

    Examples
    --------
    >>> import numpy as np
    >>> import graphuq as gq
    >>> pair = [[0, 1], [1, 0]]
    >>> round(gq.classifiers.kernel_bound(pair, ["a", "b"], n_labels=1, alpha=0.5, p=np.inf), 3)
    57.6
    """
    graph, y, S = _check_problem(graph, y, S)
    validation.integer("n_labels", n_labels, 1, graph.n_nodes)
    K = S * kernel_diagonal(graph, alpha)
    penalty = alpha * float((1 / S).sum()) + cut(graph, y, S)
    return _error_bound(penalty * tr_p(K, p), n_labels, p)


def component_bound(graph: Any, y: Any, n_labels: int, S: Any = None, *, p: float = 1.0) -> float:
    """Return the bound of Theorem 3: Theorem 2 at the best alpha, in terms of pure components.

    C_p n^(-p/(p+1)) (sqrt(s t_1) + sqrt(cut(L_S, y) t_2))^(2p/(p+1)), where t_1 is tr_p of
    S_j / m_l and t_2 is tr_p of S_j / lambda_2(G_l), for j in the component G_l with m_l nodes.
    Pure components are those of the graph without edges between classes.

    Parameters
    ----------
    graph, y, n_labels, S
        As in `kernel_bound`.
    p : float
        At least 1, possibly infinite.

    Raises
    ------
    ValueError
        Parameters out of range, shapes that do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> import graphuq as gq
    >>> import scipy.linalg
    >>> cliques = scipy.linalg.block_diag(1 - np.eye(4), 1 - np.eye(4))
    >>> y = [0, 0, 0, 0, 1, 1, 1, 1]
    >>> gq.classifiers.component_bound(cliques, y, n_labels=8)  # 2 sqrt(16 q / n)
    4.0
    """
    graph, y, S = _check_problem(graph, y, S)
    validation.integer("n_labels", n_labels, 1, graph.n_nodes)
    p = _check_power(p, 1.0)
    pure = _pure_subgraph(graph, y)
    size = np.bincount(pure.component)[pure.component]
    size_trace = tr_p(S / size, p)
    gap_trace = tr_p(S / _second_eigenvalues(pure)[pure.component], p)
    root = np.sqrt((1 / S).sum() * size_trace) + np.sqrt(cut(graph, y, S) * gap_trace)
    return _error_bound(float(root**2), n_labels, p)


def small_cut_bound(graph: Any, y: Any, n_labels: int) -> float:
    """Return the bound of section 3.1: the error with the factors S_j = m_l of a small cut.

    16 / n (sqrt(q) + sqrt(cut(G', y) / (u min_l m_l)))^2 with u = min_l lambda_2(G_l) / m_l, for
    the q pure components of `component_bound`, whose cut(G', y) is the weight of all edges between
    classes, each in both directions. It is at least the bound of Theorem 3 with these factors. The
    published cut(G', y) adds half of the edges between components, which are the same ones here,
    and the bound holds without.

    Parameters
    ----------
    graph, y, n_labels
        As in `kernel_bound`.

    Raises
    ------
    ValueError
        Parameters out of range, shapes that do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> import graphuq as gq
    >>> import scipy.linalg
    >>> cliques = scipy.linalg.block_diag(1 - np.eye(4), 1 - np.eye(4))
    >>> y = [0, 0, 0, 0, 1, 1, 1, 1]
    >>> round(gq.classifiers.small_cut_bound(cliques, y, n_labels=8), 9)  # 16 q / n
    4.0
    """
    graph, y, _ = _check_problem(graph, y, None)
    validation.integer("n_labels", n_labels, 1, graph.n_nodes)
    pure = _pure_subgraph(graph, y)
    size = np.bincount(pure.component)
    smallest_gap = float((_second_eigenvalues(pure) / size).min())
    i, j, w = _edges(graph)
    between = float(w[y[i] != y[j]].sum())
    root = np.sqrt(size.size) + np.sqrt(between / (smallest_gap * size.min()))
    return _error_bound(float(root**2), n_labels, np.inf)


class Projection(NamedTuple):
    """The result of `projection_bound`.

    Examples
    --------
    >>> import numpy as np
    >>> import graphuq as gq
    >>> import scipy.linalg
    >>> cliques = scipy.linalg.block_diag(1 - np.eye(4), 1 - np.eye(4))
    >>> y = [0, 0, 0, 0, 1, 1, 1, 1]
    >>> found = gq.classifiers.projection_bound(cliques, y, n_labels=8, rank=2)
    >>> found.bound, found.delta
    (4.0, 0.0)
    """

    bound: float
    delta: float


def projection_bound(graph: Any, y: Any, n_labels: int, rank: int, S: Any = None) -> Projection:
    """Return the bound of section 4: the error with projection on r eigenvectors of L_S.

    16 delta_r + 8 sqrt(r / n), with delta_r = (|L_S(G) - L_S(G')|_2 + d) / lambda_(r+1)(L_S(G)) of
    Theorem 4. G' is the pure subgraph of `component_bound`, and d is the maximum over its
    components of sum_jj' w_jj' (S_j^(-1/2) - S_j'^(-1/2))^2 / (2 m_l). The projection of the
    indicator of a class loses at most the share delta_r of its squared norm.

    Theorem 4 projects on eigenvectors of alpha S^(-1) + L_S, and this bound is for those of L_S:
    they are the same for constant S, and nearly so for a small alpha. The published text differs
    from this in two more places. Theorem 4 has no w_jj' in d, which is right
    only for weights up to 1. Eq. (5) is 16 delta_r^2 + 32 sqrt(r / n), but Theorem 4 gives delta_r
    instead of its square, and the best lambda gives 8.

    Parameters
    ----------
    graph, y, n_labels, S
        As in `kernel_bound`.
    rank : int
        r < m.

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
    >>> import numpy as np
    >>> import graphuq as gq
    >>> import scipy.linalg
    >>> cliques = scipy.linalg.block_diag(1 - np.eye(4), 1 - np.eye(4))
    >>> gq.classifiers.projection_bound(cliques, [0, 0, 0, 0, 1, 1, 1, 1], n_labels=8, rank=2).bound
    4.0
    """
    graph, y, S = _check_problem(graph, y, S)
    m = graph.n_nodes
    validation.integer("n_labels", n_labels, 1, m)
    validation.integer("rank", rank, 1, m - 1, f"the graph has {m} nodes")
    pure = _pure_subgraph(graph, y)
    scaled, pure_scaled = _scaled_laplacian(graph, S), _scaled_laplacian(pure, S)
    # lambda_(r+1), and the norm of L_S(G) - L_S(G')
    top = _gershgorin(scaled)
    gap = float(smallest_eigenpairs(scaled, rank + 1, bound=top)[0][rank])
    between = scaled - pure_scaled
    norm = 0.0
    if abs(between).max() > 0:
        norm = -float(smallest_eigenpairs(-between, 1, bound=_gershgorin(between))[0][0])
    # d: how uneven the scaling factors are inside a component
    i, j, w = _edges(pure)
    size = np.bincount(pure.component)
    uneven = np.bincount(pure.component[i], w * (S[i] ** -0.5 - S[j] ** -0.5) ** 2 / 2, size.size)
    d = float((uneven / size).max())
    delta = (norm + d) / gap if gap > ZERO_SHARE * top else np.inf
    return Projection(float(delta / SMALL_LOSS + 8 * np.sqrt(rank / n_labels)), delta)


def _error_bound(product: float, n_labels: int, p: float) -> float:
    """Return C_p (product / n)^(p/(p+1)) of Theorems 2 and 3, where C_p tends to 16."""
    if p == np.inf:
        return LOSS_RATIO * product / n_labels
    power = p / (p + 1)
    return float((LOSS_RATIO * product / n_labels) ** power * (p ** (1 / (p + 1)) + p**-power))


def _pure_subgraph(graph: Graph, y: NDArray[np.int64]) -> Graph:
    """Return the graph without edges between classes; its components are pure, Definition 3."""
    i, j, w = _edges(graph)
    same = y[i] == y[j]
    return Graph(sparse.coo_array((w[same], (i[same], j[same])), shape=graph.adjacency.shape))


def _second_eigenvalues(pure: Graph) -> Array:
    """Return lambda_2 of L on each component; infinity for a single node, which has none."""
    values = np.full(pure.n_components, np.inf)
    for k in range(pure.n_components):
        nodes = np.flatnonzero(pure.component == k)
        if nodes.size > 1:
            part = Graph(pure.adjacency[nodes][:, nodes])
            values[k] = Spectrum.of(part, 1, "combinatorial").values[0]
    return values


def _scaled_laplacian(graph: Graph, S: Array) -> sparse.csr_array:
    """Return L_S of Definition 1."""
    root = sparse.diags_array(S**-0.5)
    return sparse.csr_array(root @ sparse.csr_array(graph.laplacian("combinatorial")) @ root)


def _gershgorin(M: sparse.csr_array) -> float:
    """Return an upper bound of the eigenvalues, by Gershgorin circles."""
    return float(abs(M).sum(axis=1).max())


def _edges(graph: Graph) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
    """Return both ends and the weights of the edges, in both directions."""
    edges = sparse.coo_array(graph.adjacency)
    return *edges.coords, edges.data


def _check_problem(graph: Any, y: Any, S: Any) -> tuple[Graph, NDArray[np.int64], Array]:
    graph = Graph.of(graph)
    m = graph.n_nodes
    if np.shape(y) != (m,):
        raise ValueError(f"y must give the class of each of {m} nodes, got shape {np.shape(y)}")
    classes = Labels(np.arange(m), y).indices
    return graph, classes, check_factors(np.ones(m) if S is None else S, m)


def _check_power(p: float, low: float) -> float:
    if p == np.inf:
        return p
    p = validation.real("p", p)
    if not p >= low or p == 0:
        raise ValueError(f"p must be {'at least 1' if low else 'above 0'}, got {p:g}")
    return p
