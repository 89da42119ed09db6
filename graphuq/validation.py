"""Checks made at the public boundary, before any work starts.

Every message says what was expected, what came, and what to do about it.
"""

from __future__ import annotations

import numbers
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

TINY = 1e-100

# What stands for a parameter that the labels shall choose, by `graphuq.tune`.
AUTO = "auto"

Seed = int | np.random.SeedSequence | np.random.Generator | None


def is_auto(value: object) -> bool:
    """Whether ``value`` is left for the labels to choose."""
    return isinstance(value, str) and value == AUTO


def positive(name: str, value: object) -> float:
    """Return ``value`` as a float above zero whose square and its inverse are finite."""
    number = real(name, value)
    if not TINY <= number <= 1 / TINY:
        raise ValueError(f"{name} must be positive, from {TINY:g} to {1 / TINY:g}, got {number:g}")
    return number


def real(name: str, value: object) -> float:
    """Return ``value`` as a finite float."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, got {value!r}")
    if not np.isfinite(float(value)):
        raise ValueError(f"{name} must be finite, got {value!r}")
    return float(value)


def between(name: str, value: object, low: float, high: float) -> float:
    """Return ``value`` as a float in ``[low, high]``."""
    number = real(name, value)
    if not low <= number <= high:
        raise ValueError(f"{name} must lie between {low:g} and {high:g}, got {number:g}")
    return number


def integer(name: str, value: object, low: int, high: int | None = None, remedy: str = "") -> int:
    """Return ``value`` as an int in ``[low, high]``."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    number = int(value)
    if number < low or (high is not None and number > high):
        span = f"at least {low}" if high is None else f"between {low} and {high}"
        raise ValueError(f"{name} must be {span}, got {number}" + (f"; {remedy}" if remedy else ""))
    return number


def one_of(name: str, value: str, allowed: tuple[str, ...]) -> str:
    """Return ``value`` if it is among ``allowed``."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")
    return value


def features(X: Any, *, accept_sparse: bool = False) -> Any:
    """Return ``X`` as a finite, C-contiguous or CSR, float64 matrix with one row an item."""
    if sparse.issparse(X) and not accept_sparse:
        raise TypeError("X is sparse, and a dense matrix is needed: pass X.toarray()")
    try:
        if sparse.issparse(X):
            matrix = sparse.csr_array(X, dtype=np.float64)
            if not matrix.has_canonical_format:
                matrix = matrix.copy()
                matrix.sum_duplicates()
        else:
            matrix = np.ascontiguousarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"X must be a numeric matrix with one row an item; {type(X).__name__} could not be "
            f"converted ({error}): drop or encode the columns that are not numbers"
        ) from error
    if matrix.ndim != 2 or matrix.shape[0] < 2 or matrix.shape[1] < 1:
        raise ValueError(
            "X must be a matrix with at least two rows (items) and one column (feature), "
            f"got shape {matrix.shape}"
        )
    finite_rows("X", matrix)
    squarable(matrix)
    return matrix


def squarable(matrix: Any) -> None:
    """Refuse features whose squares overflow."""
    if abs(matrix).max() > 1 / TINY:
        raise ValueError(f"X holds values beyond {1 / TINY:g}, whose squares overflow: rescale it")


def node_features(X: Any, n_nodes: int, *, accept_sparse: bool = False) -> Any:
    """Return ``X`` as `features` does, with one row for each node of a graph."""
    matrix = features(X, accept_sparse=accept_sparse)
    if matrix.shape[0] != n_nodes:
        raise ValueError(
            f"X must have one row for each of {n_nodes} nodes, got shape {matrix.shape}; of a "
            "largest component take X[graph.nodes]"
        )
    return matrix


def images(X: Any, n_nodes: int, shape: tuple[int, int] | None) -> NDArray[np.float64]:
    """Return grey images, a row each, as an array (n_nodes, height, width)."""
    matrix = features(X)
    if matrix.shape[0] != n_nodes:
        raise ValueError(
            f"images must have one row for each of {n_nodes} nodes, got {matrix.shape[0]}"
        )
    if shape is None:
        side = round(matrix.shape[1] ** 0.5)
        shape = (side, side)
    if shape[0] * shape[1] != matrix.shape[1]:
        raise ValueError(
            f"images of {matrix.shape[1]} pixels do not have shape {shape}: give shape=(height, "
            "width)"
        )
    return matrix.reshape(n_nodes, *shape)


def finite_rows(name: str, matrix: Any) -> None:
    """Refuse NaN and infinity, naming the first row that holds one."""
    if sparse.issparse(matrix):
        bad = np.unique(matrix.tocoo().row[~np.isfinite(matrix.data)])
    else:
        bad = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if bad.size:
        raise ValueError(
            f"{name} holds NaN or infinite values in {bad.size} of {matrix.shape[0]} rows, first "
            f"in row {bad[0]}: drop those rows or fill the values in"
        )


def node_ids(name: str, nodes: Any, n_nodes: int) -> NDArray[np.int64]:
    """Return ``nodes`` as distinct int64 ids below ``n_nodes``."""
    array = np.atleast_1d(np.asarray(nodes))
    if array.size == 0:
        return np.empty(0, dtype=np.int64)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise TypeError(f"{name} must be a sequence of integer node ids, got {nodes!r}")
    outside = array[(array < 0) | (array >= n_nodes)]
    if outside.size:
        raise ValueError(
            f"{name} names node {outside[0]}, but the graph's nodes are 0 to {n_nodes - 1}"
        )
    if np.unique(array).size != array.size:
        raise ValueError(f"{name} names a node more than once")
    return array.astype(np.int64)


def seed_sequence(seed: Seed) -> np.random.SeedSequence:
    """Return a fresh SeedSequence: an equal ``seed`` always gives an equal sequence.

    A Generator is drawn from, so that using it twice gives two different sequences.
    """
    if isinstance(seed, np.random.SeedSequence):
        return np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key)
    if isinstance(seed, np.random.Generator):
        return np.random.SeedSequence(seed.integers(2**63, size=2).tolist())
    if seed is None:
        return np.random.SeedSequence()
    if isinstance(seed, bool) or not isinstance(seed, numbers.Integral) or int(seed) < 0:
        raise TypeError(
            "seed must be a non-negative int, a numpy SeedSequence or Generator, or None, "
            f"got {seed!r}"
        )
    return np.random.SeedSequence(int(seed))


def memory(n_bytes: float, what: str, remedy: str) -> None:
    """Refuse work that needs more memory than this machine has available."""
    available = _available_memory()
    if n_bytes > available:
        raise MemoryError(
            f"{what} needs about {n_bytes / 2**30:.1f} GiB, and {available / 2**30:.1f} GiB are "
            f"available: {remedy}"
        )


def _available_memory() -> float:
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return float(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):  # platforms without sysconf: no foresight
        return float("inf")
