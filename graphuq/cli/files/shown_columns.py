"""Columns that say what an item is, for lists of items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from graphuq.cli.files.numbers import VALUES
from graphuq.utils.words import shorten

# Columns that are shown unless options name them, and letters of a text.
N_SHOWN, MAX_LETTERS = 12, 500


def choose_columns(frame: pd.DataFrame, wanted: Sequence[str]) -> pd.DataFrame:
    """Return the wanted columns, or else the first ones, texts before numbers.

    Texts are shortened, and a cell without a value is None.

    Examples
    --------
    >>> choose_columns(pd.DataFrame({"size": [1, 2], "town": [" Ulm", None]}), ())
       size  town
    0     1   Ulm
    1     2  None
    """
    numeric = {name for name in frame if _is_numeric(frame[name])}
    first = sorted(frame, key=lambda name: name in numeric)[:N_SHOWN]
    return pd.DataFrame(
        {
            str(name): _to_numbers(frame[name]) if name in numeric else _to_texts(frame[name])
            for name in frame
            if name in (wanted or first)
        }
    ).reset_index(drop=True)


def _is_numeric(column: pd.Series) -> bool:
    """Return whether a column holds real numbers; true and false are none."""
    types = pd.api.types
    others = types.is_bool_dtype(column) or types.is_complex_dtype(column)
    return bool(types.is_numeric_dtype(column) and not others)


def _to_numbers(column: pd.Series) -> pd.Series:
    if column.isna().any():
        return pd.Series(column.to_numpy(dtype=np.float64, na_value=np.nan), column.index)
    return pd.Series(column.to_numpy(), column.index)


def _to_texts(column: pd.Series) -> pd.Series:
    texts = [
        None if missing else shorten(str(value).strip(), MAX_LETTERS)
        for value, missing in zip(column, column.isna(), strict=True)
    ]
    return pd.Series(texts, column.index, dtype=object)


def show_beside(
    table: pd.DataFrame, shown: pd.DataFrame | None, nodes: NDArray[Any], after: str | None = None
) -> pd.DataFrame:
    """Return a table of items with the columns that say what they are.

    Parameters
    ----------
    table : DataFrame
    shown : DataFrame, N rows, or None
    nodes : ndarray of int
        The node of each row.
    after : str, optional
        The column that they follow; the last one by default.

    Examples
    --------
    >>> shown = pd.DataFrame({"town": ["Ulm", "Bonn"], "id": ["x", "y"]})
    >>> [*show_beside(pd.DataFrame({"id": [1], "label": [""]}), shown, [1], after="id")]
    ['id', 'town', 'id (file)', 'label']
    """
    if shown is None:
        return table
    table = table.copy()
    at = table.shape[1] if after is None else table.columns.get_loc(after) + 1
    for name in reversed(shown.columns):
        own = str(name)
        while own in table or (own != name and own in shown):
            own += " (file)"
        table.insert(at, own, shown[name].to_numpy()[nodes])
    return table


def told_in_words(shown: pd.DataFrame | None) -> pd.DataFrame | None:
    """Return the columns if one of them has texts other than yes and no, else None.

    Reports and terminals show them then; numbers alone do not say what an item is.

    Examples
    --------
    >>> told_in_words(pd.DataFrame({"vote": ["y", "n"], "age": [41, 27]})) is None
    True
    """
    if shown is None:
        return None
    texts = [shown[name].dropna().str.lower() for name in shown if not _is_numeric(shown[name])]
    return shown if any(not column.isin([*VALUES]).all() for column in texts) else None


def from_cells(columns: Mapping[str, list[Any]]) -> pd.DataFrame:
    """Return the columns that were lists of cells in a file."""
    return pd.DataFrame(
        {name: pd.Series(cells, dtype=_dtype_of(cells)) for name, cells in columns.items()}
    )


def _dtype_of(cells: list[Any]) -> type | None:
    return object if any(isinstance(cell, str) for cell in cells) else None
