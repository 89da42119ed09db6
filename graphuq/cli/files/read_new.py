"""Read new items, whose columns become features as those of the items before did."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from graphuq.cli.files.archive import read_matrix
from graphuq.cli.files.class_column import to_ids
from graphuq.cli.files.column_roles import default_id, report_repeated_ids
from graphuq.cli.files.columns import CATEGORIES, NUMBERS, ColumnForm, known_texts
from graphuq.cli.files.encoding import Encoding, to_indicators
from graphuq.cli.files.feature_file import SUFFIX, read_features
from graphuq.cli.files.features import find_unclear_points, require_moderate
from graphuq.cli.files.missing_values import blank_marks
from graphuq.cli.files.numbers import AmbiguousColumnError, first_misfit, read_numbers
from graphuq.cli.files.picture_folder import read_new_pictures
from graphuq.cli.files.problems import Problems
from graphuq.cli.files.table import TABLES, Table, open_table, require_file
from graphuq.cli.files.text_table import MISSING, TextTable
from graphuq.utils.typing import Array
from graphuq.utils.words import count, list_names


class NewItems(NamedTuple):
    """Ids and features of new items, and notes on how they were read.

    Attributes
    ----------
    ids : ndarray of str, shape (m,)
    features : ndarray, shape (m, d)
    notes : tuple of str
    """

    ids: NDArray[Any]
    features: Array
    notes: tuple[str, ...]


def read_new(
    path: Path,
    encoding: Encoding,
    fill: bool = False,
    text_encoding: str = "utf-8",
    decimal: str | None = None,
) -> NewItems:
    """Return the new items in a file with the columns that the first file had.

    Other columns are ignored.

    Parameters
    ----------
    path : Path
    encoding : Encoding
        How the columns of the first file became features.
    fill : bool
        Whether to replace missing values by the column means of the first items; those of the
        first file decide, too, where they were replaced.
    text_encoding : str
    decimal : {".", ","}, optional
        The decimal mark of this file; by default that of each column of the first one.

    Raises
    ------
    FileNotFoundError, ValueError
        The message has one line for each problem: the place in the file, the problem and the
        remedy.
    """
    suffix = ".npz" if path.is_dir() or path.suffix.lower() == SUFFIX else require_file(path)
    if (suffix == ".npz") != (encoding.columns is None) or suffix not in (*TABLES, ".npz"):
        kind = "an .npz file with X, an .npy file, or a folder of pictures"
        kind = kind if encoding.columns is None else "a table"
        raise ValueError(f"{path}: expected {kind}, as for the first items: save such a file")
    notes: tuple[str, ...] = ()
    if encoding.columns is None:
        ids, X, place = *_read_matrix(path, encoding), f"{path}"
    else:
        problems = Problems()
        table = open_table(path, text_encoding)
        ids, X, place = _read_columns(table, encoding, encoding.columns, problems, decimal)
        problems.require_none()
        notes = table.notes
    missing = np.isnan(X)
    n_rows = int(missing.any(axis=1).sum())
    if n_rows and not (fill or encoding.fills):
        raise ValueError(
            f"{place}: values are missing or invalid in {n_rows} of {count(len(X), 'row')}, first "
            f"that of item {ids[int(missing.any(axis=1).argmax())].item()!r}: correct them, or "
            "replace them by the column means of the first items with --fill-missing"
        )
    if n_rows:
        notes = (*notes, f"replaced missing values in {count(n_rows, 'row')} by column means")
    return NewItems(ids, encoding.to_features(X), notes)


def _read_matrix(path: Path, encoding: Encoding) -> tuple[NDArray[Any], Array]:
    """Return the ids and the features of pictures in a folder, or of rows of an array."""
    width = encoding.means.size
    if path.is_dir():
        ids, X = read_new_pictures(path)
    elif path.suffix.lower() == SUFFIX:
        X = read_features(path)
        ids = np.arange(len(X)).astype(str)
    else:
        return read_matrix(path, width, encoding.id_column)
    if X.shape[1] != width:
        raise ValueError(
            f"{path} has {X.shape[1]} features of each item, and the first items have {width}: "
            "compute them in the same way"
        )
    return ids, np.asarray(X, dtype=np.float64)


def _read_columns(
    table: Table,
    encoding: Encoding,
    columns: dict[str, ColumnForm],
    problems: Problems,
    decimal: str | None,
) -> tuple[NDArray[Any], Array, str]:
    """Return the ids, the encoded columns, and the names of those with missing values."""
    key = encoding.id_column
    absent = [name for name in columns if name not in table.columns]
    if absent:
        near = [name for name in table.columns if name.lower() == absent[0].lower()]
        remedy = f"add {'it' if len(absent) == 1 else 'them'}"
        if len(absent) == 1 and near and near[0] not in columns:
            remedy = f"rename the column {near[0]!r}"
        raise ValueError(
            f"{table.path} has no column {list_names(absent)}, from which features are made: "
            f"{remedy}"
        )
    key = key if key in table.columns else default_id(table.columns, ())
    # A column with decimal commas stays text until it is read with them.
    as_text = [name for name, form in columns.items() if form.decimal == "," and decimal is None]
    texts = [*as_text, *encoding.words, *([] if key is None else [key])]
    frame = table.frame(as_text=texts, decimal=decimal)
    if isinstance(table, TextTable):  # in columns read as text, only blanks are missing
        frame[as_text] = frame[as_text].where(~frame[as_text].isin(MISSING))
    if encoding.marks:
        frame[[*columns]], _ = blank_marks(frame[[*columns]], encoding.marks)
    blocks: dict[str, Array] = {}
    for name, form in columns.items():
        block = (
            encoding.words[name].to_features(frame[name])
            if name in encoding.words
            else _read_column(table, frame[name], form, problems, decimal)
        )
        if block is not None:
            blocks[name] = block
    if decimal is None:
        _require_decimal_points(table, frame, columns, blocks, problems)
    ids = np.arange(len(frame)).astype(str)
    if key is not None:
        written = to_ids(frame[key])
        report_repeated_ids(table, key, written, problems)
        ids = np.array([ids[row] if name is None else name for row, name in enumerate(written)])
    if problems.found:
        return ids, np.empty((len(frame), 0)), ""
    gaps = [name for name, block in blocks.items() if np.isnan(block).any()]
    return ids, np.hstack(list(blocks.values())), f"{table.path}, {list_names(gaps)}"


def _require_decimal_points(
    table: Table,
    frame: pd.DataFrame,
    columns: dict[str, ColumnForm],
    blocks: dict[str, Array],
    problems: Problems,
) -> None:
    """Refuse numbers such as 1.253 beside decimal commas, here or in the first file."""
    numbers = {
        name: blocks[name][:, 0]
        for name, form in columns.items()
        if form.form.startswith(NUMBERS) and form.decimal != "." and name in blocks
    }
    commas = any(columns[name].decimal == "," for name in numbers) or any(
        frame[name].astype(str).str.contains(",", regex=False).any()
        for name in numbers
        if not pd.api.types.is_numeric_dtype(frame[name])
    )
    for name, (row, text) in find_unclear_points(table, numbers, commas=commas).items():
        problems.add(
            f"{table.where(row, name)}: {text!r} may be a fraction or thousands: use --decimal "
            "comma or --decimal point"
        )


def _read_column(
    table: Table,
    column: pd.Series,
    expected: ColumnForm,
    problems: Problems,
    decimal: str | None,
) -> Array | None:
    """Return the encoded column, NaN where a value is missing; add what does not fit."""
    name = str(column.name)
    known = column.notna().to_numpy()
    if expected.form == CATEGORIES:
        texts = known_texts(column)
        other = texts[~texts.isin(expected.categories)]
        if other.empty:
            return to_indicators(column, expected.categories)
        row = int(np.flatnonzero(column.index == other.index[0])[0])
        problems.add(
            f"{table.where(row, name)}: {other.iloc[0]!r} is not one of the categories "
            f"{list_names(expected.categories)}: correct it, remove the row, or run graphuq sample "
            "with such items"
        )
        return None
    if not known.any():
        return np.full((len(column), 1), np.nan)
    try:
        numbers = read_numbers(column, decimal or expected.decimal)
    except AmbiguousColumnError as error:
        where = table.where(int(np.flatnonzero(known)[0]), name)
        problems.add(f"{where}: {error.fault}: {error.rewrite}")
        return None
    if numbers is None or numbers.form.form != expected.form:
        row, _ = first_misfit(column)
        problems.add(
            f"{table.where(row, name)}: expected {expected.form}, as in the first file, got "
            f"{str(column.iloc[row])!r}: correct the column {quote(name)}"
        )
        return None
    require_moderate(table, name, numbers.values, problems)
    values: Array = np.where(np.isfinite(numbers.values), numbers.values, np.nan)[:, None]
    return values
