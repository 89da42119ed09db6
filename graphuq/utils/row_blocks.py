"""Work on blocks of rows of a tall matrix: in threads, or on the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq.utils.interruption import Workers
from graphuq.utils.threads import cpu_count, one_blas_thread
from graphuq.utils.typing import Array, Nodes

# Numbers that the intermediate matrix of one block may hold.
BLOCK_SIZE = 2**21

# Blocks in flight for each thread, and for each core of this machine when Dask does the work.
BLOCKS_AHEAD, DASK_BLOCKS_AHEAD = 2, 8


def is_dask(X: Any) -> bool:
    """Whether ``X`` is a Dask array, whose rows may be on other machines."""
    return type(X).__module__.partition(".")[0] == "dask"


def map_rows(
    work: Callable[..., Any],
    X: Any,
    width: int,
    *alongside: Any,
    threads: int | None = None,
    bar: Any = None,
) -> Iterator[tuple[slice, Any]]:
    """Yield the rows of each block and the result of ``work`` for them, in order.

    Parameters
    ----------
    work : callable
        Takes float64 rows of ``X`` and the same rows of each array of ``alongside``. For Dask
        arrays it must be picklable.
    X : ndarray, memory map or Dask array, shape (n, d)
    width : int
        Numbers that ``work`` holds for each row; it determines the size of blocks.
    alongside : ndarray
        Arrays with n rows.
    threads : int, optional
        Number of threads, one for each core by default.
    bar : progress bar, optional
        Advances by the number of rows done.

    Examples
    --------
    >>> X = np.arange(6.0).reshape(3, 2)
    >>> for rows, sums in map_rows(lambda block: block.sum(axis=1), X, width=2):
    ...     print(rows, sums)
    slice(0, 3, None) [1. 5. 9.]
    """
    results = (
        _map_on_dask(work, X, width, alongside)
        if is_dask(X)
        else _map_in_threads(work, X, width, alongside, threads or cpu_count())
    )
    for rows, result in results:
        if bar is not None:
            bar.update(rows.stop - rows.start)
        yield rows, result


def _map_in_threads(
    work: Callable[..., Any], X: Any, width: int, alongside: tuple[Any, ...], workers: int
) -> Iterator[tuple[slice, Any]]:
    blocks = row_slices(X.shape[0], max(width, X.shape[1]))

    def work_on(rows: slice) -> Any:
        block = np.asarray(X[rows], dtype=np.float64)
        return work(block, *(array[rows] for array in alongside))

    # few blocks are submitted ahead of the one that is yielded, so that memory stays bounded
    ahead = BLOCKS_AHEAD * workers
    with one_blas_thread(), Workers(workers) as pool:
        pending = [pool.submit(work_on, rows) for rows in blocks[:ahead]]
        try:
            for k, rows in enumerate(blocks):
                result = pending.pop(0).result()
                if k + ahead < len(blocks):
                    pending.append(pool.submit(work_on, blocks[k + ahead]))
                yield rows, result
        finally:  # interrupted, or nobody wants more
            for future in pending:
                future.cancel()


def _map_on_dask(
    work: Callable[..., Any], X: Any, width: int, alongside: tuple[Any, ...]
) -> Iterator[tuple[slice, Any]]:
    import dask

    X = _rechunk(X, width)
    ends = np.cumsum(X.chunks[0])
    blocks = [slice(int(end - size), int(end)) for size, end in zip(X.chunks[0], ends, strict=True)]
    parts = X.to_delayed()[:, 0]
    task = dask.delayed(_work_on_floats, pure=False)
    shared = dask.delayed(work, pure=False, traverse=False)  # sent once, not with every block
    ahead = DASK_BLOCKS_AHEAD * cpu_count()
    for first in range(0, len(blocks), ahead):
        batch = blocks[first : first + ahead]
        tasks = [
            task(shared, part, *(array[rows] for array in alongside))
            for rows, part in zip(batch, parts[first : first + ahead], strict=True)
        ]
        yield from zip(batch, dask.compute(*tasks), strict=True)


def _work_on_floats(work: Callable[..., Any], block: Any, *alongside: Any) -> Any:
    with one_blas_thread():
        return work(np.asarray(block, dtype=np.float64), *alongside)


def collect_rows(
    work: Callable[..., Any],
    X: Any,
    width: int,
    columns: int,
    dtype: Any,
    *alongside: Any,
    bar: Any = None,
) -> Any:
    """Return the rows that ``work`` computes, shape (n, columns).

    For a Dask array the result is one, too; it stays on the workers, which compute again what they
    lose.
    """
    if not is_dask(X):
        collected = np.empty((X.shape[0], columns), dtype=dtype)
        for rows, block in map_rows(work, X, width, *alongside, bar=bar):
            collected[rows] = block
        return collected
    import dask
    import dask.array as da

    X = _rechunk(X, width)
    parts = [da.from_array(array, chunks=X.chunks[0]) for array in alongside]
    lazy = da.map_blocks(
        partial(_work_and_cast, work, dtype),
        X,
        *(part[:, None] for part in parts),
        chunks=(X.chunks[0], (columns,)),
        dtype=dtype,
        meta=np.empty((0, 0), dtype=dtype),
    )
    return dask.persist(lazy)[0]


def _work_and_cast(work: Callable[..., Any], dtype: Any, block: Any, *alongside: Any) -> Array:
    return np.asarray(_work_on_floats(work, block, *(a[:, 0] for a in alongside)), dtype=dtype)


def _rechunk(X: Any, width: int) -> Any:
    """Return a Dask array whose chunks hold whole rows and fit one block of work."""
    rows = max(1, BLOCK_SIZE // max(width, X.shape[1]))
    return X.rechunk({0: min(rows, max(X.chunks[0])), 1: -1})


def take_rows(X: Any, rows: Nodes) -> Array:
    """Return some rows as float64."""
    some = X[rows]
    return np.asarray(some.compute() if is_dask(X) else some, dtype=np.float64)


def column_signs(tall: Any) -> NDArray[np.int64]:
    """Return the sign of the largest entry of each column, which fixes that of an eigenvector."""
    largest = np.zeros(tall.shape[1])
    for _, entries in map_rows(_largest_entries, tall, tall.shape[1]):
        largest = np.where(abs(entries) > abs(largest), entries, largest)
    return np.where(largest < 0, -1, 1)


def _largest_entries(block: Array) -> Array:
    """Return the entry of largest magnitude in each column."""
    return np.asarray(block[abs(block).argmax(axis=0), np.arange(block.shape[1])])


def product(tall: Array, B: Array) -> Array:
    """Return ``tall @ B`` in float64, without a float64 copy of a float32 matrix."""
    if tall.dtype == np.float64 and not is_dask(tall):
        return np.asarray(tall @ B)
    out = np.empty((tall.shape[0], *B.shape[1:]))
    for rows, part in map_rows(partial(_multiply, B), tall, tall.shape[1]):
        out[rows] = part
    return out


def transposed_product(tall: Array, B: Array) -> Array:
    """Return ``tall.T @ B`` in float64, without a float64 copy of a float32 matrix."""
    if tall.dtype == np.float64 and not is_dask(tall):
        return np.asarray(tall.T @ B)
    parts = map_rows(_multiply_transposed, tall, tall.shape[1], B)
    return np.asarray(sum(part for _, part in parts))


def _multiply(B: Array, block: Array) -> Array:
    return np.asarray(block @ B)


def _multiply_transposed(block: Array, B: Array) -> Array:
    return np.asarray(block.T @ B)


def row_slices(n: int, width: int) -> list[slice]:
    """Return slices of n rows; a block with ``width`` columns holds about `BLOCK_SIZE` numbers."""
    step = max(1, BLOCK_SIZE // max(1, width))
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]
