"""Solutions of A x = b for a symmetric positive definite A: one factor, or conjugate gradients."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, cg

from graphuq.diagnostics import ConvergenceWarning

Array = NDArray[np.float64]

# |A x - b| / |b| that conjugate gradients aim at, and what is reported if they miss it.
TOLERANCE = 1e-10


def solve_positive_definite(
    A: Any,
    b: Array,
    *,
    tolerance: float = TOLERANCE,
    max_iterations: int | None = None,
) -> Array:
    """Return A^(-1) b.

    A dense array is factored; a sparse one, or an operator, is only multiplied with. A sparse one's
    diagonal preconditions.

    Parameters
    ----------
    A : ndarray, sparse array or LinearOperator, shape (n, n)
        Symmetric positive definite.
    b : ndarray, shape (n,) or (n, k)
    tolerance : float
        Largest residual |A x - b| / |b|, for each column.
    max_iterations : int, optional
        By default 10 n.

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
    inverse = None
    if not isinstance(A, LinearOperator):
        scale = 1 / A.diagonal()
        inverse = LinearOperator(A.shape, matvec=lambda v: scale * v.ravel(), dtype=np.float64)
    columns = b.reshape(b.shape[0], -1)
    x = np.empty_like(columns)
    worst = 0.0
    for k in range(columns.shape[1]):
        x[:, k], _ = cg(A, columns[:, k], rtol=tolerance, maxiter=max_iterations, M=inverse)
        size = np.linalg.norm(columns[:, k])
        if size > 0:
            worst = max(worst, float(np.linalg.norm(A @ x[:, k] - columns[:, k]) / size))
    if not worst <= 10 * tolerance:  # what cg tracks drifts a little from the true residual
        warnings.warn(
            f"conjugate gradients stopped at a relative residual of {worst:.1e}, asked was "
            f"{tolerance:.0e}: allow more iterations where there is a max_iter, or move the "
            "parameters away from where the system is singular",
            ConvergenceWarning,
            stacklevel=2,
        )
    return x.reshape(b.shape)
