"""The smallest eigenpairs of a large symmetric matrix.

They come from a dense solver, from Lanczos iterations in double precision, or from a Chebyshev
filter in single precision.
"""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigsh

from graphuq.utils.interruption import interruptible
from graphuq.utils.memory import require_memory
from graphuq.utils.progress import announce_long_work, progress_bar
from graphuq.utils.row_blocks import column_signs
from graphuq.utils.threads import one_blas_thread
from graphuq.utils.typing import Array
from graphuq.utils.warnings import warn

# What Ctrl-C interrupts.
DOING = "computing eigenpairs"

PRECISIONS = ("auto", "single", "double")

# Up to this many nodes, or above this share of all eigenpairs, a dense solver is faster.
DENSE_NODES = 1000
DENSE_SHARE = 0.25

# A dense solver needs about this time for each of n^3 steps, and memory for each entry.
DENSE_SECONDS, DENSE_BYTES = 5e-10, 32.0

# A dense solver takes over from Lanczos iterations that have taken this share of its own time, in
# operations, or as many restarts, or missed as many copies: they hardly tell copies of a repeated
# eigenvalue apart, which a graph has where many items are equal.
PATIENCE, RESTARTS, COPIES = 0.1, 20, 20
DENSE_OPERATIONS = 10.0  # for each of n^3 steps

# Above this many nodes "auto" iterates in single precision: it takes a third of the time, and its
# errors of posterior means are far below the Monte Carlo error (benchmarks/speed/eigenpairs.py).
SINGLE_NODES = 1000

# Pairs in single precision are kept if their residuals are below this share of the highest
# eigenvalue kept. On graphs of nearest neighbors it is 1e-6 to 6e-5. It is 7e-3 for the
# combinatorial Laplacian of a network with hubs (polblogs), and scores were then off by 5%.
KEPT_RESIDUAL = 3e-4

# The iterations missed a pair that is below the highest pair kept by this share of the spectrum's
# width.
MISSED_SHARE = 1e-9

# The largest residual |L q - lambda q| without a warning.
MAX_RESIDUAL = 1e-8


class Eigenpairs(NamedTuple):
    """The smallest eigenpairs of a matrix.

    Attributes
    ----------
    values : ndarray, shape (rank,)
    vectors : ndarray, shape (n, rank)
    residuals : ndarray, shape (rank,)
        |M q - lambda q|.
    next_value : float
        The smallest eigenvalue left out, infinite if there is none.
    """

    values: Array
    vectors: Array
    residuals: Array
    next_value: float


def smallest_eigenpairs(
    M: Any,
    rank: int,
    *,
    bound: float,
    null: Array | None = None,
    known: tuple[Array, Array] | None = None,
    precision: str = "double",
    progress: bool = False,
) -> Eigenpairs:
    """Compute the smallest eigenpairs of a symmetric positive semi-definite matrix.

    Parameters
    ----------
    M : ndarray or sparse array, shape (n, n)
    rank : int
        Number of pairs.
    bound : float
        An upper bound of the eigenvalues.
    null : ndarray, shape (n,), optional
        A unit vector with M q_0 = 0, which is left out.
    known : (ndarray, ndarray), shapes (k,) and (n, k), optional
        The first k < rank pairs; only the others are computed.
    precision : {"auto", "single", "double"}
        Precision of the iterations; "auto" is single above 1,000 nodes, if residuals are then below
        `KEPT_RESIDUAL` times the highest eigenvalue. Pairs from single precision are made
        orthonormal and the best in their span, in double precision. Where they are not accurate
        enough, double precision follows.
    progress : bool
        Show the number of products with M.

    Returns
    -------
    Eigenpairs

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
    >>> found = smallest_eigenpairs(np.diag([3.0, 1.0, 2.0]), 2, bound=3.0)
    >>> found.values, found.next_value
    (array([1., 2.]), 3.0)
    """
    n = M.shape[0]
    count = n if null is None else n - 1
    null = np.zeros(n) if null is None else null
    too_large = (
        f"a dense eigendecomposition of {n} nodes",
        f"ask for a rank of at most {int(DENSE_SHARE * n)}",
    )
    dense = n <= DENSE_NODES or rank > DENSE_SHARE * n
    single = precision == "single" or (precision == "auto" and n > SINGLE_NODES)
    if dense:
        require_memory(DENSE_BYTES * n**2, *too_large)
        announce_long_work(DENSE_SECONDS * n**3, *too_large)
    # one BLAS thread is as fast here, and only one thread gives reproducible digits
    bar = progress_bar(0, progress and not dense, "product")
    with one_blas_thread(), bar:
        try:
            if dense:
                values, vectors, beyond = interruptible(
                    DOING, _solve_dense, M, null, bound, rank, count
                )
            else:
                if single:
                    # compiled code is slow to import, and not needed for small graphs
                    from graphuq.graphs.filtered_subspace import filtered_eigenpairs

                    found = interruptible(
                        DOING, filtered_eigenpairs, M, null, bound, rank, known, bar
                    )
                    if found is not None and (
                        precision == "single" or found[2].max() <= KEPT_RESIDUAL * found[0][-1]
                    ):
                        values, vectors, residuals, beyond = found
                        vectors *= column_signs(vectors)
                        return Eigenpairs(values, vectors, residuals, beyond)
                values, vectors, beyond = interruptible(
                    DOING, _lanczos, M, null, bound, rank, known, bar
                )
        except ArpackError:  # few distinct eigenvalues leave no room to iterate, or too little
            require_memory(DENSE_BYTES * n**2, *too_large)
            values, vectors, beyond = interruptible(
                DOING, _solve_dense, M, null, bound, rank, count
            )
        vectors *= column_signs(vectors)
        residuals = _residuals(M, values, vectors)
    if residuals.max() > MAX_RESIDUAL * bound:
        warn(
            f"eigenpair {residuals.argmax() + 1} has residual {residuals.max():.2g}, above "
            f"{MAX_RESIDUAL * bound:g}: treat results as approximate"
        )
    return Eigenpairs(values, vectors, residuals, beyond)


def _residuals(M: Any, values: Array, vectors: Array) -> Array:
    return np.asarray(np.linalg.norm(M @ vectors - vectors * values, axis=0))


def _solve_dense(
    L: Any, null: Array, bound: float, rank: int, count: int
) -> tuple[Array, Array, float]:
    """Return the smallest of ``count`` pairs, and the next eigenvalue."""
    L = L.toarray() if hasattr(L, "toarray") else L
    # q_0 moves from the bottom of the spectrum to above its top
    shifted = L + np.multiply.outer(1.5 * bound * null, null)
    last = min(rank, count - 1)
    if L.shape[0] > DENSE_NODES:  # NumPy's solver, unlike SciPy's, lets Ctrl-C through
        values, vectors = np.linalg.eigh(shifted)
    else:
        values, vectors = linalg.eigh(shifted, subset_by_index=[0, last], overwrite_a=True)
    beyond = float(values[rank]) if rank < count else np.inf
    return values[:rank], vectors[:, :rank], beyond


def _lanczos(
    L: Any,
    null: Array,
    bound: float,
    rank: int,
    known: tuple[Array, Array] | None,
    bar: Any,
) -> tuple[Array, Array, float]:
    """Return the smallest pairs of L by Lanczos iterations with deflation, and the next value.

    The iterations look for the largest pairs of (bound / 2) I - L. Deflation moves q_0 and the
    pairs already known to the bottom of the spectrum.
    """
    half = bound / 2
    rng = np.random.default_rng(0)

    def deflate(vectors: Array) -> Any:
        def apply(x: Array) -> Array:
            x = x.reshape(-1)
            bar.update()
            y = half * x - L @ x - (bound * (null @ x)) * null
            if vectors.size:
                y -= vectors @ (vectors.T @ y) + bound * (vectors @ (vectors.T @ x))
            return np.asarray(y)

        return apply

    def draw_start(vectors: Array) -> Array:
        # a new draw each time: an old start may lack the very direction that was missed
        x = rng.standard_normal(null.size)
        x -= null * (null @ x)
        x -= vectors @ (vectors.T @ x)
        return np.asarray(x)

    # 1. Begin with the pairs that are known.
    values, vectors = np.empty(0), np.empty((null.size, 0))
    if known is not None:
        values, vectors = half - known[0], np.asarray(known[1], dtype=np.float64)
    # 2. Compute the others, orthogonal to these.
    wanted = rank - values.size
    restarts = _restarts(L, wanted)
    top, found = _largest_eigenpairs(
        deflate(vectors), wanted, draw_start(vectors), restarts=restarts
    )
    values, vectors = np.append(values, top), np.hstack([vectors, found])
    # 3. The iterations may silently miss copies of a repeated eigenvalue. Look for a pair beyond
    #    the last one kept, orthogonal to all that are known, until there is none.
    for _ in range(null.size if restarts is None else COPIES):
        rest = deflate(vectors)
        top, vector = _largest_eigenpairs(rest, 1, draw_start(vectors), 1e-3 * MISSED_SHARE)
        if half * MISSED_SHARE > top[0] - values.min():
            order = np.argsort(-values, kind="stable")
            return half - values[order], vectors[:, order], float(half - top[0])
        top, vector = _largest_eigenpairs(rest, 1, vector[:, 0])
        order = np.argsort(-np.append(values, top), kind="stable")[:rank]
        values = np.append(values, top)[order]
        vectors = np.column_stack([vectors, vector])[:, order]
    raise ArpackError(1)  # a dense solver takes over


def _restarts(L: Any, count: int) -> int | None:
    """Return after how many restarts a dense solver takes over; None where ARPACK stops earlier."""
    n, kept = L.shape[0], 2 * count + 1
    entries = L.nnz if hasattr(L, "nnz") else n**2
    each = 2.0 * count * (entries + 2 * kept * n)
    restarts = max(RESTARTS, int(PATIENCE * DENSE_OPERATIONS * n**3 / each))
    return restarts if restarts < 10 * n else None


def _largest_eigenpairs(
    apply: Any, count: int, start: Array, tol: float = 0.0, restarts: int | None = None
) -> tuple[Array, Array]:
    """Return the largest eigenpairs of a symmetric operator, in decreasing order."""
    operator = LinearOperator((start.size, start.size), matvec=apply, dtype=start.dtype)
    # where the iterations break down, ARPACK continues from random numbers
    seeded = {"rng": 0} if "rng" in inspect.signature(eigsh).parameters else {}
    try:
        values, vectors = eigsh(
            operator, k=count, which="LA", tol=tol, v0=start, maxiter=restarts, **seeded
        )
    except ArpackNoConvergence as error:
        if restarts is not None:
            raise
        found = error.eigenvectors.T
        pairs = zip(found, error.eigenvalues, strict=True)
        residuals = [np.linalg.norm(apply(q) - value * q) for q, value in pairs]
        raise RuntimeError(
            f"Lanczos iterations found {len(found)} of {count} eigenpairs, with residuals up "
            f"to {max(residuals, default=0.0):.2g}: ask for a smaller rank, or look for nodes that "
            "are attached by tiny weights"
        ) from error
    order = np.argsort(-values)
    return values[order], vectors[:, order]
