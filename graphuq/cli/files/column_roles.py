"""The role of each column of a table of items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from graphuq.cli.files.class_column import to_ids
from graphuq.cli.files.columns import LABELS
from graphuq.cli.files.label_table import ID, LABEL, no_column
from graphuq.cli.files.options import ALL, ReadOptions
from graphuq.cli.files.problems import Problems
from graphuq.cli.files.table import Table

# The option that remedies a table whose labels are in no known column.
NAME_LABELS = "--label COLUMN"


class ColumnRoles:
    """Which columns hold ids, classes and features.

    Attributes
    ----------
    classes : list of str
        Columns of labels, of true classes and of groups.
    features : list of str
        All columns without another role.
    as_text : list of str
        Columns that are read as they are written.
    key : str or None
        The column of ids.
    named : set of str
        Columns of ids and classes, empty ones, and one without a name.
    described : dict of str to str
        What columns are, other than features.
    misnamed : bool
        Whether an option names a column that does not exist.
    """

    def __init__(self, table: Table, options: ReadOptions, problems: Problems) -> None:
        names = table.columns
        self._table = table
        self.misnamed = _require_columns(table, options, problems)
        own = own_label(names, options)
        people = options.annotators if options.labels is None else ()
        named = options.labels is not None or own is not None or options.truth or people
        if options.needs_labels and not named:
            problems.add(
                f"{table.path} has no column 'label': name the column of labels with --label, or a "
                "file of labels with --labels",
                NAME_LABELS,
            )
        self.key = options.id_column
        if self.key is None:
            self.key = default_id(names, options.ignore)
        elif self.key not in names:
            self.key = None
        wanted = dict.fromkeys([own, options.truth, options.groups, *people])
        self.classes = [name for name in wanted if name is not None and name in names]
        # as pandas writes the index of a data frame
        index = [name for name in names if name == "" and name != self.key]
        self.named = {*self.classes, self.key, *table.empty_columns, *index}
        roles = self.named | {*options.ignore}
        texts = [name for name in options.text if name in names]
        self.as_text = [*self.classes, *texts, *([] if self.key is None else [self.key])]
        self.features = [name for name in names if name not in roles]
        self.described: dict[str | None, str] = {
            **{name: "not used" for name in names if name not in self.features},
            **dict.fromkeys(index, "not used, it has no name"),
            options.groups: "groups",
            options.truth: "true classes",
            own: LABELS,
            **dict.fromkeys(people, "labels of an annotator"),
            self.key: "ids",
        }

    def ids(self, frame: pd.DataFrame, problems: Problems) -> NDArray[Any]:
        """Return the ids of the rows, each one once."""
        if self.key is None:
            return np.arange(len(frame)).astype(str)
        written = to_ids(frame[self.key])
        blank = [row for row, text in enumerate(written) if text is None]
        if blank:
            more = f" (in {len(blank)} rows)" if len(blank) > 1 else ""
            where = self._table.where(blank[0], self.key)
            problems.add(f"{where}: the id is missing{more}: give the item an id")
        several = ", and labels by several people in a second table (--labels, --annotator)"
        report_repeated_ids(self._table, self.key, written, problems, several)
        return np.array(["" if text is None else text for text in written])


def report_repeated_ids(
    table: Table, key: str, written: NDArray[Any], problems: Problems, also: str = ""
) -> None:
    """Add the problem of ids that several rows have, and ``also`` a remedy; None is not an id."""
    first: dict[str, int] = {}
    repeated = []
    for row, text in enumerate(written):
        if text is not None and first.setdefault(text, row) != row:
            repeated.append(row)
    if repeated:
        row, text = repeated[0], written[repeated[0]]
        more = f", and {len(repeated) - 1} more" if len(repeated) > 1 else ""
        problems.add(
            f"{table.where(row, key)}: duplicate id {text!r} (first in "
            f"{table.where(first[text], key)}{more}): give every item its own id{also}"
        )


def own_label(names: Sequence[str], options: ReadOptions) -> str | None:
    """Return the name of the column of labels, without those to exclude; None if there is none."""
    if options.label is not None:
        return options.label
    return LABEL if LABEL in names and LABEL not in options.ignore else None


def default_id(names: Sequence[str], ignore: Sequence[str]) -> str | None:
    """Return the column ``id``, or else one without a name, unless it is ignored."""
    left = [name for name in names if name not in ignore]
    return next((name for name in left if name.lower() == ID), "" if "" in left else None)


def _require_columns(table: Table, options: ReadOptions, problems: Problems) -> bool:
    """Refuse names of columns that do not exist, and two sources of labels.

    Return whether a name does not exist.
    """
    names, misnamed = table.columns, False
    for option, name in (
        ("--label", None if options.labels else options.label),
        ("--id", options.id_column),
        *(("--text", name) for name in options.text),
        ("--groups", options.groups),
        *(("--annotator", name) for name in options.annotators if options.labels is None),
        *(("--ignore", name) for name in options.ignore if name not in options.elsewhere),
        *(("--show", name) for name in options.show),
        *(("--categorical", name) for name in options.categorical if name != ALL),
    ):
        if name is not None and name not in names:
            problems.add(no_column(table.path, option, name, names))
            misnamed = True
    if options.label is not None and options.label in options.ignore:
        problems.add(
            f"{table.path}: --label and --ignore both name the column {options.label!r}: leave out "
            "one of them"
        )
    second = "--labels" if options.labels is not None else "--annotator"
    two = options.labels is not None or len(options.annotators) > 1
    if two and LABEL in names and LABEL not in (*options.ignore, *options.annotators):
        problems.add(
            f"{table.path} has a column 'label', and {second} names a second source of labels: "
            f"exclude the column with --ignore label, or leave out {second}"
        )
    return misnamed
