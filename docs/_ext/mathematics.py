"""Formulas as SVG drawings by matplotlib's TeX: no script, no fonts, no network."""

from __future__ import annotations

from functools import cache
from html import escape
from typing import Any

from docutils.nodes import SkipNode
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.textpath import TextPath, text_to_path
from sphinx.util import logging

logger = logging.getLogger(__name__)

# units per em, and the scale against the text, whose letters are wider
EM, SCALE = 100, 1.1
FONT = FontProperties(size=EM, math_fontfamily="cm")
COMMANDS = {Path.MOVETO: "M", Path.LINETO: "L", Path.CURVE3: "Q", Path.CURVE4: "C"}


@cache
def drawing(tex: str) -> str:
    """Return an SVG element aligned with the baseline of the text."""
    text = "$" + " ".join(tex.split()) + "$"
    width, height, descent = text_to_path.get_text_width_height_descent(text, FONT, ismath=True)
    strokes = [
        COMMANDS[code] + " ".join(f"{value:.0f}" for value in points)
        for points, code in TextPath((0, 0), text, prop=FONT).iter_segments(simplify=False)
        if code in COMMANDS
    ]
    em = SCALE / EM
    return (
        f'<svg role="img" aria-label="{escape(tex)}" '
        f'viewBox="0 {descent - height:.0f} {width:.0f} {height:.0f}" '
        f'style="width: {width * em:.3f}em; height: {height * em:.3f}em; '
        f'vertical-align: {-descent * em:.3f}em; overflow: visible">'
        f'<path transform="scale(1, -1)" fill="currentColor" d="{"".join(strokes)}"/></svg>'
    )


def _write(writer: Any, node: Any, frame: str) -> None:
    try:
        writer.body.append(frame.format(drawing(node.astext())))
    except ValueError as error:
        logger.warning("matplotlib cannot draw %r: %s", node.astext(), error, location=node)
    raise SkipNode


def visit_inline(writer: Any, node: Any) -> None:
    """Write an inline formula."""
    _write(writer, node, "{}")


def visit_displayed(writer: Any, node: Any) -> None:
    """Write a displayed formula."""
    _write(writer, node, '<div class="formula">{}</div>')


def setup(app: Any) -> None:
    """Register the renderer."""
    app.add_html_math_renderer("drawn", (visit_inline, None), (visit_displayed, None))
