"""Edges in lines of two names, as SNAP, KONECT and igraph write them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

from graphuq.cli.files.numbers import is_number
from graphuq.cli.files.text_table import TextTable

# Suffixes of such files, and what comments begin with.
SUFFIXES, COMMENTS = (".edges", ".edgelist", ".ncol"), ("#", "%")

# Lines that tell such a file from a table.
FIRST_LINES = 50


@dataclass(frozen=True)
class EdgeLines:
    """Lines of two names and maybe a weight, with blanks or tabs between, and of comments.

    Attributes
    ----------
    text : TextTable
        The same file as a table.
    """

    text: TextTable

    @property
    def path(self) -> Path:
        """The file."""
        return self.text.path

    @property
    def separator(self) -> str:
        """What stands between names in messages."""
        return " "

    @cached_property
    def columns(self) -> list[str]:
        """The first line that is no comment."""
        return next(self.rows(), (0, []))[1]

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the number and the words of each line that is neither blank nor a comment."""
        for number, line in self.text.lines():
            if line.strip() and not line.lstrip().startswith(COMMENTS):
                yield number, line.split()

    def are_edges(self) -> bool:
        """Return whether the file begins with a comment, or its suffix says so, and with edges.

        Without such a suffix the ends are whole numbers.
        """
        named = self.path.suffix.lower() in SUFFIXES
        first = next((line for _, line in self.text.lines() if line.strip()), "")
        if not named and not first.lstrip().startswith(COMMENTS):
            return False
        lines = [words for _, words in islice(self.rows(), FIRST_LINES)]
        return bool(lines) and all(
            len(words) == len(lines[0]) in (2, 3, 4)
            and not any(mark in word for word in words for mark in ",;")
            and (named or all(word.isdigit() for word in words[:2]))
            and all(map(is_number, words[2:]))
            for words in lines
        )
