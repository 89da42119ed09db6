"""The table of the columns of a file, as text."""

from __future__ import annotations

from collections.abc import Sequence

from graphuq.cli.files.columns import NUMBERS, Column
from graphuq.utils.words import shorten, visible

# Columns that are listed; among more, plain ones are counted together.
MOST = 60

# Characters of a name, and of how a column was read.
NAME_LENGTH, MOST_READ_AS = 30, 50


def format_columns(columns: Sequence[Column]) -> list[str]:
    """Return the lines of the table; plain numbers of wide tables are counted in one line.

    Examples
    --------
    >>> ages = Column("age", "numbers", 40, 1, "--fill-missing", range="18 to 93")
    >>> for line in format_columns([ages]):
    ...     print(line)
      column  read as  range     distinct  missing  to use it
    ? age     numbers  18 to 93        40        1  --fill-missing
    """
    wide = len(columns) > MOST
    listed = [column for column in columns if not (wide and _is_plain(column))]
    listed = sorted(listed, key=lambda column: (not column.use, column.is_feature))[:MOST]
    shown = [column for column in columns if column in listed]
    rows = [
        (
            shorten(visible(c.name), NAME_LENGTH),
            shorten(visible(c.read_as), MOST_READ_AS),
            c.range,
            f"{c.distinct:,}",
            f"{c.missing:,}",
            visible(c.use),
        )
        for c in shown
    ]
    uses = "to use it" if any(c.use for c in shown) else ""
    rows.insert(0, ("column", "read as", "range", "distinct", "missing", uses))
    widths = [max(len(row[k]) for row in rows) for k in range(5)]
    lines = []
    odd = [("", ""), *((c.use, c.odd) for c in shown)]
    for (asked, note), (*texts, distinct, missing, use) in zip(odd, rows, strict=True):
        left = "  ".join(f"{text:{width}}" for text, width in zip(texts, widths, strict=False))
        line = f"{'?' if asked else ' '} {left}  {distinct:>{widths[3]}}"
        lines.append(f"{line}  {missing:>{widths[4]}}  {use}".rstrip())
        if note:
            lines.append(f"    {visible(note)}")
    others = [column for column in columns if column not in listed]
    if others:
        what = "columns of numbers" if all(map(_is_plain, others)) else "columns"
        n_asked = sum(bool(column.use) for column in others)
        what += f", {n_asked:,} of them with questions like those above" if n_asked else ""
        lines.append(f"  and {len(others):,} more {what}")
    return lines


def _is_plain(column: Column) -> bool:
    """Return whether there is nothing to say of a column: numbers without gaps."""
    return column.read_as == NUMBERS and not column.missing and not column.use
