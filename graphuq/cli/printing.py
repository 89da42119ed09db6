"""Text, tables and JSON that commands print."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from graphuq.utils.words import shorten, visible

WIDTH = 88

# Characters of a text beside a table; fewer say nothing.
MIN_BESIDE = 16


def print_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    indent: str = "",
    beside: Sequence[str] = (),
) -> None:
    """Print columns, aligned on the right; texts ``beside`` the rows are cut to the width left."""
    header, *rows = ([visible(cell) for cell in row] for row in [header, *rows])
    widths = [max(len(row[k]) for row in [header, *rows]) for k in range(len(header))]
    left = WIDTH - len(indent) - sum(widths) - 2 * len(widths)
    texts = ["", "", *beside] if left >= MIN_BESIDE else []
    for row, text in zip_longest(
        [header, ["-" * width for width in widths], *rows], texts, fillvalue=""
    ):
        cells = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        shown = shorten(visible(" ".join(text.split())), left) if text else ""
        print((indent + "  ".join(cells) + f"  {shown}").rstrip())


def print_paragraph(text: str, indent: str = "", hanging: str | None = None) -> None:
    """Print text in lines of at most `WIDTH` characters.

    The first line begins with ``indent``, the others with ``hanging`` or with ``indent`` too.
    """
    print(
        textwrap.fill(
            visible(text),
            WIDTH,
            initial_indent=indent,
            subsequent_indent=indent if hanging is None else hanging,
            break_on_hyphens=False,
            break_long_words=False,
        )
    )


def to_json(value: Any) -> str:
    """Return JSON; values that are not finite become null."""
    return json.dumps(_plain(value), indent=2, ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, Path):
        return str(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def describe_counts(counts: Mapping[Any, int]) -> str:
    """Return how often each class occurs, as in "3 x ham, 2 x spam"."""
    return ", ".join(f"{n} x {name}" for name, n in counts.items())
