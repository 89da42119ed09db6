"""Solutions of Z = alpha M Z + source: by iterating it, or in a Krylov space."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import linalg

from graphuq import validation
from graphuq.diagnostics import ConvergenceWarning
from graphuq.graphs import Graph

Array = NDArray[np.float64]

# Iterations whose residual has grown this far will not come back.
DIVERGED = 1e10

# Basis vectors that GMRES keeps before it restarts: it may stagnate with the customary 20 where
# the matrix has many eigenvalues beyond 1 / alpha.
RESTART = 100

# Scores are settled when a sweep changes none by a larger share of itself; at most so many sweeps.
SETTLED = 1e-8
SWEEPS = 10_000


def checked(sigma: object, alpha: object) -> tuple[float, float]:
    """Return the two parameters of every diffusion, if they are in range."""
    exponent, reach = validation.real("sigma", sigma), validation.real("alpha", alpha)
    if not 0 <= exponent <= 1:
        raise ValueError(f"sigma must lie in [0, 1], got {exponent:g}; 1 is PageRank")
    if not 0 < reach < 1:
        raise ValueError(f"alpha = 2 / (2 + mu) must lie in (0, 1), got {reach:g}")
    return exponent, reach


def walk(graph: Graph, sigma: float) -> Any:
    """Return D^(sigma-1) A D^(-sigma), which is column-stochastic at sigma = 1, row- at 0."""
    isolated = np.flatnonzero(graph.degrees == 0)
    if isolated.size:
        raise ValueError(
            f"{isolated.size} nodes have no edge, first node {isolated[0]}: add self-loops, "
            "Graph(A + I), or take graph.largest_component()"
        )
    left, right = graph.degrees ** (sigma - 1), graph.degrees**-sigma
    if graph.is_sparse:
        scaled = sparse.diags_array(left) @ graph.adjacency @ sparse.diags_array(right)
        return sparse.csr_array(scaled)
    return left[:, None] * graph.adjacency * right


def power(M: Any, Y: Array, alpha: float, tol: float, max_iter: int) -> Array:
    """Iterate Z <- alpha M Z + (1 - alpha) Y, which converges where alpha rho(M) < 1.

    Parameters
    ----------
    M : array, sparse array or LinearOperator, shape (n, n)
    Y : ndarray, shape (n, K)
    alpha : float
    tol : float
        Largest residual of a column, relative to (1 - alpha) times that of Y.
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
    >>> Z = power(np.array([[0.0, 0.5], [0.5, 0.0]]), np.eye(2), 0.5, 1e-9, 100)
    >>> Z.round(4)
    array([[0.5333, 0.1333],
           [0.1333, 0.5333]])
    """
    source = (1 - alpha) * Y
    Z, residual = source, np.inf
    for _ in range(max_iter):
        # the step that an iterate takes next is its residual
        previous, Z = Z, alpha * (M @ Z) + source
        residual = _relative(Z - previous, source)
        if not tol < residual < DIVERGED:
            break
    _report("power iterations", residual, tol)
    return Z


def gmres(
    M: Any, Y: Array, alpha: float, tol: float, max_iter: int, restart: int = RESTART
) -> Array:
    """Solve (I - alpha M) Z = (1 - alpha) Y by GMRES, whatever the spectral radius of M.

    Parameters, result and warning are those of `power`; ``max_iter`` counts products with M for
    each column, ``restart`` how many of them are remembered.
    """
    source = (1 - alpha) * Y
    A = linalg.LinearOperator(M.shape, matvec=lambda v: v - alpha * (M @ v), dtype=np.float64)
    restart = min(restart, max_iter)
    options = {"rtol": tol, "restart": restart, "maxiter": -(-max_iter // restart)}
    Z = np.column_stack([linalg.gmres(A, b, **options)[0] for b in source.T])
    # what GMRES tracks drifts a little from the true residual
    _report("GMRES", _relative(source - Z + alpha * (M @ Z), source), tol, slack=10)
    return Z


def settle(Z: Array, M: Any, alpha: float, source: Array) -> Array:
    """Sweep Z <- alpha M Z + source until every entry is settled, for M, Z and source >= 0.

    What is small beside the largest scores is lost in a solver's error, though it decides far from
    all labels. Sweeps find it: they add positive terms only, and each shrinks an error.

    Warns
    -----
    ConvergenceWarning
        Some entry still changes.
    """
    Z = np.maximum(Z, 0)
    for _ in range(SWEEPS):
        Z, previous = alpha * (M @ Z) + source, Z
        change = abs(Z - previous)
        if (change <= SETTLED * Z + np.finfo(np.float64).tiny).all():
            return Z
    warnings.warn(
        f"the smallest scores still change by {np.max(change[Z > 0] / Z[Z > 0]):.1e} of "
        "themselves: nodes far from all labels may be given the wrong class; let labels reach less "
        "far (a larger gamma, a smaller alpha)",
        ConvergenceWarning,
        stacklevel=2,
    )
    return Z


def _relative(residual: Array, source: Array) -> float:
    size = np.linalg.norm(source, axis=0)
    # a class without labels has no source, and no residual
    return float((np.linalg.norm(residual, axis=0) / np.where(size > 0, size, 1.0)).max())


def _report(method: str, residual: float, tol: float, slack: float = 1) -> None:
    if not residual <= slack * tol:
        warnings.warn(
            f"{method} stopped at a relative residual of {residual:.1e}, asked was {tol:.0e}: "
            "raise max_iter, or let labels and features reach less far (a smaller alpha, delta)",
            ConvergenceWarning,
            stacklevel=3,
        )
