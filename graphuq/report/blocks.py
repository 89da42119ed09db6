"""What a report says, in blocks that a page and a terminal show each in its own way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

# the header of a last column of sentences
MEANING = "what it means"


class Paragraph(NamedTuple):
    """Sentences, after words that stand out."""

    text: str
    strong: str = ""


class Note(NamedTuple):
    """Sentences for a page alone: how to read what stands beside them."""

    text: str


class Bullets(NamedTuple):
    """A list of sentences."""

    texts: Sequence[str]


class Table(NamedTuple):
    """Rows of cells, the first of which names the row; beside each its picture and its words."""

    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    pictures: Sequence[Picture] = ()
    about: str = ""
    """The header of the words."""
    words: Sequence[str] = ()


class Bar(NamedTuple):
    """A cell with a share, drawn where it can be."""

    share: float
    text: str

    def __str__(self) -> str:
        return self.text


class Picture(NamedTuple):
    """A PNG image, and what it shows in words."""

    png: bytes
    said: str


class Figure(NamedTuple):
    """A plot, drawn into a figure when it is wanted, what it shows in words, and its caption."""

    draw: Callable[[Any], Any]
    inches: tuple[float, float]
    said: str
    caption: str


class Code(NamedTuple):
    """Lines to copy."""

    text: str


Block = Paragraph | Note | Bullets | Table | Figure | Code


class Section(NamedTuple):
    """A part of a report, with its heading."""

    name: str
    title: str
    blocks: Sequence[Block]
