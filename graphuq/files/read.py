"""Read a user's file: ids, features or a graph, and labels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from graphuq.files import columns, network
from graphuq.files.archive import read_archive
from graphuq.files.items import Items
from graphuq.files.table import Table, TextTable, as_written, open_table

TABLES = (".csv", ".tsv", ".txt", ".data", ".parquet", ".pq")

# What columns are called that need not be named.
ID, LABEL = "id", "label"


def read(
    path: str | Path,
    *,
    label: str | None = None,
    labels: str | Path | None = None,
    id_column: str | None = None,
    truth: str | None = None,
    ignore: Sequence[str] = (),
    unlabelled: Sequence[str] = (),
    gaps: str = "refuse",
    categorical: bool = False,
    scale: bool | None = None,
    edges: bool = False,
    largest: bool = False,
    encoding: str = "utf-8",
) -> Items:
    r"""Return the items of a table, an archive or a graph.

    Parameters
    ----------
    path : path-like
        A table (.csv, .tsv, .parquet) with one row an item, or of edges; an archive (.npz); or
        .graphml.
    label : str, optional
        Column, or attribute of nodes, with the class of each item, blank where it is not known;
        by default ``label``.
    labels : path-like, optional
        Instead: a table of ids and labels.
    id_column : str, optional
        Column that names the items; by default ``id``, else a first column without a name, else
        they are called by their position, from 0.
    truth : str, optional
        Column, or attribute of nodes, with the true classes.
    ignore : sequence of str
        Columns to leave out.
    unlabelled : sequence of str
        What stands for a label that is not known, besides blanks.
    gaps, categorical : str, bool
        See `graphuq.files.columns.features`.
    scale : bool, optional
        Whether to scale columns; by default those of tables, and not those of archives.
    edges : bool
        The table lists edges, whatever its first line says.
    largest : bool
        Of a graph of several components, keep the largest.
    encoding : str
        Of text files.

    Raises
    ------
    FileNotFoundError, ModuleNotFoundError, ValueError
        In one line: where in the file what is wrong, and what to do.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "flowers.csv")
    >>> _ = path.write_text("id,length,width,label\na,1,2,rose\nb,1,3,\nc,5,2,lily\n")
    >>> items = read(path)
    >>> items.ids.tolist(), items.known.tolist()
    (['a', 'b', 'c'], ['rose', None, 'lily'])
    >>> items.features.shape
    (3, 2)
    """
    path = Path(path)
    suffix = _checked(path)
    notes: tuple[str, ...] = ()
    X, graph, kept = None, None, None
    attributes: dict[str, Any] = {}
    if suffix == ".npz":
        archive = read_archive(path)
        ids, X, graph = archive.ids, archive.features, archive.graph
        attributes[label or LABEL] = archive.known
        again = pd.Index(ids).duplicated()
        if again.any():
            at = int(again.argmax())
            raise ValueError(
                f"{path}, ids[{at}]: the id {ids[at].item()!r} is there already: give every item "
                "an id of its own"
            )
        if X is not None and scale:
            X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
            notes += ("scaled each column to mean 0 and standard deviation 1",)
    elif suffix == ".graphml":
        ids, graph, held, notes = network.graphml(path)
        for name in {name for values in held.values() for name in values}:
            values = as_written(pd.Series([values.get(name) for values in held.values()]))
            attributes[name] = _or_none(values)
    else:
        table = open_table(path, encoding)
        if isinstance(table, TextTable) and (edges or network.names_edges(table)):
            ids, graph = network.edge_list(table)
        else:
            roles = _Roles(table, label, labels, id_column, truth, ignore)
            frame = table.frame(as_text=roles.as_text)
            ids = roles.ids(frame)
            attributes = {name: _or_none(as_written(frame[name])) for name in roles.classes}
            found = columns.features(
                table,
                frame[roles.features],
                gaps=gaps,
                categorical=categorical,
                scale=scale is not False,
            )
            X, kept, notes = found.values, found.kept, found.notes
    if graph is not None:
        kept, graph, more = network.connected(ids, graph, path, largest)
        notes += more
    known, true = _classes(path, ids, attributes, label, labels, truth, encoding)
    known = np.array([None if value in unlabelled else value for value in known], dtype=object)
    if true is not None and any(value is None for value in true):
        at = int(np.flatnonzero([value is None for value in true])[0])
        raise ValueError(
            f"{path}, column {truth!r}: the true class of item {ids[at].item()!r} is missing: give "
            "that of every item, or leave --truth out"
        )
    if kept is None:
        kept = np.ones(ids.size, dtype=bool)
    lost = sum(value is not None for value in known[~kept])
    if lost:
        notes += (f"of what was left out, {lost} had a label",)
    return Items(
        path,
        ids[kept],
        X,
        graph,
        known[kept],
        None if true is None else true[kept],
        notes,
        tuple(ids[~kept].tolist()),
    )


def read_classes(
    path: str | Path, ids: NDArray[Any], option: str, encoding: str = "utf-8"
) -> NDArray[Any]:
    r"""Return the class that a table of ids and labels gives to each of ``ids``, None where none.

    Parameters
    ----------
    path : path-like
        A table with columns id and label.
    ids : ndarray of str, shape (n,)
    option : str
        What the user calls the table by, for errors.
    encoding : str
        Of the table.

    Raises
    ------
    FileNotFoundError, ValueError
        In one line: where in the file what is wrong, and what to do.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "classes.csv")
    >>> _ = path.write_text("id,label\nb,rose\na,lily\n")
    >>> read_classes(path, np.array(["a", "b", "c"]), "--truth").tolist()
    ['lily', 'rose', None]
    """
    return _second_file(Path(path), ids, None, None, encoding, option)[LABEL]


class _Roles:
    """What each column of a table is for."""

    def __init__(
        self,
        table: Table,
        label: str | None,
        labels: str | Path | None,
        id_column: str | None,
        truth: str | None,
        ignore: Sequence[str],
    ) -> None:
        names = table.columns
        for option, name in (
            ("--label", None if labels else label),
            ("--id", id_column),
            ("--truth", None if labels else truth),
            *(("--ignore", name) for name in ignore),
        ):
            if name is not None and name not in names:
                raise ValueError(_no_column(table.path, option, name, names))
        if labels is not None and LABEL in names and LABEL not in ignore:
            raise ValueError(
                f"{table.path} has a column 'label', and --labels names a file of labels: leave "
                "one of them out, the column with --ignore label"
            )
        own = LABEL if label is None and LABEL in names else label
        if labels is None and own is None and truth is None:
            raise ValueError(
                f"{table.path}: which column holds the labels? Name it with --label, or a file of "
                f"them with --labels: the columns are {_listed(names)}"
            )
        self._table = table
        self._id = id_column
        if id_column is None:
            by_name = [name for name in names if name.lower() == ID or name == ""]
            self._id = by_name[0] if by_name and by_name[0] not in ignore else None
        self.classes = [name for name in (own, truth) if name is not None and name in names]
        roles = {*self.classes, self._id, *ignore}
        self.as_text = [*self.classes, *([] if self._id is None else [self._id])]
        self.features = [name for name in names if name not in roles]

    def ids(self, frame: pd.DataFrame) -> NDArray[Any]:
        """Return the ids of the rows, no two alike."""
        if self._id is None:
            return np.arange(len(frame)).astype(str)
        written = as_written(frame[self._id])
        blank = np.flatnonzero(written.isna())
        if blank.size:
            where = self._table.where(int(blank[0]), self._id)
            raise ValueError(f"{where}: the id is missing: name the item")
        again = np.flatnonzero(written.duplicated())
        if again.size:
            value = written.iloc[again[0]]
            first = int(np.flatnonzero(written == value)[0])
            raise ValueError(
                f"{self._table.where(int(again[0]), self._id)}: the id {value!r} is there already "
                f"({self._table.where(first, self._id)}): give every item an id of its own"
            )
        return written.to_numpy(dtype=str)


def _checked(path: Path) -> str:
    """Return the suffix of a file that is there and of a known kind."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it")
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    suffix = path.suffix.lower()
    known = (*TABLES, ".npz", ".graphml")
    if suffix not in known:
        raise ValueError(
            f"{path} is of an unknown kind {suffix!r}: name it {', '.join(known)} as its content is"
        )
    return suffix


def _classes(
    path: Path,
    ids: NDArray[Any],
    attributes: dict[str, Any],
    label: str | None,
    labels: str | Path | None,
    truth: str | None,
    encoding: str,
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Return the labels and true classes of all items, from the file or from a second one."""
    if labels is not None:
        attributes = {**attributes, **_second_file(Path(labels), ids, label, truth, encoding)}
    for option, name in (("--label", label), ("--truth", truth)):
        if name is not None and name not in attributes:
            raise ValueError(_no_column(path, option, name, sorted(attributes)))
    none = np.full(ids.size, None, dtype=object)
    known = attributes.get(label or LABEL, none)
    return known, None if truth is None else attributes[truth]


def _second_file(
    path: Path,
    ids: NDArray[Any],
    label: str | None,
    truth: str | None,
    encoding: str,
    option: str = "--labels",
) -> dict[str, NDArray[Any]]:
    """Return columns of a table of ids and labels, a value for each of ``ids``."""
    if _checked(path) not in TABLES:
        raise ValueError(f"{path} is no table of ids and labels: save it as .csv")
    table = open_table(path, encoding)
    names = table.columns
    key = next((name for name in names if name.lower() == ID), names[0])
    own = label or (LABEL if LABEL in names else names[-1])
    if own not in names or own == key or (label is None and LABEL not in names and len(names) > 2):
        raise ValueError(_no_column(path, option, own if label else LABEL, names))
    position = {name: at for at, name in enumerate(ids.tolist())}
    if key in position:
        raise ValueError(
            f"{path}, line 1: {key!r} is the id of an item, where names of columns are expected: "
            "begin the file with the line id,label"
        )
    wanted = [own, *([truth] if truth in names else [])]
    frame = table.frame(as_text=[key, *wanted])
    written = as_written(frame[key])
    found = {name: np.full(ids.size, None, dtype=object) for name in wanted}
    seen: set[str] = set()
    for row, name in enumerate(written.tolist()):
        if name not in position or name in seen:
            fault = "is there already: keep one" if name in seen else f"is no item of {len(ids)}"
            raise ValueError(
                f"{table.where(row, key)}: {name!r} {fault}"
                + (
                    ""
                    if name in seen
                    else f", such as {ids[0].item()!r}: mend it, or drop that row"
                )
            )
        seen.add(name)
    places = [position[name] for name in written.tolist()]
    for name in wanted:
        found[name][places] = _or_none(as_written(frame[name]))
    return found if own == LABEL or label else {**found, LABEL: found[own]}


def _or_none(values: pd.Series) -> NDArray[Any]:
    """Return texts, None where there is none."""
    return np.array([None if pd.isna(value) else value for value in values], dtype=object)


def _no_column(path: Path, option: str, name: str, names: Sequence[str]) -> str:
    return f"{path} has no column {name!r} ({option}): its columns are {_listed(names) or 'none'}"


def _listed(names: Sequence[str], most: int = 8) -> str:
    return ", ".join(map(repr, names[:most])) + (", ..." if len(names) > most else "")
