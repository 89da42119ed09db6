"""Write CSV files that a spreadsheet shows as they are."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pandas as pd

from graphuq.utils.words import visible

# A spreadsheet takes a cell that begins with one of these for a formula.
FORMULA = ("=", "+", "-", "@")


def write_csv(table: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a table without its index; texts are made safe by `safe_cell`."""
    Path(path).write_text(to_csv(table), encoding="utf-8", newline="")


def to_csv(table: pd.DataFrame) -> str:
    """Return the text that `write_csv` writes."""
    safe = table.copy()
    for name in safe.columns:
        if not pd.api.types.is_numeric_dtype(safe[name]):
            safe[name] = [safe_cell(value) for value in safe[name]]
    safe.columns = pd.Index([safe_cell(str(name)) for name in safe.columns])
    return str(safe.to_csv(index=False))


def safe_cell(value: Any) -> Any:
    r"""Return a text that cannot be read as a formula, without control characters.

    A formula gets an apostrophe in front, and a control character becomes its code. Numbers such
    as -1, and values that are not texts, stay.

    Examples
    --------
    >>> [safe_cell(text) for text in ("=1+1", "-1", "-a", "x\ty", None)]
    ["'=1+1", '-1', "'-a", 'x\\x09y', None]
    """
    if not isinstance(value, str):
        return value
    text = visible(value)
    if text.lstrip().startswith(FORMULA):
        try:
            float(text)
        except ValueError:
            return f"'{text}"
    return text
