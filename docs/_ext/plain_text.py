"""Show docstrings as written: their formulas are plain text, not reStructuredText."""

from __future__ import annotations

import inspect
import re
from typing import Any

# what reStructuredText would read as markup: names that end in _, |x|, and *
LITERAL = re.compile(r"(``.*?``|`.*?`)")
MARKUP = re.compile(r"(\*|\||_(?!\w))")


def escaped(line: str) -> str:
    """Return a line with the markup outside of backticks escaped."""
    parts = LITERAL.split(line)
    return "".join(
        part if place % 2 else MARKUP.sub(r"\\\1", part) for place, part in enumerate(parts)
    )


def plain(lines: list[str]) -> list[str]:
    """Return a docstring with displayed formulas as literal blocks, and other markup escaped.

    A formula is an indented paragraph before the first section.
    """
    found: list[str] = []
    body, in_formula = True, False
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if re.fullmatch(r"\s*-{3,}", following):
            body = False
        if line.lstrip().startswith((">>>", "...")):
            found.append(line)
            continue
        starts = body and line.startswith("    ") and (number == 0 or not lines[number - 1].strip())
        if starts and not in_formula:
            found += ["::", ""]
            in_formula = True
        elif line.strip() and not line.startswith(" "):
            in_formula = False
        found.append(line if in_formula else escaped(line))
    return found


def setup(app: Any) -> None:
    """Register before numpydoc."""
    app.connect("autodoc-process-docstring", _process, priority=100)
    app.connect("autodoc-skip-member", _skip)


def _process(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    lines[:] = plain(lines)


def _skip(app: Any, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Skip members inherited from scikit-learn and Python."""
    behind = getattr(member, "fget", None) or getattr(member, "func", None) or member
    ours = (getattr(behind, "__module__", None) or "").startswith("graphuq")
    return True if inspect.isroutine(behind) and not ours else None
