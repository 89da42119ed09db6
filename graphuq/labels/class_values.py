"""The values that stand for classes: their type, and which of them are missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# The text to which NumPy, pandas and files convert None, NaN and -1 among strings.
TEXT_OF_NAN = ("", "nan", "NaN", "<NA>", "NaT")
TEXT_OF_NONE = ("-1", "-1.0", "None", *TEXT_OF_NAN)

# Texts, in lower case, that mark a missing class, and those that may also be the name of a class.
NO_CLASS = ("?", "nan", "<na>", "nat", "#n/a", "-1", "-1.0")
MAYBE_CLASS = ("na", "n/a", "null", "none", "unknown", "unlabeled", "unlabelled")

# More classes that are fractions, most of one label each, are measurements.
MAX_MEASURED = 10

# A class of this share of all items, none of which is blank, may mark those without a label.
MOST = 2 / 3


class Unlabeled(NamedTuple):
    """Which values stand for no label, and how often each text that decides this occurs.

    Attributes
    ----------
    missing : ndarray of bool, shape (n,)
        Values without a class.
    n_blank : int
        Number of None, NaN, NaT, NA and blank texts among them.
    marks : dict of str to int
        The other values among them: -1, and texts such as "?".
    kept : dict of str to int
        Texts such as "NA" that are classes, because blanks mark the missing ones.
    doubtful : dict of str to int
        Values that may be classes or mark missing ones: texts such as "NA" where no value is
        blank, and 255 in unsigned bytes, to which NumPy converts -1.
    """

    missing: NDArray[np.bool_]
    n_blank: int
    marks: dict[str, int]
    kept: dict[str, int]
    doubtful: dict[str, int]


def find_unlabeled(
    values: Any, marks: Collection[str] = (), classes: Collection[str] = ()
) -> Unlabeled:
    """Decide which values of a file, of whatever kind, stand for no label.

    None, NaN, NaT, NA, masked values, blank texts and -1 stand for no label, and so do the texts
    in `NO_CLASS`. Texts in `MAYBE_CLASS` are classes if other values are blank, else doubtful.

    Parameters
    ----------
    values : array_like, shape (n,)
    marks, classes : collection of str
        Values, as texts, that the user declares to mark missing classes, and to be classes.

    Examples
    --------
    >>> found = find_unlabeled(["EU", "NA", None, "?", "EU"])
    >>> found.missing.tolist(), found.marks, found.kept
    ([False, False, True, True, False], {'?': 1}, {'NA': 1})
    >>> find_unlabeled([1, 0, -1]).marks
    {'-1': 1}
    >>> find_unlabeled(["EU", "NA", "APAC"]).doubtful
    {'NA': 1}
    >>> find_unlabeled(["EU", "NA", "APAC"], classes=["NA"]).doubtful
    {}
    """
    values = values if np.ma.isMaskedArray(values) else as_given(values)
    blank = np.ma.getmaskarray(values) | is_missing(np.ma.getdata(values))
    texts = [str(value).strip() for value in np.ma.getdata(values).tolist()]
    blank |= np.array([not text for text in texts], dtype=bool)
    # NumPy converts -1 to the largest number of an unsigned type.
    wrapped = str(np.iinfo(values.dtype).max) if values.dtype.kind == "u" else None

    missing = blank.copy()
    marked: dict[str, int] = {}
    kept: dict[str, int] = {}
    doubtful: dict[str, int] = {}
    for at in np.flatnonzero(~blank).tolist():
        text = texts[at]
        if text in classes:
            continue
        if text in marks or text.lower() in NO_CLASS:
            missing[at] = True
            marked[text] = marked.get(text, 0) + 1
        elif text.lower() in MAYBE_CLASS or text == wrapped:
            found = kept if blank.any() else doubtful
            found[text] = found.get(text, 0) + 1
    return Unlabeled(missing, int(blank.sum()), marked, kept, doubtful)


def find_alike(names: Iterable[str]) -> list[list[str]]:
    """Return groups of names that differ only in case or spaces.

    Examples
    --------
    >>> find_alike(["Dog", "cat", "dog "])
    [['Dog', 'dog ']]
    """
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(" ".join(name.lower().split()), []).append(name)
    return [group for group in groups.values() if len(group) > 1]


def find_most(names: Sequence[str | None]) -> tuple[str, int] | None:
    """Return the class of most items, and how many have it, if it may mark those without a label.

    Every item has a class, there are at least two others, and `MOST` of all items have this one.

    Examples
    --------
    >>> find_most(["B", "T", *6 * ["Unassigned"]]), find_most(["B", "T", None])
    (('Unassigned', 6), None)
    """
    counts = Counter(names)
    if None in counts or len(counts) < 3:
        return None
    name, n = counts.most_common(1)[0]
    return (str(name), n) if n >= MOST * len(names) else None


def check_classes(values: NDArray[Any], listed: Any) -> NDArray[Any]:
    """Return the sorted classes: those listed, or those that occur among the labels."""
    shown = np.unique(values)
    if listed is None:
        many = shown.size > max(MAX_MEASURED, values.size / 2)
        if many and shown.dtype.kind == "f" and (shown % 1).any():
            raise ValueError(
                f"labels are continuous numbers such as {shown[shown % 1 != 0][0]:g}, each of "
                "which would be a class of its own: group them, for example by pandas.cut, or list "
                "all classes, classes=[...]"
            )
        if shown.size < 2:
            raise ValueError(
                f"labels must show at least two classes, got only {shown.tolist()[0]!r}; label a "
                "node of another class too, or list all classes, classes=[...]"
            )
        return shown
    if not isinstance(listed, np.ndarray | str):
        if not np.iterable(listed):
            raise TypeError(f"classes must be a list of values, got {listed!r}")
        listed = list(listed)  # a set, or the keys of a dict
    listed = as_given(listed)
    if listed.ndim != 1 or listed.size < 2:
        raise ValueError(
            f"classes must be a list of at least two distinct values, got {listed.tolist()!r}"
        )
    if is_missing(listed).any():
        raise ValueError(f"one of the classes is missing: {listed.tolist()!r}; leave it out")
    if len({type(name).__name__ for name in np.ravel(listed).tolist()}) > 1:
        raise TypeError(f"classes must be of one type, got {listed.tolist()!r}")
    listed = to_one_type(listed)
    if np.unique(listed).size != listed.size:
        raise ValueError(
            f"classes must be a list of at least two distinct values, got {listed.tolist()!r}"
        )
    unlisted = shown[~np.isin(shown, listed)]
    if unlisted.size:
        raise ValueError(
            f"a label is {unlisted.tolist()[0]!r}, which is not one of the classes "
            f"{listed.tolist()[:5]}: list it too"
        )
    return np.sort(listed)


def as_given(values: Any) -> NDArray[Any]:
    """Return an array that keeps the type of each item of a list; NumPy would convert them.

    Masked items become None. Numbers in extended precision become those in double precision.

    Raises
    ------
    TypeError
        Values that cannot be classes, such as complex numbers and arrays.
    """
    if isinstance(values, np.ma.MaskedArray):
        items = values.data.astype(object)
        items[np.ma.getmaskarray(values)] = None
        values = items
    if not isinstance(values, list | tuple):
        values = np.asarray(values)
        if values.dtype.kind in "cV":
            raise _no_class_value(values.flat[0] if values.size else values)
        if values.dtype.kind in "mM" and np.datetime_data(values.dtype)[0] != "D":
            return values.astype(f"{values.dtype.kind}8[us]")  # finer units turn into numbers
        if values.dtype.type is np.longdouble:
            return _to_double(values)
        if values.dtype != object or values.ndim != 1:
            return values
    array = np.empty(len(values), dtype=object)
    array[:] = [_as_item(value) for value in values]
    return array


def _as_item(value: Any) -> Any:
    """Return a Python object for an item of a list of classes."""
    if value is np.ma.masked:
        return None
    if isinstance(value, np.longdouble):
        return _to_double(np.array(value)).item()
    if isinstance(value, complex | np.ndarray):
        raise _no_class_value(value)
    return value.item() if isinstance(value, np.generic) else value


def _to_double(values: NDArray[Any]) -> NDArray[np.float64]:
    double = values.astype(np.float64)
    changed = np.flatnonzero((double != values) & (values == values))
    if changed.size:
        raise _no_class_value(values.flat[changed[0]])
    return double


def _no_class_value(value: Any) -> TypeError:
    return TypeError(
        f"classes must be numbers of at most 64 bits, texts, booleans or dates, got {value!r} of "
        f"type {type(value).__name__}: use texts for them, such as {str(value)!r}"
    )


def is_missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which values are None, NaN, NaT or pandas' NA."""
    if values.dtype.kind in "mM":
        return np.isnat(values)
    if values.dtype.kind not in "fO":
        return np.zeros(values.shape, dtype=bool)
    # NaN and NaT are unequal to themselves; pandas' NA compares as NA
    missing = [value is None or (value == value) is not True for value in values.tolist()]
    return np.array(missing, dtype=bool)


def refuse_text_of_nan(values: NDArray[Any], listed: Any = None) -> None:
    """Refuse an array of texts among which NumPy or pandas has converted a missing one.

    In a list, and among the classes ``listed``, such a text is the name of a class.
    """
    if values.dtype.kind != "U":
        return
    names = [] if listed is None else as_given(list(listed)).tolist()
    if found := sorted(set(values.tolist()).intersection(TEXT_OF_NAN).difference(names)):
        raise ValueError(
            f"{found[0]!r} is among the labels: NumPy converts a missing one to this text; give "
            "None or NaN in a list, and leave unlabeled nodes out; if it is the name of a class, "
            "give a list of texts"
        )


def require_all(name: str, values: NDArray[Any]) -> None:
    """Refuse missing values among the classes of all nodes."""
    missing = np.flatnonzero(is_missing(values))
    if missing.size:
        raise ValueError(
            f"{name} must give every node's class, but that of node {missing[0]} is missing: leave "
            "the node out, or fill the class in"
        )


def find_classes(name: str, values: Any, classes: NDArray[Any]) -> NDArray[np.int64]:
    """Return the position in ``classes`` of each value.

    Parameters
    ----------
    name : str
        What the values are, for messages.
    values : array_like, shape (n,)
        In single precision they match classes that round to them.
    classes : ndarray, shape (K,)

    Raises
    ------
    ValueError
        Missing values; values that are not classes.
    """
    values, given = as_given(values), classes
    require_all(name, values)
    if values.dtype.kind == "f" and values.dtype.itemsize < 8 and classes.dtype.kind == "f":
        given = classes.astype(values.dtype)
    places = {value: k for k, value in enumerate(given.tolist())}
    found = np.array([places.get(value, -1) for value in values.tolist()], dtype=np.int64)
    unknown = np.flatnonzero(found < 0)
    if unknown.size:
        others = list(dict.fromkeys(values[unknown].tolist()))
        if unknown.size == values.size:
            raise ValueError(
                f"{name} names none of the classes {classes.tolist()[:10]}, got {others[:5]}: give "
                "it in the values of the labels"
            )
        raise ValueError(
            f"{name} has {others[0]!r}, which is not one of the classes {classes.tolist()[:10]}, "
            f"for {unknown.size} of {values.size} nodes: give it in the values of the labels, or "
            "list a class without labels, gq.Labels(..., classes=[...])"
        )
    return found


def is_minus_one(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which values are the number -1, scikit-learn's mark of an unlabeled item."""
    if values.dtype.kind not in "iufO":
        return np.zeros(values.shape, dtype=bool)
    numbers = (int, float)
    return np.array([isinstance(value, numbers) and value == -1 for value in values.tolist()])


def to_one_type(values: NDArray[Any]) -> NDArray[Any]:
    """Return an array of the type that all values share; refuse several types."""
    if values.dtype != object:
        return values
    if values.ndim != 1:
        raise TypeError(f"classes and labels must be lists of values, got shape {values.shape}")
    kinds = sorted({type(value).__name__ for value in values})
    if len(kinds) > 1:
        raise TypeError(f"label values must be of one type, got {', '.join(kinds)}")
    if values.size and isinstance(values[0], list | tuple | set | frozenset | dict):
        raise _no_class_value(values[0])
    ends = [value for value in values.tolist() if kinds == ["str"] and value.endswith("\0")]
    if ends:  # NumPy would strip it
        raise ValueError(f"a class may not end with a NUL character, got {ends[0]!r}: remove it")
    array = np.array(values.tolist())
    if kinds == ["int"] and array.dtype.kind not in "iu":
        raise _no_class_value(max(values.tolist(), key=abs))
    return array
