"""What the page shows of an item: a text, or its name alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from graphuq.utils.words import shorten

# Letters of a text on the page, and of one beside it.
MAX_LETTERS, MAX_BESIDE = 20_000, 240


class Items(Protocol):
    """The items of a session, by the numbers of their nodes."""

    def show(self, node: int) -> dict[str, Any]:
        """Return what the page shows of an item: its ``kind``, and what this kind needs."""

    def show_beside(self, neighbor: int, node: int) -> dict[str, Any]:
        """Return what it shows of a labeled neighbor beside the item ``node``."""


class Names:
    """Items of which only the names are known, as those of a graph.

    Examples
    --------
    >>> Names().show(3)
    {'kind': 'name'}
    """

    def show(self, node: int) -> dict[str, Any]:
        """Return nothing but the kind: the page has the name."""
        return {"kind": "name"}

    def show_beside(self, neighbor: int, node: int) -> dict[str, Any]:
        """Return nothing but the kind."""
        return {"kind": "name"}


class Texts:
    """Items that are texts.

    Parameters
    ----------
    texts : sequence of str

    Examples
    --------
    >>> Texts(["Dear friend", "Minutes of May"]).show(1)
    {'kind': 'text', 'text': 'Minutes of May'}
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts

    def show(self, node: int) -> dict[str, Any]:
        """Return the text, cut where it is longer than anybody reads."""
        return {"kind": "text", "text": shorten(self._texts[node], MAX_LETTERS)}

    def show_beside(self, neighbor: int, node: int) -> dict[str, Any]:
        """Return its beginning."""
        return {"kind": "text", "text": shorten(self._texts[neighbor], MAX_BESIDE)}
