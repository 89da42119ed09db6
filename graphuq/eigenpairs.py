"""The smallest eigenpairs of a large symmetric matrix: dense, or by Lanczos iterations."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigsh

from graphuq import validation
from graphuq.progress import progress_bar
from graphuq.threads import one_blas_thread

Array = NDArray[np.float64]

PRECISIONS = ("auto", "single", "double")

# Below this many nodes, or above this share of all eigenpairs, a dense solver is faster.
DENSE_NODES = 1000
DENSE_SHARE = 0.25

# Beyond so many nodes "auto" iterates in single precision: in a third of the time, with errors of
# posterior means far below those of any number of draws (benchmarks/eigenpairs.py).
SINGLE_NODES = 5000

# A pair that is higher than the lowest kept by this share of the spectrum's width was missed.
MISSED = {np.float64: 1e-9, np.float32: 1e-5}

# Tolerances of the iterations: full accuracy, and what single precision can do.
TOLERANCE = {np.float64: 0.0, np.float32: 1e-4}

# Residuals |L q - lambda q| above this are reported; in single precision they are mended, by
# iterations in double precision, or where |L q - lambda q|^2, about the error of lambda, is more
# than the last share of it.
RESIDUAL = {np.float64: 1e-8, np.float32: 1e-4}
ERROR = 1e-3


def lowest(
    M: Any,
    rank: int,
    *,
    bound: float,
    null: Array | None = None,
    known: tuple[Array, Array] | None = None,
    precision: str = "double",
    progress: bool = False,
) -> tuple[Array, Array, Array]:
    """Compute the smallest eigenpairs of a symmetric positive semi-definite matrix.

    Parameters
    ----------
    M : ndarray or sparse array, shape (n, n)
    rank : int
        How many pairs.
    bound : float
        No eigenvalue is larger.
    null : ndarray, shape (n,), optional
        A unit vector with M q_0 = 0, which is left out.
    known : (ndarray, ndarray), shapes (k,) and (n, k), optional
        The first k < rank pairs: only others are looked for.
    precision : {"auto", "single", "double"}
        Of the iterations; "auto" is single beyond 5,000 nodes. Pairs from single precision are
        made orthonormal, and the best in their span, in double precision.
    progress : bool
        Show how many products with M were made.

    Returns
    -------
    values, vectors, residuals : ndarray, shapes (rank,), (n, rank), (rank,)

    Warns
    -----
    RuntimeWarning
        A residual |M q - lambda q| above 1e-8 times ``bound``, in double precision.

    Raises
    ------
    MemoryError
        A dense solver is needed and does not fit.
    RuntimeError
        The iterations did not converge.

    Examples
    --------
    >>> values, vectors, _ = lowest(np.diag([3.0, 1.0, 2.0]), 2, bound=3.0)
    >>> values
    array([1., 2.])
    """
    n = M.shape[0]
    null = np.zeros(n) if null is None else null
    too_large = (
        f"a dense eigendecomposition of {n} nodes",
        f"ask for a rank of at most {int(DENSE_SHARE * n)}",
    )
    dense = n <= DENSE_NODES or rank > DENSE_SHARE * n
    single = precision == "single" or (precision == "auto" and n > SINGLE_NODES)
    if dense:
        validation.memory(8.0 * n * (2 * n + rank), *too_large)
    # One BLAS thread is as fast here, and the only reproducible choice.
    bar = progress_bar(0, progress and not dense, "product")
    with one_blas_thread(), bar:
        try:
            if dense:
                values, vectors = _dense(M, null, bound, rank)
            elif single:
                found = _lanczos(M, null, bound, rank, known, np.float32, bar)
                values, vectors = _best_in_span(M, null, found[1])
                residuals = _residuals(M, values, vectors)
                good = residuals.max() <= RESIDUAL[np.float32] * bound
                if good and (residuals**2 <= ERROR * bound * values).all():
                    return values, _signed(vectors), residuals
            if not dense:
                values, vectors = _lanczos(M, null, bound, rank, known, np.float64, bar)
        except ArpackError:  # few distinct eigenvalues leave no room to iterate
            validation.memory(24.0 * n * n, *too_large)
            values, vectors = _dense(M, null, bound, rank)
        vectors = _signed(vectors)
        residuals = _residuals(M, values, vectors)
    if residuals.max() > RESIDUAL[np.float64] * bound:
        warnings.warn(
            f"eigenpair {residuals.argmax() + 1} has residual {residuals.max():.2g}, above "
            f"{RESIDUAL[np.float64] * bound:g}: treat results as approximate",
            RuntimeWarning,
            stacklevel=3,
        )
    return values, vectors, residuals


def _signed(vectors: Array) -> Array:
    """Let the largest entry of every vector be positive."""
    largest = vectors[abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    vectors *= np.where(largest < 0, -1, 1)
    return vectors


def _residuals(M: Any, values: Array, vectors: Array) -> Array:
    return np.asarray(np.linalg.norm(M @ vectors - vectors * values, axis=0))


def _best_in_span(M: Any, null: Array, vectors: Array) -> tuple[Array, Array]:
    """Return the best pairs in a span, orthogonal to q_0 (Rayleigh and Ritz)."""
    span, _ = linalg.qr(np.column_stack([null, vectors]), mode="economic", overwrite_a=True)
    span = span[:, 1:]
    values, turn = linalg.eigh(span.T @ (M @ span))
    return values, span @ turn


def _dense(L: Any, null: Array, bound: float, rank: int) -> tuple[Array, Array]:
    L = L.toarray() if hasattr(L, "toarray") else L
    # q_0 is moved from the bottom of the spectrum to above its top.
    shifted = L + np.multiply.outer(1.5 * bound * null, null)
    values, vectors = linalg.eigh(shifted, subset_by_index=[0, rank - 1], overwrite_a=True)
    return values, vectors


def _lanczos(
    L: Any,
    null: Array,
    bound: float,
    rank: int,
    known: tuple[Array, Array] | None,
    dtype: Any,
    bar: Any,
) -> tuple[Array, Array]:
    half = bound / 2
    L, null = L.astype(dtype), null.astype(dtype)
    rng = np.random.default_rng(0)

    def deflated(vectors: Array) -> Any:
        def apply(x: Array) -> Array:
            # half I - L has the wanted pairs at its top; what is known goes to its bottom
            x = x.reshape(-1)
            bar.update()
            y = half * x - L @ x - (bound * (null @ x)) * null
            if vectors.size:
                y -= vectors @ (vectors.T @ y) + bound * (vectors @ (vectors.T @ x))
            return np.asarray(y, dtype=dtype)

        return apply

    def start(vectors: Array) -> Array:
        # anew each time: what is left of an old start may lack the very direction that was missed
        x = rng.standard_normal(null.size).astype(dtype)
        x -= null * (null @ x)
        x -= vectors @ (vectors.T @ x)
        return np.asarray(x, dtype=dtype)

    values = np.empty(0, dtype=dtype)
    vectors = np.empty((null.size, 0), dtype=dtype)
    if known is not None:
        values, vectors = (half - known[0]).astype(dtype), known[1].astype(dtype)
    tolerance, missed = TOLERANCE[dtype], MISSED[dtype]
    top, found = _top(deflated(vectors), rank - values.size, start(vectors), tolerance)
    values, vectors = np.append(values, top), np.hstack([vectors, found])
    # Lanczos iterations may miss copies of a repeated eigenvalue, and say nothing. So look for
    # anything above the lowest pair kept, orthogonal to all that is known.
    while True:
        rest = deflated(vectors)
        top, vector = _top(rest, 1, start(vectors), max(1e-3 * missed, tolerance))
        if half * missed > top[0] - values.min():
            order = np.argsort(-values, kind="stable")
            return np.asarray(half - values[order], dtype=np.float64), vectors[:, order]
        top, vector = _top(rest, 1, vector[:, 0], tolerance)
        order = np.argsort(-np.append(values, top), kind="stable")[:rank]
        values = np.append(values, top)[order]
        vectors = np.column_stack([vectors, vector])[:, order]


def _top(apply: Any, count: int, start: Array, tol: float) -> tuple[Array, Array]:
    """Largest eigenpairs of a symmetric operator, in decreasing order."""
    operator = LinearOperator((start.size, start.size), matvec=apply, dtype=start.dtype)
    # where the iterations break down, ARPACK goes on from random numbers
    seeded = {"rng": 0} if "rng" in inspect.signature(eigsh).parameters else {}
    try:
        values, vectors = eigsh(operator, k=count, which="LA", tol=tol, v0=start, **seeded)
    except ArpackNoConvergence as error:
        found = error.eigenvectors.T
        pairs = zip(found, error.eigenvalues, strict=True)
        left = [np.linalg.norm(apply(q) - value * q) for q, value in pairs]
        raise RuntimeError(
            f"Lanczos iterations found {len(found)} of {count} eigenpairs, with residuals up to "
            f"{max(left, default=0.0):.2g}, and stopped: ask for a smaller rank, or look for nodes "
            "that hang on by tiny weights"
        ) from error
    order = np.argsort(-values)
    return values[order], vectors[:, order]
