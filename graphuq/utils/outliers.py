"""Values that dwarf all others: fill values in a column, and weights of edges."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphuq.utils.typing import Array
from graphuq.utils.warnings import warn
from graphuq.utils.words import count

# A value dwarfs all others if it is at least this many times as large as the next, where values
# within a factor 2 of the largest count as copies of it. Equal values need a smaller ratio to be
# marks, such as -999: what is measured seldom has the same extreme twice. The smallest one, for
# -99, is for columns that vary: most pixels at the border of images are 0, and others may be equal.
DWARFING_RATIO, RATIO_OF_EQUALS, RATIO_AMONG_VARIED = 1e3, 100.0, 10.0

# Values in one block.
BLOCK_SIZE = 2**22


class OutlierWarning(RuntimeWarning):
    """A cell dwarfs its column."""


class Dwarfing(NamedTuple):
    """The largest values of each column, and what is left without them."""

    column: NDArray[np.int64]
    """Columns with values that dwarf the others, shape (c,)."""
    row: NDArray[np.int64]
    """The row of the largest value of each."""
    n_copies: NDArray[np.int64]
    """The number of values within a factor 2 of the largest."""
    rest: Array
    """The largest of all others."""


def find_dwarfing(X: Array, center: Array) -> Dwarfing:
    """Return the columns whose largest |x - center| dwarfs all others.

    Parameters
    ----------
    X : ndarray, shape (n, d)
        NaN where a value is missing.
    center : ndarray, shape (d,)

    Examples
    --------
    >>> find_dwarfing(np.array([[0.5, 2.0], [1.0, 3.0], [1e20, 4.0]]), np.zeros(2))
    Dwarfing(column=array([0]), row=array([2]), n_copies=array([1]), rest=array([1.]))
    """
    n, d = X.shape
    step = max(1, BLOCK_SIZE // max(1, d))
    blocks = [slice(start, start + step) for start in range(0, n, step)]
    top, row = np.zeros(d), np.zeros(d, dtype=np.int64)
    for block in blocks:
        size = _distances(X[block], center)
        at = size.argmax(axis=0)
        largest = size[at, np.arange(d)]
        row = np.where(largest > top, block.start + at, row)
        top = np.maximum(top, largest)
    rest, (n_copies, n_equal, n_off) = np.zeros(d), np.zeros((3, d), dtype=np.int64)
    for block in blocks:
        size = _distances(X[block], center)
        copy = size >= top / 2
        n_copies += copy.sum(axis=0)
        n_equal += (size == top).sum(axis=0)
        n_off += (size > 0).sum(axis=0)
        rest = np.maximum(rest, np.where(copy, 0.0, size).max(axis=0))
    of_equals = np.where(2 * n_off > n, RATIO_AMONG_VARIED, RATIO_OF_EQUALS)
    ratio = np.where((n_equal > 1) & (n_equal == n_copies), of_equals, DWARFING_RATIO)
    column = np.flatnonzero((rest > 0) & (top >= ratio * rest))
    return Dwarfing(column, row[column], n_copies[column], rest[column])


def _distances(X: Array, center: Array) -> Array:
    """Return |x - center|, and 0 where a value is missing."""
    size: Array = abs(X - center)
    size[np.isnan(size)] = 0.0
    return size


def describe_outliers(X: Array, center: Array, name: Callable[[int, int], str]) -> str:
    """Return a sentence on the first cell that dwarfs its column, "" if there is none.

    Parameters
    ----------
    X : ndarray, shape (n, d)
        NaN where a value is missing.
    center : ndarray, shape (d,)
        The median of each column.
    name : callable
        The subject of the sentence: a cell, from its row and its column.
    """
    found = find_dwarfing(X, center)
    if not found.column.size:
        return ""
    column, row, n_copies = (int(part[0]) for part in found[:3])
    n_others = int(np.count_nonzero(~np.isnan(X[:, column]))) - n_copies
    others = found.column.size - 1
    more = f"; {count(others, 'other column')} has such cells, too" if others == 1 else ""
    more = f"; {others} other columns have such cells, too" if others > 1 else more
    return (
        f"{name(row, column)} dwarfs {count(n_others, 'other value')} of the column, "
        f"within {found.rest[0]:.3g} of {center[column]:.3g}{more}"
    )


def warn_of_outliers(X: Array, center: Array) -> None:
    """Warn of cells that dwarf their column, as the values that stand for missing ones do.

    Parameters
    ----------
    X : ndarray, shape (n, d)
    center : ndarray, shape (d,)
        The median of each column.
    """
    found = describe_outliers(
        X, center, lambda row, k: f"row {row}, column {k} of X is {X[row, k]:g}, which"
    )
    if found:
        warn(
            f"{found}: if it stands for a missing value, fill it in or drop the row; else take "
            "the logarithm of the column",
            OutlierWarning,
        )
