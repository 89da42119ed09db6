"""Links between items that have features, from a list of edges or a graph of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from graphuq.cli.files.contents import NUMBERED, Contents
from graphuq.cli.files.problems import MAX_NAMED
from graphuq.graphs import Graph
from graphuq.utils.words import choose_form, count, list_names

Ids = NDArray[Any]


def add_links(contents: Contents, links: Contents, path: Path, source: Path) -> Contents:
    """Return the contents of a file with the links of a second one.

    Parameters
    ----------
    contents : Contents
        Items with features.
    links : Contents
        The graph of some of them, and perhaps of others, which are left out.
    path, source : Path
        The two files, named in messages.

    Raises
    ------
    ValueError
        The first file has links, the second has features, or the two name items differently.
    """
    if contents.graph is not None:
        raise ValueError(
            f"{path} has links of its own, and --links names others: leave out --links"
        )
    _require_names(contents, links, path, source)
    A = weights_between(links, contents.ids, contents.ids, source)
    notes = [*contents.notes, *notes_on_links(links, contents.ids, source)]
    return contents._replace(graph=Graph(A), linked=True, notes=tuple(notes))


def _require_names(contents: Contents, links: Contents, path: Path, source: Path) -> None:
    """Refuse nodes by number where items have names, and numbers that count from 1."""
    numbered, by_number = NUMBERED in contents.notes, NUMBERED in links.notes
    if by_number and not numbered:
        raise ValueError(
            f"{source} numbers its nodes, and the items of {path} have names: save it with ids=..."
        )
    n, names = contents.ids.size, {*links.ids.tolist()}
    if numbered and str(n) in names and "0" not in names:
        raise ValueError(
            f"{source} counts from 1 to {n}, and the items of {path} have no names, which are then "
            f"0 to {n - 1}: add a column id to the table"
        )


def weights_between(links: Contents, rows: Ids, columns: Ids, source: Path) -> sparse.csr_array:
    """Return the weights of the links from some items to others, shape (m, n)."""
    if links.graph is None or links.features is not None:
        raise ValueError(
            f"{source} (--links) has features: give a list of edges, or a graph without features"
        )
    place = pd.Index(links.ids)
    S, T = (_selection(place.get_indexer(ids), links.ids.size) for ids in (rows, columns))
    found = sparse.csr_array(S @ sparse.csr_array(links.graph.adjacency) @ T.T)
    found.eliminate_zeros()
    return found


def notes_on_links(links: Contents, ids: Ids, source: Path) -> list[str]:
    """Return what is said of a file of links: how it was read, and which nodes are no items."""
    notes = [f"{source}: {note}" for note in links.notes if note != NUMBERED]
    others = links.ids[~np.isin(links.ids, ids)].tolist()
    if others:
        what = f"{count(len(others), 'node')} that {choose_form(len(others), 'is', 'are')} no item"
        notes.append(f"{source}: left out {what}: {list_names(others, MAX_NAMED)}")
    return notes


def restrict(contents: Contents, source: Path) -> Contents:
    """Return linked contents whose graph has only the items that are kept.

    Raises
    ------
    ValueError
        No two of them are linked.
    """
    if not contents.linked or contents.graph is None:
        return contents
    ids, graph = contents.ids, contents.graph
    if contents.kept is not None:
        kept = np.flatnonzero(contents.kept)
        ids = ids[kept]
        graph = Graph(sparse.csr_array(sparse.csr_array(graph.adjacency)[kept][:, kept]))
    i, j = sparse.coo_array(graph.adjacency).coords
    if not (i != j).any():
        raise ValueError(
            f"{source} links no two of the {count(ids.size, 'item')}, such as "
            f"{list_names(ids.tolist(), MAX_NAMED)}: use the same names in both"
        )
    return contents._replace(graph=graph)


def _selection(places: NDArray[np.intp], n: int) -> sparse.csr_array:
    """Return S with (S x)_i = x at places[i], and 0 where that is -1."""
    rows = np.flatnonzero(places >= 0)
    ones = sparse.coo_array((np.ones(rows.size), (rows, places[rows])), shape=(places.size, n))
    return sparse.csr_array(ones)
