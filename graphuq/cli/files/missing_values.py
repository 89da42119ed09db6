"""Missing and invalid values of features: told, dropped or replaced."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from shlex import quote

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from graphuq.cli.files.numbers import is_number
from graphuq.cli.files.problems import MAX_NAMED, Problems, flag
from graphuq.cli.files.table import Table
from graphuq.utils.words import count, list_names


def blank_marks(frame: pd.DataFrame, marks: Sequence[str]) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return columns with blanks in place of what marks a missing value, and a note on each mark.

    Examples
    --------
    >>> frame = pd.DataFrame({"age": [41, -99], "town": ["Ulm", "-99 "]})
    >>> blank_marks(frame, ["-99", "refused"])[1]
    ("'-99' marks 2 missing values", "no feature has the value 'refused' (--missing)")
    """
    notes = []
    for mark in marks:
        number = float(mark) if is_number(mark) else None
        hits = frame.apply(_are_equal, args=(mark, number))
        frame, n = frame.mask(hits), int(hits.to_numpy().sum())
        notes.append(
            f"{mark!r} marks {count(n, 'missing value')}"
            if n
            else f"no feature has the value {mark!r} (--missing)"
        )
    return frame, tuple(notes)


def _are_equal(column: pd.Series, text: str, number: float | None) -> pd.Series:
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        return column.eq(np.nan if number is None else number).fillna(False)
    return column.astype(str).str.strip().eq(text) & column.notna()


# In fewer rows, values may be missing together with labels by chance.
MIN_UNLABELED = 3


def report_invalid(
    table: Table,
    frame: pd.DataFrame,
    invalid: Mapping[str, NDArray[np.bool_]],
    labels: Sequence[str],
    unlabeled: Sequence[NDArray[np.bool_]],
    problems: Problems,
) -> None:
    """Ask what to do with missing or invalid values: name the first of them, and the columns.

    Columns that are probably the labels are asked about one by one, and so are those that are
    missing in the rows ``unlabeled``, such as the time at which an item was labeled.
    """
    for name in [name for name in labels if name in invalid]:
        n_missing, option = int(invalid[name].sum()), flag("--label", name)
        problems.ask(
            name,
            f"{table.path}, column {name!r}: {n_missing} of {count(len(frame), 'value')} are "
            "missing, and others repeat",
            f"{option}, {flag('--ignore', name)}, or --fill-missing",
            option if len(labels) == 1 else "",
        )
    names = [name for name, mask in invalid.items() if mask.any() and name not in labels]
    rows_of = [rows for rows in unlabeled if rows.sum() >= MIN_UNLABELED]
    only_labeled = [n for n in names if any(np.array_equal(invalid[n], rows) for rows in rows_of)]
    for name in only_labeled:
        exclude = flag("--ignore", name)
        problems.ask(
            name,
            f"{table.path}, column {name!r}: values are missing for exactly the items without a "
            "label",
            f"{exclude} (known for labeled items only), or --fill-missing",
            exclude,
        )
    names = [name for name in names if name not in only_labeled]
    ticked = [name for name in names if frame[name][~invalid[name]].nunique() == 1]
    for name in ticked:
        use, exclude = flag("--categorical", name), flag("--ignore", name)
        problems.ask(
            name,
            f"{table.path}, column {name!r}: all cells have the same value, or none",
            f"{use} (0 where blank), or {exclude}",
            use,
        )
    names = [name for name in names if name not in ticked]
    if not names:
        return
    rows = np.column_stack([invalid[name] for name in names])
    written = rows & frame[names].notna().to_numpy()
    row, at = (int(index[0]) for index in np.nonzero(written if written.any() else rows))
    name, fault, odd = names[at], "the value is missing", ""
    if written.any():
        text = table.cell(row, name)
        fault = f"{reprlib.repr(text)} {_fault_of(text)}"
        odd = f"{table.line(row)}: {fault}"
    n_rows = int(rows.any(axis=1).sum())
    where = f" in {list_names(names, MAX_NAMED)}" if len(names) > 1 else ""
    problems.ask(
        name,
        f"{table.where(row, name)}: {fault} (found in {n_rows} of {count(len(frame), 'row')}"
        f"{where})",
        f"--fill-missing (column mean), or --drop-missing ({count(n_rows, 'row')})",
        "" if written.any() else "--fill-missing",  # what is written may have a meaning
        odd=odd,
        also=names,
    )


def _fault_of(text: str) -> str:
    """Return why a text in a column of numbers is not used as a number."""
    if not is_number(text) or not any(map(str.isdigit, text)):
        return "is not a finite number"
    if np.isfinite(float(text)):
        return "is written in another way than the other values of the column"
    return "is too large"


def choose_rows(
    place: str, invalid: NDArray[np.bool_], missing: str
) -> tuple[NDArray[np.bool_], list[str]]:
    """Return the rows that are kept, and notes.

    Parameters
    ----------
    place : str
        The file, for messages.
    invalid : ndarray of bool, shape (n, columns)
        Missing and invalid cells of the file.
    missing : {"refuse", "drop", "fill"}
    """
    n, n_rows, n_cells = len(invalid), int(invalid.any(axis=1).sum()), int(invalid.sum())
    drops = missing == "drop"
    kept = np.asarray(~(invalid.any(axis=1) & drops))
    if n < 2:
        raise ValueError(f"{place} has {count(n, 'row')}, but at least 2 are needed")
    if kept.sum() < 2:
        raise ValueError(
            f"{place} has {count(int(kept.sum()), 'row')} without missing values, but at least 2 "
            "are needed: fill missing values with --fill-missing, or exclude the columns with the "
            "most missing values with --ignore"
        )
    if not n_rows:
        return kept, []
    note = (
        f"dropped {n_rows} of {count(n, 'row')} ({n_rows / n:.1%}) with missing or invalid values"
        if drops
        else f"replaced {count(n_cells, 'missing or invalid value')} in {count(n_rows, 'row')} by "
        "the column mean"
    )
    return kept, [note]


def describe_invalid(
    table: Table, frame: pd.DataFrame, invalid: NDArray[np.bool_], missing: str
) -> list[str]:
    """Return notes on values that are not numbers, and on columns in which most are replaced.

    Parameters
    ----------
    table : Table
    frame : DataFrame, shape (n, columns)
        The columns of the features.
    invalid : ndarray of bool, shape (n, columns)
    missing : {"refuse", "drop", "fill"}
    """
    notes = []
    rows, columns = np.nonzero(invalid & frame.notna().to_numpy())
    if rows.size:
        name = str(frame.columns[columns[0]])
        more = f", and {rows.size - 1} more" if rows.size > 1 else ""
        text = table.cell(int(rows[0]), name)
        notes.append(f"invalid: {text!r} in {table.where(int(rows[0]), name)}{more}")
    filled = (2 * invalid.sum(axis=0) > len(frame)) & (missing == "fill")
    notes += [
        f"most values of {frame.columns[k]!r} are replaced, {int(invalid[:, k].sum())} of "
        f"{len(frame)} (to exclude it, use --ignore {quote(str(frame.columns[k]))})"
        for k in np.flatnonzero(filled)
    ]
    return notes
