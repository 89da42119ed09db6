"""Tell a list of edges from a table of items."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from graphuq.cli.files.class_column import to_ids
from graphuq.cli.files.column_roles import default_id
from graphuq.cli.files.edges import ENDS, WEIGHTS
from graphuq.cli.files.label_table import ID, LABEL, key_column
from graphuq.cli.files.options import ReadOptions
from graphuq.cli.files.table import TABLES, Table, open_table, require_file

# Two columns list edges if they share this fraction of their values, and this fraction of the
# pairs is distinct: a graph joins two nodes once, and ratings repeat.
MIN_SHARED, MIN_DISTINCT = 0.5, 0.9

# The first rows exclude most tables of features.
FIRST_ROWS = 200


class _Ends(NamedTuple):
    """Two columns that may be the ends of edges."""

    names: tuple[str, str]
    pairs: list[tuple[str, str]]

    @property
    def values(self) -> set[str]:
        return {end for pair in self.pairs for end in pair}

    def share_ids(self) -> bool:
        """Whether the columns share their values, and no pair is frequent."""
        first, second = ({pair[k] for pair in self.pairs} for k in (0, 1))
        shared = len(first & second) / min(len(first), len(second))
        distinct = len(set(self.pairs)) / len(self.pairs)
        return shared >= MIN_SHARED and distinct >= MIN_DISTINCT


def lists_edges(table: Table, options: ReadOptions) -> bool:
    """Return whether each row of a table is an edge.

    The header decides if it names the ends of edges. Otherwise, a second table of labels decides:
    its ids are those of the items, or occur in two columns of the table, which share their values.

    Raises
    ------
    ValueError
        Both may be: ``--edges`` or ``--table`` says so.
    """
    if options.edges is not None:
        return options.edges
    names = [name.lower() for name in table.columns]
    has_labels = LABEL in table.columns and LABEL not in options.ignore
    in_table = has_labels or (options.labels is None and options.label in table.columns)
    if any(set(ends) <= set(names) for ends in ENDS):
        ends = next(ends for ends in ENDS if set(ends) <= set(names))
        others = set(names) - {*ends, *WEIGHTS}
        if not others or (names[:2] == ends and not in_table):
            return True
        if in_table:
            raise _in_doubt(table, (ends[0], ends[1]), "and other columns name items")
    has_id = options.id_column is not None or ID in names
    elsewhere = options.labels is None and options.label is not None
    if in_table or has_id or elsewhere or options.truth in table.columns:
        return False
    found = _find_ends(table, options)
    if found is None:
        return False
    if options.labels is None:
        if options.truth is None and found.share_ids():
            raise ValueError(
                f"{table.path} has no column 'label': name the column of labels with --label; or, "
                f"if each row is an edge between {found.names[0]!r} and {found.names[1]!r}, use "
                "--edges, and name a file of labels with --labels"
            )
        return False
    labeled = _labeled_ids(Path(options.labels), options.encoding)
    if not labeled:
        return False
    among_ends = len(labeled & found.values) / len(labeled)
    if among_ends < MIN_SHARED and not found.share_ids():
        return False
    rows = {str(k) for k in range(len(found.pairs))}
    if among_ends == 1 and not labeled <= rows:
        return True
    reason = "share one set of ids" if found.share_ids() else "hold the ids of the labels"
    raise _in_doubt(table, found.names, f"whose values {reason}")


def _find_ends(table: Table, options: ReadOptions) -> _Ends | None:
    """Return the first two columns, after that of ids, if they hold names or whole numbers."""
    names = list(table.columns)
    key = default_id(names, options.ignore)
    ends = [k for k, name in enumerate(names) if name != key and name not in options.ignore][:2]
    if len(ends) < 2:
        return None
    pairs: list[tuple[str, str]] = []
    for row, (_, cells) in enumerate(table.rows()):
        if len(cells) <= max(ends):
            return None
        pairs.append((cells[ends[0]].strip(), cells[ends[1]].strip()))
        if row == FIRST_ROWS and any(_is_fraction(end) for pair in pairs[1:] for end in pair):
            return None
    header, body = pairs[0], pairs[1:]
    if not body or any(_is_fraction(end) for pair in body for end in pair):
        return None
    # A list without names of columns begins with an edge.
    if any(end in header for pair in body for end in pair):
        body = pairs
    return _Ends((names[ends[0]], names[ends[1]]), body)


def _labeled_ids(path: Path, encoding: str) -> set[str]:
    """Return the ids in a table of labels; none if it cannot be read, which is reported later."""
    if require_file(path) not in TABLES:
        return set()
    table = open_table(path, encoding)
    key = table.columns.index(key_column(table.columns))
    ids = [cells[key] for row, (_, cells) in enumerate(table.rows()) if row and key < len(cells)]
    return {text for text in to_ids(ids).tolist() if text}


def _in_doubt(table: Table, names: Sequence[str], reason: str) -> ValueError:
    return ValueError(
        f"{table.path}: the columns {names[0]!r} and {names[1]!r}, {reason}, may list edges or be "
        "features: use --edges if each row is an edge, or --table if each row is an item"
    )


def _is_fraction(text: str) -> bool:
    """Return whether a text is a number, but not a whole one."""
    try:
        return float(text) % 1 != 0
    except ValueError:
        return False
