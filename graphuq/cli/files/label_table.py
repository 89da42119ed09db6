"""A second table that gives labels, or true classes, by the ids of the items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from graphuq.cli.csv_file import safe_cell
from graphuq.cli.files.class_column import read_class_column, to_class_names, to_ids
from graphuq.cli.files.numbers import read_numbers
from graphuq.cli.files.options import ReadOptions
from graphuq.cli.files.problems import Problems
from graphuq.cli.files.table import TABLES, Table, open_table, require_file
from graphuq.labeling.answers import is_answers
from graphuq.labeling.read_answers import read_answers
from graphuq.labels.class_values import is_missing
from graphuq.labels.labels import Labels
from graphuq.utils.typing import Array
from graphuq.utils.words import count, list_names

# Default names of the columns of ids and labels.
ID, LABEL = "id", "label"

# The column of how probably each label is right. Tables that graphuq wrote have one beside the
# column of predictions, of which it says the same.
CONFIDENCE, PREDICTION = "confidence", "prediction"


def read_classes(
    path: str | Path,
    ids: NDArray[Any],
    option: str,
    encoding: str = "utf-8",
    classes: tuple[str, ...] = (),
    annotator: str | None = None,
) -> ClassColumn:
    r"""Return the class that a table gives to each of ``ids``, None if none, and its confidence.

    Parameters
    ----------
    path : path-like
        A table with columns id and label.
    ids : ndarray of str, shape (n,)
    option : str
        The command-line option that named the table, for error messages.
    encoding : str
        Encoding of the table.
    classes : tuple of str
        Values that are classes, although they look like marks of unknown ones, such as NA.
    annotator : str, optional
        The column that says who gave each label.

    Raises
    ------
    FileNotFoundError, ValueError
        The message is one line: the place in the file, the problem and the remedy.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "classes.csv")
    >>> _ = path.write_text("id,label\nb,rose\na,lily\n")
    >>> read_classes(path, np.array(["a", "b", "c"]), "--truth").names.tolist()
    ['lily', 'rose', None]
    """
    problems = Problems()
    options = ReadOptions(classes=classes, encoding=encoding, annotator=annotator)
    found = read_label_table(Path(path), ids, options, problems, option)
    problems.require_none()
    return found[LABEL]


class ClassColumn(NamedTuple):
    """The class of each item, None if it is unknown, and notes on how it was read."""

    names: NDArray[Any]
    notes: tuple[str, ...]
    confidence: Array | None = None
    """That of each item's label, 1 where none is given; None if no column gives any."""


def read_label_table(
    path: Path, ids: NDArray[Any], options: ReadOptions, problems: Problems, option: str
) -> dict[str, ClassColumn]:
    """Return the labels, and the true classes if the table has their column, for all ``ids``.

    The labels are also returned under the name ``label``, unless an option names their column.
    A column ``confidence`` is that of the labels, unless it stands beside predictions.

    Parameters
    ----------
    path : Path
    ids : ndarray of str, shape (n,)
    options : ReadOptions
    problems : Problems
        Collects unknown and repeated ids, and values that may be classes.
    option : str
        The command-line option that named the table, for error messages.
    """
    if require_file(path) not in TABLES:
        raise ValueError(f"{path} is not a table of ids and labels: save it as .csv")
    if is_answers(path):
        answers = ClassColumn(*read_answers(path, ids.tolist(), keep_apart=option != "--truth"))
        return {LABEL: answers, options.label or LABEL: answers}
    table = open_table(path, options.encoding)
    names, label = table.columns, options.label
    key = key_column(names)
    own = label or (LABEL if LABEL in names else names[-1])
    unclear = label is None and LABEL not in names and (len(names) > 2 or own == PREDICTION)
    if own not in names or own == key or unclear:
        raise ValueError(no_column(path, option, own if label else LABEL, names))
    position = {name: at for at, name in enumerate(ids.tolist())}
    if key in position:
        raise ValueError(
            f"{path}, line 1: expected column names, got {key!r}, the id of an item: begin the "
            "file with the line id,label"
        )
    wanted = [own]
    if options.truth is not None and options.truth in names and options.truth != own:
        wanted.append(options.truth)
    who = options.annotator if option == "--labels" else None
    if who is not None and who not in names:
        raise ValueError(no_column(path, "--annotator", who, names))
    frame = table.frame(as_text=[key, *wanted, *([] if who is None else [who])])
    written = _own_ids(to_ids(frame[key]), list(position))
    if who is not None:
        persons = to_ids(frame[who])
        blank = [row for row, person in enumerate(persons) if person is None]
        if blank:
            problems.add(f"{table.where(blank[0], who)}: the annotator is missing: name one")
        rows = _known_rows(table, key, written, position, problems, option, persons)
        values, notes = read_class_column(
            frame[own].to_numpy(object)[rows], f"{path}", options, problems
        )
        nodes = np.array([position[written[row]] for row in rows], dtype=np.int64)
        if CONFIDENCE in names:
            notes += (f"{path}: the column {CONFIDENCE!r} is not used beside annotators",)
        found_labels = _combine(path, values, nodes, persons[rows], ids.size, notes, problems)
        return {own: found_labels, LABEL: found_labels}
    rows = _known_rows(table, key, written, position, problems, option)
    places = [position[written[row]] for row in rows]
    found: dict[str, ClassColumn] = {}
    trust = np.ones(ids.size)
    has_trust = CONFIDENCE in names and CONFIDENCE not in wanted
    own_trust = has_trust and PREDICTION not in names
    if own_trust:
        trust[places] = _read_confidence(table, frame[CONFIDENCE], rows, problems)
    for name in wanted:
        how = options if name == own else for_truth(options, found[own].names)
        # The rows of the table decide what is missing, not the items that it leaves out.
        values, notes = read_class_column(
            frame[name].to_numpy(object)[rows], f"{path}", how, problems
        )
        column = np.full(ids.size, None, dtype=object)
        column[places] = values
        known = own_trust and name == own
        if has_trust and name == own:
            what = "the probability that each label is right"
            if not own_trust:
                what = f"that of the column {PREDICTION!r}, and not used"
            notes = (*notes, f"{path}: the column {CONFIDENCE!r} is {what}")
        found[name] = ClassColumn(column, notes, trust if known else None)
    return found if own == LABEL or label else {**found, LABEL: found[own]}


def _combine(
    path: Path,
    values: NDArray[Any],
    nodes: NDArray[np.int64],
    persons: NDArray[Any],
    n: int,
    notes: tuple[str, ...],
    problems: Problems,
) -> ClassColumn:
    """Return the label of each item by its annotators, and its confidence."""
    known = np.array([value is not None for value in values], dtype=bool)
    cells = pd.DataFrame({"node": nodes, "who": persons, "value": values})[known]
    names, trust = np.full(n, None, dtype=object), np.ones(n)
    if cells.empty or problems.found:
        return ClassColumn(names, notes)
    said = cells.pivot(index="node", columns="who", values="value").astype(object)
    try:
        labels = Labels.from_annotators(said.where(said.notna(), None))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    at = said.index.to_numpy()[labels.nodes]
    names[at] = labels.values
    if labels.confidence is not None:
        trust[at] = labels.confidence
    notes += (
        f"{path}: {count(len(cells), 'label')} of {count(said.shape[1], 'annotator')} make "
        f"{count(len(at), 'label')}, with confidences from how far the annotators agree",
    )
    if left := len(said) - len(at):
        notes += (f"{path}: {count(left, 'item')} without a label, whose classes are a tie",)
    return ClassColumn(names, notes, trust)


def _read_confidence(table: Table, column: pd.Series, rows: list[int], problems: Problems) -> Array:
    """Return the confidence in each of some rows of a table, 1 where it is blank."""
    blank = is_missing(to_ids(column.iloc[rows]))
    found = read_numbers(column.iloc[rows])
    if found is None:  # mostly text
        values = pd.to_numeric(column.iloc[rows], errors="coerce").to_numpy(np.float64)
    else:
        values = found.values
    wrong = np.flatnonzero(~blank & ~((values > 0) & (values <= 1)))
    if wrong.size:
        row = rows[wrong[0]]
        plain = column.iloc[[row]].tolist()[0]  # no scalar of NumPy, which prints its type
        problems.add(
            f"{table.where(row, CONFIDENCE)}: {plain!r} is not a confidence: give the probability "
            "that the label is right, above 0 and up to 1, or rename the column"
        )
    return np.where(blank | ~(values > 0) | (values > 1), 1.0, values)


def for_truth(options: ReadOptions, known: NDArray[Any]) -> ReadOptions:
    """Return the options that read true classes: those among the labels are classes."""
    shown = dict.fromkeys(name for name in known if name is not None)
    return replace(options, classes=(*options.classes, *shown), unlabeled=())


def _own_ids(written: NDArray[Any], ids: list[str]) -> list[Any]:
    """Return the ids of items for those in a table, where they differ only as they are written.

    A table that graphuq wrote may have an apostrophe in front (`graphuq.cli.csv_file.safe_cell`),
    and other programs write 1 as 1.0.
    """
    known = set(ids)
    other = {safe_cell(name): name for name in ids}
    other |= dict(zip(to_class_names(ids).tolist(), ids, strict=True))
    numbers = to_class_names(written)
    return [
        name if name in known else other.get(name, other.get(number, name))
        for name, number in zip(written.tolist(), numbers.tolist(), strict=True)
    ]


def key_column(names: Sequence[str]) -> str:
    """Return the column of ids: ``id``, or the first."""
    return next((name for name in names if name.lower() == ID), names[0])


def no_column(path: Path, option: str, name: str, names: Sequence[str]) -> str:
    """Return the message for a column that does not exist."""
    near = get_close_matches(name, names, n=1)
    guess = f"did you mean {near[0]!r}? Or " if near else ""
    columns = list_names(names) or "none"
    return f"{path} has no column {name!r} ({option}): {guess}name one of its columns: {columns}"


def _known_rows(
    table: Table,
    key: str,
    written: list[Any],
    position: dict[str, int],
    problems: Problems,
    option: str,
    persons: NDArray[Any] | None = None,
) -> list[int]:
    """Return the rows whose id is in the main file; refuse other ids, and ids that occur twice.

    Each of several ``persons`` may give an id once.
    """
    seen: set[Any] = set()
    rows: list[int] = []
    duplicate: list[int] = []
    unknown: list[int] = []
    for row, name in enumerate(written):
        whose = name if persons is None else (name, persons[row])
        group = duplicate if whose in seen else rows if name in position else unknown
        group.append(row)
        seen.add(whose)
    if duplicate:
        more = f" (and {len(duplicate) - 1} more)" if len(duplicate) > 1 else ""
        remedy = ", or name the column of annotators with --annotator COLUMN"
        if persons is not None:
            remedy = " and annotator"
        elif len(table.columns) < 3 or option != "--labels":
            remedy = ""
        problems.add(
            f"{table.where(duplicate[0], key)}: duplicate id {written[duplicate[0]]!r}{more}: keep "
            f"one row for each item{remedy}"
        )
    if unknown:
        name, example = written[unknown[0]], next(iter(position))
        more = f" (as are {len(unknown) - 1} more)" if len(unknown) > 1 else ""
        problems.add(
            f"{table.where(unknown[0], key)}: the id is missing: add it, or remove the row"
            if name is None
            else f"{table.where(unknown[0], key)}: {name!r} is not one of the {len(position)} "
            f"items, such as {example!r}{more}: correct the id, or remove the row"
        )
    return rows
