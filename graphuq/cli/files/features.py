"""From the columns of a table to features: numbers, categories, missing values."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from graphuq.cli.files.column_roles import NAME_LABELS, default_id
from graphuq.cli.files.columns import ANSWERS, CATEGORIES, NUMBERS, TEXT, ColumnForm, known_texts
from graphuq.cli.files.encoding import Encoding, fit_encoding, to_indicators
from graphuq.cli.files.missing_values import choose_rows, describe_invalid, report_invalid
from graphuq.cli.files.numbers import AmbiguousColumnError, read_numbers
from graphuq.cli.files.odd_rows import report_odd_rows
from graphuq.cli.files.options import ALL, ReadOptions
from graphuq.cli.files.probable_roles import (
    find_annotators,
    find_ids,
    find_labels,
)
from graphuq.cli.files.problems import Problems, flag
from graphuq.cli.files.table import Table
from graphuq.cli.files.texts import Words
from graphuq.cli.files.thousands import may_be_in_thousands, may_be_thousands
from graphuq.cli.files.undeclared_columns import (
    MAX_CATEGORIES,
    list_options,
    report_counters,
    report_texts,
    warn_of_codes,
)
from graphuq.labels.class_values import find_unlabeled
from graphuq.utils import validation
from graphuq.utils.outliers import describe_outliers
from graphuq.utils.typing import Array
from graphuq.utils.warnings import warn
from graphuq.utils.words import choose_form, count


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
    cells : dict of str to ndarray, shape (rows, any)
        Their values before they are scaled, NaN where a cell is missing or invalid.
    constant : collection of str
        Columns that are not used, since their values in the rows that are kept are equal.
    """

    values: Array
    kept: NDArray[np.bool_]
    notes: tuple[str, ...]
    encoding: Encoding | None = None
    columns: Mapping[str, ColumnForm] = {}
    cells: Mapping[str, Array] = {}
    constant: Collection[str] = ()


def build_features(
    table: Table,
    frame: pd.DataFrame,
    options: ReadOptions,
    problems: Problems,
    labels: pd.Series | None = None,
) -> Features:
    """Return the columns of ``frame`` as numbers.

    Numeric columns are used as they are. Yes and no (y, n, t, f, true, false) become 1 and -1, and
    dates become days. Texts become the components of their words. A column of categories becomes
    one indicator column, 1 or 0, for each category. Two different categories then have the squared
    distance 2, the mean squared distance of two items in a scaled numeric column.

    Parameters
    ----------
    table : Table
        The table of the frame, to name places in it.
    frame : DataFrame
    options : ReadOptions
    problems : Problems
        Collects values that are not numbers, with their places; the features are empty then.
    labels : Series, optional
        The column of labels. One that is missing in the same rows shows which items are labeled.

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
    forms, blocks, words = _encode(table, frame, options, problems, labels)
    if problems.found:
        every = np.ones(len(frame), dtype=np.bool_)
        return Features(np.empty((len(frame), 0)), every, (), columns=forms, cells=blocks)
    invalid = np.column_stack([np.isnan(block).any(axis=1) for block in blocks.values()])
    kept, notes = choose_rows(str(table.path), invalid, options.missing)
    notes += describe_invalid(table, frame[list(forms)], invalid, options.missing)
    notes += [note for name in words for note in _describe_words(name, words[name], blocks[name])]
    numbers = [name for name, form in forms.items() if form.form not in (CATEGORIES, TEXT)]
    warn_of_outliers(
        np.hstack([np.empty((kept.size, 0)), *(blocks[name] for name in numbers)])[kept],
        lambda row, k: _name_cell(table, int(np.flatnonzero(kept)[row]), numbers[k]),
        "name it with --missing",
    )
    # Drop constant columns, and scale the numeric ones.
    X = np.hstack(list(blocks.values()))[kept]
    names = np.array([name for name in blocks for _ in range(blocks[name].shape[1])], dtype=object)
    scale = options.scale is not False
    each = np.array([forms[name].form for name in names])
    encoding = fit_encoding(forms, X, each, scale=scale, drop_constant=True)
    used = {*names[encoding.varying].tolist()}
    if not used:
        raise ValueError(
            f"{table.path}: every feature column is constant: add a column whose values differ"
        )
    if scale and used & {*numbers}:
        notes.append("scaled each numeric column to mean 0 and standard deviation 1")
    if words and used - words.keys():
        notes.append("the words together have the variance of all other features")
    return Features(
        encoding.to_features(X),
        kept,
        tuple(notes),
        encoding._replace(words=words),
        forms,
        blocks,
        forms.keys() - used,
    )


def _name_cell(table: Table, row: int, name: str) -> str:
    return f"{table.where(row, name)}: {table.cell(row, name)!r}"


def _describe_words(name: str, words: Words, X: Array) -> list[str]:
    """Return notes on the features of a column of texts."""
    alone = int((~X.any(axis=1)).sum())
    notes = [f"features: {words.describe()} in {name!r} (TF-IDF)"]
    if alone:
        share = choose_form(alone, "shares", "share")
        notes.append(f"{count(alone, 'text')} in {name!r} {share} no word with others")
    return notes


def warn_of_outliers(X: Array, name: Callable[[int, int], str], remedy: str) -> None:
    """Warn of cells of a file that dwarf their column.

    This happens before columns are scaled, which leaves no digits of the other cells, and before
    means of columns replace missing values.

    Parameters
    ----------
    X : ndarray, shape (n, d)
        NaN where a cell is not used.
    name : callable
        The subject of the sentence: a cell, from its row and its column.
    remedy : str
        What to do if it stands for a missing value.
    """
    found = describe_outliers(X, np.nanmedian(X, axis=0), name)
    if found:
        warn(
            f"{found}: if it stands for a missing value, {remedy} and use --drop-missing or "
            "--fill-missing; else take the logarithm of the column"
        )


def _encode(
    table: Table,
    frame: pd.DataFrame,
    options: ReadOptions,
    problems: Problems,
    known: pd.Series | None,
) -> tuple[dict[str, ColumnForm], dict[str, Array], dict[str, Words]]:
    """Return the form of each column, its values, NaN where invalid, and the words of texts."""
    blocks: dict[str, Array] = {}
    forms: dict[str, ColumnForm] = {}
    words: dict[str, Words] = {}
    undeclared: list[pd.Series] = []
    for name in frame.columns:
        column, ignore = frame[name], flag("--ignore", name)
        if name in options.text:
            try:
                words[name] = Words.of(column)
            except ValueError as error:
                problems.add(f"{table.path}, column {name!r}: {error}")
                continue
            forms[name], blocks[name] = ColumnForm(TEXT), words[name].to_features(column)
            continue
        if column.dtype == object and any(isinstance(cell, list | dict) for cell in column):
            fault = "its cells are lists or objects"
            problems.ask(name, f"{table.path}, column {name!r}: {fault}", ignore, ignore, odd=fault)
            continue
        named = name in options.categorical
        try:
            numbers = None if named else read_numbers(column, options.decimal)
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
            forms[name] = numbers.form
            blocks[name] = np.where(np.isfinite(numbers.values), numbers.values, np.nan)[:, None]
        elif (named or ALL in options.categorical) and _are_few(column):
            categories = sorted(known_texts(column).unique().tolist())
            forms[name] = ColumnForm(CATEGORIES, None, categories)
            blocks[name] = to_indicators(column, categories)
        else:
            undeclared.append(column)
    _report(table, frame, options, problems, forms, blocks, undeclared, known)
    return forms, blocks, words


def _are_few(column: pd.Series) -> bool:
    return bool(known_texts(column).nunique() <= MAX_CATEGORIES)


def _report(
    table: Table,
    frame: pd.DataFrame,
    options: ReadOptions,
    problems: Problems,
    forms: Mapping[str, ColumnForm],
    blocks: Mapping[str, Array],
    undeclared: Sequence[pd.Series],
    known: pd.Series | None,
) -> None:
    """Ask about columns that cannot be features as they are, or may have another use."""
    plain = {
        name: blocks[name][:, 0]
        for name, form in forms.items()
        if form.form.startswith((NUMBERS, ANSWERS)) and (form.decimal is None or options.decimal)
    }
    numbers = {n: blocks[n][:, 0] for n, form in forms.items() if form.form.startswith(NUMBERS)}
    report_odd_rows(table, frame, numbers, problems, are_dropped=options.missing == "drop")
    labels = find_labels(table.columns, undeclared, plain, options)
    if len(labels) == 1:
        problems.replace_option(NAME_LABELS, flag("--label", labels[0]))
    people = find_annotators(labels, undeclared, plain)
    for name in people:
        uses = [flag(use, name) for use in ("--annotator", "--label", "--ignore")]
        problems.replace_option(NAME_LABELS, uses[0])
        message = f"{table.path}, column {name!r}: other columns have the same values, as labels do"
        problems.ask(name, message, list_options(uses), uses[0])
    labels = [name for name in labels if name not in people]
    undeclared = [column for column in undeclared if column.name not in people]
    ids = find_ids(table.columns, undeclared, options)
    report_texts(table, undeclared, labels, ids, problems)
    if options.decimal is None:
        commas = any(form.decimal == "," for form in forms.values())
        _require_decimal_points(table, plain, commas, problems)
        if table.separator == ",":
            _ask_about_lists(table, forms, problems)
    if options.missing == "refuse":
        invalid = {
            name: np.asarray(np.isnan(block).any(axis=1))
            for name, block in blocks.items()
            if name not in people
        }
        alike = [frame[name] for name in labels] if known is None else [known]
        unlabeled = [
            find_unlabeled(column.to_list(), options.unlabeled, options.classes).missing
            for column in alike
        ]
        report_invalid(table, frame, invalid, labels, unlabeled, problems)
    named = options.id_column is not None or default_id(table.columns, options.ignore) is not None
    report_counters(table, plain, named or ids is not None, problems)
    if not problems.found:
        warn_of_codes(table, plain)


def _require_decimal_points(
    table: Table, numbers: Mapping[str, Array], commas: bool, problems: Problems
) -> None:
    """Ask about numbers such as 1.234, beside ``commas`` that are decimal or may be."""
    for name, (row, text) in find_unclear_points(table, numbers, commas=commas).items():
        fault = f"the point in {text!r} may be a decimal point or stand between thousands"
        fault += ", because other columns have decimal commas" if commas else ""
        point = "" if commas else "--decimal point, "
        problems.ask(
            name,
            f"{table.where(row, name)}: {fault}",
            f"--decimal comma, {point}or {flag('--ignore', name)}",
            "--decimal comma" if commas else "",
            odd=f"{table.line(row)}: {fault}",
        )


def _ask_about_lists(table: Table, forms: Mapping[str, ColumnForm], problems: Problems) -> None:
    """Ask about rising numbers in quotes between commas: 1,2 and 3,5 may be several answers."""
    for name in [name for name, form in forms.items() if form.decimal == ","]:
        texts = table.texts(name)
        listed = [row for row, text in enumerate(texts) if "," in text]
        if all(_rise(texts[row].split(",")) for row in listed):
            fault = f"{texts[listed[0]]!r} may be one number or several answers"
            uses = ["--decimal comma", flag("--categorical", name), flag("--ignore", name)]
            problems.ask(
                name,
                f"{table.where(listed[0], name)}: {fault}",
                list_options(uses),
                odd=f"{table.line(listed[0])}: {fault}",
            )


def _rise(parts: Sequence[str]) -> bool:
    """Return whether texts are whole numbers below 100, each above the one before."""
    if not all(re.fullmatch(r"[1-9]\d?", part) for part in parts):
        return False
    numbers = [int(part) for part in parts]
    return numbers == sorted({*numbers})


def find_unclear_points(
    table: Table, columns: Mapping[str, Array], *, commas: bool
) -> dict[str, tuple[int, str]]:
    """Return the row and the text of the first such number in each column that has some.

    Parameters
    ----------
    table : Table
    columns : mapping of str to ndarray, shape (rows,)
        Numbers, as read with a decimal point.
    commas : bool
        Whether other columns have decimal commas. Without them columns between semicolons are
        unclear, if their values may be thousands.
    """
    found: dict[str, tuple[int, str]] = {}
    for name, values in columns.items():
        if not (commas or (table.separator == ";" and may_be_in_thousands(values))):
            continue
        texts = table.texts(name)
        if may_be_thousands(texts) and not any("," in text for text in texts):
            found[name] = next((row, text) for row, text in enumerate(texts) if "." in text)
    return found


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
    with np.errstate(over="ignore"):
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
