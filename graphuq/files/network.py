"""Graphs as they are written: lists of edges, and GraphML."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from graphuq.files.table import MISSING, Table, TextTable
from graphuq.graphs import Graph

# First lines that tell a list of edges from a table of items; a column of weights may follow.
ENDS = (["source", "target"], ["from", "to"])


def names_edges(table: Table) -> bool:
    """Return whether the columns are source, target and perhaps weight."""
    names = [name.lower() for name in table.columns]
    return names[:2] in ENDS and names[2:] in ([], ["weight"])


def edge_list(table: TextTable) -> tuple[NDArray[Any], Graph]:
    """Return ids of nodes, in order of their first edge, and the undirected graph.

    An edge that is listed more than once, or in both directions, has its largest weight.

    Parameters
    ----------
    table : TextTable
        Of two columns, and perhaps a third of weights; the first line may name them.

    Raises
    ------
    ValueError
        Rows without two ends, weights that are no positive numbers, no edges.
    """
    position: dict[str, int] = {}
    weights: dict[tuple[int, int], float] = {}
    rows = table.rows()
    first = next(rows, None)
    if first is None:
        raise ValueError(f"{table.path} is empty: expected lines of source,target[,weight]")
    named = [cell.strip().lower() for cell in first[1][:2]] in ENDS
    for line, cells in rows if named else (first, *rows):
        cells = [cell.strip() for cell in cells]
        where = f"{table.path}, line {line}"
        if len(cells) not in (2, 3):
            raise ValueError(
                f"{where}: expected source{table.separator}target[{table.separator}weight], got "
                f"{len(cells)} column" + "s" * (len(cells) != 1) + ": mend that line"
            )
        for column, cell in zip(("source", "target"), cells, strict=False):
            if cell in MISSING:
                raise ValueError(f"{where}, column {column!r}: the edge has no {column}: name it")
        weight = _weight(cells[2], where) if len(cells) == 3 else 1.0
        a, b = (position.setdefault(name, len(position)) for name in cells[:2])
        pair = min(a, b), max(a, b)
        weights[pair] = max(weight, weights.get(pair, 0.0))
    if len(position) < 2:
        raise ValueError(f"{table.path} lists no edge between two nodes")
    i, j = np.array(list(weights)).T
    upper = sparse.coo_array((list(weights.values()), (i, j)), shape=(len(position),) * 2)
    adjacency = sparse.csr_array(upper)
    return _texts(position), Graph(adjacency.maximum(adjacency.T))


def graphml(path: Path) -> tuple[NDArray[Any], Graph, dict[str, dict[str, Any]], tuple[str, ...]]:
    """Return ids, the undirected graph, every node's attributes by id, and notes.

    Raises
    ------
    ModuleNotFoundError
        Without networkx.
    ValueError
        A damaged file, weights that are negative or no numbers.
    """
    try:
        import networkx
    except ImportError as error:
        raise ModuleNotFoundError(
            "GraphML needs networkx: pip install 'graphuq[networkx]', or save a list of edges"
        ) from error
    from xml.etree.ElementTree import ParseError

    try:
        network = networkx.read_graphml(path)
    except (ParseError, networkx.NetworkXError, KeyError, ValueError) as error:
        raise ValueError(f"{path} is not GraphML, or is damaged: {error}: mend it") from error
    notes = []
    if network.is_directed():
        network = network.to_undirected()
        notes.append("took edges without their directions")
    try:
        graph = Graph(network)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from error
    attributes = {str(node): dict(held) for node, held in network.nodes(data=True)}
    return _texts(attributes), graph, attributes, tuple(notes)


def connected(
    ids: NDArray[Any], graph: Graph, path: Path, largest: bool
) -> tuple[NDArray[np.bool_], Graph, tuple[str, ...]]:
    """Return which nodes are kept, the connected graph of these, and notes.

    Raises
    ------
    ValueError
        A graph of several components, unless ``largest`` asks for the largest of them.
    """
    kept = graph.component == 0
    if kept.all():
        return kept, graph, ()
    n, outside = ids.size, int(np.argmin(kept))
    if not largest:
        raise ValueError(
            f"{path}: the graph falls into {graph.n_components} components; the largest has "
            f"{kept.sum()} of {n} nodes, and {ids[outside].item()!r} is not in it: keep that one "
            "with --largest-component, or add the edges that are missing"
        )
    note = f"left out {n - kept.sum()} of {n} nodes outside the largest component"
    return kept, graph.largest_component(), (note,)


def _weight(text: str, where: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if not 0 < weight < math.inf:
        raise ValueError(
            f"{where}, column 'weight': {text!r} is not a positive number: mend it, or drop that "
            "edge"
        )
    return weight


def _texts(values: Any) -> NDArray[Any]:
    return np.array([str(value) for value in values])
