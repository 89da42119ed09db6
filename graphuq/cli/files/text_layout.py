"""How a text file lays out its table: separator, lines above the names of columns, row names."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from graphuq.cli.files.numbers import is_number

SEPARATORS = (",", ";", "\t")

# Any number of blanks separates words.
BLANK = " "

# A first line that only names the separator, for spreadsheets.
SEPARATOR_LINE = re.compile(r'"?sep=([,;\t])"?')

# The first lines of a file tell its layout.
N_LINES = 100

# So many lines of text may stand above or below a table.
MAX_BESIDE = 10


class Layout(NamedTuple):
    """Where a table stands in the lines of a file.

    Attributes
    ----------
    separator : str
    n_above : int
        Lines above the names of the columns.
    title : str
        The first text in these lines, unless it names the separator.
    has_row_names : bool
        Whether each row begins with a name for which there is no column name.
    """

    separator: str
    n_above: int = 0
    title: str = ""
    has_row_names: bool = False


def find_layout(lines: Sequence[str], separator: str | None = None) -> Layout:
    """Return the layout of a table from the first lines of its file.

    The separator is the most frequent of comma, semicolon and tab in the first line, outside
    quotes. Where that line has none, words are separated by blanks if all lines have as many words.

    Parameters
    ----------
    lines : sequence of str
    separator : str, optional
        If it is known.

    Examples
    --------
    >>> find_layout(["name score", "a 1", "b  2"]).separator
    ' '
    >>> find_layout(["Survey 2024", "", "name;age", "ann;41", "bob;27"])
    Layout(separator=';', n_above=2, title='Survey 2024', has_row_names=False)
    """
    n_above = 0
    if lines and (named := SEPARATOR_LINE.fullmatch(lines[0].strip())):
        separator, n_above = named[1], 1
    if not any(line.strip() for line in lines[n_above:]):
        return Layout(separator or ",", n_above)
    if separator is None:
        separator = _find_separator(lines[n_above:])
    lines = _without_footer(lines, separator)
    places = [at for at in range(n_above, len(lines)) if lines[at].strip()]
    written = [lines[at] for at in places]
    rows = [split(line, separator) for line in written]
    names = find_names(rows) or _find_names_below(written, rows, places)
    if any(line.count('"') % 2 for line in written[: names + 1]):  # a cell of several lines
        names = 0
    title = ""
    if names:
        n_above, title = places[names], written[0].strip().strip(separator + '"')
    row_names = _have_names(rows[names:], separator, _are_quoted(written[names:]))
    return Layout(separator, n_above, title, row_names)


def find_names(rows: Sequence[Sequence[str]]) -> int:
    """Return which row has the names of the columns; those above it have a title.

    Titles stand in one cell, and the names below are as many as the cells of each further row.

    Examples
    --------
    >>> find_names([["Survey 2024", ""], ["name", "age"], ["ann", "41"]])
    1
    """
    at = next((at for at, row in enumerate(rows) if sum(map(bool, row)) > 1), 0)
    names, below = rows[at], rows[at + 1 :]
    are_names = all(names) and not any(map(is_number, names))
    are_names &= " " in next(filter(None, rows[0]), "")  # titles have several words
    return at if are_names and below and {len(row) for row in below} == {len(names)} else 0


def _find_names_below(
    lines: Sequence[str], rows: Sequence[Sequence[str]], places: Sequence[int]
) -> int:
    """Return which row has the names below comments, or below a title of several cells.

    Below a title that has separators itself a line is blank.
    """
    for at in range(1, min(len(rows), MAX_BESIDE + 1)):
        names, below = rows[at], rows[at + 1 :]
        widths = {len(row) for row in below}
        if len(names) > 1 and widths == {len(names)} and len(names) not in map(len, rows[:at]):
            are_names = all(names) and not any(map(is_number, names))
            comments = all(line.startswith("#") for line in lines[:at])
            titles = any(map(_is_prose, rows[0])) and places[at] > places[at - 1] + 1
            return at if are_names and (comments or titles) and not _is_table(rows[:at]) else 0
    return 0


def find_footer(lines: Sequence[str], width: int, separator: str) -> int:
    r"""Return where a footer begins, or the number of lines if there is none.

    A footer is a few lines of text below a blank line, or of comments, below rows that no blank
    line divides. What may be rows is none: cells without blanks, another table, a row of this one
    unless it begins as in "Source: ".

    Examples
    --------
    >>> find_footer(["a,1", "b,2", "", "Source: a census"], 2, ",")
    2
    >>> find_footer(["a,1", "b,2", "", "c"], 2, ",")    # a row that is cut off
    4
    """
    cells = [split(line, separator) for line in lines]
    blank = [not any(row) for row in cells]
    at = len(lines)
    while at and (blank[at - 1] or len(cells[at - 1]) != width or _is_padded(cells[at - 1])):
        at -= 1
    # a row of the table's width below a blank line, which names a source
    if at > 1 and at == len(lines) and blank[at - 2] and re.match(r"\w+:(\s|$)", cells[at - 1][0]):
        at -= 2
    while at and blank[at - 1]:
        at -= 1
    texts = [k for k in range(at, len(lines)) if not blank[k]]
    first = next((k for k in range(at) if len(cells[k]) == width), at)
    if not at or not 0 < len(texts) <= MAX_BESIDE or any(blank[first:at]):
        return len(lines)
    comments = all(lines[k].startswith("#") for k in texts)
    comments &= not any(line.startswith("#") for line in lines[:at])
    prose = blank[at] and _is_prose(cells[texts[0]][0])
    quoted = any(line.count('"') % 2 for line in lines)
    beside = [cells[k] for k in texts]
    return at if (comments or prose) and not quoted and not _is_table(beside) else len(lines)


def note_of_title(title: str) -> tuple[str, ...]:
    """Return what is said of a title, if there is one."""
    return (f"left out {title!r}, which stands above the names of the columns",) if title else ()


def _is_padded(row: Sequence[str]) -> bool:
    """Return whether the first cell alone has a text, of several words."""
    return len(row) > 2 and _is_prose(row[0]) and not any(row[1:])


def _is_prose(cell: str) -> bool:
    """Return whether a cell has several words or announces some, and is no page of a server."""
    return (" " in cell or cell.endswith(":")) and not cell.startswith("<")


def _is_table(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether more than two rows have as many cells, and several."""
    widths = Counter(len(row) for row in rows if len(row) > 1 and sum(map(bool, row)) > 1)
    return any(n > 2 for n in widths.values())


def split(line: str, separator: str) -> list[str]:
    r"""Return the cells of a line.

    Examples
    --------
    >>> split('a  "b c" ', " "), split("\tx\t", "\t")
    (['a', 'b c'], ['', 'x', ''])
    """
    text = line.strip(None if separator == BLANK else "\r\n")
    cells = next(csv.reader([text], delimiter=separator, skipinitialspace=True), [])
    return [cell.strip() for cell in cells]


def _have_names(rows: Sequence[Sequence[str]], separator: str, are_quoted: bool) -> bool:
    """Return whether rows have one value more than there are names, as write.table of R has it.

    That is in quotes, or between blanks or tabs; with other separators a name may be missing
    elsewhere.
    """
    first, *body = rows
    wider = bool(body) and {len(row) for row in body} == {len(first) + 1}
    distinct = len({row[0] for row in body}) == len(body)
    plain = separator in (BLANK, "\t") and distinct and any(row[-1] for row in body)
    return wider and (are_quoted or plain)


def _without_footer(lines: Sequence[str], separator: str) -> Sequence[str]:
    widths = Counter(len(split(line, separator)) for line in lines if line.strip())
    return lines[: find_footer(lines, widths.most_common(1)[0][0], separator)]


def _find_separator(every: Sequence[str]) -> str:
    lines = [line for line in every if line.strip()]
    first = _most_frequent(lines[0])
    if first is not None:
        return first
    if lines[0].count('"') % 2:
        return ","
    words = [split(line, BLANK) for line in lines]
    widths = [len(row) for row in words]
    regular = widths[0] > 1 and len({*widths[1:]}) == 1
    if regular and (widths[1] == widths[0] or _have_names(words, BLANK, _are_quoted(lines))):
        return BLANK
    # below a title
    found = next((mark for line in lines if (mark := _most_frequent(line))), ",")
    lines = [line for line in _without_footer(every, found) if line.strip()]
    return found if find_names([split(line, found) for line in lines]) else ","


def _most_frequent(line: str) -> str | None:
    """Return the separator of a line; None if there is none outside quotes."""
    outside = re.sub(r'"[^"]*"', "", line)
    return max(SEPARATORS, key=outside.count) if any(s in outside for s in SEPARATORS) else None


def _are_quoted(lines: Sequence[str]) -> bool:
    return all(line.lstrip().startswith('"') for line in lines)
