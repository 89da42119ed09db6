"""Lists of edges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from graphuq.cli.files.columns import NUMBERS
from graphuq.cli.files.contents import Contents
from graphuq.cli.files.edge_lines import EdgeLines
from graphuq.cli.files.numbers import AmbiguousColumnError, read_numbers
from graphuq.cli.files.options import ReadOptions
from graphuq.cli.files.problems import Problems, flag
from graphuq.cli.files.table import Table
from graphuq.cli.files.text_table import MISSING
from graphuq.graphs import Graph
from graphuq.graphs.mistaken_weights import names_distances
from graphuq.utils.words import count, list_names

# Column names that tell a list of edges from a table of items.
ENDS = (["source", "target"], ["from", "to"], ["src", "dst"])

# Names of a column of weights.
WEIGHTS = ("weight", "weights", "w")

Row = tuple[int, list[str]]


class EdgeColumns(NamedTuple):
    """Where a list of edges has the ends and the weights of its edges.

    Attributes
    ----------
    ends : (int, int)
    weight : int or None
    ignored : list of str
        Names of the other columns.
    has_header : bool
        Whether the first line has the names of the columns.
    width : int
        Number of columns.
    """

    ends: tuple[int, int]
    weight: int | None
    ignored: list[str]
    has_header: bool
    width: int


def read_edges(table: Table | EdgeLines, options: ReadOptions) -> Contents:
    """Return the ids of the nodes, in the order of their first edge, and the undirected graph.

    The weights of an edge that is listed more than once, in one or both directions, are added,
    unless the list has every edge in both directions with one weight.

    Parameters
    ----------
    table : Table or EdgeLines
        Two columns, and optionally others, of which one may have weights; the first line may name
        them.
    options : ReadOptions

    Raises
    ------
    ValueError
        All rows without two ends, weights that are not positive numbers; no edges.
    """
    rows = list(table.rows())
    if not rows:
        raise ValueError(f"{table.path} is empty: expected lines of source,target[,weight]")
    columns = find_columns(table, rows, options)
    body = rows[1:] if columns.has_header else rows
    weights = _read_weights(table, body, columns, options.decimal)
    position: dict[str, int] = {}
    for pair in weights:
        for end in pair:
            position.setdefault(end, len(position))
    if len(position) < 2:
        raise ValueError(f"{table.path} has no edge between two nodes: add lines of source,target")

    # Add up the weights of each pair of nodes.
    is_symmetric = len(weights) > 1 and all(
        weights.get((b, a)) == listed for (a, b), listed in weights.items()
    )
    total: dict[tuple[int, int], float] = {}
    n_repeated = len(body)
    for (a, b), listed in weights.items():
        i, j = sorted((position[a], position[b]))
        if not (is_symmetric and (i, j) in total):
            total[i, j] = total.get((i, j), 0.0) + math.fsum(listed)
    n_repeated -= len(total) * (1 + is_symmetric)
    i_j = np.array(list(total)).T
    upper = sparse.coo_array((list(total.values()), i_j), shape=(len(position),) * 2)
    adjacency = sparse.csr_array(upper)
    graph = Graph(adjacency.maximum(adjacency.T))

    notes = []
    if columns.has_header or columns.weight is not None:
        names = table.columns if columns.has_header else []
        notes += _describe_columns(names, columns)
    if is_symmetric:
        notes.append("the list has every edge in both directions: each counts once")
    if n_repeated > 0:
        notes.append(f"added the weights of edges listed more than once ({n_repeated} repeated)")
    loops = sum(i == j for i, j in total)
    if loops:
        notes.append(f"{count(loops, 'edge')} from a node to itself")
    return Contents(
        np.array(list(position)), None, graph, {}, tuple(notes),
        names=table.columns if columns.has_header else (),
    )  # fmt: skip


def find_columns(
    table: Table | EdgeLines, rows: Sequence[Row], options: ReadOptions
) -> EdgeColumns:
    """Return the columns of ends and weights; ask if a column of numbers may be weights."""
    first = [cell.strip() for cell in rows[0][1]]
    names = [name.lower() for name in first]
    if len(first) < 2:
        raise ValueError(
            f"{table.path}, line {rows[0][0]}: expected source{table.separator}target"
            f"[{table.separator}weight], got 1 column: separate the columns by a comma, a "
            "semicolon or a tab"
        )
    pair = next((ends for ends in ENDS if set(ends) <= set(names)), None)
    skipped = int(first[0] == "" or (pair is None and names[0] == "id" and len(names) > 2))
    if pair is not None:
        ends = names.index(pair[0]), names.index(pair[1])
    else:
        ends = skipped, skipped + 1
    has_header = pair is not None or skipped == 1 or _names_columns(rows, first, ends)
    others = [k for k in range(len(first)) if k not in ends and first[k] not in options.ignore]
    if not has_header:
        weight = others[0] if others else None
        return EdgeColumns(ends, weight, [], False, len(first))
    if options.weight is not None:
        if options.weight not in first:
            raise ValueError(
                f"{table.path} has no column {options.weight!r} (--weight): name one of its "
                f"columns: {list_names(first)}"
            )
        weight = first.index(options.weight)
    else:
        weight = next((k for k in others if names[k] in WEIGHTS), None)
        numeric = [
            k for k in others
            if weight is None and first[k] and _holds_weights(rows, k, options.decimal)
        ]  # fmt: skip
        if numeric:
            name = first[numeric[0]]
            doubt = (
                ", which are large where nodes are near; of distances, write 1 / distance"
                if names_distances(name)
                else ""
            )
            raise ValueError(
                f"{table.path}, column {name!r}: the numbers may be weights of the edges: use "
                f"{flag('--weight', name)} if they are{doubt}, or {flag('--ignore', name)}"
            )
    ignored = [first[k] for k in range(len(first)) if k not in (*ends, weight) and first[k]]
    return EdgeColumns(ends, weight, ignored, True, len(first))


def _names_columns(rows: Sequence[Row], first: Sequence[str], ends: tuple[int, int]) -> bool:
    """Return whether the first line has names: its two ends occur nowhere else."""
    if len(rows) < 2 or all(_is_whole(first[k]) for k in ends if k < len(first)):
        return False
    if all(len(cells) > max(ends) and all(_is_whole(cells[k].strip()) for k in ends)
           for _, cells in rows[1:]):  # fmt: skip
        return True
    return not any(
        cells[k].strip() in (first[ends[0]], first[ends[1]])
        for _, cells in rows[1:]
        for k in ends
        if k < len(cells)
    )


def _holds_weights(rows: Sequence[Row], column: int, decimal: str | None) -> bool:
    cells = [cells[column] for _, cells in rows[1:] if column < len(cells)]
    try:
        return bool(cells) and None not in _to_weights(cells, decimal)
    except AmbiguousColumnError:  # they are numbers
        return True


def _read_weights(
    table: Table | EdgeLines, body: Sequence[Row], columns: EdgeColumns, decimal: str | None
) -> dict[tuple[str, str], list[float]]:
    """Return the weights listed for each pair of ends, in the order of the list."""
    problems = Problems()
    weights: dict[tuple[str, str], list[float]] = {}
    width, separator = columns.width, table.separator
    expected = f"source{separator}target" + f"[{separator}weight]" * (width == 3)
    if width > 3:
        expected = f"{count(width, 'value')} as in the first line"
    at = columns.weight
    texts = ["1" if at is None else row[at] if at < len(row) else "" for _, row in body]
    try:
        found = [1.0] * len(body) if at is None else _to_weights(texts, decimal)
    except AmbiguousColumnError as error:
        raise ValueError(f"{table.path}, weights of edges: {error}") from error
    for (line, row), text, weight in zip(body, texts, found, strict=True):
        cells = [cell.strip() for cell in row]
        where = table.path, line
        if len(cells) != width:
            got = count(len(cells), "column")
            problems.add(_at(where, f"expected {expected}, got {got}: correct that line"))
            continue
        ends = cells[columns.ends[0]], cells[columns.ends[1]]
        if ends[0] not in MISSING and ends[1] not in MISSING and weight is not None:
            weights.setdefault(ends, []).append(weight)
            continue
        for column, end in zip(("source", "target"), ends, strict=True):
            if end in MISSING:
                problems.add(_at(where, f"the edge has no {column}: add its id", column))
        if weight is None:
            fault = f"{text.strip()!r} is not a positive number: correct it, or remove the edge"
            named = table.columns[at] if columns.has_header and at is not None else "weight"
            problems.add(_at(where, fault, named))
    problems.require_none()
    return weights


def _at(where: tuple[Path, int], fault: str, column: str | None = None) -> str:
    """Return the message for a fault in a line."""
    path, line = where
    return f"{path}, line {line}{'' if column is None else f', column {column!r}'}: {fault}"


def _describe_columns(names: Sequence[str], columns: EdgeColumns) -> list[str]:
    if not columns.has_header:
        return ["the third column has the weights of the edges"]
    notes = [f"edges: each joins {names[columns.ends[0]]!r} to {names[columns.ends[1]]!r}"]
    if columns.weight is not None:
        notes[0] += f", with weight {names[columns.weight]!r}"
    if columns.ignored:
        notes.append(f"ignored the columns {list_names(columns.ignored)}")
    return notes


def _to_weights(texts: Sequence[str], decimal: str | None) -> list[float | None]:
    """Return positive numbers, None in place of other texts; commas as in columns of tables."""
    cells = pd.Series(texts, dtype=object).str.strip()
    found = read_numbers(cells.mask(cells == ""), decimal)
    if found is None or found.form.form != NUMBERS:  # text, dates, yes and no
        return [None] * len(texts)
    return [float(value) if 0 < value < math.inf else None for value in found.values]


def _is_whole(text: str) -> bool:
    try:
        return float(text) % 1 == 0
    except ValueError:
        return False


def keep_largest(contents: Contents) -> Contents:
    """Return the contents with the largest component of the graph alone."""
    graph, n = contents.graph, contents.ids.size
    assert graph is not None
    kept = graph.component == 0
    if kept.all():
        return contents
    note = f"dropped {n - kept.sum()} of {n} nodes outside the largest component"
    return contents._replace(
        graph=graph.largest_component(), notes=(*contents.notes, note), kept=kept
    )
