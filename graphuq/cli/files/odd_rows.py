"""Rows that probably hold no item: further headers, and totals."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from graphuq.cli.files.problems import Problems
from graphuq.cli.files.table import Table
from graphuq.utils.typing import Array
from graphuq.utils.words import list_names

# A line is told if it is odd in this many columns of numbers, and in more than half of them.
MIN_COLUMNS = 2

# In shorter tables a last line may be the sum of the others by chance.
MIN_ROWS = 5

# A total agrees with a sum up to this relative difference.
ROUNDING = 1e-6


def report_odd_rows(
    table: Table,
    frame: pd.DataFrame,
    numbers: Mapping[str, Array],
    problems: Problems,
    *,
    are_dropped: bool = False,
) -> None:
    """Ask about lines with words in most columns of numbers, and a last line of sums or a footnote.

    Parameters
    ----------
    table : Table
    frame : DataFrame
    numbers : mapping of str to ndarray, shape (rows,)
        Columns of numbers, NaN where a value is missing or invalid.
    problems : Problems
    are_dropped : bool
        Whether rows with missing or invalid values are: then only a line of sums is left.
    """
    names = list(numbers)
    if len(names) < MIN_COLUMNS or len(frame) < MIN_ROWS:
        return
    X = np.column_stack([numbers[name] for name in names])
    rows = np.flatnonzero(_are_most(np.isnan(X) & frame[names].notna().to_numpy()))
    words = frame[names].iloc[rows].astype(str).apply(lambda column: ~column.str.contains(r"\d"))
    rows = rows[_are_most(np.isnan(X[rows]) & words.to_numpy(dtype=bool))]
    if rows.size and not are_dropped:
        more = f", and {rows.size - 1} more such lines" if rows.size > 1 else ""
        name = names[int(np.isnan(X[rows[0]]).argmax())]
        problems.add(
            f"{table.path}, {table.line(int(rows[0]))}: text such as "
            f"{table.cell(int(rows[0]), name)!r} stands in most columns of numbers, as in a second "
            f"header{more}: remove the line"
        )
    last = len(frame) - 1
    alone = not are_dropped and frame.iloc[-1].isna().all()
    if alone and sum(bool(table.cell(last, c)) for c in table.columns) < 2:
        problems.add(
            f"{table.path}, {table.line(last)}: only one column has a value, as in a footnote: "
            "remove the line, or use --drop-missing"
        )
    total = np.nansum(X[:-1], axis=0)
    several = np.count_nonzero(np.nan_to_num(X[:-1]), axis=0) > 1
    close = np.isclose(X[-1], total, rtol=ROUNDING, atol=0) & several
    given = ~np.isnan(X[-1])  # a total beside blanks is told by itself
    partial = not are_dropped and close.any() and close[given].all() and not given.all()
    if partial or _are_most(close[None])[0]:
        summed = [name for name, same in zip(names, close, strict=True) if same]
        problems.add(
            f"{table.path}, {table.line(len(frame) - 1)}: the numbers in {list_names(summed, 3)} "
            "are the sums of those above: remove the line of totals"
        )


def _are_most(odd: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return in which rows enough columns are odd."""
    n_odd = odd.sum(axis=1)
    return np.asarray((n_odd >= MIN_COLUMNS) & (2 * n_odd > odd.shape[1]))
