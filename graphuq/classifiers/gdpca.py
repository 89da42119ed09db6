"""Graph diffusion & PCA: PageRank along edges and along covariances of features."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator, eigsh
from sklearn.preprocessing import normalize
from sklearn.utils.sparsefuncs import csc_median_axis_0

from graphuq.classifiers.diffusion import (
    check_parameters,
    refine_small_scores,
    solve_by_gmres,
    solve_by_power,
    walk_matrix,
)
from graphuq.classifiers.transductive import TransductiveClassifier
from graphuq.graphs import Graph
from graphuq.labels.labels import Labels
from graphuq.utils import validation
from graphuq.utils.features import check_node_features
from graphuq.utils.typing import Array
from graphuq.utils.warnings import warn

RECIPES = ("exact", "paper")
SOLVERS = ("auto", "power", "gmres")

# Section 4.2 of the paper: iterations, the tolerance of GMRES and that of singular values. GMRES
# restarts after SciPy's default number of vectors.
PAPER_ITERATIONS = 10
PAPER_TOLERANCE = 1e-3
SINGULAR_VALUE_TOLERANCE = 1e-3
PAPER_RESTART = 20

# Columns and iterations of the randomized singular value decomposition.
SKETCH = 10
SKETCH_ITERATIONS = 7


class GDPCA(TransductiveClassifier):
    r"""Graph diffusion & PCA (GDPCA): labels spread along edges and covariances of features.

    Z = (I - alpha M)^(-1) (1 - alpha) Y, M = D^(sigma-1) A D^(-sigma) + delta S D^(-2 sigma + 1),

    eq. (5) of Avrachenkov, Boisbunon and Kamalov, "Graph diffusion & PCA framework for
    semi-supervised learning" (2021), with the covariances between nodes over their d features

    S = Xbar' Xbar / (d - 1), where Xbar_ji = X_ij - mean_j X_ij,

    as an operator: S is never stored. At delta = 0 this is `PageRankSSL`. As printed, (5) is the
    transpose of the minimizer of the paper's problem (4) at delta / (d - 1), which has M' instead
    of M. In variables scaled by powers of the degrees, both solve the same symmetric system.
    Therefore (4) is convex if and only if alpha rho(M) < 1. Otherwise (5) is a saddle point, which
    may still classify well.

    Parameters
    ----------
    sigma : float in [0, 1]
        Weight of the degrees; see `PageRankSSL`.
    alpha : float in (0, 1)
        Reach of the labels. alpha = 2 / (2 + mu).
    delta : float, at least 0
        Weight of features relative to edges. If features are multiplied by a factor, divide delta
        by its square. With n nodes, d features of unit variance and degrees near m, problem (4) is
        convex up to a delta of about (1 / alpha - 1) (d - 1) m / n.
    solver : {"auto", "power", "gmres"}
        Power iteration converges if alpha rho(M) < 1; GMRES solves (5) in any case. "auto" takes
        power iteration if it converges by Proposition 2, and else GMRES.
    recipe : {"exact", "paper"}
        "paper" reproduces the paper's tables. Xbar is centered by medians. "power" is 10
        iterations, each of which ends with scaling the rows to unit l1 norm, and does not solve
        (5). "gmres" stops at a relative residual of 1e-3.
    tol : float
        Largest relative residual of the exact recipe.
    max_iter : int
        Largest number of products with M, for each class if the solver is GMRES.

    Attributes
    ----------
    solver_ : {"power", "gmres"}

    Raises
    ------
    ValueError
        Parameters out of range, nodes without an edge, features of another number of nodes.
        Disconnected graphs are accepted.

    Warns
    -----
    ConvergenceWarning
        The solver did not reach the tolerance; the message gives the residual.
    UserWarning
        Problem (4) is not convex.

    Examples
    --------
    >>> import graphuq as gq
    >>> path = gq.Graph([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]])
    >>> X = [[1, 0, 0], [1, 1, 0], [1, 0, 0], [0, 1, 1]]
    >>> labels = gq.Labels([0, 3], ["left", "right"])
    >>> gq.GDPCA(delta=0.2).fit(path, labels, X).predict().tolist()
    ['left', 'left', 'left', 'right']
    """

    def __init__(
        self,
        sigma: float = 1.0,
        alpha: float = 0.9,
        delta: float = 1e-3,
        *,
        solver: str = "auto",
        recipe: str = "exact",
        tol: float = 1e-8,
        max_iter: int = 1000,
    ) -> None:
        self.sigma = sigma
        self.alpha = alpha
        self.delta = delta
        self.solver = solver
        self.recipe = recipe
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, graph: Any, labels: Any, X: Any = None) -> Self:
        """Score every node.

        Parameters
        ----------
        graph : Graph, array_like, sparse matrix or networkx.Graph, shape (n, n)
        labels : Labels or array_like, shape (n,)
            An array gives the class of every node, -1 for unlabeled nodes.
        X : array_like or sparse matrix, shape (n, d)
            Features of the nodes, at least two; not needed at delta = 0.

        Returns
        -------
        self
        """
        graph = Graph.of(graph)
        labels = Labels.of(labels, graph.n_nodes)
        return self._keep(labels, self._score(graph, labels, X))

    def _score(self, graph: Graph, labels: Labels, X: Any = None) -> Array:
        sigma, alpha, delta = self._check_parameters()
        if X is not None or delta > 0:
            X = _check_features(X, graph.n_nodes)
        as_paper = self.recipe == "paper"
        self._resolution = 0.0 if delta == 0 or as_paper else self.tol
        # 1. M of eq. (5) as an operator, and gamma, the largest singular value of S D^(1 - 2 sigma)
        M, gamma = aslinearoperator(walk_matrix(graph, sigma)), 0.0
        if delta > 0:
            S = covariance(X, _row_medians(X) if as_paper else X.mean(axis=1))
            T = S @ aslinearoperator(sparse.diags_array(graph.degrees ** (1 - 2 * sigma)))
            M, gamma = M + delta * T, largest_singular_value(T)
            if delta * gamma > validation.MAX_MAGNITUDE:
                raise ValueError(
                    f"delta S reaches {delta * gamma:.0e}: rescale X, or take a smaller delta"
                )
        # 2. whether power iteration converges by Proposition 2
        contracts = is_contraction(gamma, delta, alpha)
        if not contracts:
            _warn_unless_convex(alpha * spectral_radius(M, graph.degrees ** (sigma - 0.5)))
        self.solver_ = self.solver
        if self.solver == "auto":
            self.solver_ = "power" if contracts else "gmres"
        # 3. solve eq. (5)
        Y = labels.indicators(graph.n_nodes)
        if as_paper:
            return self._solve_as_paper(M, Y, alpha)
        solve = solve_by_power if self.solver_ == "power" else solve_by_gmres
        Z = solve(M, Y, alpha, self.tol, self.max_iter)
        return Z if delta > 0 else refine_small_scores(Z, M, alpha, (1 - alpha) * Y)

    def _check_parameters(self) -> tuple[float, float, float]:
        sigma, alpha = check_parameters(self.sigma, self.alpha)
        delta = validation.real("delta", self.delta)
        if delta < 0:
            raise ValueError(f"delta must not be negative, got {delta:g}")
        validation.one_of("solver", self.solver, SOLVERS)
        validation.one_of("recipe", self.recipe, RECIPES)
        validation.positive("tol", self.tol)
        validation.integer("max_iter", self.max_iter, 1)
        return sigma, alpha, delta

    def _solve_as_paper(self, M: LinearOperator, Y: Array, alpha: float) -> Array:
        if self.solver_ == "gmres":
            return solve_by_gmres(M, Y, alpha, PAPER_TOLERANCE, self.max_iter, PAPER_RESTART)
        # power iteration with normalized rows
        Z = Y
        for _ in range(PAPER_ITERATIONS):
            Z = normalize(alpha * (M @ Z) + (1 - alpha) * Y, norm="l1")
        return Z


def covariance(X: Any, center: Array) -> LinearOperator:
    """Return S_ij = sum_k (X_ik - center_i) (X_jk - center_j) / (d - 1) as an operator.

    Parameters
    ----------
    X : ndarray or csr_array, shape (n, d)
        Not copied: products are corrected for the center.
    center : ndarray, shape (n,)

    Examples
    --------
    >>> X = np.array([[1.0, 2.0, 6.0], [0.0, 1.0, 2.0]])
    >>> bool(np.allclose(covariance(X, X.mean(axis=1)) @ np.eye(2), np.cov(X)))
    True
    """
    n, d = X.shape

    def multiply(u: Array) -> Array:
        return X @ u - np.multiply.outer(center, u.sum(axis=0))

    def multiply_back(v: Array) -> Array:
        return X.T @ v - center @ v

    F = LinearOperator(
        (n, d),
        matvec=multiply,
        matmat=multiply,
        rmatvec=multiply_back,
        rmatmat=multiply_back,
        dtype=np.float64,
    )
    return F @ F.H / (d - 1)


def largest_singular_value(T: LinearOperator) -> float:
    """Return the largest singular value by the randomized SVD of Halko et al. (2011).

    scikit-learn's version takes no operators. The value is exact or slightly too small.
    """
    n = T.shape[0]
    Q = np.random.default_rng(0).standard_normal((n, min(n, SKETCH)))
    for _ in range(SKETCH_ITERATIONS):
        Q, _ = np.linalg.qr(T.H @ Q)
        Q, _ = np.linalg.qr(T @ Q)
    return float(np.linalg.norm(T.H @ Q, 2))


def is_contraction(gamma: float, delta: float, alpha: float) -> bool:
    """Return whether condition (6) of Proposition 2 holds, with the tolerance of Remark 3."""
    return 1 + delta * (gamma + SINGULAR_VALUE_TOLERANCE) < 1 / alpha


def spectral_radius(M: LinearOperator, scale: Array) -> float:
    """Return rho(M), if diag(1 / scale) M diag(scale) is symmetric.

    This is the largest eigenvalue: no eigenvalue is below -1, and the walk has the eigenvalue 1.
    """
    n = scale.size
    start = np.random.default_rng(0).standard_normal(n)
    K = LinearOperator((n, n), matvec=lambda v: (M @ (scale * v.ravel())) / scale, dtype=np.float64)
    return float(eigsh(K, k=1, which="LA", v0=start, return_eigenvectors=False)[0])


def _check_features(X: Any, n_nodes: int) -> Any:
    if X is None:
        raise ValueError("delta > 0 needs the features of nodes: pass X, or take delta = 0")
    X = check_node_features(X, n_nodes, accept_sparse=True)
    if X.shape[1] < 2:
        raise ValueError(
            f"X must have at least two features, got {X.shape[1]}: take delta = 0, or PageRankSSL"
        )
    return X


def _row_medians(X: Any) -> Array:
    return csc_median_axis_0(X.T) if sparse.issparse(X) else np.median(X, axis=1)


def _warn_unless_convex(radius: float) -> None:
    if radius >= 1:
        warn(
            f"problem (4) is not convex: alpha rho(M) = {radius:.3g}, so the solution is a saddle "
            "point and power iteration diverges; take a smaller delta or alpha",
            UserWarning,
        )
