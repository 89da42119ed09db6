"""From the columns of a table to features: numbers, answers, categories, gaps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from graphuq import validation
from graphuq.files.table import Table

# Answers that are numbers by another name.
ANSWERS = {"y": 1.0, "yes": 1.0, "t": 1.0, "true": 1.0, "n": -1.0, "no": -1.0, "f": -1.0,
           "false": -1.0}  # fmt: skip

# A column of more different texts names its rows rather than sorts them.
MOST_CATEGORIES = 50

GAPS = ("refuse", "drop", "fill")


@dataclass(frozen=True)
class Features:
    """Features of the rows that are kept.

    Attributes
    ----------
    values : ndarray, shape (n, d)
    kept : ndarray of bool, shape (rows,)
    notes : tuple of str
    """

    values: NDArray[np.float64]
    kept: NDArray[np.bool_]
    notes: tuple[str, ...]


def features(
    table: Table, frame: pd.DataFrame, *, gaps: str, categorical: bool, scale: bool
) -> Features:
    """Return the columns of ``frame`` as numbers.

    Columns of numbers are taken as they are, and yes and no (y, n, t, f, true, false) as 1 and -1.
    Of a column of categories each becomes a column of its own, 1 or 0. Two different categories
    then are as far apart, squared, as two items are on average in a scaled column of numbers: 2.

    Parameters
    ----------
    table : Table
        Where the frame is from, to name places in it.
    frame : DataFrame
    gaps : {"refuse", "drop", "fill"}
        What to do about values that are missing, infinite, or no numbers in a column of numbers:
        an error, leave their rows out, or put the column's mean in their place.
    categorical : bool
        Whether columns of text are categories; otherwise they are an error.
    scale : bool
        Whether to give columns of numbers mean 0 and standard deviation 1.

    Raises
    ------
    ValueError
        What cannot be made a number, by its place; nothing left.
    """
    if frame.shape[1] == 0:
        raise ValueError(f"{table.path} has no column of features besides those of ids and labels")
    blocks: list[NDArray[np.float64]] = []
    numeric: list[bool] = []
    encoded: list[str] = []
    for name in frame.columns:
        numbers = _as_numbers(frame[name])
        if numbers is not None:
            largest = abs(numbers[np.isfinite(numbers)]).max(initial=0.0)
            if largest > 1 / validation.TINY:
                raise ValueError(
                    f"{table.path}, column {name!r} holds {largest:g}, and no number may be beyond "
                    f"{1 / validation.TINY:g}: mend it, or leave it out with --ignore {name}"
                )
            blocks.append(numbers[:, None])
        else:
            blocks.append(_as_categories(table, frame[name], categorical))
            encoded.append(name)
        numeric += [numbers is not None] * blocks[-1].shape[1]
    unusable = np.column_stack([~np.isfinite(block).all(axis=1) for block in blocks])
    if unusable.any() and gaps == "refuse":
        raise ValueError(_first_gap(table, frame, unusable))
    X = np.hstack(blocks)
    notes = [f"features: {_listed([str(name) for name in frame.columns])}"]
    X[~np.isfinite(X)] = np.nan
    kept: Any = np.ones(X.shape[0], dtype=bool)
    rows, cells = int(unusable.any(axis=1).sum()), int(unusable.sum())
    if gaps == "drop" and rows:
        kept = ~unusable.any(axis=1)
        X = X[kept]
        notes.append(
            f"left out {rows} of {kept.size} rows ({rows / kept.size:.1%}) with values that are "
            "missing or no numbers"
        )
    if X.shape[0] < 2:
        raise ValueError(
            f"{table.path} has {X.shape[0]} rows with a value in every column, and at least 2 are "
            "needed: fill gaps with --fill-missing, or leave the columns that have most out with "
            "--ignore"
        )
    if gaps == "fill" and rows:
        empty = np.isnan(X).all(axis=0)
        if empty.any():
            at = int(np.flatnonzero(unusable.all(axis=0))[0])
            raise ValueError(
                f"{table.path}, column {frame.columns[at]!r} holds no value at all: leave it out "
                f"with --ignore {frame.columns[at]}"
            )
        X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
        notes.append(f"put the column's mean in the place of {cells} values in {rows} rows")
    if encoded:
        notes.append(f"categories, each a column of its own: {_listed(encoded)}")
    varying = np.ptp(X, axis=0) > 0
    if not varying.any():
        raise ValueError(f"{table.path}: every column of features holds one value only")
    X, numbers_left = X[:, varying], np.array(numeric)[varying]
    if scale and numbers_left.any():
        centre, spread = X.mean(axis=0), X.std(axis=0)
        X[:, numbers_left] = ((X - centre) / spread)[:, numbers_left]
        notes.append("scaled each column of numbers to mean 0 and standard deviation 1")
    return Features(X, kept, tuple(notes))


def _as_numbers(column: pd.Series) -> NDArray[np.float64] | None:
    """Return numbers, NaN where there is none, or None of a column that is mostly text."""
    if pd.api.types.is_bool_dtype(column):
        return np.where(column.to_numpy(dtype=bool), 1.0, -1.0)
    if not pd.api.types.is_numeric_dtype(column):
        known = column.dropna().astype(str).str.strip()
        answers = known.str.lower().map(ANSWERS)
        numbers = pd.to_numeric(known, errors="coerce")
        if answers.notna().all():
            column = answers.reindex(column.index)
        elif 2 * numbers.notna().sum() > known.size:
            column = numbers.reindex(column.index)
        else:
            return None
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def _as_categories(table: Table, column: pd.Series, categorical: bool) -> NDArray[np.float64]:
    known = column.dropna().astype(str).str.strip()
    name, first = column.name, int(np.flatnonzero(column.notna())[0])
    where, text = table.where(first, str(name)), known.iloc[0]
    if not categorical:
        raise ValueError(
            f"{where}: {text!r} is not a number: take columns of text for categories with "
            f"--categorical, leave this one out with --ignore {name}, or, if it names the items, "
            f"say --id {name}"
        )
    if known.nunique() > MOST_CATEGORIES:
        raise ValueError(
            f"{where}: {known.nunique()} different texts such as {text!r} are too many for "
            f"categories (at most {MOST_CATEGORIES}): leave the column out with --ignore {name}, "
            f"or, if it names the items, say --id {name}"
        )
    indicators = pd.get_dummies(known, dtype=float).reindex(column.index)
    return indicators.to_numpy(dtype=np.float64)


def _first_gap(table: Table, frame: pd.DataFrame, unusable: NDArray[np.bool_]) -> str:
    row, at = (int(index[0]) for index in np.nonzero(unusable))
    value, name = frame.iloc[row, at], str(frame.columns[at])
    fault = "the value is missing" if pd.isna(value) else f"{str(value)!r} is not a finite number"
    rows = int(unusable.any(axis=1).sum())
    return (
        f"{table.where(row, name)}: {fault} ({rows} of {len(frame)} rows have such values): mend "
        "it, leave those rows out with --drop-missing, or put the column's mean in their place "
        "with --fill-missing"
    )


def _listed(names: list[str], most: int = 5) -> str:
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + rest
