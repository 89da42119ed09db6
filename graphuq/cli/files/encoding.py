"""How the columns of a file became features, so that those of new items become features alike."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from graphuq.cli.files.numbers import ANSWERS, Numbers
from graphuq.utils.typing import Array

# The forms of columns that hold categories and numbers.
CATEGORIES, NUMBERS = "categories", "numbers"

# The decimal mark that a note on numbers tells.
MARKS = {"decimal commas": ",", "commas between thousands": "."}


class ColumnForm(NamedTuple):
    """How a column of a table was read.

    Attributes
    ----------
    form : str
        ``numbers``, ``dates``, ``yes and no`` or ``categories``.
    decimal : str or None
        The decimal mark, if the column shows it.
    categories : list of str
    """

    form: str
    decimal: str | None = None
    categories: list[str] = []  # noqa: RUF012


class Encoding(NamedTuple):
    """How the columns of a file became features.

    Attributes
    ----------
    columns : dict of str to ColumnForm, or None
        The columns of a table, in their order; None for the matrix X of an archive.
    means : ndarray, shape (D,)
        Means of the encoded columns, which replace missing values.
    varying : ndarray of bool, shape (D,)
        Encoded columns that are not constant: the features.
    center, scale : ndarray, shape (d,)
        What is subtracted from a feature, and what it is then divided by.
    id_column : str or None
        The column of ids.
    """

    columns: dict[str, ColumnForm] | None
    means: Array
    varying: Any
    center: Array
    scale: Array
    id_column: str | None = None

    def to_features(self, X: Array) -> Array:
        """Return features from encoded columns without missing values."""
        features: Array = (X[:, self.varying] - self.center) / self.scale
        return features

    def to_json(self) -> str:
        """Return JSON, from which `from_json` makes the same encoding."""
        values = {name: getattr(self, name).tolist() for name in ARRAYS}
        return json.dumps({**self._asdict(), **values})

    @classmethod
    def from_json(cls, text: str) -> Encoding:
        """Return the encoding that `to_json` described."""
        found = json.loads(text)
        if found["columns"] is not None:
            found["columns"] = {name: ColumnForm(*form) for name, form in found["columns"].items()}
        return cls(**{**found, **{name: np.array(found[name]) for name in ARRAYS}})


ARRAYS = ("means", "varying", "center", "scale")


def form_of(column: pd.Series, numbers: Numbers, decimal: str | None = None) -> ColumnForm:
    """Return the form of a column that was read as numbers, with the decimal mark if it was given.

    Examples
    --------
    >>> form_of(pd.Series(["y", "n"]), Numbers(np.array([1.0, -1.0])))
    ColumnForm(form='yes and no', decimal=None, categories=[])
    """
    if numbers.note == "dates":
        return ColumnForm("dates")
    if pd.api.types.is_bool_dtype(column):
        return ColumnForm("yes and no")
    if not pd.api.types.is_numeric_dtype(column):
        texts = column.dropna().astype(str).str.strip().str.lower()
        if texts.isin(list(ANSWERS)).all():
            return ColumnForm("yes and no")
    name = f"{NUMBERS} with {numbers.symbol}" if numbers.symbol else NUMBERS
    return ColumnForm(name, decimal or MARKS.get(numbers.note))


def to_indicators(column: pd.Series, categories: list[str]) -> Array:
    """Return one column for each category: 1 in its rows, else 0; NaN in rows without a value."""
    known = column.dropna().astype(str).str.strip()
    indicators = pd.get_dummies(known, dtype=float).reindex(columns=categories, fill_value=0.0)
    return indicators.reindex(column.index).to_numpy(dtype=np.float64)


def find_categories(column: pd.Series) -> list[str]:
    """Return the different texts of a column, sorted."""
    return sorted(column.dropna().astype(str).str.strip().unique().tolist())
