"""Counts and lists of names in messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

# Control characters, which would change what a terminal shows.
CONTROL = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))}


def count(n: int, noun: str) -> str:
    """Return a number and its noun, in the plural if needed.

    Examples
    --------
    >>> count(1, "row"), count(1200, "row")
    ('1 row', '1200 rows')
    """
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def choose_form(n: int, one: str, many: str) -> str:
    """Return the form of a verb that agrees with ``n`` things.

    Examples
    --------
    >>> choose_form(1, "is", "are"), choose_form(2, "is", "are")
    ('is', 'are')
    """
    return one if n == 1 else many


def join_names(names: Iterable[Any]) -> str:
    """Return names separated by commas, in quotes if one of them has a comma or a blank itself.

    Examples
    --------
    >>> join_names(["a", "b"]), join_names(["Smith, Ann", "Bob"])
    ('a, b', "'Smith, Ann', 'Bob'")
    """
    names = [str(name) for name in names]
    quoted = any("," in name or " " in name for name in names)
    return ", ".join(map(repr, names) if quoted else names)


def list_names(names: Sequence[str], most: int = 8) -> str:
    """Return names in quotes, and how many more there are than ``most``.

    Examples
    --------
    >>> list_names(["a", "b", "c"], 2)
    "'a', 'b' and 1 more"
    """
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + rest


def shorten(text: str, letters: int) -> str:
    """Return a text, cut to at most ``letters``.

    Examples
    --------
    >>> shorten("Barolo", 6), shorten("Barbaresco", 6)
    ('Barolo', 'Barba…')
    """
    return text if len(text) <= letters else f"{text[: letters - 1]}…"


def is_unicode(text: str) -> bool:
    r"""Return whether a text can be encoded: JSON and names of files may hold half characters.

    Examples
    --------
    >>> is_unicode("\u00e9"), is_unicode("\ud800")
    (True, False)
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def visible(text: str) -> str:
    r"""Return text with its control characters written as codes.

    Examples
    --------
    >>> print(visible("a" + chr(27) + "[31m"))
    a\x1b[31m
    """
    return text.translate(CONTROL)
