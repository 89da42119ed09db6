"""Text columns that are not declared to hold categories: what they may be instead."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote

import pandas as pd

from graphuq.cli.files.numbers import first_misfit
from graphuq.cli.files.probable_roles import has_repeats
from graphuq.cli.files.problems import Problems
from graphuq.cli.files.table import Table


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
            "correct it, treat text columns as categories with --categorical, or this one with "
            f"--categorical {quote(name)}, exclude it with --ignore {quote(name)}, or, if it names "
            f"the items, use --id {quote(name)}",
            option,
        )
