"""Columns without a declared role: what they may be instead of features."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import pandas as pd

from graphuq.cli.files.columns import known_texts
from graphuq.cli.files.numbers import NOT_A_NUMBER, first_misfit
from graphuq.cli.files.probable_roles import MOSTLY, find_counters, has_repeats
from graphuq.cli.files.problems import Problems, flag
from graphuq.cli.files.table import Table
from graphuq.cli.files.texts import UNSPACED
from graphuq.utils.typing import Array
from graphuq.utils.warnings import warn

# A text column with more different values is probably a column of names, or of sentences.
MAX_CATEGORIES = 50

# Texts of so many words, on average, are sentences.
N_WORDS = 4


def report_texts(
    table: Table,
    columns: Sequence[pd.Series],
    labels: Sequence[str],
    ids: str | None,
    problems: Problems,
) -> None:
    """Ask about each column, and offer the use that is probably right first.

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
        n_different, repeats = known_texts(column).nunique(), has_repeats(column)
        uses = ["ignore"]
        if name in labels:
            uses = ["label", "categorical", *uses]
        elif _are_sentences(column):
            uses = ["text", *uses]
        elif name == ids:
            uses = ["id", *uses]
        elif not repeats and fault == NOT_A_NUMBER:
            mostly = column.isna().mean() > MOSTLY
            uses += ["label"] if mostly else ["id"] if column.notna().all() else []
        if n_different <= MAX_CATEGORIES and "categorical" not in uses:
            first = repeats and "text" not in uses
            uses = ["categorical", *uses] if first else [*uses, "categorical"]
        options = [flag(f"--{use}", name) for use in uses]
        text = repr(str(column.iloc[row]).strip())
        fits = f"{text} is {fault}"
        if n_different > MAX_CATEGORIES:
            fits = (
                f"expected at most {MAX_CATEGORIES} categories, got {n_different} different texts "
                f"such as {text}"
            )
        problems.ask(
            name,
            f"{table.where(row, name)}: {fits}",
            list_options(options),
            "" if name in labels and len(labels) > 1 else options[0],
            odd="" if fault == NOT_A_NUMBER else f"{table.line(row)}: {fits}",
        )


def list_options(options: Sequence[str]) -> str:
    """Return options to choose from.

    Examples
    --------
    >>> list_options(["--id name", "--label name", "--ignore name"])
    '--id name, --label name, or --ignore name'
    """
    *first, last = options
    return f"{', '.join(first)}, or {last}" if first else last


def _are_sentences(column: pd.Series) -> bool:
    """Return whether the texts have several words; 2 characters count as 1 in unspaced scripts."""
    texts = known_texts(column)
    words = texts.str.split().str.len() + texts.str.count(f"[{UNSPACED}]") / 2
    return float(words.mean()) >= N_WORDS


def warn_of_codes(table: Table, numbers: Collection[str]) -> None:
    """Warn of columns of numbers that may be codes, such as postal ones."""
    for name, text in table.padded().items():
        if name in numbers:
            uses = [flag("--categorical", name), flag("--ignore", name)]
            warn(
                f"{table.path}, column {name!r} has {text!r}, which begins with 0: if its numbers "
                f"are codes, use {list_options(uses)}; now they are a feature"
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
        use = exclude = flag("--ignore", name)
        if not named:
            use = list_options([flag("--id", name), exclude])
        text = (
            f"{table.path}, column {name!r} has the whole numbers from {low:.0f} to {high:.0f}, "
            f"each once"
        )
        if problems.found:
            problems.ask(
                name,
                text,
                use,
                exclude if named else flag("--id", name),
                odd="whole numbers, each once",
            )
        else:
            warn(f"{text}: if they count the items, use {use}; now it is a feature")
        named = True
