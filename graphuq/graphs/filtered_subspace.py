"""The smallest eigenpairs of a large matrix, from vectors in single precision.

A dense solver finds the vectors of few nodes, and a Chebyshev filter those of many. The latter is
subspace iteration with a polynomial of the matrix (Zhou, Saad, Tiago and Chelikowsky 2006): the
polynomial is large below a cut and at most 1 between the cut and the largest eigenvalue. It works
on many vectors at once, so that each entry of the matrix is read once for all of them.

Each thread multiplies the matrix with some of the vectors.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse import csgraph

from graphuq.utils.interruption import Workers
from graphuq.utils.jit import Kernel
from graphuq.utils.row_blocks import map_rows
from graphuq.utils.threads import cpu_count
from graphuq.utils.typing import Array, Nodes

# Vectors that are multiplied together.
PANEL = 64

# Nodes of a cell, which share most of their neighbors.
CELL_NODES = 1000

# Vectors beyond the rank, relative to it. More make fewer rounds.
EXTRA_SHARE = 0.3

# Up to this many nodes, and from this share of all pairs on, a dense solver in single precision
# takes less time. It finds SPARE pairs more than are wanted.
DENSE_NODES, DENSE_SHARE, SPARE = 2500, 0.1, 8

# Random vectors from which the ends of the spectrum are estimated, and products with each.
PROBES, PROBE_STEPS = 16, 30

# The value of the filter at 0 relative to that at the cut: beyond it the first vectors would drown
# the digits of the others.
RANGE = 1e6

# Directions in which the vectors differ by less than this share are rounding.
MIN_SHARE = 1e-13

# The largest residual |M q - lambda q|, relative to the bound of the spectrum, and the largest
# relative error of lambda. The error is at most the residual, and its square over the gap to the
# eigenvalues outside the span; while vectors are filtered, the bound stands for the gap.
MAX_RESIDUAL, MAX_VALUE_ERROR = 1e-5, 1e-3

# Residuals that single precision reaches, relative to the bound, and rounds after which it has not.
REACHED, MAX_ROUNDS = 1e-6, 20


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


class Ritz(NamedTuple):
    """The best pairs in the span of some vectors V.

    Attributes
    ----------
    values : ndarray, shape (k,)
    rotation : ndarray, shape (m, k)
        The vectors are (V - q_0 shift') rotation.
    shift : ndarray, shape (m,)
        V'q_0.
    residuals : ndarray, shape (k,)
    """

    values: Array
    rotation: Array
    shift: Array
    residuals: Array


def filtered_eigenpairs(
    M: Any, null: Array, bound: float, rank: int, known: tuple[Array, Array] | None, bar: Any
) -> tuple[Array, Array, Array, float] | None:
    """Compute the smallest eigenpairs of a positive semi-definite matrix.

    Parameters
    ----------
    M : ndarray or csr_array, shape (n, n)
    null : ndarray, shape (n,)
        A unit vector with M q_0 = 0, which is left out, or zeros.
    bound : float
        An upper bound of the eigenvalues.
    rank : int
    known : (ndarray, ndarray), shapes (k,) and (n, k), optional
        The first pairs.
    bar : progress bar
        Advances by the number of products.

    Returns
    -------
    values, vectors, residuals, next_value
        As in `graphuq.graphs.eigensolver.Eigenpairs`; orthonormal, and the best pairs of their
        span in double precision. None where single precision is not accurate enough.

    Examples
    --------
    >>> from graphuq.utils.progress import progress_bar
    >>> M, bar = np.diag(np.arange(100.0)), progress_bar(0, False, "product")
    >>> values, *_ = filtered_eigenpairs(M, np.eye(100)[0], 99.0, 3, None, bar)
    >>> values.round(6)
    array([1., 2., 3.])
    """
    n = null.size
    if n <= DENSE_NODES and rank > DENSE_SHARE * n:
        accurate = _in_double(M, _dense_in_single(M, null, bound, rank), null, rank)
        bar.update(rank)
        # on some processors single vectors are ten times less accurate than the others
        if accurate is not None and accurate[2].max() <= MAX_RESIDUAL * bound:
            return accurate
    order = np.arange(n)
    if not isinstance(M, np.ndarray):
        order = order_by_cells(M)
        M, null = M[order][:, order], null[order]
    products = BlockProducts(M, np.float32)
    # 1. random vectors beside those that are known
    size = min(n - 1, -(-int((1 + EXTRA_SHARE) * rank + 1) // PANEL) * PANEL)
    V = np.random.default_rng(0).standard_normal((n, size), dtype=np.float32)
    first = 0 if known is None else known[0].size
    if known is not None:
        V[:, :first] = known[1][order]
    cut, top = _estimate_ends(products, null, bound, size, bar)
    rough = np.arange(first, size)
    for turn in range(MAX_ROUNDS):
        # 2. filter the vectors that are not accurate yet, and find the best pairs in their span
        _filter(products, V, rough, null, cut, top, bar)
        found = _best_in_span(V, products.times(V), null)
        bar.update(size)
        allowed = np.minimum(
            MAX_RESIDUAL * bound, np.sqrt(MAX_VALUE_ERROR * bound * abs(found.values))
        )
        if found.values.size <= rank or allowed[0] < REACHED * bound:
            return None
        wrong = found.residuals > allowed
        if not wrong[: rank + 1].any():
            break
        V = _rotate(V, found, null, np.float32)
        # 3. the cut is above all that are wanted, and no higher than needed
        size = V.shape[1]
        if turn and cut <= found.values[rank]:
            cut = found.values[(rank + size) // 2]
        cut = min(cut, found.values[-1])
        wrong[rank + 1 :] = True
        rough = np.flatnonzero(wrong)
    else:
        return None
    # 4. the same in double precision
    bar.update(size)
    accurate = _in_double(M, V, null, rank)
    if accurate is None:
        return None
    values, vectors, residuals, following = accurate
    return values, vectors[np.argsort(order)], residuals, following


def _dense_in_single(M: Any, null: Array, bound: float, rank: int) -> Any:
    """Return the vectors of the smallest pairs, and of some more."""
    dense = (M.toarray() if hasattr(M, "toarray") else M).astype(np.float32)
    q = null.astype(np.float32)
    dense += np.multiply.outer(np.float32(1.5 * bound) * q, q)  # q_0 moves above all others
    last = min(null.size - 2, rank + SPARE)
    return linalg.eigh(dense, subset_by_index=[0, last], overwrite_a=True, check_finite=False)[1]


def _in_double(M: Any, V: Any, null: Array, rank: int) -> tuple[Array, Array, Array, float] | None:
    """Return the best pairs in the span of V in double precision; None if V is not accurate."""
    found = _best_in_span(V, BlockProducts(M, np.float64).times(V), null)
    values, residuals = found.values[:rank], found.residuals[:rank]
    gaps = np.maximum(found.values[-1] - values, residuals)
    if found.values.size <= rank or (residuals**2 > MAX_VALUE_ERROR * values * gaps).any():
        return None
    vectors = _rotate(V, found._replace(rotation=found.rotation[:, :rank]), null, np.float64)
    return values, vectors, residuals, float(found.values[rank])


def _filter(
    products: BlockProducts, V: Any, some: Nodes, null: Array, cut: float, top: float, bar: Any
) -> None:
    """Multiply some columns of V by the Chebyshev polynomial of the matrix, in place.

    On [cut, top] it is T_d. Its degree d follows from the value at 0.
    """
    center, half = (top + cut) / 2, (top - cut) / 2
    degree = max(2, int(np.log(2 * RANGE) / np.arccosh(center / half)))
    null = null.astype(np.float32)

    def work(columns: Nodes) -> None:
        x = np.ascontiguousarray(V[:, columns])
        z = np.zeros_like(x)
        products.add(1 / half, -center / half, 0.0, x, z)
        for _ in range(degree - 1):
            x, z = z, x
            products.add(2 / half, -2 * center / half, -1.0, x, z)
        V[:, columns] = z - np.multiply.outer(null, null @ z)

    in_threads(work, [some[k : k + PANEL] for k in range(0, some.size, PANEL)])
    bar.update(degree * some.size)


def _best_in_span(V: Any, MV: Any, null: Array) -> Ritz:
    """Return the best pairs in the span of V, orthogonal to q_0 (Rayleigh-Ritz).

    All follows from the inner products of q_0, V and M V, which are sums in double precision:
    |M q - theta q|^2 is |M q|^2 - theta^2.
    """
    size = V.shape[1]
    gram = sum(part for _, part in map_rows(_gram, V, 2 * size + 1, null, MV))
    c, w = gram[0, 1 : size + 1], gram[0, size + 1 :]
    VV = gram[1 : size + 1, 1 : size + 1] - np.multiply.outer(c, c)
    VMV = gram[1 : size + 1, size + 1 :] - np.multiply.outer(c, w)
    MVMV = gram[size + 1 :, size + 1 :] - np.multiply.outer(w, w)
    # an orthonormal basis of the span
    scale = 1 / np.sqrt(np.diag(VV))
    shares, basis = linalg.eigh(VV * np.multiply.outer(scale, scale))
    kept = shares > MIN_SHARE * shares[-1]
    basis = scale[:, None] * basis[:, kept] / np.sqrt(shares[kept])
    # the pairs in this basis
    inner = basis.T @ VMV @ basis
    values, rotation = linalg.eigh((inner + inner.T) / 2)
    rotation = basis @ rotation
    squares = np.einsum("ij,ij->j", rotation, MVMV @ rotation) - values**2
    return Ritz(values, rotation, c, np.sqrt(np.maximum(squares, 0.0)))


def _gram(V: Array, null: Array, MV: Array) -> Array:
    columns = np.column_stack([null, V, MV])
    return np.asarray(columns.T @ columns)


def _rotate(V: Any, found: Ritz, null: Array, dtype: type) -> Any:
    """Return the vectors of the best pairs."""
    work = functools.partial(_rotate_rows, found.rotation, found.shift @ found.rotation)
    rotated = np.empty((V.shape[0], found.rotation.shape[1]), dtype=dtype)
    for rows, block in map_rows(work, V, V.shape[1], null):
        rotated[rows] = block
    return rotated


def _rotate_rows(rotation: Array, shift: Array, V: Array, null: Array) -> Array:
    return np.asarray(V @ rotation - np.multiply.outer(null, shift))


def _estimate_ends(
    products: BlockProducts, null: Array, bound: float, count: int, bar: Any
) -> tuple[float, float]:
    """Return about the value below which ``count`` eigenvalues are, and the largest eigenvalue.

    Lanczos iterations from random vectors give the distribution of the eigenvalues (Lin, Saad and
    Yang 2016), and the largest with a safe margin (Zhou and Li 2011).
    """
    null = null.astype(np.float32)
    v = np.random.default_rng(1).standard_normal((null.size, PROBES), dtype=np.float32)
    v -= np.multiply.outer(null, null @ v)
    v /= np.linalg.norm(v, axis=0)
    before, off = np.zeros_like(v), np.zeros(PROBES, dtype=np.float32)
    diagonals: list[Any] = []
    offs: list[Any] = []
    while len(offs) < PROBE_STEPS:
        w = products.times(v)
        w -= off * before
        diagonals.append(np.einsum("ij,ij->j", v, w))
        w -= diagonals[-1] * v
        w -= np.multiply.outer(null, null @ w)
        off = np.linalg.norm(w, axis=0)
        offs.append(off)
        if off.min() <= REACHED * bound:  # few distinct eigenvalues
            break
        before, v = v, w / off
    bar.update(PROBES * len(offs))
    values, shares, top = [], [], 0.0
    for a, b in zip(np.array(diagonals, float).T, np.array(offs, float).T, strict=True):
        ritz, vectors = linalg.eigh_tridiagonal(a, b[:-1])
        values.append(ritz)
        shares.append(vectors[0] ** 2 / PROBES)
        top = max(top, ritz[-1] + b[-1] * abs(vectors[-1, -1]))
    theta = np.concatenate(values)
    order = np.argsort(theta)
    below = np.cumsum(np.concatenate(shares)[order]) * null.size
    cut = theta[order[np.searchsorted(below[:-1], count)]]
    top = min(top, bound)
    return float(np.clip(cut, REACHED * top, 0.9 * top)), top
