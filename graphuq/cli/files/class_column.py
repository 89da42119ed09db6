"""A column of classes: its values as text, and which of them are missing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from shlex import quote
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphuq.cli.files.numbers import is_number
from graphuq.cli.files.options import ReadOptions
from graphuq.cli.files.problems import Problems
from graphuq.cli.files.similar_classes import check_similar
from graphuq.labels.class_values import as_given, find_unlabeled, is_missing
from graphuq.utils.typing import Array
from graphuq.utils.words import count

# A whole number, which has one text however it is written: 1, +1, 1.0.
WHOLE = re.compile(r"\+?(-?(?:0|[1-9]\d*))(?:\.0*)?")


class ClassColumn(NamedTuple):
    """The class of each item, None if it is unknown, and notes on how it was read."""

    names: NDArray[Any]
    notes: tuple[str, ...]
    confidence: Array | None = None
    """That of each item's label, 1 where none is given; None if no column gives any."""


def to_class_names(values: Iterable[Any]) -> NDArray[Any]:
    """Return values as text, None where they are missing or blank.

    If all values are numbers, whole ones are written without a decimal point.

    Examples
    --------
    >>> to_class_names([1.0, None, 0.0]).tolist(), to_class_names(["1.0", "+2", ""]).tolist()
    (['1', None, '0'], ['1', '2', None])
    >>> to_class_names(["1.0", "v2", "007"]).tolist()
    ['1.0', 'v2', '007']
    """
    given = as_given(list(values))
    missing = is_missing(given)
    texts = [
        None if lacks else (value.decode() if isinstance(value, bytes) else str(value)).strip()
        for value, lacks in zip(given, missing, strict=True)
    ]
    known = {text for text in texts if text}
    names: dict[str | None, str | None] = {text: text for text in known}
    if all(is_number(text) for text in known):
        found = ((text, WHOLE.fullmatch(text)) for text in known)
        names |= {text: match[1] for text, match in found if match}
    return np.array([names.get(text) for text in texts], dtype=object)


def to_ids(values: Iterable[Any]) -> NDArray[Any]:
    """Return ids as they are written, None where they are blank; numbers as `to_class_names`.

    Examples
    --------
    >>> to_ids([" 1.0", "007", ""]).tolist(), to_ids([1.0, 7.0]).tolist()
    (['1.0', '007', None], ['1', '7'])
    """
    values = list(values)
    names = to_class_names(values)
    for at, value in enumerate(values):
        if isinstance(value, str):
            names[at] = value.strip() or None
    return names


def _is_list(value: Any) -> bool:
    """Return whether a cell holds several values, also as Label Studio writes them into CSV."""
    return isinstance(value, list | dict) or (
        isinstance(value, str) and value.startswith('{"choices":')
    )


def read_class_column(
    values: Any,
    source: str,
    options: ReadOptions,
    problems: Problems,
    path: str = "",
    *,
    are_true: bool = False,
) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Return the class of each item, None where it is unknown, and notes on what was decided.

    Parameters
    ----------
    values : array_like, shape (n,)
        The values as the file has them.
    source : str
        Where they come from, for notes and messages.
    options : ReadOptions
    problems : Problems
        Collects values that may be classes or marks of unknown labels.
    path : str
        The file, for messages about problems, unless ``source`` names it.
    are_true : bool
        The values are true classes, which all items need. One that may mark an unknown class is
        then read as a class, and compared with those of the labels.
    """
    place = f"{path}, {source}" if path else source
    several = next((value for value in values if _is_list(value)), None)
    if several is not None:
        problems.add(f"{place}: {several!r} is not one class: keep one for each item")
        return np.full(len(values), None, dtype=object), ()
    names = to_class_names(values)
    dtype = getattr(values, "dtype", None)
    is_unsigned = isinstance(dtype, np.dtype) and dtype.kind == "u"
    found = find_unlabeled(
        values if is_unsigned else names, marks=options.unlabeled, classes=options.classes
    )
    for text, n in () if are_true else found.doubtful.items():
        problems.add(
            f"{place}: {text!r} occurs in {count(n, 'row')}: use --unlabeled {quote(text)} if it "
            f"marks items without a label, or --class {quote(text)} if it is a class"
        )
    names[found.missing] = None
    notes = []
    clear = [name for name in names if name is not None and name not in found.doubtful]
    check_similar(clear, place, frozenset(options.classes), problems)
    if found.marks:
        parts = [f"{n} with {text!r}" for text, n in found.marks.items()]
        parts += [f"{found.n_blank} blank"] if found.n_blank else []
        n_missing = int(found.missing.sum())
        note = f"{source}: {count(n_missing, 'item')} without a label: {', '.join(parts)}"
        implied = [text for text in found.marks if text not in options.unlabeled]
        if implied:
            note += f" (if {implied[0]!r} is a class, use --class {quote(implied[0])})"
        notes.append(note)
    notes += [
        f"{source}: kept {text!r} as a class in {count(n, 'row')}, because blanks mark items "
        f"without a label (if it marks them too, use --unlabeled {quote(text)})"
        for text, n in found.kept.items()
        if not are_true
    ]
    notes += [
        f"{source}: no item has the value {text!r} (--unlabeled)"
        for text in options.unlabeled
        if text not in found.marks
    ]
    return names, tuple(notes)
