"""Products of a symmetric matrix with many vectors, some of them in each thread."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray
from scipy.sparse import csgraph

from graphuq.utils.interruption import Workers
from graphuq.utils.jit import Kernel
from graphuq.utils.threads import cpu_count
from graphuq.utils.typing import Nodes

# Vectors that are multiplied together.
PANEL = 64

# Nodes of a cell, which share most of their neighbors.
CELL_NODES = 1000


class BlockProducts:
    """A symmetric matrix that multiplies panels of vectors.

    Parameters
    ----------
    M : ndarray or csr_array, shape (n, n)
    dtype : {float32, float64}
        Type of the products.

    Examples
    --------
    >>> BlockProducts(np.diag([1.0, 2.0]), np.float32).times(np.ones((2, 1)))
    array([[1.],
           [2.]], dtype=float32)
    """

    def __init__(self, M: Any, dtype: type) -> None:
        self._dtype, self._dense = dtype, isinstance(M, np.ndarray)
        self._parts = (
            (M.astype(dtype, copy=False),)
            if self._dense
            else (M.indptr.astype(np.int64), M.indices.astype(np.int32), M.data.astype(dtype))
        )
        self._kernel = _multiply_single if dtype is np.float32 else _multiply_double

    def add(self, scale: float, shift: float, back: float, x: Any, z: Any) -> None:
        """Let z be scale M x + shift x + back z, where x and z have few columns."""
        if self._dense:
            z *= back
            z += shift * x
            z += scale * (self._parts[0] @ x)
        else:
            self._kernel(*self._parts, scale, shift, back, x, z)

    def times(self, V: Any) -> Any:
        """Return M V."""
        out = np.empty(V.shape, dtype=self._dtype)

        def multiply(part: slice) -> None:
            x: Any = np.ascontiguousarray(V[:, part], dtype=self._dtype)
            z = np.zeros_like(x)
            self.add(1.0, 0.0, 0.0, x, z)
            out[:, part] = z

        in_threads(multiply, [slice(k, k + PANEL) for k in range(0, V.shape[1], PANEL)])
        return out


def in_threads(work: Callable[[Any], None], parts: Iterable[Any]) -> None:
    """Call ``work`` with each of ``parts``, one of them on each core at a time."""
    with Workers(cpu_count()) as workers:
        for done in [workers.submit(work, part) for part in parts]:
            done.result()


def order_by_cells(M: Any) -> Nodes:
    """Return an order of the nodes of a sparse matrix in which most neighbors are near.

    A cell is the set of nodes that are nearest, by the number of edges, to the same one of some
    random nodes. The vectors of a cell fit in the cache.
    """
    n = M.shape[0]
    hops = M.copy()
    hops.data = np.ones_like(hops.data)  # scipy warns of negative weights that it does not use
    centers = np.random.default_rng(0).choice(n, -(-n // CELL_NODES), replace=False)
    *_, cell = csgraph.dijkstra(
        hops, indices=centers, min_only=True, return_predecessors=True, unweighted=True
    )
    return np.argsort(cell, kind="stable")


def _multiply(
    starts: NDArray[np.int64],
    columns: NDArray[np.int32],
    entries: Any,
    scale: float,
    shift: float,
    back: float,
    x: Any,
    z: Any,
) -> None:  # pragma: no cover
    """Let z be scale M x + shift x + back z, where M has rows from ``starts`` on."""
    n, width = x.shape
    for i in range(n):
        own, out = x[i], z[i]
        for c in range(width):
            out[c] = back * out[c] + shift * own[c]
        k, end = starts[i], starts[i + 1]
        # four neighbors at a time: sums are loaded and stored less often
        while k + 4 <= end:
            a0, a1 = scale * entries[k], scale * entries[k + 1]
            a2, a3 = scale * entries[k + 2], scale * entries[k + 3]
            x0, x1 = x[columns[k]], x[columns[k + 1]]
            x2, x3 = x[columns[k + 2]], x[columns[k + 3]]
            for c in range(width):
                out[c] += a0 * x0[c] + a1 * x1[c] + a2 * x2[c] + a3 * x3[c]
            k += 4
        while k < end:
            a, other = scale * entries[k], x[columns[k]]
            for c in range(width):
                out[c] += a * other[c]
            k += 1


def _signature(real: Any) -> Any:
    return types.void(
        types.int64[::1], types.int32[::1], real[::1], real, real, real, real[:, ::1], real[:, ::1]
    )


_multiply_single = Kernel(_signature(types.float32), _multiply, fastmath={"contract"})
_multiply_double = Kernel(_signature(types.float64), _multiply, fastmath={"contract"})
