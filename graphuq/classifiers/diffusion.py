"""Solve Z = alpha M Z + (1 - alpha) Y by fixed-point iterations or by GMRES."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import linalg

from graphuq.graphs import Graph
from graphuq.utils import validation
from graphuq.utils.typing import Array
from graphuq.utils.warnings import ConvergenceWarning, warn
from graphuq.utils.words import choose_form, count

# Iterations with a residual above this have diverged.
DIVERGENCE = 1e10

# Basis vectors that GMRES stores before a restart. With SciPy's default of 20 it may stagnate if M
# has many eigenvalues above 1 / alpha.
RESTART = 100

# Sweeps stop when they change no score by a larger share, or after the largest number of sweeps.
SWEEP_TOLERANCE = 1e-8
MAX_SWEEPS = 10_000


def check_parameters(sigma: object, alpha: object) -> tuple[float, float]:
    """Return sigma and alpha as floats, and refuse values out of range."""
    exponent, reach = validation.real("sigma", sigma), validation.real("alpha", alpha)
    if not 0 <= exponent <= 1:
        raise ValueError(f"sigma must lie in [0, 1], got {exponent:g}; 1 is PageRank")
    if not 0 < reach < 1:
        raise ValueError(f"alpha = 2 / (2 + mu) must lie in (0, 1), got {reach:g}")
    return exponent, reach


def walk_matrix(graph: Graph, sigma: float) -> Any:
    """Return D^(sigma-1) A D^(-sigma): column-stochastic at sigma = 1, row-stochastic at 0."""
    isolated = np.flatnonzero(graph.degrees == 0)
    if isolated.size:
        raise ValueError(
            f"{count(isolated.size, 'node')} {choose_form(isolated.size, 'has', 'have')} no edge, "
            f"first node {isolated[0]}: add self-loops, "
            "Graph(A + I), or take graph.largest_component()"
        )
    left, right = graph.degrees ** (sigma - 1), graph.degrees**-sigma
    if graph.is_sparse:
        scaled = sparse.diags_array(left) @ graph.adjacency @ sparse.diags_array(right)
        return sparse.csr_array(scaled)
    return left[:, None] * graph.adjacency * right


def solve_by_power(M: Any, Y: Array, alpha: float, tol: float, max_iter: int) -> Array:
    """Iterate Z <- alpha M Z + (1 - alpha) Y, which converges if alpha rho(M) < 1.

    Parameters
    ----------
    M : array, sparse array or LinearOperator, shape (n, n)
    Y : ndarray, shape (n, K)
    alpha : float
    tol : float
        Largest residual of a column, relative to the norm of that column of (1 - alpha) Y.
    max_iter : int

    Returns
    -------
    ndarray, shape (n, K)

    Warns
    -----
    ConvergenceWarning
        The residual is above ``tol``.

    Examples
    --------
    >>> Z = solve_by_power(np.array([[0.0, 0.5], [0.5, 0.0]]), np.eye(2), 0.5, 1e-9, 100)
    >>> Z.round(4)
    array([[0.5333, 0.1333],
           [0.1333, 0.5333]])
    """
    source = (1 - alpha) * Y
    Z, residual = source, np.inf
    for _ in range(max_iter):
        # the residual of an iterate is its next step
        previous, Z = Z, alpha * (M @ Z) + source
        residual = _relative_residual(Z - previous, source)
        if not tol < residual < DIVERGENCE:
            break
    _warn_unless_converged("power iterations", residual, tol)
    return Z


def solve_by_gmres(
    M: Any, Y: Array, alpha: float, tol: float, max_iter: int, restart: int = RESTART
) -> Array:
    """Solve (I - alpha M) Z = (1 - alpha) Y by GMRES, for any spectral radius of M.

    Parameters, result and warning are those of `solve_by_power`. ``max_iter`` is the number of
    products with M for each column, ``restart`` the number of basis vectors stored.
    """
    source = (1 - alpha) * Y
    A = linalg.LinearOperator(M.shape, matvec=lambda v: v - alpha * (M @ v), dtype=np.float64)
    restart = min(restart, max_iter)
    options = {"rtol": tol, "restart": restart, "maxiter": -(-max_iter // restart)}
    Z = np.column_stack([linalg.gmres(A, b, **options)[0] for b in source.T])
    # the residual that GMRES tracks drifts a little from the true one
    _warn_unless_converged(
        "GMRES", _relative_residual(source - Z + alpha * (M @ Z), source), tol, slack=10
    )
    return Z


def refine_small_scores(Z: Array, M: Any, alpha: float, source: Array) -> Array:
    """Iterate Z <- alpha M Z + source until every entry converges, for M, Z and source >= 0.

    Scores far from all labels are small, and the error of a solver hides them, although they decide
    the class there. Sweeps recover them: they add only positive terms, and each reduces the error.

    Warns
    -----
    ConvergenceWarning
        Some entries have not converged.
    """
    Z = np.maximum(Z, 0)
    for _ in range(MAX_SWEEPS):
        Z, previous = alpha * (M @ Z) + source, Z
        change = abs(Z - previous)
        if (change <= SWEEP_TOLERANCE * Z + np.finfo(np.float64).tiny).all():
            return Z
    warn(
        "the relative change of the smallest scores is still "
        f"{np.max(change[Z > 0] / Z[Z > 0]):.1e}: the class of nodes far from all labels may be "
        "wrong; reduce the reach of labels (a larger gamma, a smaller alpha)",
        ConvergenceWarning,
    )
    return Z


def _relative_residual(residual: Array, source: Array) -> float:
    size = np.linalg.norm(source, axis=0)
    # a class without labels has a zero source and a zero residual
    return float((np.linalg.norm(residual, axis=0) / np.where(size > 0, size, 1.0)).max())


def _warn_unless_converged(method: str, residual: float, tol: float, slack: float = 1) -> None:
    """Warn if the relative residual is NaN or exceeds ``slack * tol``."""
    if not residual <= slack * tol:
        warn(
            f"{method} stopped at a relative residual of {residual:.1e}, above the tolerance of "
            f"{tol:.0e}: raise max_iter, or reduce the reach of labels and features (a smaller "
            "alpha, delta)",
            ConvergenceWarning,
        )
