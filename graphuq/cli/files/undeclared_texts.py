"""Text columns that are not declared to hold categories: what they may be instead."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote

import pandas as pd

from graphuq.cli.files.column_roles import NAME_LABELS, own_label
from graphuq.cli.files.numbers import first_misfit
from graphuq.cli.files.options import ReadOptions
from graphuq.cli.files.problems import Problems
from graphuq.cli.files.table import Table


def report_texts(
    table: Table, columns: Sequence[pd.Series], options: ReadOptions, problems: Problems
) -> None:
    """Add the problem of each column, and offer the remedy that is probably right first."""
    labels = _find_labels(table, columns, options)
    for column in columns:
        name, known = str(column.name), _texts(column)
        row, fault = first_misfit(column)
        first, option = "", f"--{'categorical' if _repeats(known) else 'ignore'} {quote(name)}"
        if name == labels:
            option = f"--label {quote(name)}"
            first = f"if these are the labels, use {option}; otherwise "
            problems.replace_option(NAME_LABELS, option)
        problems.add(
            f"{table.where(row, name)}: {str(column.iloc[row]).strip()!r} is {fault}: {first}"
            "correct it, treat text columns as categories with --categorical, or this one with "
            f"--categorical {quote(name)}, exclude it with --ignore {quote(name)}, or, if it names "
            f"the items, use --id {quote(name)}",
            option,
        )


def _find_labels(table: Table, columns: Sequence[pd.Series], options: ReadOptions) -> str | None:
    """Return the one column that is probably the labels; None if there is none or more.

    All its values are classes of the options. If no column is like this, most of its cells are
    empty, and its values are several and repeat.
    """
    if options.labels is not None or own_label(table.columns, options) is not None:
        return None
    texts = {str(column.name): _texts(column) for column in columns}
    found = [name for name, known in texts.items() if known.isin(options.classes).all()]
    if not found:
        found = [
            str(column.name)
            for column in columns
            if column.isna().mean() > 0.5 and column.nunique() > 1 and _repeats(_texts(column))
        ]
    return found[0] if len(found) == 1 else None


def _texts(column: pd.Series) -> pd.Series:
    """Return the texts of the cells that are not empty."""
    return column.dropna().astype(str).str.strip()


def _repeats(known: pd.Series) -> bool:
    return known.nunique() < len(known)
