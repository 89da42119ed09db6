"""Blocks as HTML: one page, which loads nothing else. All text is escaped."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from html import escape
from typing import Any

from graphuq.plots.rendering import png
from graphuq.report.blocks import (
    Bar,
    Block,
    Bullets,
    Code,
    Figure,
    Note,
    Paragraph,
    Picture,
    Section,
    Table,
)


def block(value: Block) -> str:
    """Return a block as HTML."""
    match value:
        case Paragraph(text, strong):
            strong = f"<strong>{escape(strong)}</strong> " if strong else ""
            return f"<p>{strong}{escape(text)}</p>\n"
        case Note(text):
            return f"<p>{escape(text)}</p>\n"
        case Bullets(texts):
            listed = "".join(f"<li>{escape(text)}</li>\n" for text in texts)
            return f"<ul>\n{listed}</ul>\n"
        case Table():
            return _table(value)
        case Code(text):
            return f"<pre><code>{escape(text)}</code></pre>\n"
        case Figure(draw, inches, said, caption):
            plot = _picture(Picture(png(draw, *inches), said), "plot")
            return f"<figure>{plot}<figcaption>{escape(caption)}</figcaption></figure>\n"


def _table(table: Table) -> str:
    """Return a table.

    On a narrow screen each cell is a line of its own, which begins with the name of its column.
    """
    header, rows = list(table.header), [list(row) for row in table.rows]
    if table.words:
        header.append(table.about)
        rows = [[*row, words] for row, words in zip(rows, table.words, strict=True)]
    if table.pictures:
        header.insert(1, "image")
        for row, picture in zip(rows, table.pictures, strict=True):
            row.insert(1, picture)
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in header)
    body = ""
    for first, *rest in rows:
        cells = "".join(
            f'<td data-column="{escape(name)}">{_cell(cell)}</td>'
            for name, cell in zip(header[1:], rest, strict=True)
        )
        body += f'<tr><th scope="row">{_cell(first)}</th>{cells}</tr>\n'
    return (
        f'<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n'
        "</table></div>\n"
    )


def _cell(value: Any) -> str:
    match value:
        case Picture():
            return _picture(value, "item")
        case Bar(share, text):
            said = escape(text)
            return (
                f'<span class="bar" role="img" aria-label="{said}">'
                f'<span style="width:{100 * share:.1f}%"></span></span> {said}'
            )
    return escape(str(value))


def _picture(picture: Picture, kind: str) -> str:
    """Return an image that is embedded in the page, with its words as the alternative text."""
    data = b64encode(picture.png).decode("ascii")
    said = escape(picture.said)
    return f'<img class="{kind}" alt="{said}" src="data:image/png;base64,{data}">'


def page(title: str, opening: str, sections: Iterable[Section], closing: str) -> str:
    """Return the whole page. Its security policy keeps a browser from loading anything else."""
    sections = list(sections)
    contents = "".join(f'<li><a href="#{s.name}">{escape(s.title)}</a></li>' for s in sections)
    body = "".join(
        f'<section id="{s.name}">\n<h2>{escape(s.title)}</h2>\n'
        f"{''.join(map(block, s.blocks))}</section>\n"
        for s in sections
    )
    return f"""{BEGINNING}<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<header>
<h1>{escape(title)}</h1>
{opening}<nav aria-label="Contents"><ol>{contents}</ol></nav>
</header>
<main>
{body}</main>
<footer>{escape(closing)}</footer>
</body>
</html>
"""


# It shows that a page is one of ours, which may be replaced.
BEGINNING = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta name="generator" content="graphuq">
"""

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff;
  max-width: 58rem; margin: 0 auto; padding: 1rem 1.25rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 1rem 0; }
h2 { font-size: 1.3rem; margin: 2.5rem 0 .75rem; padding-top: .5rem; border-top: 1px solid #ccc; }
nav ol { columns: 2; padding-left: 1.4rem; }
.light { display: flex; align-items: center; gap: .8rem; padding: .7rem 1rem; margin: 1rem 0;
  border-radius: .4rem; font-size: 1.1rem; }
.light b { font-size: 1.4rem; }
.light.green { background: #00623f; color: #fff; }
.light.amber { background: #ffc233; color: #000; }
.light.red { background: #a8001c; color: #fff; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 1rem 0; font-size: .93rem; }
th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0;
  border-bottom: 1px solid #e2e2e2; }
thead th { border-bottom: 2px solid #888; }
tbody th { font-weight: 600; }
.bar { display: inline-block; width: 6rem; height: .7rem; background: #ddd; margin-right: .3rem; }
.bar span { display: block; height: 100%; background: #0072b2; }
.item { width: 48px; height: 48px; object-fit: contain; image-rendering: pixelated;
  border: 1px solid #ccc; }
.plot { max-width: 100%; height: auto; }
figure { margin: 1.5rem 0; }
figcaption { font-size: .93rem; color: #444; }
pre { background: #f4f4f4; padding: .8rem; overflow-x: auto; font-size: .85rem; }
footer { margin-top: 3rem; font-size: .85rem; color: #555; }
@media (max-width: 40rem) {
  nav ol { columns: 1; }
  table, tbody, tr, th, td { display: block; }
  thead { display: none; }
  tr { padding: .5rem 0; border-bottom: 1px solid #ccc; }
  th, td { border: 0; padding: .1rem 0; overflow-wrap: anywhere; }
  td::before { content: attr(data-column) ": "; color: #555; }
  .bar { width: 4rem; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; }
}
@media print { nav { display: none; } section { break-inside: avoid-page; } }
"""
