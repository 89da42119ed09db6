"""Columns that probably hold the labels and the ids, where no option names them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from graphuq.cli.files.column_roles import default_id, own_label
from graphuq.cli.files.columns import known_texts
from graphuq.cli.files.options import ReadOptions
from graphuq.labels.class_values import MAYBE_CLASS
from graphuq.utils.typing import Array

# With fewer rows, measurements may be consecutive whole numbers by chance.
MIN_COUNTED = 10

# The end of a name that says that whole numbers are ids.
NAMES_IDS = re.compile(
    r"id$|(?:^|[\W_])(?:patient|subject|participant|respondent|person|member|customer|user|sample|"
    r"specimen|case)(?:[\W_]*(?:no|nr|number|code))?[\W_]*$"
)

# A column of labels is empty in more than this share of the rows.
MOSTLY = 0.5


def find_labels(
    columns: Sequence[str],
    texts: Sequence[pd.Series],
    numbers: Mapping[str, Array],
    options: ReadOptions,
) -> list[str]:
    """Return the columns that are probably the labels: none, one, or several to choose from.

    All values of such a column are classes of the options. If no column is like this, most of its
    cells are empty or say "unknown", and its values are texts or whole numbers, several and
    repeated.

    Parameters
    ----------
    columns : sequence of str
        The names of all columns of the table.
    texts : sequence of Series
        Columns of text without another role.
    numbers : mapping of str to ndarray, shape (rows,)
        Columns of numbers, NaN where a value is missing or invalid.
    options : ReadOptions

    Examples
    --------
    >>> kind = np.array([1, np.nan, np.nan, 2, np.nan, np.nan, 2])
    >>> find_labels(["x", "kind"], [], {"x": kind + 0.5, "kind": kind}, ReadOptions())
    ['kind']
    """
    if options.labels is not None or own_label(columns, options) is not None:
        return []
    found = [str(text.name) for text in texts if known_texts(text).isin(options.classes).all()]
    if not found:
        whole = [
            pd.Series(values, name=name)
            for name, values in numbers.items()
            if (values[~np.isnan(values)] % 1 == 0).all()
        ]
        found = [
            str(column.name)
            for column in (*map(_without_marks, texts), *whole)
            if column.isna().mean() > MOSTLY and column.nunique() > 1 and has_repeats(column)
        ]
    return found


def find_annotators(
    labels: Sequence[str], texts: Sequence[pd.Series], numbers: Mapping[str, Array]
) -> list[str]:
    """Return the columns that have the values of several that are probably the labels.

    Parameters
    ----------
    labels : sequence of str
        What `find_labels` returns.
    texts, numbers
        See `find_labels`.

    Examples
    --------
    >>> votes = np.array([1, -1, np.nan])
    >>> find_annotators(["ann", "bob"], [], {"ann": votes, "bob": votes, "x": votes + 1})
    ['ann', 'bob']
    """
    values = {str(text.name): {*known_texts(text)} for text in texts}
    values |= {name: {*cells[~np.isnan(cells)].tolist()} for name, cells in numbers.items()}
    groups = [[name for name in values if values[name] == values[label]] for label in labels]
    return next((group for group in groups if len({*group} & {*labels}) > 1), [])


def find_ids(
    columns: Sequence[str], texts: Sequence[pd.Series], options: ReadOptions
) -> str | None:
    """Return the one column that probably names the items; None if there is none or more.

    No cell of it is empty, and no value is repeated.

    Parameters
    ----------
    columns : sequence of str
        The names of all columns of the table.
    texts : sequence of Series
        Columns of text without another role.
    options : ReadOptions

    Examples
    --------
    >>> texts = [pd.Series(["ann", "bob"], name="name"), pd.Series(["Ulm", "Ulm"], name="town")]
    >>> find_ids(["name", "town"], texts, ReadOptions())
    'name'
    """
    if options.id_column is not None or default_id(columns, options.ignore) is not None:
        return None
    found = [str(text.name) for text in texts if text.notna().all() and not has_repeats(text)]
    return found[0] if len(found) == 1 else None


def find_counters(numbers: Mapping[str, Array]) -> list[str]:
    """Return the columns that probably count the items: whole numbers, each once.

    They are consecutive, or the name of the column is one of ids, such as customer_id or patient.

    Parameters
    ----------
    numbers : mapping of str to ndarray, shape (rows,)
        Columns of numbers, NaN where a value is missing or invalid.

    Examples
    --------
    >>> find_counters({"x": np.linspace(0, 1, 20), "number": np.arange(1000, 1020.0)[::-1]})
    ['number']
    """
    return [
        name
        for name, values in numbers.items()
        if values.size >= MIN_COUNTED
        and (values % 1 == 0).all()
        and (values.max() - values.min() == values.size - 1 or NAMES_IDS.search(name.lower()))
        and np.unique(values).size == values.size
    ]


def _without_marks(column: pd.Series) -> pd.Series:
    """Return a column of texts without those that probably mark an unknown label."""
    return column.mask(column.astype(str).str.strip().str.lower().isin(MAYBE_CLASS))


def has_repeats(column: pd.Series) -> bool:
    """Return whether two cells hold the same value."""
    known = known_texts(column)
    return known.nunique() < len(known)
