"""Read a user's file: ids, features or a graph, and labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import fields, replace
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from graphuq.cli.files.archive import LABEL_ARRAYS, features_of, read_archive
from graphuq.cli.files.cells import read_h5ad
from graphuq.cli.files.class_column import ClassColumn, read_class_column, to_ids
from graphuq.cli.files.column_roles import ColumnRoles, own_label
from graphuq.cli.files.columns import LABELS, Column, tabulate_columns
from graphuq.cli.files.combined_labels import combine_labels
from graphuq.cli.files.contents import NUMBERED, Contents
from graphuq.cli.files.edge_lines import EdgeLines
from graphuq.cli.files.edge_matrix import find_edge_matrix
from graphuq.cli.files.edges import keep_largest, read_edges
from graphuq.cli.files.feature_file import read_features
from graphuq.cli.files.features import Features, build_features
from graphuq.cli.files.items import Items
from graphuq.cli.files.label_table import (
    LABEL,
    for_truth,
    no_column,
    read_label_table,
)
from graphuq.cli.files.links import add_links, restrict
from graphuq.cli.files.matrix_market import read_matrix_market
from graphuq.cli.files.missing_values import blank_marks
from graphuq.cli.files.network_files import FORMATS, read_network
from graphuq.cli.files.options import (
    ARCHIVE,
    CELLS,
    DEFAULTS,
    EDGES,
    GRAPH,
    KINDS,
    PICTURES,
    TABLE,
    ReadOptions,
)
from graphuq.cli.files.picture_folder import read_pictures
from graphuq.cli.files.problems import Problems
from graphuq.cli.files.recognize_edges import lists_edges
from graphuq.cli.files.shown_columns import choose_columns
from graphuq.cli.files.table import TABLES, Table, kind, open_table, require_file
from graphuq.cli.files.text_table import TextTable
from graphuq.labeling.answers import is_answers
from graphuq.labels.class_values import MAYBE_CLASS, MOST
from graphuq.labels.labels import ANY
from graphuq.utils.typing import Array
from graphuq.utils.words import count, list_names

# A class of fewer labels than this is not asked about.
FEW = 10


def read(path: str | Path, options: ReadOptions = DEFAULTS) -> Items:
    r"""Return the items of a table, an archive or a graph.

    Parameters
    ----------
    path : path-like
        A table with one row per item, or a list of edges (.csv, .tsv, .parquet, .xlsx, .jsonl); an
        archive (.npz); .graphml; cells (.h5ad); or a folder of pictures.
    options : ReadOptions

    Raises
    ------
    FileNotFoundError, ModuleNotFoundError, ValueError
        The message has one line for each problem: the place in the file, the problem and the
        remedy.

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
    problems = Problems()
    if len(options.annotators) == 1 and options.labels is None:
        problems.add(
            "--annotator names a column of --labels: give that table too, or repeat it with the "
            "column of each annotator's labels"
        )
    try:
        if options.links is None:
            contents = _read_contents(path, options, problems)
        else:
            links = read_links(options.links, options)
            own = replace(options, weight=None, elsewhere=(*links.names,))
            contents = add_links(_read_contents(path, own, problems), links, path, options.links)
        contents = restrict(contents, options.links or path)
        if contents.shown is None:
            contents = contents._replace(shown=_shown(path, contents, options, problems))
        if options.largest and contents.graph is not None:
            if contents.linked:
                raise ValueError(
                    f"{path}: items outside the largest component have their features: leave out "
                    "--largest-component"
                )
            contents = keep_largest(contents)
        # Take the classes of all items from the file itself, or from a second one.
        known, trust, truth, notes = _classes(path, contents, options, problems)
        groups = _groups(path, contents, options, problems)
    except ValueError as error:
        problems.add_error(error)
        problems.require_none()
        raise
    problems.require_none()

    # Leave out the items that were dropped.
    ids = contents.ids
    kept = np.ones(ids.size, dtype=bool) if contents.kept is None else contents.kept
    notes = (*contents.notes, *notes)
    lost = sum(value is not None for value in known[~kept])
    if lost and not any(value is not None for value in known[kept]):
        remedy = (
            "label an item of the largest component"
            if contents.features is None
            else "use --fill-missing, or exclude columns with many missing values with --ignore"
        )
        raise ValueError(
            f"{path}: the items that are kept, {kept.sum()} of {kept.size}, have no label: {remedy}"
        )
    if None not in known[kept]:
        notes += ("every item has a label: there is nothing to predict",)
    if lost:
        notes += (f"the dropped items include {count(lost, 'labeled item')}",)
    asked = options.labels is not None and is_answers(Path(options.labels))
    if asked:
        notes += (f"{options.labels}: a page chose the items to ask about (--sampling any)",)
    return Items(
        path,
        ids[kept],
        contents.features,
        contents.graph,
        known[kept],
        None if truth is None else truth[kept],
        notes,
        tuple(ids[~kept].tolist()),
        contents.image_shape,
        contents.encoding,
        options.classes,
        None if trust is None else trust[kept],
        None if groups is None else groups[kept],
        _with_labels(problems.columns, known),
        None if contents.shown is None else contents.shown[kept].reset_index(drop=True),
        contents.images,
        contents.linked,
        ANY if asked else None,
    )


def read_links(path: Path, options: ReadOptions) -> Contents:
    """Return the graph in a file of links; options that an items' file shares with it hold."""
    own = ReadOptions(
        weight=options.weight,
        encoding=options.encoding,
        decimal=options.decimal,
        ignore=options.ignore,
        edges=True if kind(path) in TABLES else None,
    )
    problems = Problems()
    found = _read_contents(path, own, problems)
    problems.require_none()
    return found


def _read_contents(path: Path, options: ReadOptions, problems: Problems) -> Contents:
    """Choose the reader by the suffix, and a list of edges by its header or its contents."""
    if path.is_dir():
        _require_used(path, options, PICTURES)
        return read_pictures(path, options)
    suffix = require_file(path)
    if suffix == ".npz":
        contents = read_archive(path, options)
        _require_used(path, options, GRAPH if contents.features is None else ARCHIVE, {"weight"})
        return contents
    if suffix in FORMATS:
        _require_used(path, options, GRAPH)
        return read_network(path, suffix, options.weight)
    if suffix == ".mtx":
        _require_used(path, options, GRAPH, {"weight"})
        return read_matrix_market(path)
    if suffix == ".h5ad":
        _require_used(path, options, CELLS)
        return read_h5ad(path)
    table = open_table(path, options.encoding)
    if isinstance(table, TextTable) and (error := table.decoding_error()):
        # Go on with a likely encoding, to tell the other problems too.
        encoding = table.likely_encoding()
        problems.add(str(error), f"--encoding {encoding}")
        table = TextTable(path, encoding)
    if isinstance(table, TextTable) and options.edges is not False and options.label is None:
        lines = EdgeLines(table)
        if lines.are_edges():
            _require_used(path, options, EDGES)
            return read_edges(lines, options)
    if (matrix := find_edge_matrix(table, options)) is not None:
        _require_used(path, options, EDGES, {"weight", "decimal"})
        contents = matrix
    elif lists_edges(table, options):
        _require_used(path, options, EDGES)
        contents = read_edges(table, options)
    else:
        _require_used(path, options, TABLE)
        contents = _read_table(table, options, problems)
    return contents._replace(notes=(*table.notes, *contents.notes))


def _read_table(table: Table, options: ReadOptions, problems: Problems) -> Contents:
    """Return the contents of a table with one row per item."""
    if isinstance(table, TextTable):
        table.require_names()
    ignore, show = (_with_vectors(names, table.columns) for names in (options.ignore, options.show))
    options = replace(options, ignore=ignore, show=show)
    roles = ColumnRoles(table, options, problems)
    unclear = roles.misnamed
    frame = table.frame(as_text=roles.as_text, decimal=options.decimal)
    ids = roles.ids(frame, problems)
    columns = {name: frame[name].to_numpy(object) for name in roles.classes}
    # A text column, or one with missing values, may be the one whose name was misspelled: it is
    # judged once that is clear.
    features = [
        name
        for name in roles.features
        if not unclear or (pd.api.types.is_numeric_dtype(frame[name]) and frame[name].notna().all())
    ]
    marked: tuple[str, ...] = ()
    if options.marks:
        frame[features], marked = blank_marks(frame[features], options.marks)
    if options.features is None:
        labels = frame.get(own_label(table.columns, options))
        found = build_features(table, frame[features], options, problems, labels)
    else:
        X = read_features(options.features, len(frame))
        values, kept, more, _, own = features_of(options.features, X, options)
        roles.described |= dict.fromkeys(features, f"not used, {options.features} is")
        every = np.ones(len(frame), dtype=np.bool_) if kept is None else kept
        found = Features(values, every, more, own)
    notes = (*marked, *found.notes)
    if roles.key is None:
        notes += (NUMBERED,)
    problems.columns = tabulate_columns(
        frame, roles.described, found.columns, found.cells, problems.questions, found.constant
    )
    encoding = found.encoding
    if encoding is not None:
        encoding = encoding._replace(
            id_column=roles.key, marks=options.marks, fills=options.missing == "fill"
        )
    other = frame[[name for name in frame if name not in roles.named or name in options.show]]
    return Contents(
        ids,
        found.values,
        None,
        columns,
        notes,
        found.kept,
        names=table.columns,
        encoding=encoding,
        shown=choose_columns(other, options.show),
    )


def _with_vectors(names: Sequence[str], columns: Sequence[str]) -> tuple[str, ...]:
    """Return names of columns; that of a vector stands for all its columns."""
    found: list[str] = []
    for name in names:
        parts = [column for column in columns if column.startswith(f"{name}[")]
        found += [name] if name in columns or not parts else parts
    return tuple(found)


def _require_used(
    path: Path, options: ReadOptions, kind: str, without: Collection[str] = ()
) -> None:
    """Refuse options that have no effect on such a file, and others by name."""
    for each in fields(options):
        changed = getattr(options, each.name) != each.default
        used = kind in each.metadata.get("kinds", KINDS) and each.name not in without
        if changed and not used:
            names = " and ".join(name for flag in each.metadata["flags"] for name in flag.spelled)
            raise ValueError(f"{path}: {names} cannot be used with {kind}: leave it out")


def _classes(
    path: Path, contents: Contents, options: ReadOptions, problems: Problems
) -> tuple[NDArray[Any], Array | None, NDArray[Any] | None, tuple[str, ...]]:
    """Return the labels, their confidence and the true classes of all items, and notes on them."""
    ids, own, truth = contents.ids, options.label or LABEL, options.truth
    found: dict[str, ClassColumn] = {}
    if options.labels is not None:
        found = read_label_table(Path(options.labels), ids, options, problems, "--labels")
    elif len(options.annotators) > 1:
        found[own] = _combine_columns(path, contents, options, problems)
    elif own in contents.columns and own not in options.ignore:
        found[own] = _read_column(path, contents, own, options, problems)
    if own not in found:
        found[own] = ClassColumn(np.full(ids.size, None, dtype=object), ())
    known, notes, trust = found[own]
    if options.labels is None:
        _ask_about_most(f"{path}, column {own!r}", known, options, problems)
    if options.label is not None and options.labels is None and own not in contents.columns:
        problems.add(no_column(path, "--label", own, contents.names or sorted(contents.columns)))
    if options.labels is not None and options.label in contents.columns:
        notes = (*notes, f"column {own!r} is not used: the labels come from {options.labels}")
    if truth is None:
        return known, trust, None, notes

    of_truth = for_truth(options, known)
    if truth in contents.columns and truth not in found:
        found[truth] = _read_column(path, contents, truth, of_truth, problems, are_true=True)
    elif truth not in found and _is_table(truth):
        table = replace(of_truth, label=None, truth=None)
        found[truth] = read_label_table(Path(truth), ids, table, problems, "--truth")[LABEL]
    if truth not in found:
        problems.add(no_column(path, "--truth", truth, contents.names or sorted(contents.columns)))
        return known, trust, None, notes
    true = found[truth].names
    remedy = "give the true class of every item, or leave out --truth"
    _require_complete(path, truth, ids, true, "true class", remedy, problems)
    _require_shown(truth, known, true, options, problems)
    return known, trust, true, notes


def _shown(
    path: Path, contents: Contents, options: ReadOptions, problems: Problems
) -> pd.DataFrame | None:
    """Return the attributes of nodes, or the arrays of an archive, that lists of items show."""
    known = {options.label, options.id_column, options.truth, options.groups, "ids", *LABEL_ARRAYS}
    others = {
        name: list(cells)
        for name, cells in contents.columns.items()
        if name not in known or name in options.show
    }
    for name in options.show:
        if name not in others:
            problems.add(no_column(path, "--show", name, sorted(others)))
    return choose_columns(pd.DataFrame(others), options.show) if others else None


def _with_labels(columns: Sequence[Column], known: NDArray[Any]) -> tuple[Column, ...]:
    """Return the columns, that of labels with the numbers of classes and of items without any."""
    classes = {name for name in known if name is not None}
    n_missing = sum(name is None for name in known)
    return tuple(
        column._replace(distinct=len(classes), missing=n_missing)
        if column.read_as == LABELS
        else column
        for column in columns
    )


def _ask_about_most(
    place: str, known: NDArray[Any], options: ReadOptions, problems: Problems
) -> None:
    """Ask about a class of half of the items, or two thirds of the labels where some have none."""
    counts = Counter(name for name in known if name is not None)
    if len(counts) < 3:
        return
    name, n = counts.most_common(1)[0]
    share = 1 / 2 if None not in known else MOST
    asked = n >= max(FEW, share * counts.total()) and name.lower() not in MAYBE_CLASS
    if asked and name not in options.classes:
        problems.add(
            f"{place}: {n} of {count(counts.total(), 'label')} are {name!r}: use --unlabeled "
            f"{quote(name)} if it marks items without a label, or --class {quote(name)} if it is a "
            "class"
        )


def _require_shown(
    source: str, known: NDArray[Any], true: NDArray[Any], options: ReadOptions, problems: Problems
) -> None:
    """Refuse true classes that neither a label shows nor an option lists, if there are labels."""
    shown = {name for name in known if name is not None}
    others = sorted({name for name in true if name is not None} - shown - {*options.classes})
    if not shown or not others:
        return
    labels = list_names(sorted(shown))
    if not shown & {*true}:
        problems.add(
            f"{source} names none of the classes {labels}, got {list_names(others)}: give the true "
            "classes by the same names as the labels"
        )
        return
    n = sum(value in others for value in true)
    problems.add(
        f"{source}: {count(n, 'item')} of the true class {list_names(others)}, which no label "
        f"shows (labels: {labels}): correct them, label such items, or list the class with --class "
        f"{quote(others[0])}"
    )


def _read_column(
    path: Path,
    contents: Contents,
    name: str,
    options: ReadOptions,
    problems: Problems,
    *,
    are_true: bool = False,
) -> ClassColumn:
    """Return the classes in a column of the file."""
    source, cells = f"column {name!r}", contents.columns[name]
    return ClassColumn(
        *read_class_column(cells, source, options, problems, f"{path}", are_true=are_true)
    )


def _combine_columns(
    path: Path, contents: Contents, options: ReadOptions, problems: Problems
) -> ClassColumn:
    """Return the labels by columns of the file, one for each annotator."""
    names, n = options.annotators, contents.ids.size
    for name in names:
        if name not in contents.columns:
            columns = contents.names or sorted(contents.columns)
            problems.add(no_column(path, "--annotator", name, columns))
            return ClassColumn(np.full(n, None, dtype=object), ())
    values = np.concatenate([contents.columns[name] for name in names])
    nodes, who = np.tile(np.arange(n), len(names)).tolist(), np.repeat(names, n).tolist()
    return combine_labels(f"{path}", values, nodes, who, n, options, problems)


def _groups(
    path: Path, contents: Contents, options: ReadOptions, problems: Problems
) -> NDArray[Any] | None:
    """Return the group of each item; None without ``--groups``."""
    name = options.groups
    if name is None:
        return None
    if name not in contents.columns:
        problems.add(no_column(path, "--groups", name, contents.names or sorted(contents.columns)))
        return None
    groups = to_ids(contents.columns[name])
    remedy = "fill it in, for example by 'unknown'"
    _require_complete(path, name, contents.ids, groups, "group", remedy, problems)
    return groups


def _is_table(name: str) -> bool:
    """Return whether the name is that of a table, rather than of a column."""
    return kind(Path(name)) in TABLES or Path(name).is_file()


def _require_complete(
    path: Path,
    column: str,
    ids: NDArray[Any],
    values: NDArray[Any],
    what: str,
    remedy: str,
    problems: Problems,
) -> None:
    missing = np.flatnonzero([value is None for value in values])
    if missing.size:
        more = f" (and of {missing.size - 1} more)" if missing.size > 1 else ""
        problems.add(
            f"{path}, column {column!r}: the {what} of item {ids[missing[0]].item()!r} is "
            f"missing{more}: {remedy}"
        )
