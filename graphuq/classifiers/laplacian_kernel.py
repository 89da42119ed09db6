"""Least squares with a kernel from the scaled graph Laplacian: Ando and Zhang 2007.

Equation and definition numbers are those of R. K. Ando and T. Zhang, "Learning on graph with
Laplacian regularization", NIPS 2006. S is the diagonal of scaling factors, L = D - W.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import Ridge

from graphuq import validation
from graphuq.classifiers.transductive import TransductiveClassifier
from graphuq.eigenpairs import lowest
from graphuq.graphs import Graph
from graphuq.labels import Labels
from graphuq.solve import TOLERANCE, solve_positive_definite

Array = NDArray[np.float64]

SCALINGS = ("none", "degree", "kernel")

# alpha below this share of the largest degree leaves alpha I + L singular to rounding.
SMALLEST_ALPHA = 1e-10

# n lambda K^(-1) is lost beside the ones at labelled nodes where lambda is below this.
SMALLEST_REG = 1e-12

# Residual of a probe's solution; the estimate's own error is far above it.
PROBE_TOLERANCE = 1e-6


class LaplacianKernel(TransductiveClassifier):
    """Kernel least squares, one class against the rest, eq. (1).

    Scores minimise, for each class k, (1/n) sum_{labelled j} (f_jk - [y_j = k])^2
    + lambda f_k' K^(-1) f_k over all vectors f_k or, eq. (4), over the span of the ``rank``
    smoothest eigenvectors of K^(-1), `kernel_inverse`.

    Parameters
    ----------
    scaling : {"none", "degree", "kernel"}
        S_j = 1; the degree ("L-scaling"); or 1 / Kbar_jj ("K-scaling"), for which K_jj = 1. Theory
        asks for S_j near the size of the class's well-connected part, and nearly constant in it,
        which K-scaling gives where degrees do not.
    alpha : float
        Ridge of the Laplacian. A small one lets far nodes speak for each other, a large one only
        neighbours. It is in units of the degrees, except for "degree", whose Laplacian has
        eigenvalues below 2. Under "kernel" the eigenvectors depend on it too.
    reg : float
        lambda > 0; a larger one fits the labels less closely.
    rank : int, optional
        Number r of eigenvectors; all by default. Fewer deny noise in the graph a voice, too few
        the classes.
    n_probes : int, optional
        Estimate Kbar_jj by so many random solutions, each within a relative standard error of
        sqrt(2 / n_probes), instead of computing them by a dense inverse; see `kernel_diagonal`.
    max_iter : int, optional
        Of conjugate gradients, which solve for sparse graphs; 10 n by default.
    seed : int, SeedSequence or Generator, optional
        Of the probes.

    Attributes
    ----------
    scaling_factors_ : ndarray, shape (n,)
        S_j.
    decision_scores_ : ndarray, shape (n, K)
        f_jk.
    eigenvalues_ : ndarray, shape (rank,)
        Of K^(-1), where ``rank`` is given.

    Raises
    ------
    ValueError
        In ``fit``: parameters out of range, a disconnected graph.
    MemoryError
        In ``fit``: a dense inverse or eigendecomposition that does not fit.

    Warns
    -----
    ConvergenceWarning
        In ``fit``: conjugate gradients missed their tolerance.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.digit_pair(4, 9)
    >>> graph = gq.knn_graph(X, n_neighbors=10)
    >>> labels = gq.reveal(y, fraction=0.04, seed=0)
    >>> bool(LaplacianKernel(alpha=1.0).fit(graph, labels).accuracy(y) > 0.95)
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
        if reg < SMALLEST_REG:
            raise ValueError(
                f"reg must be at least {SMALLEST_REG:g}, got {reg:g}: below, it is lost in rounding"
            )
        n_lambda = len(labels) * reg
        self._resolution = TOLERANCE if graph.is_sparse and self.rank is None else 0.0
        self.__dict__.pop("eigenvalues_", None)  # of an earlier fit
        if self.rank is not None:
            validation.integer("rank", self.rank, 1, graph.n_nodes, "the graph has no more nodes")
        if self.max_iter is not None:
            validation.integer("max_iter", self.max_iter, 1)
        graph.require_connected()
        self.scaling_factors_ = scaling_factors(
            graph,
            self.scaling,
            self.alpha,
            n_probes=self.n_probes,
            max_iterations=self.max_iter,
            seed=self.seed,
        )
        inverse = kernel_inverse(graph, self.scaling, self.alpha, self.scaling_factors_)
        Y = labels.indicators(graph.n_nodes)
        if self.rank is None:
            return _smoothed(inverse, labels.nodes, Y, n_lambda, self.max_iter)
        self.eigenvalues_, vectors, _ = lowest(
            inverse, self.rank, bound=float(abs(inverse).sum(axis=1).max())
        )
        return projected(self.eigenvalues_, vectors, labels.nodes, Y, n_lambda)


def _smoothed(inverse: Any, nodes: Any, Y: Array, n_lambda: float, max_iter: int | None) -> Array:
    """Minimise eq. (1): (Z + n lambda K^(-1)) f = Z Y, with Z = 1 at labelled nodes, else 0."""
    Z = np.zeros(Y.shape[0])
    Z[nodes] = 1.0
    system = n_lambda * inverse + _diagonal(Z, inverse)
    # With ones on its diagonal, residuals weigh all nodes alike however small lambda is.
    root = np.sqrt(system.diagonal())[:, None]
    system = _diagonal(1 / root[:, 0], system) @ system @ _diagonal(1 / root[:, 0], system)
    return solve_positive_definite(system, Y / root, max_iterations=max_iter) / root


def projected(values: Array, vectors: Array, nodes: Any, Y: Array, n_lambda: float) -> Array:
    """Minimise eq. (1) over the span of eigenvectors of K^(-1), eq. (4) with K_0 = K.

    Parameters
    ----------
    values, vectors : ndarray, shapes (r,), (n, r)
    nodes : ndarray of int, shape (J,)
        Labelled ones.
    Y : ndarray, shape (n, K)
        Targets, read at ``nodes``.
    n_lambda : float
        n lambda of eq. (1).

    Returns
    -------
    ndarray, shape (n, K)

    Examples
    --------
    >>> projected(np.ones(1), np.full((2, 1), 0.5), [0], np.ones((2, 1)), n_lambda=0.25)
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
        Self-loops are ignored, as by L.
    scaling : {"none", "degree", "kernel"}
    alpha : float
        Of Kbar.
    n_probes, max_iterations, seed
        As in `kernel_diagonal`.

    Returns
    -------
    ndarray, shape (n,)

    Raises
    ------
    ValueError
        An unknown scaling, ``alpha`` out of range; nodes without an edge to another, for "degree".

    Examples
    --------
    >>> scaling_factors([[0, 1, 0], [1, 0, 2], [0, 2, 0]], "degree", alpha=0.1)
    array([1., 3., 2.])
    """
    graph = Graph.of(graph)
    validation.one_of("scaling", scaling, SCALINGS)
    alpha = _checked_alpha(graph, scaling, alpha)
    if scaling == "none":
        return np.ones(graph.n_nodes)
    if scaling == "degree":
        degrees = graph.laplacian("combinatorial").diagonal().copy()
        alone = np.flatnonzero(degrees <= 0)
        if alone.size:
            raise ValueError(
                f"{alone.size} nodes have no edge to another, first node {alone[0]}, and cannot be "
                "scaled by degree: take graph.largest_component()"
            )
        return degrees
    return 1 / kernel_diagonal(
        graph, alpha, n_probes=n_probes, max_iterations=max_iterations, seed=seed
    )


def kernel_inverse(graph: Any, scaling: str, alpha: float, S: Array) -> Any:
    """Return K^(-1) = alpha S^(-1) + L_S, with L_S = S^(-1/2) L S^(-1/2) of Definition 1.

    L-scaling, "degree", has alpha I in place of alpha S^(-1).

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
        An unknown scaling, ``alpha`` out of range, factors that are not positive or not n.

    Examples
    --------
    >>> kernel_inverse([[0, 1], [1, 0]], "degree", 0.5, np.ones(2))
    array([[ 1.5, -1. ],
           [-1. ,  1.5]])
    """
    graph = Graph.of(graph)
    validation.one_of("scaling", scaling, SCALINGS)
    alpha, S = _checked_alpha(graph, scaling, alpha), checked_factors(S, graph.n_nodes)
    L = graph.laplacian("combinatorial")
    root = _diagonal(1 / np.sqrt(S), L)
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

    With L = B'B, B the weighted incidence of edges and nodes, and white noise xi and eta, the
    vector x = Kbar (sqrt(alpha) xi + B' eta) has covariance Kbar (alpha I + L) Kbar = Kbar. So its
    mean square over probes estimates Kbar_jj, with relative standard error sqrt(2 / n_probes) at
    every node and for every graph. The constant part of Kbar, 1 / (alpha m) for m nodes, is known
    and added exactly.

    Parameters
    ----------
    graph : Graph or adjacency
        Connected if it is to be probed.
    alpha : float
    n_probes : int, optional
        By default the diagonal is exact, by a dense inverse.
    max_iterations : int, optional
        Of conjugate gradients, for each probe.
    seed : int, SeedSequence or Generator, optional

    Returns
    -------
    ndarray, shape (n,)

    Raises
    ------
    ValueError
        ``alpha`` or ``n_probes`` out of range, a disconnected graph to be probed.
    MemoryError
        The dense inverse does not fit.

    Warns
    -----
    ConvergenceWarning
        Conjugate gradients missed their tolerance.

    Examples
    --------
    >>> kernel_diagonal([[0, 1], [1, 0]], alpha=1.0).round(3)
    array([0.667, 0.667])
    """
    graph = Graph.of(graph)
    alpha = _checked_alpha(graph, "kernel", alpha)
    m = graph.n_nodes
    L = graph.laplacian("combinatorial")
    system = L + _diagonal(np.full(m, alpha), L)
    if n_probes is None:
        validation.memory(
            4 * 8.0 * m * m,
            f"an exact diagonal of the kernel of {m} nodes",
            "estimate it, with n_probes=400 to 7% at each node, or take another scaling",
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
        flow = np.sqrt(edges.data) * rng.standard_normal(edges.nnz)
        noise = np.sqrt(alpha) * rng.standard_normal(m)
        noise += np.bincount(i, flow, m) - np.bincount(j, flow, m)
        x = solve_positive_definite(
            system,
            noise - noise.mean(),
            tolerance=PROBE_TOLERANCE,
            max_iterations=max_iterations,
        )
        squares += (x - x.mean()) ** 2
    return squares / n_probes + 1 / (alpha * m)


def _checked_alpha(graph: Graph, scaling: str, alpha: object) -> float:
    number = validation.positive("alpha", alpha)
    largest = 1.0 if scaling == "degree" else float(graph.degrees.max())
    least = SMALLEST_ALPHA * largest
    if number < least:
        raise ValueError(
            f"alpha must be at least {least:.2g}, {SMALLEST_ALPHA:g} of the largest degree, got "
            f"{number:g}: below, the kernel is a constant to rounding"
        )
    return number


def checked_factors(S: Any, n_nodes: int) -> Array:
    """Return scaling factors as an array of positive floats, one for each node."""
    S = np.asarray(S, dtype=np.float64)
    if S.shape != (n_nodes,) or not (np.isfinite(S) & (S > 0)).all():
        raise ValueError(
            f"S must be a positive number for each of {n_nodes} nodes, got shape {S.shape}: see "
            "scaling_factors"
        )
    return S


def _diagonal(values: Array, like: Any) -> Any:
    """Return a diagonal matrix, sparse if ``like`` is."""
    return sparse.diags_array(values, format="csr") if sparse.issparse(like) else np.diag(values)
