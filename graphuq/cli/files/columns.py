"""The columns of a table: how each was read, for the user to check."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from graphuq.utils.typing import Array
from graphuq.utils.words import shorten

# The role of the column of labels, and all roles but that of a feature.
LABELS = "labels"
ROLES = ("ids", LABELS, "true classes", "groups")

# Texts that are shown of a column, and their length.
N_TEXTS, TEXT_LENGTH = 3, 16

# The forms of columns.
NUMBERS, DATES, ANSWERS, CATEGORIES, TEXT = "numbers", "dates", "yes and no", "categories", "text"


class ColumnForm(NamedTuple):
    """How a column of a table was read.

    Attributes
    ----------
    form : str
        Numbers may be followed by the sign that they have.
    decimal : str or None
        The decimal mark, if the column shows it or it was given.
    categories : list of str
    """

    form: str
    decimal: str | None = None
    categories: list[str] = []  # noqa: RUF012


class Column(NamedTuple):
    """How a column of a table was read, or what has to be said of it before it can be.

    Attributes
    ----------
    name, read_as : str
    distinct, missing : int
        Numbers of different values, and of cells without a valid one.
    use : str
        What to do to use the column; "" if nothing is asked.
    odd : str
        What is odd about it; "" if that is plain.
    range : str
        The least and the greatest number or date; "" for other columns.
    """

    name: str
    read_as: str
    distinct: int
    missing: int
    use: str = ""
    odd: str = ""
    range: str = ""

    @property
    def is_feature(self) -> bool:
        """Whether the column is no id, label, truth or group."""
        return self.read_as not in ROLES


class Question(NamedTuple):
    """What to do to use a column, and what is odd about it."""

    use: str
    odd: str


def known_texts(column: pd.Series) -> pd.Series:
    """Return the texts of the cells that are not empty; 1.0 is 1, as in a column without gaps."""
    known = column.dropna()
    if pd.api.types.is_float_dtype(known) and (known % 1 == 0).all():
        known = known.map("{:.0f}".format)
    return known.astype(str).str.strip()


def tabulate_columns(
    frame: pd.DataFrame,
    roles: Mapping[str | None, str],
    forms: Mapping[str, ColumnForm],
    cells: Mapping[str, Array],
    questions: Mapping[str, Question],
    constant: Collection[str] = (),
) -> tuple[Column, ...]:
    """Return a row for each column of a table.

    Parameters
    ----------
    frame : DataFrame
        All columns.
    roles : mapping of str to str
        What columns are, other than features.
    forms : mapping of str to ColumnForm
        How columns of features were read.
    cells : mapping of str to ndarray, shape (rows, any)
        The features that columns become, of all rows; NaN where a cell is missing or invalid.
    questions : mapping of str to Question
        Columns that cannot be used as they are.
    constant : collection of str
        Columns of features whose values are equal.

    Examples
    --------
    >>> frame = pd.DataFrame(
    ...     {"id": [*"abc"], "size": [1, 2, np.nan], "town": ["Ulm", "Ulm", "Bonn"]}
    ... )
    >>> cells = {"size": frame[["size"]].to_numpy()}
    >>> forms, asked = {"size": ColumnForm("numbers")}, {"town": Question("--ignore town", "")}
    >>> columns = tabulate_columns(frame, {"id": "ids"}, forms, cells, asked)
    >>> [(column.read_as, column.range, column.missing) for column in columns]
    [('ids', '', 0), ('numbers', '1 to 2', 1), ('text: Ulm, Bonn', '', 0)]
    """
    rows = []
    for name in frame.columns:
        column = frame[name]
        values = cells.get(name)
        missing = column.isna() if values is None else np.isnan(values).any(axis=1)
        known = column[~np.asarray(missing)]
        try:
            distinct = int(known.nunique())
        except TypeError:  # such as lists
            distinct = int(known.astype(str).nunique())
        how = roles.get(name) or _describe(column, forms.get(name), name in questions)
        if name in constant:
            how = "constant: not used"
        asked = questions.get(name, Question("", ""))
        span = "" if values is None else _describe_range(values, forms[name].form)
        rows.append(Column(str(name), how, distinct, int(missing.sum()), *asked, span))
    return tuple(rows)


def for_report(columns: Iterable[Column]) -> list[tuple[str, str, str, int, int]]:
    """Return what a report shows of the columns: those with a role come first."""
    return [
        (column.name, column.read_as, column.range, column.distinct, column.missing)
        for column in sorted(columns, key=lambda column: column.is_feature)
    ]


def _describe_range(values: Array, form: str) -> str:
    """Return the least and the greatest number or date, which shows marks and errors."""
    if form != DATES and not form.startswith(NUMBERS):
        return ""
    ends = np.nanmin(values), np.nanmax(values)
    if form == DATES:
        low, high = np.floor(ends).astype("datetime64[D]")
    else:  # all digits of whole numbers: some are codes, or dates
        low, high = (f"{x:.0f}" if x % 1 == 0 and abs(x) < 1e15 else f"{x:g}" for x in ends)
    return f"{low} to {high}"


def _describe(column: pd.Series, form: ColumnForm | None, asked: bool) -> str:
    """Return how a column of features was read; its texts if it is asked about."""
    if form is None and not asked:
        return "not read yet"
    if form is None and not column.notna().any():
        return "empty"
    if form is None and pd.api.types.is_numeric_dtype(column):
        return NUMBERS
    if form is None:
        return f"text: {_first_texts(column.dropna().astype(str).unique())}"
    if form.form == CATEGORIES:
        return f"categories: {_first_texts(form.categories)}"
    if form.form.startswith(NUMBERS) and form.decimal is not None:
        mark = {",": "commas", ".": "points"}[form.decimal]
        return f"{form.form}, decimal {mark}"
    plain = {
        DATES: "dates, as days",
        ANSWERS: "yes and no, as 1 and -1",
        TEXT: "text, by its words",
    }
    return plain.get(form.form, form.form)


def _first_texts(values: Any) -> str:
    shown = [shorten(str(value).strip(), TEXT_LENGTH) for value in values[:N_TEXTS]]
    return ", ".join(shown) + ", …" * (len(values) > N_TEXTS)
