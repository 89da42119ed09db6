"""Classes whose names differ so little that they may be meant to be one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Set
from difflib import get_close_matches
from shlex import quote

from graphuq.cli.files.problems import Problems
from graphuq.labels.class_values import find_alike
from graphuq.utils.warnings import warn
from graphuq.utils.words import count

# Names of classes that are this similar, by `difflib`, may be meant to be one.
NEARLY = 0.85

# Among more classes, names are not compared: they are probably those of items.
MAX_COMPARED = 50


def check_similar(values: Iterable[str], place: str, listed: Set[str], problems: Problems) -> None:
    """Refuse classes that differ only in case or spaces, and warn of names that nearly agree.

    Parameters
    ----------
    values : iterable of str
        The class of each labeled item.
    place : str
        Where the labels come from, for messages.
    listed : set of str
        Classes that the options list.
    problems : Problems
    """
    counts = Counter(values)
    usual_first = sorted(listed) + [name for name, _ in counts.most_common() if name not in listed]
    rows = {name: counts[name] for name in usual_first}
    _require_distinct(rows, place, listed, problems)
    _warn_of_typos(rows, place, listed)


def _require_distinct(
    rows: Mapping[str, int], place: str, listed: Set[str], problems: Problems
) -> None:
    """Refuse classes that differ only in case or spaces, unless all of them are listed.

    ``rows`` has how often each class occurs: first the listed classes, then the most frequent.
    """
    alike = [group for group in find_alike(rows) if not listed >= {*group}]
    if not alike:
        return
    first = alike[0]
    more = f" (and {len(alike) - 1} more such classes)" if len(alike) > 1 else ""
    options = " ".join(f"--class {quote(name)}" for group in alike for name in group)
    problems.add(
        f"{place}: {first[-1]!r} in {count(rows[first[-1]], 'row')} differs from {first[0]!r} only "
        f"in case or spaces{more}: write them alike, or list them with {options}; or, if they mark "
        "items without a label, name each with --unlabeled"
    )


def _warn_of_typos(rows: Mapping[str, int], place: str, listed: Set[str]) -> None:
    """Warn of a class in one row whose name is nearly that of another, such as ``Barollo``."""
    if len(rows) > MAX_COMPARED:
        return
    usual = [name for name, n in rows.items() if n > 1 or name in listed]
    for name in rows:
        near = get_close_matches(name, usual, n=1, cutoff=NEARLY)
        if name not in usual and near and _letters(name) != _letters(near[0]):
            warn(
                f"{place}: {name!r} in 1 row is nearly {near[0]!r}: correct it if it is a typing "
                "error; now it is a class of its own"
            )


def _letters(name: str) -> str:
    """Return a name without digits: those of type 1 and type 2 differ on purpose."""
    return re.sub(r"[\W\d_]", "", name.casefold())
