"""Least squares with a kernel from the scaled graph Laplacian: Ando and Zhang 2007.

Equation and definition numbers are those of R. K. Ando and T. Zhang, "Learning on graph with
Laplacian regularization", NIPS 2006. S is the diagonal of scaling factors, L = D - W.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import Ridge

from graphuq.classifiers.transductive import TransductiveClassifier
from graphuq.graphs import Graph
from graphuq.graphs.eigensolver import smallest_eigenpairs
from graphuq.labels.labels import Labels
from graphuq.utils import validation
from graphuq.utils.linear_solve import TOLERANCE, solve_positive_definite
from graphuq.utils.memory import require_memory
from graphuq.utils.typing import Array
from graphuq.utils.words import choose_form, count

SCALINGS = ("none", "degree", "kernel")

# With alpha below this share of the largest degree, alpha I + L is singular to rounding.
MIN_ALPHA_SHARE = 1e-10

# With lambda below this, n lambda K^(-1) is lost in the rounding of the ones at labeled nodes.
MIN_REG = 1e-12

# The largest residual of the solution for a probe; the error of the estimate is far above it.
PROBE_TOLERANCE = 1e-6


class LaplacianKernel(TransductiveClassifier):
    """Kernel least squares of each class against the rest, eq. (1).

    Scores minimize, for each class k, (1/n) sum_{labeled j} (f_jk - [y_j = k])^2
    + lambda f_k' K^(-1) f_k over all vectors f_k or, eq. (4), over the span of the ``rank``
    smoothest eigenvectors of K^(-1), `kernel_inverse`.

    Parameters
    ----------
    scaling : {"none", "degree", "kernel"}
        S_j = 1; the degree ("L-scaling"); or 1 / Kbar_jj ("K-scaling"), for which K_jj = 1. In
        theory, S_j should be near the size of the well-connected part of the class and nearly
        constant in it. K-scaling achieves this where degrees do not.
    alpha : float
        Ridge of the Laplacian. With a small alpha labels reach far nodes, with a large one only
        neighbors. It is in units of the degrees, except for "degree", whose Laplacian has
        eigenvalues below 2. With "kernel" the eigenvectors also depend on it.
    reg : float
        lambda > 0; with a larger value the scores fit the labels less closely.
    rank : int, optional
        Number r of eigenvectors; all by default. Fewer eigenvectors suppress noise in the graph;
        too few cannot represent the classes.
    n_probes : int, optional
        Estimate Kbar_jj by this number of random solutions, with a relative standard error of
        sqrt(2 / n_probes), instead of a dense inverse; see `kernel_diagonal`.
    max_iter : int, optional
        Iterations of conjugate gradients, which solve for sparse graphs; 10 n by default.
    seed : int, SeedSequence or Generator, optional
        Determines the probes.

    Attributes
    ----------
    scaling_factors_ : ndarray, shape (n,)
        S_j.
    decision_scores_ : ndarray, shape (n, K)
        f_jk.
    eigenvalues_ : ndarray, shape (rank,)
        Eigenvalues of K^(-1), if ``rank`` is given.

    Raises
    ------
    ValueError
        In ``fit``: parameters out of range, a disconnected graph.
    MemoryError
        In ``fit``: a dense inverse or eigendecomposition does not fit.

    Warns
    -----
    ConvergenceWarning
        In ``fit``: conjugate gradients did not reach their tolerance.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.digit_pair(4, 9)
    >>> graph = gq.knn_graph(X, n_neighbors=10)
    >>> labels = gq.reveal(y, fraction=0.04, seed=0)
    >>> bool(gq.LaplacianKernel(alpha=1.0).fit(graph, labels).accuracy(y) > 0.95)
    True
    """

    def __init__(
        self,
        scaling: str = "kernel",
        alpha: float = 0.1,
        reg: float = 1e-3,
        rank: int | None = None,
        *,
        n_probes: int | None = None,
        max_iter: int | None = None,
        seed: validation.Seed = 0,
    ) -> None:
        self.scaling = scaling
        self.alpha = alpha
        self.reg = reg
        self.rank = rank
        self.n_probes = n_probes
        self.max_iter = max_iter
        self.seed = seed

    def _score(self, graph: Graph, labels: Labels) -> Array:
        reg = validation.positive("reg", self.reg)
        if reg < MIN_REG:
            raise ValueError(
                f"reg must be at least {MIN_REG:g}, got {reg:g}: smaller values are lost in "
                "rounding"
            )
        n_lambda = len(labels) * reg
        self._resolution = TOLERANCE if graph.is_sparse and self.rank is None else 0.0
        self.__dict__.pop("eigenvalues_", None)  # from an earlier fit
        if self.rank is not None:
            validation.integer("rank", self.rank, 1, graph.n_nodes, "the graph has no more nodes")
        if self.max_iter is not None:
            validation.integer("max_iter", self.max_iter, 1)
        graph.require_connected()
        # 1. the scaling factors S, section 3.1, and K^(-1), Definition 1
        self.scaling_factors_ = scaling_factors(
            graph,
            self.scaling,
            self.alpha,
            n_probes=self.n_probes,
            max_iterations=self.max_iter,
            seed=self.seed,
        )
        inverse = kernel_inverse(graph, self.scaling, self.alpha, self.scaling_factors_)
        # 2. least squares in the full space, eq. (1), or in an eigenspace, eq. (4)
        Y = labels.indicators(graph.n_nodes)
        if self.rank is None:
            return _fit_in_full_space(inverse, labels.nodes, Y, n_lambda, self.max_iter)
        self.eigenvalues_, vectors, *_ = smallest_eigenpairs(
            inverse, self.rank, bound=float(abs(inverse).sum(axis=1).max())
        )
        return fit_in_eigenspace(self.eigenvalues_, vectors, labels.nodes, Y, n_lambda)


def _fit_in_full_space(
    inverse: Any, nodes: Any, Y: Array, n_lambda: float, max_iter: int | None
) -> Array:
    """Solve eq. (1): (Z + n lambda K^(-1)) f = Z Y, where Z_jj = 1 at labeled nodes and else 0."""
    Z = np.zeros(Y.shape[0])
    Z[nodes] = 1.0
    system = n_lambda * inverse + _diagonal(Z, inverse)
    # scale to a unit diagonal, so that residuals weigh all nodes alike even for a small lambda
    root = np.sqrt(system.diagonal())[:, None]
    system = _diagonal(1 / root[:, 0], system) @ system @ _diagonal(1 / root[:, 0], system)
    return solve_positive_definite(system, Y / root, max_iterations=max_iter) / root


def fit_in_eigenspace(
    values: Array, vectors: Array, nodes: Any, Y: Array, n_lambda: float
) -> Array:
    """Minimize eq. (1) over the span of eigenvectors of K^(-1), eq. (4) with K_0 = K.

    Parameters
    ----------
    values, vectors : ndarray, shapes (r,), (n, r)
    nodes : ndarray of int, shape (J,)
        Labeled nodes.
    Y : ndarray, shape (n, K)
        Targets, read at ``nodes``.
    n_lambda : float
        n lambda of eq. (1).

    Returns
    -------
    ndarray, shape (n, K)

    Examples
    --------
    >>> fit_in_eigenspace(np.ones(1), np.full((2, 1), 0.5), [0], np.ones((2, 1)), n_lambda=0.25)
    array([[0.5],
           [0.5]])
    """
    features = vectors / np.sqrt(values)
    ridge = Ridge(alpha=n_lambda, fit_intercept=False, solver="svd")
    return features @ ridge.fit(features[nodes], Y[nodes]).coef_.reshape(Y.shape[1], -1).T


def scaling_factors(
    graph: Any,
    scaling: str,
    alpha: float,
    *,
    n_probes: int | None = None,
    max_iterations: int | None = None,
    seed: validation.Seed = 0,
) -> Array:
    """Return the diagonal of S: 1, the degrees L_jj, or 1 / Kbar_jj, section 3.1.

    Parameters
    ----------
    graph : Graph or adjacency
        Self-loops are ignored, as in L.
    scaling : {"none", "degree", "kernel"}
    alpha : float
        Ridge of Kbar.
    n_probes, max_iterations, seed
        As in `kernel_diagonal`.

    Returns
    -------
    ndarray, shape (n,)

    Raises
    ------
    ValueError
        An unknown scaling, ``alpha`` out of range; for "degree", nodes without an edge to others.

    Examples
    --------
    >>> import graphuq as gq
    >>> gq.classifiers.scaling_factors([[0, 1, 0], [1, 0, 2], [0, 2, 0]], "degree", alpha=0.1)
    array([1., 3., 2.])
    """
    graph = Graph.of(graph)
    validation.one_of("scaling", scaling, SCALINGS)
    alpha = _check_alpha(graph, scaling, alpha)
    if scaling == "none":
        return np.ones(graph.n_nodes)
    if scaling == "degree":
        degrees = graph.laplacian("combinatorial").diagonal().copy()
        alone = np.flatnonzero(degrees <= 0)
        if alone.size:
            raise ValueError(
                f"{count(alone.size, 'node')} {choose_form(alone.size, 'has', 'have')} no edge to "
                f"another node, first node {alone[0]}, and "
                "cannot be scaled by degree: take graph.largest_component()"
            )
        return degrees
    return 1 / kernel_diagonal(
        graph, alpha, n_probes=n_probes, max_iterations=max_iterations, seed=seed
    )


def kernel_inverse(graph: Any, scaling: str, alpha: float, S: Array) -> Any:
    """Return K^(-1) = alpha S^(-1) + L_S, with L_S = S^(-1/2) L S^(-1/2) of Definition 1.

    L-scaling, "degree", has alpha I instead of alpha S^(-1).

    Parameters
    ----------
    graph : Graph or adjacency
    scaling : {"none", "degree", "kernel"}
    alpha : float
    S : ndarray, shape (n,)
        `scaling_factors`.

    Returns
    -------
    ndarray or csr_array, shape (n, n)

    Raises
    ------
    ValueError
        An unknown scaling, ``alpha`` out of range, factors that are not n positive numbers.

    Examples
    --------
    >>> import numpy as np
    >>> import graphuq as gq
    >>> gq.classifiers.kernel_inverse([[0, 1], [1, 0]], "degree", 0.5, np.ones(2))
    array([[ 1.5, -1. ],
           [-1. ,  1.5]])
    """
    graph = Graph.of(graph)
    validation.one_of("scaling", scaling, SCALINGS)
    alpha, S = _check_alpha(graph, scaling, alpha), check_factors(S, graph.n_nodes)
    L = graph.laplacian("combinatorial")
    root = _diagonal(1 / np.sqrt(S), L)
    # L-scaling has the ridge alpha I instead of alpha S^(-1)
    ridge = np.full_like(S, alpha) if scaling == "degree" else alpha / S
    return root @ L @ root + _diagonal(ridge, L)


def kernel_diagonal(
    graph: Any,
    alpha: float,
    *,
    n_probes: int | None = None,
    max_iterations: int | None = None,
    seed: validation.Seed = 0,
) -> Array:
    """Return Kbar_jj of the unscaled kernel Kbar = (alpha I + L)^(-1), section 3.1.

    Let L = B'B with the weighted incidence matrix B of edges and nodes, and let xi and eta be white
    noise. The vector x = Kbar (sqrt(alpha) xi + B' eta) has covariance Kbar (alpha I + L) Kbar =
    Kbar. Its mean square over probes therefore estimates Kbar_jj, with relative standard error
    sqrt(2 / n_probes) at every node of every graph. The constant part of Kbar, 1 / (alpha m) for m
    nodes, is known and added exactly.

    Parameters
    ----------
    graph : Graph or adjacency
        Connected, if ``n_probes`` is given.
    alpha : float
    n_probes : int, optional
        By default the diagonal is computed exactly, by a dense inverse.
    max_iterations : int, optional
        Iterations of conjugate gradients for each probe.
    seed : int, SeedSequence or Generator, optional

    Returns
    -------
    ndarray, shape (n,)

    Raises
    ------
    ValueError
        ``alpha`` or ``n_probes`` out of range, a disconnected graph with ``n_probes``.
    MemoryError
        The dense inverse does not fit.

    Warns
    -----
    ConvergenceWarning
        Conjugate gradients did not reach their tolerance.

    Examples
    --------
    >>> import graphuq as gq
    >>> gq.classifiers.kernel_diagonal([[0, 1], [1, 0]], alpha=1.0).round(3)
    array([0.667, 0.667])
    """
    graph = Graph.of(graph)
    alpha = _check_alpha(graph, "kernel", alpha)
    m = graph.n_nodes
    L = graph.laplacian("combinatorial")
    system = L + _diagonal(np.full(m, alpha), L)
    if n_probes is None:
        require_memory(
            4 * 8.0 * m * m,
            f"an exact diagonal of the kernel of {m} nodes",
            "estimate it by n_probes=400, to 7% at each node, or take another scaling",
        )
        dense = system.toarray() if graph.is_sparse else system
        return solve_positive_definite(dense, np.eye(m)).diagonal().copy()
    validation.integer("n_probes", n_probes, 1)
    graph.require_connected()
    rng = np.random.default_rng(validation.seed_sequence(seed))
    edges = sparse.coo_array(sparse.triu(graph.adjacency, k=1))
    i, j = edges.coords
    squares = np.zeros(m)
    for _ in range(n_probes):
        # sqrt(alpha) xi + B' eta
        flow = np.sqrt(edges.data) * rng.standard_normal(edges.nnz)
        noise = np.sqrt(alpha) * rng.standard_normal(m)
        noise += np.bincount(i, flow, m) - np.bincount(j, flow, m)
        # apply Kbar orthogonally to constants, whose part is added at the end
        x = solve_positive_definite(
            system,
            noise - noise.mean(),
            tolerance=PROBE_TOLERANCE,
            max_iterations=max_iterations,
        )
        squares += (x - x.mean()) ** 2
    return squares / n_probes + 1 / (alpha * m)


def _check_alpha(graph: Graph, scaling: str, alpha: object) -> float:
    number = validation.positive("alpha", alpha)
    largest = 1.0 if scaling == "degree" else float(graph.degrees.max())
    least = MIN_ALPHA_SHARE * largest
    if number < least:
        raise ValueError(
            f"alpha must be at least {least:.2g}, {MIN_ALPHA_SHARE:g} of the largest degree, got "
            f"{number:g}: for smaller values the kernel is constant to rounding"
        )
    return number


def check_factors(S: Any, n_nodes: int) -> Array:
    """Return scaling factors as an array with a positive float for each node."""
    S = np.asarray(S, dtype=np.float64)
    if S.shape != (n_nodes,) or not (np.isfinite(S) & (S > 0)).all():
        raise ValueError(
            f"S must be a positive number for each of {n_nodes} nodes, got shape {S.shape}: see "
            "scaling_factors"
        )
    return S


def _diagonal(values: Array, like: Any) -> Any:
    """Return a diagonal matrix, sparse if ``like`` is sparse."""
    return sparse.diags_array(values, format="csr") if sparse.issparse(like) else np.diag(values)
