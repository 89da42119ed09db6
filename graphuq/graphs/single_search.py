"""Exact nearest neighbors, from candidates in single precision and a bound of their rounding."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from graphuq.utils.jit import kernel
from graphuq.utils.row_blocks import BLOCK_SIZE, map_rows
from graphuq.utils.typing import Array, Nodes

# Items whose products with others fit in the cache of a core: single precision, 512 kB.
ROWS, COLUMNS = 256, 512

# Candidates beyond the number of neighbors. Where the farthest of them is farther than the last
# neighbor by more than rounding, none was missed.
SPARE = 8

# Products that are compared at once with the largest one kept.
CHUNK = 32

# The rounding of single precision, its least number, and one above all products.
EPS, TINY = float(np.finfo(np.float32).eps), float(np.finfo(np.float32).tiny)
LARGEST = np.finfo(np.float32).max


class Found(NamedTuple):
    """What a search found.

    Attributes
    ----------
    items : ndarray of int, shape (m, k)
        Neighbors of each item, in no order.
    sure : ndarray of bool, shape (m,)
        Whether they are the nearest, whatever the rounding of the search.
    """

    items: Nodes
    sure: NDArray[np.bool_]


class SingleSearch:
    """A search among items, which computes products |y|^2 - 2 x'y in single precision.

    Their errors are at most gamma (|y|^2 + 2 |x| |y|), where gamma is (d + 5) eps (Higham 2002,
    section 3.1). Items y with |y| > |x| + rho are farther than rho from x. So the k nearest
    candidates, the last of them at the exact distance rho, are the true neighbors if
    rho^2 - |x|^2 is below all products left out by more than the error for |y| = |x| + rho.

    Parameters
    ----------
    Y : ndarray, shape (n, d)

    Examples
    --------
    >>> found = SingleSearch(np.array([[0.0], [1.0], [3.0], [7.0]])).find(np.array([[2.5]]), 1)
    >>> found.items, found.sure
    (array([[2]]), array([ True]))
    """

    def __init__(self, Y: Array) -> None:
        self._Y = np.ascontiguousarray(Y)
        self._unit = abs(Y).max() or 1.0  # single precision has a narrow range
        scaled = Y / self._unit
        self._right = np.empty((Y.shape[0], Y.shape[1] + 1), dtype=np.float32)
        self._right[:, :-1], self._right[:, -1] = scaled, np.einsum("ij,ij->i", scaled, scaled)

    def find(self, X: Array, k: int) -> Found:
        """Return the k <= n items nearest to each row of ``X``, and whether this is certain."""
        items = np.empty((X.shape[0], k), dtype=np.int64)
        sure = np.empty(X.shape[0], dtype=np.bool_)
        for rows, found in map_rows(functools.partial(self._search, k), X, BLOCK_SIZE // ROWS):
            items[rows], sure[rows] = found
        return Found(items, sure)

    def _search(self, k: int, X: Array) -> Found:
        (m, d), n = X.shape, self._Y.shape[0]
        size = min(k + SPARE, n)
        values = np.full((m, size), LARGEST)
        candidates = np.zeros((m, size), dtype=np.int64)
        # 1. the smallest products of each row; those that overflow are not sure
        with np.errstate(over="ignore", invalid="ignore"):
            left = np.ones((m, d + 1), dtype=np.float32)
            left[:, :-1] = X * (-2 / self._unit)
            for start in range(0, n, COLUMNS):
                right = self._right[start : start + COLUMNS]
                _keep_smallest(left @ right.T, start, values, candidates)
        # 2. the nearest of these, by exact lengths
        squared = np.empty((m, size))
        _square_lengths(np.ascontiguousarray(X), self._Y, candidates, squared)
        nearest = np.argpartition(squared, k - 1, axis=1)[:, :k]
        items = np.take_along_axis(candidates, nearest, axis=1)
        if size == n:
            return Found(items, np.ones(m, dtype=np.bool_))
        # 3. whether an item left out may be nearer
        radius = np.sqrt(np.take_along_axis(squared, nearest, axis=1).max(axis=1)) / self._unit
        norm = np.linalg.norm(X, axis=1) / self._unit
        reach = norm + radius
        error = (d + 5) * (EPS * (reach**2 + 2 * norm * reach) + TINY)
        return Found(items, radius**2 - norm**2 <= values.max(axis=1) - error)


@kernel(
    types.void(types.float32[:, ::1], types.int64, types.float32[:, ::1], types.int64[:, ::1]),
    fastmath={"nnan", "nsz"},
)
def _keep_smallest(
    products: NDArray[np.float32], first: int, values: NDArray[np.float32], items: Nodes
) -> None:  # pragma: no cover
    """Let smaller products replace the largest ones kept, a max-heap for each row.

    ``first`` is the item of the first column.
    """
    rows, columns = products.shape
    size = values.shape[1]
    for r in range(rows):
        row, heap, names = products[r], values[r], items[r]
        for start in range(0, columns, CHUNK):
            stop = min(start + CHUNK, columns)
            # most chunks end here, after one vectorized comparison
            if stop - start == CHUNK:
                lowest = row[start]
                for c in range(CHUNK):
                    lowest = min(lowest, row[start + c])
                if lowest >= heap[0]:
                    continue
            for c in range(start, stop):
                value = row[c]
                if value >= heap[0]:
                    continue
                at, child = 0, 1
                while child < size:
                    if child + 1 < size and heap[child + 1] > heap[child]:
                        child += 1
                    if heap[child] <= value:
                        break
                    heap[at], names[at] = heap[child], names[child]
                    at, child = child, 2 * child + 1
                heap[at], names[at] = value, first + c


@kernel(
    types.void(
        types.float64[:, ::1], types.float64[:, ::1], types.int64[:, ::1], types.float64[:, ::1]
    ),
    fastmath={"reassoc"},
)
def _square_lengths(X: Array, Y: Array, items: Nodes, squared: Array) -> None:  # pragma: no cover
    """Compute |x_i - y_j|^2 for the items j of each row i."""
    for i in range(items.shape[0]):
        x = X[i]
        for c in range(items.shape[1]):
            y = Y[items[i, c]]
            total = 0.0
            for b in range(x.size):
                total += (x[b] - y[b]) ** 2
            squared[i, c] = total
