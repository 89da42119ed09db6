"""Graph diffusion & PCA: PageRank over edges and over covariances of features."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator, eigsh
from sklearn.preprocessing import normalize
from sklearn.utils.sparsefuncs import csc_median_axis_0

from graphuq import validation
from graphuq.classifiers.diffusion import checked, gmres, power, settle, walk
from graphuq.classifiers.transductive import TransductiveClassifier
from graphuq.graphs import Graph
from graphuq.labels import Labels

Array = NDArray[np.float64]

RECIPES = ("exact", "paper")
SOLVERS = ("auto", "power", "gmres")

# The paper's section 4.2: iterations, the tolerance of GMRES and that of singular values. The
# memory of its GMRES is the customary one.
ITERATIONS = 10
TAU = 1e-3
EPSILON = 1e-3
PAPER_RESTART = 20

# Columns and iterations of the randomised singular value decomposition.
SKETCH = 10
SKETCH_ITERATIONS = 7


class GDPCA(TransductiveClassifier):
    r"""Graph diffusion & PCA (GDPCA): labels spread along edges and covariances of features.

    Z = (I - alpha M)^(-1) (1 - alpha) Y, M = D^(sigma-1) A D^(-sigma) + delta S D^(-2 sigma + 1),

    eq. (5) of Avrachenkov, Boisbunon and Kamalov, "Graph diffusion & PCA framework for
    semi-supervised learning" (2021), with the covariances between nodes over their d features

    S = Xbar' Xbar / (d - 1), where Xbar_ji = X_ij - mean_j X_ij,

    which are only multiplied with, never formed. At delta = 0 this is `PageRankSSL`. As printed,
    (5) is the transpose of the minimiser of the paper's problem (4) at delta / (d - 1), which has
    M' in the place of M. Both solve one symmetric system, in variables scaled by powers of the
    degrees, so that (4) is convex if and only if alpha rho(M) < 1. Otherwise (5) is a saddle
    point, which may classify well all the same.

    Parameters
    ----------
    sigma : float in [0, 1]
        What degrees count for; see `PageRankSSL`.
    alpha : float in (0, 1)
        How far labels reach. alpha = 2 / (2 + mu).
    delta : float, at least 0
        How much features count against edges. Of features rescaled by a factor it wants the inverse
        square; with n nodes, d features of unit variance and degrees near m, problem (4) stays
        convex up to about (1 / alpha - 1) (d - 1) m / n.
    solver : {"auto", "power", "gmres"}
        Power iteration converges where alpha rho(M) < 1, GMRES solves (5) anyway. "auto" takes the
        former where Proposition 2 shows that it converges.
    recipe : {"exact", "paper"}
        "paper" does what the paper's tables need: Xbar is centred by the medians, "power" is 10
        iterations after each of which the rows are scaled to unit l1 norm, which does not solve
        (5), and "gmres" stops at a relative residual of 1e-3.
    tol : float
        Largest relative residual of the exact recipe.
    max_iter : int
        Most products with M: by power iteration of the exact recipe, by GMRES for each class.

    Attributes
    ----------
    solver_ : {"power", "gmres"}

    Raises
    ------
    ValueError
        Parameters out of range, nodes without any edge, features of another number of nodes.
        Disconnected graphs are taken.

    Warns
    -----
    ConvergenceWarning
        The solver did not reach the tolerance; the message tells the residual.
    UserWarning
        Problem (4) is not convex.

    Examples
    --------
    >>> path = Graph([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]])
    >>> X = [[1, 0, 0], [1, 1, 0], [1, 0, 0], [0, 1, 1]]
    >>> labels = Labels([0, 3], ["left", "right"])
    >>> GDPCA(delta=0.2).fit(path, labels, X).predict().tolist()
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
            An array gives every node's class, -1 where it is not known.
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
        sigma, alpha = checked(self.sigma, self.alpha)
        delta = validation.real("delta", self.delta)
        if delta < 0:
            raise ValueError(f"delta must not be negative, got {delta:g}")
        validation.one_of("solver", self.solver, SOLVERS)
        validation.one_of("recipe", self.recipe, RECIPES)
        tol = validation.positive("tol", self.tol)
        validation.integer("max_iter", self.max_iter, 1)
        if X is not None or delta > 0:
            X = _features(X, graph.n_nodes)
        self._resolution = 0.0 if delta == 0 or self.recipe == "paper" else tol
        M, gamma = aslinearoperator(walk(graph, sigma)), 0.0
        if delta > 0:
            S = covariance(X, _medians(X) if self.recipe == "paper" else X.mean(axis=1))
            T = S @ aslinearoperator(sparse.diags_array(graph.degrees ** (1 - 2 * sigma)))
            M, gamma = M + delta * T, largest_singular_value(T)
            if delta * gamma > 1 / validation.TINY:
                raise ValueError(f"delta S reaches {delta * gamma:.0e}: rescale X, or lower delta")
        # eq. (6) with the tolerance of Remark 3, which Algorithm 1 subtracts
        contracts = 1 + delta * (gamma + EPSILON) < 1 / alpha
        if not contracts:
            _warn_unless_convex(alpha * spectral_radius(M, graph.degrees ** (sigma - 0.5)))
        self.solver_ = self.solver
        if self.solver == "auto":
            self.solver_ = "power" if contracts else "gmres"
        Y = labels.indicators(graph.n_nodes)
        if self.recipe == "paper":
            if self.solver_ == "gmres":
                return gmres(M, Y, alpha, TAU, self.max_iter, PAPER_RESTART)
            Z = Y
            for _ in range(ITERATIONS):
                Z = normalize(alpha * (M @ Z) + (1 - alpha) * Y, norm="l1")
            return Z
        solve = power if self.solver_ == "power" else gmres
        Z = solve(M, Y, alpha, tol, self.max_iter)
        return Z if delta > 0 else settle(Z, M, alpha, (1 - alpha) * Y)


def covariance(X: Any, centre: Array) -> LinearOperator:
    """Return S_ij = sum_k (X_ik - centre_i) (X_jk - centre_j) / (d - 1) as an operator.

    Parameters
    ----------
    X : ndarray or csr_array, shape (n, d)
        Left as it is: the centre is taken off the products.
    centre : ndarray, shape (n,)

    Examples
    --------
    >>> X = np.array([[1.0, 2.0, 6.0], [0.0, 1.0, 2.0]])
    >>> bool(np.allclose(covariance(X, X.mean(axis=1)) @ np.eye(2), np.cov(X)))
    True
    """
    n, d = X.shape

    def forth(u: Array) -> Array:
        return X @ u - np.multiply.outer(centre, u.sum(axis=0))

    def back(v: Array) -> Array:
        return X.T @ v - centre @ v

    F = LinearOperator(
        (n, d), matvec=forth, matmat=forth, rmatvec=back, rmatmat=back, dtype=np.float64
    )
    return F @ F.H / (d - 1)


def largest_singular_value(T: LinearOperator) -> float:
    """Return the largest singular value by the randomised SVD of Halko et al. (2011).

    scikit-learn's takes no operators. The value is exact or a little too small.
    """
    n = T.shape[0]
    Q = np.random.default_rng(0).standard_normal((n, min(n, SKETCH)))
    for _ in range(SKETCH_ITERATIONS):
        Q, _ = np.linalg.qr(T.H @ Q)
        Q, _ = np.linalg.qr(T @ Q)
    return float(np.linalg.norm(T.H @ Q, 2))


def spectral_radius(M: LinearOperator, scale: Array) -> float:
    """Return rho(M) where diag(1 / scale) M diag(scale) is symmetric.

    It is the largest eigenvalue: the others are not below -1, and that of the walk alone is 1.
    """
    n = scale.size
    start = np.random.default_rng(0).standard_normal(n)
    K = LinearOperator((n, n), matvec=lambda v: (M @ (scale * v.ravel())) / scale, dtype=np.float64)
    return float(eigsh(K, k=1, which="LA", v0=start, return_eigenvectors=False)[0])


def _features(X: Any, n_nodes: int) -> Any:
    if X is None:
        raise ValueError("delta > 0 weighs the features of nodes: pass X, or take delta = 0")
    X = validation.node_features(X, n_nodes, accept_sparse=True)
    if X.shape[1] < 2:
        raise ValueError("X must have at least two features, whose covariance can be taken")
    return X


def _medians(X: Any) -> Array:
    return csc_median_axis_0(X.T) if sparse.issparse(X) else np.median(X, axis=1)


def _warn_unless_convex(radius: float) -> None:
    if radius >= 1:
        warnings.warn(
            f"problem (4) is not convex: alpha rho(M) = {radius:.3g}, so that the solution is a "
            "saddle point, and power iteration diverges; take a smaller delta or alpha",
            UserWarning,
            stacklevel=3,
        )
