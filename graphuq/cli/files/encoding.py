"""How the columns of a file became features, so that those of new items become features alike."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from graphuq.cli.files.columns import CATEGORIES, TEXT, ColumnForm, known_texts
from graphuq.cli.files.texts import Words
from graphuq.utils.typing import Array


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
    words : dict of str to Words
        Those of each column of texts.
    fills : bool
        Whether missing values of the file were replaced.
    marks : tuple of str
        What marks missing values of a table, besides blanks.
    """

    columns: dict[str, ColumnForm] | None
    means: Array
    varying: NDArray[np.bool_]
    center: Array
    scale: Array
    id_column: str | None = None
    words: Mapping[str, Words] = {}
    fills: bool = False
    marks: tuple[str, ...] = ()

    def to_features(self, X: Array) -> Array:
        """Return features from encoded columns; means replace missing values."""
        X = _fill(X, self.means)
        features: Array = (X if self.varying.all() else X[:, self.varying]) - self.center
        features /= self.scale
        return features

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return arrays for an NPZ file, from which `from_arrays` makes the same encoding."""
        plain = {
            "columns": self.columns,
            "id_column": self.id_column,
            "fills": self.fills,
            "marks": self.marks,
            "words": {name: words.names.tolist() for name, words in self.words.items()},
        }
        arrays = {name: getattr(self, name) for name in ARRAYS} | {"plain": to_bytes(plain)}
        for k, words in enumerate(self.words.values()):
            arrays |= {f"idf_{k}": words.idf, f"components_{k}": words.components}
        return {f"{PREFIX}{name}": array for name, array in arrays.items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Encoding | None:
        """Return the encoding of `to_arrays`; None if there is none."""
        if f"{PREFIX}plain" not in arrays:
            return None
        plain: dict[str, Any] = from_bytes(arrays[f"{PREFIX}plain"])
        if plain["columns"] is not None:
            plain["columns"] = {name: ColumnForm(*form) for name, form in plain["columns"].items()}
        plain["words"] = {
            name: Words(
                np.array(names, dtype=object),
                arrays[f"{PREFIX}idf_{k}"],
                arrays[f"{PREFIX}components_{k}"],
            )
            for k, (name, names) in enumerate(plain["words"].items())
        }
        return cls(**plain | {name: arrays[f"{PREFIX}{name}"] for name in ARRAYS})


ARRAYS, PREFIX = ("means", "varying", "center", "scale"), "encoding_"


def to_bytes(value: Any) -> NDArray[np.uint8]:
    """Return the JSON of a value as an array, which an NPZ file holds without padding."""
    return np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)


def from_bytes(array: NDArray[np.uint8]) -> Any:
    """Return the value of `to_bytes`."""
    return json.loads(array.tobytes().decode())


def fit_encoding(
    columns: dict[str, ColumnForm] | None,
    X: Array,
    forms: NDArray[Any],
    *,
    scale: bool,
    drop_constant: bool,
) -> Encoding:
    """Return the encoding of encoded columns.

    Texts beside other columns get the sum of the variances that the others have.

    Parameters
    ----------
    columns : dict of str to ColumnForm, or None
    X : ndarray, shape (n, D)
        NaN where a value is missing.
    forms : ndarray of str, shape (D,)
        The form of the column that each comes from.
    scale : bool
        Whether numbers get mean 0 and standard deviation 1.
    drop_constant : bool
    """
    means = np.nanmean(X, axis=0)
    filled = _fill(X, means)
    varying = np.ptp(filled, axis=0) > 0 if drop_constant else np.ones(means.size, dtype=np.bool_)
    center, spread = np.zeros(means.size), np.ones(means.size)
    is_number, is_text = ~np.isin(forms, (CATEGORIES, TEXT)), forms == TEXT
    if scale:
        center[is_number], spread[is_number] = means[is_number], filled.std(axis=0)[is_number]
        spread[spread == 0] = 1.0
    if is_text.any():
        variance = filled.var(axis=0) / spread**2
        others = variance[~is_text].sum()
        spread[is_text] = np.sqrt(variance[is_text].sum() / others) if others > 0 else 1.0
    return Encoding(columns, means, varying, center[varying], spread[varying])


def _fill(X: Array, means: Array) -> Array:
    """Return X with means in place of NaN."""
    missing = np.isnan(X)
    return np.where(missing, means, X) if missing.any() else X


def to_indicators(column: pd.Series, categories: list[str]) -> Array:
    """Return one column for each category: 1 in its rows, else 0; NaN in rows without a value.

    A single category is ticked or not: 0 in rows without a value.
    """
    indicators = pd.get_dummies(known_texts(column), dtype=float)
    indicators = indicators.reindex(columns=categories, fill_value=0.0)
    blank = 0.0 if len(categories) == 1 else np.nan
    return indicators.reindex(column.index, fill_value=blank).to_numpy(dtype=np.float64)
