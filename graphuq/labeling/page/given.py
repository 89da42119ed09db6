"""What a request of the page may say: numbers of nodes, short texts, and numbers in a range."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from graphuq.labeling.arguments import is_one_line

# Letters of a name of a class or a person, and of the id of an answer.
MAX_NAME = 100


class GivenError(ValueError):
    """A request says what it may not say."""


class Given:
    """The body of a request, an object in JSON.

    Parameters
    ----------
    body : bytes
    n_nodes : int

    Examples
    --------
    >>> given = Given(b'{"node": 3, "who": "Ada"}', 10)
    >>> given.node(), given.name("who")
    (3, 'Ada')
    >>> given.number("goal", 0, 1)
    Traceback (most recent call last):
    ...
    graphuq.labeling.page.given.GivenError: goal: expected a number from 0 to 1, got None
    """

    def __init__(self, body: bytes, n_nodes: int) -> None:
        try:
            values = json.loads(body)
        except (ValueError, RecursionError):
            raise GivenError("the request is not JSON") from None
        if not isinstance(values, dict):
            raise GivenError("the request is not an object")
        self._values, self._n_nodes = values, n_nodes

    def node(self) -> int:
        """Return the number of a node."""
        return self.whole("node", 0, self._n_nodes - 1)

    def whole(self, key: str, low: int, high: int) -> int:
        """Return a whole number from low to high."""
        value = self._values.get(key)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise GivenError(
                f"{key}: expected a whole number from {low} to {high}, got {_short(value)}"
            )
        return value

    def number(self, key: str, low: float, high: float, default: float | None = None) -> float:
        """Return a number from low to high."""
        value = self._values.get(key, default)
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not low <= value <= high
        ):
            raise GivenError(f"{key}: expected a number from {low} to {high}, got {_short(value)}")
        return float(value)

    def name(self, key: str) -> str:
        """Return a short text in one line."""
        value = self._values.get(key)
        text = " ".join(value.split()) if isinstance(value, str) else ""
        if not text or len(text) > MAX_NAME or not is_one_line(text):
            raise GivenError(
                f"{key}: expected a text of at most {MAX_NAME} letters in one line, got "
                f"{_short(value)}"
            )
        return text

    def once(self, action: str) -> str:
        """Return the id under which an action is done once."""
        return f"{action} {self.name('id')}"

    def one_of(self, key: str, classes: Collection[str]) -> str:
        """Return the name of a class."""
        value = self._values.get(key)
        if not isinstance(value, str) or value not in classes:
            raise GivenError(f"{key}: {_short(value)} is none of the classes")
        return value


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:39]}…"
