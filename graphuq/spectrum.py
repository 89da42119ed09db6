"""Eigenpairs of the graph Laplacian, the zero eigenvalue set apart."""

from __future__ import annotations

import inspect
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigsh

from graphuq import validation
from graphuq.graphs import LAPLACIANS, Graph
from graphuq.row_blocks import product, transposed_product
from graphuq.threads import one_blas_thread

# Below this many nodes, or above this share of all eigenpairs, a dense solver is faster.
DENSE_NODES = 1000
DENSE_SHARE = 0.25

# A pair that is higher than the lowest kept by this share of the spectrum's width was missed.
MISSED = 1e-9

# Residuals |L q - lambda q| above this are reported.
RESIDUAL = 1e-8


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The smallest non-zero eigenpairs of a graph Laplacian, L q_k = lambda_k q_k, eq. (3).

    Parameters
    ----------
    values : ndarray, shape (r,)
        lambda_1 <= ... <= lambda_r, all positive.
    vectors : ndarray, shape (n, r)
        q_1, ..., q_r, orthonormal columns. Kept as they are if float32, in half the memory; sums
        are made in float64.
    null : ndarray, shape (n,)
        q_0, the unit vector with L q_0 = 0.
    residuals : ndarray, shape (r,), optional
        |L q_k - lambda_k q_k|, where known.

    Attributes
    ----------
    basis : ndarray, shape (n, r + 1)
        [q_0, Q]: null and vectors are its columns.

    Raises
    ------
    ValueError
        Shapes that do not fit, eigenvalues that are not positive and increasing.

    Examples
    --------
    >>> spectrum = Spectrum.of(Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    >>> spectrum.values
    array([1., 2.])
    >>> spectrum.n_nodes, spectrum.rank, spectrum.truncated(1).rank
    (3, 2, 1)
    """

    values: NDArray[np.float64]
    vectors: NDArray[np.float64]
    null: NDArray[np.float64]
    residuals: NDArray[np.float64] | None = None
    basis: NDArray[np.float64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        narrow = getattr(self.vectors, "dtype", None) == np.float32
        for name, dtype in (
            ("values", np.float64),
            ("vectors", np.float32 if narrow else np.float64),
            ("null", np.float32 if narrow else np.float64),
        ):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=dtype))
        n, r = self.vectors.shape
        if self.values.shape != (r,) or self.null.shape != (n,):
            raise ValueError(
                f"values, vectors and null must have shapes (r,), (n, r) and (n,), got "
                f"{self.values.shape}, {self.vectors.shape} and {self.null.shape}"
            )
        if not 1 <= r <= n - 1:
            raise ValueError(f"a graph of {n} nodes has 1 to {n - 1} non-zero modes, got {r}")
        # one array for both, since that is what priors are made of
        basis = _joined(self.null, self.vectors)
        for name, value in (("basis", basis), ("null", basis[:, 0]), ("vectors", basis[:, 1:])):
            object.__setattr__(self, name, value)
        probe = np.random.default_rng(0).standard_normal(r + 1)
        skew = transposed_product(basis, product(basis, probe)) - probe
        if not (np.isfinite(self.values).all() and np.isfinite(skew).all()):
            raise ValueError("eigenvalues and eigenvectors must be finite")
        if abs(skew).max() > 1e-6:
            raise ValueError("null and the columns of vectors must be orthonormal")
        if self.values[0] <= 0 or (np.diff(self.values) < 0).any():
            raise ValueError("eigenvalues must be positive and increasing; leave lambda_0 = 0 out")

    @property
    def n_nodes(self) -> int:
        """Number of nodes N."""
        return self.vectors.shape[0]

    @property
    def rank(self) -> int:
        """Number of modes r, q_0 not counted."""
        return self.values.size

    def truncated(self, rank: int) -> Spectrum:
        """Return the first ``rank`` modes."""
        validation.integer(
            "rank", rank, 1, self.rank, f"this spectrum holds {self.rank} modes: compute more"
        )
        # views, and no second look at what was checked: priors of many ranks are tried
        part = object.__new__(Spectrum)
        kept = None if self.residuals is None else self.residuals[:rank]
        for name, value in (
            ("values", self.values[:rank]),
            ("basis", self.basis[:, : rank + 1]),
            ("vectors", self.basis[:, 1 : rank + 1]),
            ("null", self.null),
            ("residuals", kept),
        ):
            object.__setattr__(part, name, value)
        return part

    @classmethod
    def of(cls, graph: Any, rank: int | None = None, laplacian: str = "normalised") -> Spectrum:
        """Compute the smallest non-zero eigenpairs of a connected graph's Laplacian.

        Small graphs and large ranks go to a dense solver, the rest to Lanczos iterations to full
        accuracy on the largest eigenvalues of D^(-1/2) A D^(-1/2) = I - L, with the known q_0
        moved out of the way.

        Parameters
        ----------
        graph : Graph or adjacency
            Connected.
        rank : int, optional
            Number of modes r < n; all n - 1 by default.
        laplacian : {"normalised", "combinatorial"}

        Returns
        -------
        Spectrum

        Raises
        ------
        ValueError
            A disconnected graph, or ``rank`` not below n.
        MemoryError
            A dense solver is needed and does not fit.
        RuntimeError
            The iterations did not converge.
        """
        graph = Graph.of(graph)
        n = graph.n_nodes
        if rank is None:
            rank = n - 1
        validation.integer("rank", rank, 1, n - 1, f"the graph has {n} nodes, so n - 1 modes")
        validation.one_of("laplacian", laplacian, LAPLACIANS)
        graph.require_connected()
        L = graph.laplacian(laplacian)
        if laplacian == "normalised":
            null, bound = np.sqrt(graph.degrees), 2.0
        else:
            null, bound = np.ones(n), 2 * graph.degrees.max()
        null = null / np.linalg.norm(null)
        values, vectors, residuals = lowest(L, rank, bound=bound, null=null)
        if values[0] <= 1e-13 * bound:
            raise ValueError(
                f"the graph falls apart numerically: lambda_1 = {values[0]:.2g}, so some nodes "
                "hang on by negligible weights; take larger weights (tau, n_neighbors), or drop "
                "the weak edges and take graph.largest_component()"
            )
        return cls(values, vectors, null, residuals)


def _joined(null: NDArray[np.float64], vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return [null, vectors], the array that they are the columns of where there is one."""
    whole: Any = vectors.base
    if isinstance(whole, np.ndarray) and whole.shape == (vectors.shape[0], vectors.shape[1] + 1):
        columns = (whole[:, 0], null), (whole[:, 1:], vectors)
        if all(a.__array_interface__ == b.__array_interface__ for a, b in columns):
            return whole
    return np.ascontiguousarray(np.column_stack([null, vectors]))


def lowest(
    M: Any, rank: int, *, bound: float, null: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
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

    Returns
    -------
    values, vectors, residuals : ndarray, shapes (rank,), (n, rank), (rank,)

    Warns
    -----
    RuntimeWarning
        A residual |M q - lambda q| above 1e-8 times ``bound``.

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
    if dense:
        validation.memory(8.0 * n * (2 * n + rank), *too_large)
    # One BLAS thread is as fast here, and the only reproducible choice.
    with one_blas_thread():
        try:
            values, vectors = (_dense if dense else _lanczos)(M, null, bound, rank)
        except ArpackError:  # few distinct eigenvalues leave no room to iterate
            validation.memory(24.0 * n * n, *too_large)
            values, vectors = _dense(M, null, bound, rank)
        vectors *= np.where(vectors[abs(vectors).argmax(axis=0), np.arange(rank)] < 0, -1, 1)
        residuals = np.linalg.norm(M @ vectors - vectors * values, axis=0)
    if residuals.max() > RESIDUAL * bound:
        warnings.warn(
            f"eigenpair {residuals.argmax() + 1} has residual {residuals.max():.2g}, above "
            f"{RESIDUAL * bound:g}: treat results as approximate",
            RuntimeWarning,
            stacklevel=3,
        )
    return values, vectors, residuals


def _dense(
    L: Any, null: NDArray[np.float64], bound: float, rank: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    L = L.toarray() if hasattr(L, "toarray") else L
    # q_0 is moved from the bottom of the spectrum to above its top.
    shifted = L + np.multiply.outer(1.5 * bound * null, null)
    values, vectors = linalg.eigh(shifted, subset_by_index=[0, rank - 1], overwrite_a=True)
    return values, vectors


def _lanczos(
    L: Any, null: NDArray[np.float64], bound: float, rank: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    half = bound / 2

    def apply(x: NDArray[np.float64]) -> NDArray[np.float64]:
        # half I - L has the wanted pairs at its top; q_0 goes to its bottom.
        x = x.reshape(-1)
        y: NDArray[np.float64] = half * x - L @ x - (bound * (null @ x)) * null
        return y

    rng = np.random.default_rng(0)
    start = rng.standard_normal(null.size)
    start -= null * (null @ start)
    values, vectors = _top(apply, rank, start, tol=0)
    # Lanczos iterations may miss copies of a repeated eigenvalue, and say nothing. So look for
    # anything above the lowest pair kept, orthogonal to all that is known.
    while True:
        known = vectors

        def apply_to_rest(x: NDArray[np.float64]) -> NDArray[np.float64]:
            y = apply(x)
            return y - known @ (known.T @ y) - (bound * (known @ (known.T @ x.reshape(-1))))  # noqa: B023

        # anew each time: what is left of an old start may lack the very direction that was missed
        start = rng.standard_normal(null.size)
        start -= null * (null @ start)
        start -= known @ (known.T @ start)
        top, vector = _top(apply_to_rest, 1, start, tol=1e-3 * MISSED)
        if half * MISSED > top[0] - values[-1]:
            return half - values, vectors
        top, vector = _top(apply_to_rest, 1, vector[:, 0], tol=0)
        order = np.argsort(-np.append(values, top), kind="stable")[:rank]
        values = np.append(values, top)[order]
        vectors = np.column_stack([vectors, vector])[:, order]


def _top(
    apply: Any, count: int, start: NDArray[np.float64], tol: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Largest eigenpairs of a symmetric operator, in decreasing order."""
    operator = LinearOperator((start.size, start.size), matvec=apply, dtype=np.float64)
    # where the iterations break down, ARPACK goes on from random numbers
    seeded = {"rng": 0} if "rng" in inspect.signature(eigsh).parameters else {}
    try:
        values, vectors = eigsh(operator, k=count, which="LA", tol=tol, v0=start, **seeded)
    except ArpackNoConvergence as error:
        raise RuntimeError(
            f"Lanczos iterations found {len(error.eigenvalues)} of {count} eigenpairs and "
            "stopped: ask for a smaller rank, or look for nodes that hang on by tiny weights"
        ) from error
    order = np.argsort(-values)
    return values[order], vectors[:, order]
