"""Tables that are matrices: a row and a column for each node, as R and pandas write them.

Cells above or below the diagonal may be left blank.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest

import numpy as np
from numpy.typing import NDArray

from graphuq.cli.files.contents import NUMBERED, Contents
from graphuq.cli.files.edges import ENDS
from graphuq.cli.files.label_table import ID, LABEL
from graphuq.cli.files.numbers import is_number
from graphuq.cli.files.options import ReadOptions
from graphuq.cli.files.problems import Problems
from graphuq.cli.files.table import Table
from graphuq.cli.files.text_table import MISSING, TextTable
from graphuq.graphs import Graph

# A table with fewer rows is no matrix.
MIN_NODES = 3


def find_edge_matrix(table: Table, options: ReadOptions) -> Contents | None:
    """Return the graph whose weights a table holds, None of another table.

    Raises
    ------
    ValueError
        ``--edges`` or ``--table`` does not say whether it is one; its names do not match; cells
        that are not numbers; a matrix that is not symmetric, or has negative weights.
    """
    if options.edges is False:
        return None
    if options.edges:
        numbers = all(map(is_number, next(table.rows(), (0, []))[1]))  # or an empty file
        if numbers:
            return _read(table, options, ()) if _is_plain(table) else None
        if _is_named(table):
            return _read(table, options, table.columns[1:], skipped=1)
        if _is_square(table, options):
            return _read(table, options, table.columns)
        _require_names_in_order(table)
        return None
    named = _is_named(table)
    if named or _is_square(table, options):
        why = "the rows are called as the columns"
        if not named:
            why = "as many rows as columns, and the same numbers across the diagonal"
        raise ValueError(
            f"{table.path}: {why}: use --edges if the cells are weights of edges, or --table if "
            "each row is an item, and its cells are features"
        )
    return None


def _is_named(table: Table) -> bool:
    """Return whether the rows are called as the columns after the first one are."""
    first, *names = table.columns
    if isinstance(table, TextTable):  # most tables differ in the first row already
        cells: Iterator[str] = (row[0].strip() for _, row in islice(table.rows(), 1, None))
    else:
        cells = iter(table.texts(first))
    pairs = zip_longest(islice(cells, len(names) + 1), names)
    return len(names) >= MIN_NODES and all(cell == name for cell, name in pairs)


def _is_square(table: Table, options: ReadOptions) -> bool:
    """Return whether there are as many rows as columns, and numbers that are the same across.

    With ``--edges`` halves may differ, which is refused later. Three columns may list edges.
    """
    width, names = len(table.columns), {name.lower() for name in table.columns}
    roles = {ID, LABEL, options.label, options.id_column, options.truth}
    if width <= MIN_NODES or roles & {*table.columns, *names}:
        return False
    if any(names >= {*ends} for ends in ENDS):
        return False
    rows: list[list[str]] = []
    same = above = below = True  # are equal, are blank
    for k, (_, cells) in enumerate(islice(table.rows(), 1, width + 2)):
        row = [_written(cell) for cell in cells]
        if len(row) != width or k == width or not all(map(is_number, filter(None, row))):
            return False
        same &= all(row[i] == rows[i][k] for i in range(k))
        above, below = above and not any(row[k + 1 :]), below and not any(row[:k])
        if not (same or above or below or options.edges):  # most differ in the first rows
            return False
        rows.append(row)
    return len(rows) == width


def _written(cell: str) -> str:
    """Return what is written in a cell, "" if that marks a missing value."""
    text = cell.strip()
    return "" if text in MISSING else text


def _is_half_blank(written: NDArray[np.bool_]) -> bool:
    """Return whether all cells above the diagonal, or all below it, are blank, and others not."""
    return bool(np.triu(written, 1).any() != np.tril(written, -1).any())


def _require_names_in_order(table: Table) -> None:
    """Refuse a table of edges whose rows are called nearly as its columns are."""
    names = [name.lower() for name in table.columns[1:]]
    cells = {row[0].strip().lower() for _, row in islice(table.rows(), 1, None)}
    if len(names) >= MIN_NODES and 2 * len(cells & {*names}) > len(names):
        raise ValueError(
            f"{table.path}: the rows are called nearly as the columns are: a matrix of weights has "
            "the same names, in the same order, in its first row and its first column"
        )


def _is_plain(table: Table) -> bool:
    """Return whether the file holds numbers alone, in as many rows as columns."""
    rows = [cells for _, cells in table.rows()]
    width = len(rows[0]) if rows else 0
    return len(rows) == width > MIN_NODES and all(
        len(cells) == width and all(map(is_number, cells)) for cells in rows
    )


def _read(table: Table, options: ReadOptions, names: Sequence[str], skipped: int = 0) -> Contents:
    """Return the names of the nodes, if the table has any, and the graph.

    ``skipped`` cells of each row are names.
    """
    if options.weight is not None or options.ignore:
        raise ValueError(
            f"{table.path}: --weight and --ignore cannot be used with a matrix: leave them out"
        )
    problems = Problems()
    body = islice(table.rows(), 1 if names else 0, None)
    rows = [(line, cells[skipped:]) for line, cells in body]
    n = len(rows)
    A, written = np.zeros((n, n)), np.zeros((n, n), dtype=np.bool_)
    for i, (line, cells) in enumerate(rows):
        for j, cell in enumerate(cells[:n]):
            text = _written(cell)
            written[i, j] = text != ""
            if is_number(text or "0"):
                A[i, j] = float(text or "0")
            else:
                problems.add(
                    f"{table.path}, line {line}, column {j + 1 + skipped}: {text!r} is not a "
                    "number: correct it, or leave the cell blank if there is no edge"
                )
    problems.require_none()
    notes: tuple[str, ...] = ()
    if _is_half_blank(written):
        A += np.triu(A, 1).T + np.tril(A, -1).T
        notes = ("half of the matrix is blank: the weights of the other half hold both ways",)
    try:
        graph = Graph(A)
    except (ValueError, TypeError) as error:
        half = not np.triu(A, 1).any() or not np.tril(A, -1).any()
        hint = "; if half of the matrix stands for both, leave the other half blank" if half else ""
        raise ValueError(f"{table.path}: {error}{hint}") from error
    if names:
        return Contents(np.array(names), None, graph, {}, notes)
    return Contents(np.arange(n).astype(str), None, graph, {}, (*notes, NUMBERED))
