"""A second table that gives labels, or true classes, by the ids of the items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from graphuq.cli.files.class_column import (
    ClassColumn,
    read_class_column,
    to_class_names,
    to_ids,
)
from graphuq.cli.files.combined_labels import combine_labels
from graphuq.cli.files.numbers import read_numbers
from graphuq.cli.files.options import DEFAULTS, ReadOptions
from graphuq.cli.files.problems import Problems
from graphuq.cli.files.table import TABLES, Table, open_table, require_file
from graphuq.labeling.answers import is_answers
from graphuq.labeling.read_answers import read_answers
from graphuq.labels.class_values import is_missing
from graphuq.utils.csv_file import safe_cell
from graphuq.utils.typing import Array
from graphuq.utils.words import list_names

# Default names of the columns of ids and labels.
ID, LABEL = "id", "label"

# The column of how probably each label is right. Tables that graphuq wrote have one beside the
# column of predictions, of which it says the same.
CONFIDENCE, PREDICTION = "confidence", "prediction"


def read_classes(
    path: str | Path,
    ids: NDArray[Any],
    option: str,
    options: ReadOptions = DEFAULTS,
) -> ClassColumn:
    r"""Return the class that a table gives to each of ``ids``, None if none, and its confidence.

    Parameters
    ----------
    path : path-like
        A table with columns id and label.
    ids : ndarray of str, shape (n,)
    option : str
        The command-line option that named the table, for error messages.
    options : ReadOptions
        How it is read.

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
    found = read_label_table(Path(path), ids, options, problems, option)
    problems.require_none()
    return found[options.label or LABEL]


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
    key = options.id_column if options.id_column in names else key_column(names)
    people = options.annotators if option == "--labels" else ()
    for name in people:
        if name not in names:
            raise ValueError(no_column(path, "--annotator", name, names))
    own = label or (LABEL if LABEL in names else names[-1])
    unclear = label is None and LABEL not in names and (len(names) > 2 or own == PREDICTION)
    if len(people) < 2 and (own not in names or own == key or unclear):
        # no option names the column of a second table with true classes
        remedy = "give this name to" if option == "--truth" else "name"
        raise ValueError(no_column(path, option, own if label else LABEL, names, remedy))
    position = {name: at for at, name in enumerate(ids.tolist())}
    if key in position:
        raise ValueError(
            f"{path}, line 1: expected column names, got {key!r}, the id of an item: begin the "
            "file with the line id,label"
        )
    wanted = [own] if len(people) < 2 else []
    if options.truth is not None and options.truth in names and options.truth != own:
        wanted.append(options.truth)
    told = [f"{path}: {note}" for note in table.notes]
    frame = table.frame(as_text=[key, *wanted, *people])
    written = _own_ids(to_ids(frame[key]), list(position))
    persons = to_ids(frame[people[0]]) if len(people) == 1 else None
    rows = _known_rows(table, key, written, position, problems, option, persons)
    places = [position[written[row]] for row in rows]
    if people:
        if persons is None:
            values, who = frame[[*people]].to_numpy(object)[rows].ravel(), [*people] * len(rows)
            places = np.repeat(places, len(people)).tolist()
        else:
            values, who = frame[own].to_numpy(object)[rows], persons[rows].tolist()
            for row, value, person in zip(rows, to_ids(values), who, strict=True):
                if person is None and value is not None:
                    where = table.where(row, people[0])
                    problems.add(f"{where}: the annotator is missing: name one")
        both = combine_labels(f"{path}", values, places, who, ids.size, options, problems)
        if CONFIDENCE in names:
            unused = f"{path}: the column {CONFIDENCE!r} is not used beside annotators"
            both = both._replace(notes=(*both.notes, unused))
        both = both._replace(notes=(*told, *both.notes))
        return {label or LABEL: both, LABEL: both}
    found: dict[str, ClassColumn] = {}
    trust = np.ones(ids.size)
    has_trust = CONFIDENCE in names and CONFIDENCE not in wanted
    own_trust = has_trust and PREDICTION not in names
    if own_trust:
        trust[places] = _read_confidence(table, frame[CONFIDENCE], rows, problems)
    for name in wanted:
        how = options if name == own else for_truth(options, found[own].names)
        # The rows of the table decide what is missing, not the items that it leaves out.
        are_true = name != own or option == "--truth"
        values, notes = read_class_column(
            frame[name].to_numpy(object)[rows], f"{path}", how, problems, are_true=are_true
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
    if found:
        first = next(iter(found))
        found[first] = found[first]._replace(notes=(*told, *found[first].notes))
    return found if own == LABEL or label else {**found, LABEL: found[own]}


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

    A table that graphuq wrote may have an apostrophe in front (`graphuq.utils.csv_file.safe_cell`),
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


def no_column(
    path: Path, option: str, name: str, names: Sequence[str], remedy: str = "name"
) -> str:
    """Return the message for a column that does not exist."""
    near = get_close_matches(name, names, n=1)
    guess = f"did you mean {near[0]!r}? Or " if near else ""
    columns = list_names(names) or "none"
    return (
        f"{path} has no column {name!r} ({option}): {guess}{remedy} one of its columns: {columns}"
    )


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
