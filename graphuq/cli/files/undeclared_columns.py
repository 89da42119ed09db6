"""Columns without a declared role: what they may be instead of features."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from shlex import quote

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from graphuq.cli.files.numbers import first_misfit
from graphuq.cli.files.probable_roles import find_counters, has_repeats
from graphuq.cli.files.problems import Problems
from graphuq.cli.files.table import Table
from graphuq.utils.typing import Array
from graphuq.utils.words import count


def report_texts(
    table: Table,
    columns: Sequence[pd.Series],
    labels: Sequence[str],
    ids: str | None,
    problems: Problems,
) -> None:
    """Add the problem of each column, and offer the remedy that is probably right first.

    Parameters
    ----------
    table : Table
    columns : sequence of Series
    labels : sequence of str
        The columns of the table that probably hold the labels. If they are several, no option
        remedies the problem until the user chooses one.
    ids : str or None
        The column that probably names the items.
    problems : Problems
    """
    for column in columns:
        name = str(column.name)
        row, fault = first_misfit(column)
        first, option = "", f"--{'categorical' if has_repeats(column) else 'ignore'} {quote(name)}"
        if name == ids:
            option = f"--id {quote(name)}"
        elif name in labels:
            option = f"--label {quote(name)}" if len(labels) == 1 else ""
            first = f"if these are the labels, use --label {quote(name)}; otherwise "
        problems.add(
            f"{table.where(row, name)}: {str(column.iloc[row]).strip()!r} is {fault}: {first}"
            "correct it; or, if the column may tell classes apart, make its categories features "
            f"with --categorical {quote(name)} (those of all text columns with --categorical); if "
            f"not, leave it out with --ignore {quote(name)}; if it names the items, use --id "
            f"{quote(name)}",
            option,
        )


def report_numbers_of_labels(
    table: Table, name: str, missing: NDArray[np.bool_], option: str, problems: Problems
) -> None:
    """Add the problem of a column of numbers, mostly empty, that is probably the labels.

    Parameters
    ----------
    table : Table
    name : str
    missing : ndarray of bool, shape (rows,)
    option : str
        The option that remedies it, "" if the user has to choose.
    problems : Problems
    """
    problems.add(
        f"{table.path}, column {name!r}: {int(missing.sum())} of {count(missing.size, 'value')} "
        f"are missing, and others repeat: if these are the labels, use --label {quote(name)}; "
        f"otherwise exclude it with --ignore {quote(name)}, or replace missing values by the "
        "column mean with --fill-missing",
        option,
    )


def report_counters(
    table: Table, numbers: Mapping[str, Array], named: bool, problems: Problems
) -> None:
    """Tell of columns that probably count the items.

    This alone is a warning, since the numbers may be measured. Beside problems it is one more, so
    that their remedies are complete.

    Parameters
    ----------
    table : Table
    numbers : mapping of str to ndarray, shape (rows,)
    named : bool
        Whether another column has the ids.
    problems : Problems
    """
    for name in find_counters(numbers):
        low, high = numbers[name].min(), numbers[name].max()
        exclude, ids = f"--ignore {quote(name)}", f"--id {quote(name)}"
        remedy = f"counts the items, exclude it with {exclude}"
        if not named:
            remedy = f"names or counts the items, use {ids}, or exclude it with {exclude}"
        text = (
            f"{table.path}, column {name!r} has the whole numbers from {low:.0f} to {high:.0f}, "
            f"each once: if it {remedy}"
        )
        if problems.found:
            problems.add(text, exclude if named else ids)
        else:
            warnings.warn(f"{text}; now it is a feature", RuntimeWarning, stacklevel=2)
        named = True
