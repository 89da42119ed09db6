"""Sections of the report as text for a terminal: no plots, and tables that end early."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from graphuq.cli.printing import print_paragraph, print_table
from graphuq.posterior.assessment.diagnostics import RAISE_DRAWS
from graphuq.report.blocks import MEANING, Block, Bullets, Paragraph, Section, Table
from graphuq.utils.words import count

# Rows of a table that are printed.
MOST_ROWS = 20


def print_sections(sections: Iterable[Section], without: Collection[str]) -> None:
    """Print what the sections say, each under its title in capitals, but for some."""
    for section in sections:
        if section.name in without:
            continue
        print(f"\n{section.title.upper()}")
        for block in section.blocks:
            print_block(block)


def print_block(block: Block) -> None:
    """Print a block; plots, and notes on how to read a page, are left out."""
    match block:
        case Paragraph(text, strong):
            print_paragraph(f"{strong} {text}".lstrip())
        case Bullets(texts):
            for text in texts:
                advice = text.replace(RAISE_DRAWS, f"{RAISE_DRAWS} (--draws)")
                print_paragraph(f"- {advice}", "  ", hanging="    ")
        case Table(header) if header[-1] == MEANING:
            _print_meanings(block)
        case Table(header, rows):
            shown = [[str(cell) for cell in row] for row in rows[:MOST_ROWS]]
            print_table(header, shown, indent="  ", beside=block.words[:MOST_ROWS])
            if len(rows) > len(shown):
                print(f"  and {count(len(rows) - len(shown), 'more row')}")


def _print_meanings(table: Table) -> None:
    """Print each row as name = value (other columns by their names), and below it its meaning."""
    for name, value, *others, meaning in table.rows:
        named = [
            f"{header}: {cell}" for header, cell in zip(table.header[2:], others, strict=False)
        ]
        print_paragraph(f"{name} = {value}" + f" ({'; '.join(named)})" * bool(named), "  ", "    ")
        print_paragraph(meaning, "    ")
