"""Solve A x = b for a symmetric positive definite A: Cholesky or conjugate gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, cg

from graphuq.utils.typing import Array
from graphuq.utils.warnings import ConvergenceWarning, warn

# Default of the largest relative residual |A x - b| / |b|.
TOLERANCE = 1e-10

# The residual that conjugate gradients track drifts a little from the true one.
RESIDUAL_SLACK = 10


def solve_positive_definite(
    A: Any,
    b: Array,
    *,
    tolerance: float = TOLERANCE,
    max_iterations: int | None = None,
) -> Array:
    """Return A^(-1) b.

    A dense array is factorized by Cholesky. A sparse array or an operator goes to conjugate
    gradients; a sparse array is preconditioned by its diagonal.

    Parameters
    ----------
    A : ndarray, sparse array or LinearOperator, shape (n, n)
        Symmetric positive definite.
    b : ndarray, shape (n,) or (n, k)
    tolerance : float
        Largest relative residual |A x - b| / |b| of each column.
    max_iterations : int, optional
        10 n by default.

    Returns
    -------
    ndarray, of the shape of ``b``

    Warns
    -----
    ConvergenceWarning
        The residual is above ``tolerance``.

    Examples
    --------
    >>> solve_positive_definite(np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([1.0, 1.0]))
    array([0.5 , 0.25])
    """
    if isinstance(A, np.ndarray):
        return linalg.cho_solve(linalg.cho_factor(A), b)
    preconditioner = None
    if not isinstance(A, LinearOperator):
        scale = 1 / A.diagonal()
        preconditioner = LinearOperator(
            A.shape, matvec=lambda v: scale * v.ravel(), dtype=np.float64
        )
    columns = b.reshape(b.shape[0], -1)
    x = np.empty_like(columns)
    worst = 0.0
    for k in range(columns.shape[1]):
        x[:, k], _ = cg(A, columns[:, k], rtol=tolerance, maxiter=max_iterations, M=preconditioner)
        norm = np.linalg.norm(columns[:, k])
        if norm > 0:
            worst = max(worst, float(np.linalg.norm(A @ x[:, k] - columns[:, k]) / norm))
    if not worst <= RESIDUAL_SLACK * tolerance:
        warn(
            f"conjugate gradients stopped at a relative residual of {worst:.1e}, above the "
            f"tolerance of {tolerance:.0e}: allow more iterations where there is a max_iter, or "
            "move the parameters away from where the system is singular",
            ConvergenceWarning,
        )
    return x.reshape(b.shape)
