"""Work on the rows of a tall matrix, some at a time: in threads, or wherever Dask puts it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq.threads import cores, one_blas_thread

Array = NDArray[np.float64]

# Features beyond it have squares that overflow.
LARGEST = 1e100

# Numbers that one block's intermediate matrix may hold.
BLOCK = 2**21


def is_dask(X: Any) -> bool:
    """Whether ``X`` is a Dask array, whose rows may lie on other machines."""
    return type(X).__module__.partition(".")[0] == "dask"


def mapped(
    work: Callable[..., Any],
    X: Any,
    width: int,
    *alongside: Any,
    threads: int | None = None,
    bar: Any = None,
) -> Iterator[tuple[slice, Any]]:
    """Yield the rows of a block, and what ``work`` made of them, block after block.

    Parameters
    ----------
    work : callable
        Takes float64 rows of ``X``, then the same rows of each of ``alongside``. For Dask arrays
        it must be picklable.
    X : ndarray, memory map or Dask array, shape (n, d)
    width : int
        Numbers that ``work`` holds for each row: it sets the size of blocks.
    alongside : ndarray
        Arrays with as many rows.
    threads : int, optional
        At most so many work at a time; by default one on each core.
    bar : progress bar, optional
        Moved by the rows that are done.
    """
    done = (
        _on_dask(work, X, width, alongside)
        if is_dask(X)
        else _here(work, X, width, alongside, threads or cores())
    )
    for rows, result in done:
        if bar is not None:
            bar.update(rows.stop - rows.start)
        yield rows, result


def _here(
    work: Callable[..., Any], X: Any, width: int, alongside: tuple[Any, ...], workers: int
) -> Iterator[tuple[slice, Any]]:
    blocks = slices(X.shape[0], max(width, X.shape[1]))

    def one(rows: slice) -> Any:
        block = np.asarray(X[rows], dtype=np.float64)
        return work(block, *(array[rows] for array in alongside))

    ahead = 2 * workers
    with one_blas_thread(), ThreadPoolExecutor(workers) as pool:
        pending = [pool.submit(one, rows) for rows in blocks[:ahead]]
        for k, rows in enumerate(blocks):
            result = pending.pop(0).result()
            if k + ahead < len(blocks):
                pending.append(pool.submit(one, blocks[k + ahead]))
            yield rows, result


def _on_dask(
    work: Callable[..., Any], X: Any, width: int, alongside: tuple[Any, ...]
) -> Iterator[tuple[slice, Any]]:
    import dask

    X = _blocked(X, width)
    ends = np.cumsum(X.chunks[0])
    blocks = [slice(int(end - size), int(end)) for size, end in zip(X.chunks[0], ends, strict=True)]
    parts = X.to_delayed()[:, 0]
    task = dask.delayed(_float_rows, pure=False)
    shared = dask.delayed(work, pure=False, traverse=False)  # sent once, not with every block
    ahead = 8 * cores()
    for first in range(0, len(blocks), ahead):
        some = blocks[first : first + ahead]
        tasks = [
            task(shared, part, *(array[rows] for array in alongside))
            for rows, part in zip(some, parts[first : first + ahead], strict=True)
        ]
        yield from zip(some, dask.compute(*tasks), strict=True)


def _float_rows(work: Callable[..., Any], block: Any, *alongside: Any) -> Any:
    with one_blas_thread():
        return work(np.asarray(block, dtype=np.float64), *alongside)


def gathered(
    work: Callable[..., Any],
    X: Any,
    width: int,
    columns: int,
    dtype: Any,
    *alongside: Any,
    bar: Any = None,
) -> Any:
    """Return the rows that ``work`` makes, ``columns`` wide; of a Dask array, as one.

    That stays on the workers, which make what is lost anew.
    """
    if not is_dask(X):
        found = np.empty((X.shape[0], columns), dtype=dtype)
        for rows, block in mapped(work, X, width, *alongside, bar=bar):
            found[rows] = block
        return found
    import dask
    import dask.array as da

    X = _blocked(X, width)
    parts = [da.from_array(array, chunks=X.chunks[0]) for array in alongside]
    made = da.map_blocks(
        partial(_stored, work, dtype),
        X,
        *(part[:, None] for part in parts),
        chunks=(X.chunks[0], (columns,)),
        dtype=dtype,
        meta=np.empty((0, 0), dtype=dtype),
    )
    return dask.persist(made)[0]


def _stored(work: Callable[..., Any], dtype: Any, block: Any, *alongside: Any) -> Array:
    return np.asarray(_float_rows(work, block, *(a[:, 0] for a in alongside)), dtype=dtype)


def _blocked(X: Any, width: int) -> Any:
    rows = max(1, BLOCK // max(width, X.shape[1]))
    return X.rechunk({0: min(rows, max(X.chunks[0])), 1: -1})


def table(X: Any) -> Any:
    """Return ``X`` as a matrix whose rows can be taken, without a copy where it is one."""
    if np.ma.isMaskedArray(X):
        raise TypeError("X is masked, and every value is needed: fill it in, X.filled(...)")
    if is_dask(X):
        if np.isnan(X.shape).any():
            raise ValueError("the length of X is unknown: call X.compute_chunk_sizes() first")
    else:
        try:
            X = X if isinstance(X, np.ndarray) else np.asarray(X, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"X must be a numeric matrix with one row an item; {type(X).__name__} could not "
                f"be converted ({error})"
            ) from error
    if X.ndim != 2 or X.shape[0] < 2 or X.shape[1] < 1:
        raise ValueError(
            f"X must be a matrix with at least two rows and one column, got shape {X.shape}"
        )
    if X.dtype.kind not in "fiub":
        raise TypeError(f"X must hold real numbers, got dtype {X.dtype}")
    return X


def require_finite(X: Any) -> None:
    """Refuse features that are not finite, or whose squares are not, naming the first row."""
    for rows, first in mapped(_first_fault, X, X.shape[1]):
        if first is not None:
            raise ValueError(
                f"row {rows.start + first} of X has NaN or infinite values, or some beyond "
                f"{LARGEST:g}: drop it, or fill it in"
            )


def _first_fault(X: Array) -> int | None:
    fault = ~(abs(X) <= LARGEST).all(axis=1)
    return int(fault.argmax()) if fault.any() else None


def taken(X: Any, rows: NDArray[np.int64]) -> Array:
    """Return some rows as float64."""
    some = X[rows]
    return np.asarray(some.compute() if is_dask(X) else some, dtype=np.float64)


def product(tall: Array, B: Array) -> Array:
    """Return ``tall @ B`` in float64, without a float64 copy of a float32 matrix."""
    if tall.dtype == np.float64 and not is_dask(tall):
        return np.asarray(tall @ B)
    out = np.empty((tall.shape[0], *B.shape[1:]))
    for rows, part in mapped(partial(_times, B), tall, tall.shape[1]):
        out[rows] = part
    return out


def transposed_product(tall: Array, B: Array) -> Array:
    """Return ``tall.T @ B`` in the same way."""
    if tall.dtype == np.float64 and not is_dask(tall):
        return np.asarray(tall.T @ B)
    parts = mapped(_transposed_times, tall, tall.shape[1], B)
    return np.asarray(sum(part for _, part in parts))


def _times(B: Array, block: Array) -> Array:
    return np.asarray(block @ B)


def _transposed_times(block: Array, B: Array) -> Array:
    return np.asarray(block.T @ B)


def slices(n: int, width: int) -> list[slice]:
    """Return blocks of n rows whose matrices of ``width`` columns hold about `BLOCK` numbers."""
    step = max(1, BLOCK // width)
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]
