"""From the columns of a table to features: numbers, categories, missing values."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from graphuq.cli.files.column_roles import NAME_LABELS, default_id
from graphuq.cli.files.encoding import (
    CATEGORIES,
    ColumnForm,
    Encoding,
    find_categories,
    form_of,
    to_indicators,
)
from graphuq.cli.files.missing_values import describe_invalid, report_invalid, treat_missing
from graphuq.cli.files.numbers import (
    COMMAS,
    AmbiguousColumnError,
    may_be_thousands,
    read_numbers,
)
from graphuq.cli.files.options import ALL, ReadOptions
from graphuq.cli.files.probable_roles import find_ids, find_labels, known_texts
from graphuq.cli.files.problems import Problems, flag
from graphuq.cli.files.table import Table
from graphuq.cli.files.undeclared_columns import MAX_CATEGORIES, report_counters, report_texts
from graphuq.utils import validation
from graphuq.utils.outliers import describe_outliers
from graphuq.utils.typing import Array


class Features(NamedTuple):
    """Features of the rows that are kept.

    Attributes
    ----------
    values : ndarray, shape (n, d)
    kept : ndarray of bool, shape (rows,)
    notes : tuple of str
    encoding : Encoding or None
        None if there are problems.
    columns : dict of str to ColumnForm
        How columns were read.
    invalid : dict of str to ndarray of bool, shape (rows,)
        Which of their cells are missing or invalid.
    constant : collection of str
        Columns that are not used, since their values in the rows that are kept are equal.
    """

    values: Array
    kept: NDArray[np.bool_]
    notes: tuple[str, ...]
    encoding: Encoding | None = None
    columns: Mapping[str, ColumnForm] = {}
    invalid: Mapping[str, NDArray[np.bool_]] = {}
    constant: Collection[str] = ()


class _Encoded(NamedTuple):
    """All columns as numbers, before missing values are treated; without X if there are problems.

    ``is_number`` says which columns of X are no indicators of categories, and ``names`` of which
    columns of the table they are.
    """

    columns: dict[str, ColumnForm]
    invalid: dict[str, NDArray[np.bool_]]
    X: Array = np.empty((0, 0))
    is_number: NDArray[np.bool_] = np.empty(0, dtype=np.bool_)
    names: Sequence[str] = ()


def build_features(
    table: Table, frame: pd.DataFrame, options: ReadOptions, problems: Problems
) -> Features:
    """Return the columns of ``frame`` as numbers.

    Numeric columns are used as they are. Yes and no (y, n, t, f, true, false) become 1 and -1, and
    dates become days. A column of categories becomes one indicator column, 1 or 0, for each
    category. Two different categories then have the squared distance 2, the mean squared distance
    of two items in a scaled numeric column.

    Parameters
    ----------
    table : Table
        The table of the frame, to name places in it.
    frame : DataFrame
    options : ReadOptions
    problems : Problems
        Collects values that are not numbers, with their places; the features are empty then.

    Raises
    ------
    ValueError
        No rows or no features are left.
    """
    if frame.shape[1] == 0 and not problems.found:
        problems.add(
            f"{table.path} has no feature columns, only ids and labels: add columns of features, "
            "or name fewer columns with --ignore"
        )
    encoded = _encode(table, frame, options, problems)
    if problems.found:
        return Features(
            np.empty((len(frame), 0)),
            np.ones(len(frame), dtype=np.bool_),
            (),
            columns=encoded.columns,
            invalid=encoded.invalid,
        )
    invalid = np.column_stack(list(encoded.invalid.values()))
    X, kept, notes = treat_missing(str(table.path), encoded.X, invalid, options.missing)
    used = frame[list(encoded.columns)]
    notes += describe_invalid(table, used, invalid, options.missing)
    numeric = [name for name, column in encoded.columns.items() if column.form != CATEGORIES]
    warn_of_outliers(
        np.where(kept[:, None], encoded.X, np.nan)[:, encoded.is_number],
        lambda row, k: f"{table.where(row, numeric[k])}: {table.cell(row, numeric[k])!r}",
    )
    fill = np.nanmean(encoded.X if kept.all() else X, axis=0)

    # Drop constant columns, and scale the numeric ones.
    varying = np.ptp(X, axis=0) > 0
    if not varying.any():
        raise ValueError(
            f"{table.path}: every feature column is constant: add a column whose values differ"
        )
    used_columns = {encoded.names[k] for k in np.flatnonzero(varying).tolist()}
    X, is_number = X[:, varying], encoded.is_number[varying]
    center, scale = np.zeros(is_number.size), np.ones(is_number.size)
    if options.scale is not False and is_number.any():
        center[is_number], scale[is_number] = X.mean(axis=0)[is_number], X.std(axis=0)[is_number]
        notes.append("scaled each numeric column to mean 0 and standard deviation 1")
    encoding = Encoding(encoded.columns, fill, varying, center, scale)
    return Features(
        (X - center) / scale,
        kept,
        tuple(notes),
        encoding,
        encoded.columns,
        encoded.invalid,
        encoded.columns.keys() - used_columns,
    )


def warn_of_outliers(X: Array, name: Callable[[int, int], str]) -> None:
    """Warn of cells of a file that dwarf their column.

    This happens before columns are scaled, which leaves no digits of the other cells, and before
    means of columns replace missing values.

    Parameters
    ----------
    X : ndarray, shape (n, d)
        NaN where a cell is not used.
    name : callable
        The subject of the sentence: a cell, from its row and its column.
    """
    found = describe_outliers(X, np.nanmedian(X, axis=0), name)
    if found:
        warnings.warn(
            f"{found}: if it stands for a missing value, make it blank or NaN and use "
            "--drop-missing or --fill-missing; else take the logarithm of the column",
            RuntimeWarning,
            stacklevel=2,
        )


def _encode(
    table: Table, frame: pd.DataFrame, options: ReadOptions, problems: Problems
) -> _Encoded:
    """Return all columns as numbers, NaN where invalid."""
    blocks: dict[str, Array] = {}
    columns: dict[str, ColumnForm] = {}
    notes: dict[str, str] = {}
    undeclared: list[pd.Series] = []
    for name in frame.columns:
        column, ignore = frame[name], flag("--ignore", name)
        categorical = ALL in options.categorical or name in options.categorical
        try:
            numbers = None if name in options.categorical else read_numbers(column, options.decimal)
        except AmbiguousColumnError as error:
            row = int(np.flatnonzero(column.notna())[0])
            problems.ask(
                name,
                f"{table.where(row, name)}: {error.fault}",
                f"{error.remedy}, or {ignore}",
                odd=f"{table.line(row)}: {error.fault}",
            )
            continue
        if numbers is not None and not np.isfinite(numbers.values).any():
            problems.ask(
                name,
                f"{table.path}, column {name!r} has no valid values",
                ignore,
                ignore,
                odd="no valid values",
            )
        elif numbers is not None:
            require_moderate(table, name, numbers.values, problems, ignore)
            _require_spread(table, name, numbers.values, problems)
            blocks[name] = np.where(np.isfinite(numbers.values), numbers.values, np.nan)[:, None]
            columns[name], notes[name] = form_of(column, numbers, options.decimal), numbers.note
        elif categorical and known_texts(column).nunique() <= MAX_CATEGORIES:
            columns[name] = ColumnForm(CATEGORIES, None, find_categories(column))
            blocks[name] = to_indicators(column, columns[name].categories)
        else:
            undeclared.append(column)
    plain = {name: blocks[name][:, 0] for name, note in notes.items() if not note}
    labels = find_labels(table.columns, undeclared, plain, options)
    if len(labels) == 1:
        problems.replace_option(NAME_LABELS, flag("--label", labels[0]))
    ids = find_ids(table.columns, frame, options)
    report_texts(table, undeclared, labels, ids, problems)
    invalid: dict[str, NDArray[np.bool_]] = {
        name: np.asarray(np.isnan(block).any(axis=1)) for name, block in blocks.items()
    }
    if COMMAS in notes.values() and options.decimal is None:
        _require_decimal_points(table, list(plain), problems)
    if options.missing == "refuse":
        report_invalid(table, frame, invalid, labels, problems)
    named = options.id_column is not None or default_id(table.columns, options.ignore) is not None
    report_counters(table, plain, named or ids is not None, problems)
    if problems.found:
        return _Encoded(columns, invalid)
    X = np.hstack(list(blocks.values()))
    names = [name for name, block in blocks.items() for _ in range(block.shape[1])]
    is_number = np.array([columns[name].form != CATEGORIES for name in names])
    return _Encoded(columns, invalid, X, is_number, names)


def _require_decimal_points(table: Table, names: list[str], problems: Problems) -> None:
    """Ask about numbers such as 1.234 in a table that has decimal commas elsewhere."""
    for name in names:
        texts = table.texts(name)
        if may_be_thousands(texts):
            row = next(k for k, text in enumerate(texts) if "." in text)
            fault = (
                f"the point in {texts[row]!r} may be a decimal point or stand between thousands, "
                "because other columns have decimal commas"
            )
            problems.ask(
                name,
                f"{table.where(row, name)}: {fault}",
                f"--decimal comma, or {flag('--ignore', name)}",
                "--decimal comma",
                odd=f"{table.line(row)}: {fault}",
            )


def require_moderate(
    table: Table, name: str, numbers: Array, problems: Problems, option: str = ""
) -> None:
    """Refuse numbers whose squares would overflow; ``option`` excludes the column."""
    largest = abs(numbers[np.isfinite(numbers)]).max(initial=0.0)
    if largest > validation.MAX_MAGNITUDE:
        fault = f"expected numbers up to {validation.MAX_MAGNITUDE:g}, got {largest:g}"
        message, correct = f"{table.path}, column {name!r}: {fault}", "correct it"
        if option:
            problems.ask(name, message, f"{correct}, or {option}", option, odd=fault)
        else:
            problems.add(f"{message}: {correct}")


def _require_spread(table: Table, name: str, numbers: Array, problems: Problems) -> None:
    """Refuse numbers so near to each other that their standard deviation underflows."""
    known = numbers[np.isfinite(numbers)]
    spread = known.max() - known.min()
    if 0 < spread < validation.MIN_POSITIVE:
        fault = f"its numbers differ by at most {spread:g}, and squares of that underflow"
        ignore = flag("--ignore", name)
        problems.ask(
            name,
            f"{table.path}, column {name!r}: {fault}",
            f"multiply the column by one number, or {ignore}",
            ignore,
            odd=fault,
        )
