"""Options that several commands share, and how what they say is read."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from graphuq import files
from graphuq.validation import AUTO

Parser = argparse.ArgumentParser


def number_or_auto(text: str) -> float | str:
    """Parse a number, or "auto": let the labels choose."""
    if text == AUTO:
        return AUTO
    try:
        return float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"expected a number or auto, got {text!r}") from error


def add_command(commands: Any, name: str, summary: str, description: str, epilog: str) -> Parser:
    """Return the parser of a new command."""
    parser: Parser = commands.add_parser(
        name,
        help=summary,
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return parser


def add_json(parser: Parser) -> None:
    """Add ``--json``."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of words")


def add_file(parser: Parser, **file: Any) -> None:
    """Add FILE, and what says how it is to be read."""
    parser.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help=".csv, .tsv or .parquet: one row an item; or of edges: source, target and perhaps "
        "weight. .npz: X, or an adjacency, and perhaps y. .graphml",
        **file,
    )
    group = parser.add_argument_group("what the file holds")
    add = group.add_argument
    add("--label", metavar="COLUMN", help="of classes, blank where not known (default: label)")
    add("--labels", type=Path, metavar="FILE", help="of labels instead, with columns id and label")
    add(
        "--id",
        metavar="COLUMN",
        help="of names of the items (default: id; else they are numbered from 0)",
    )
    add("--truth", metavar="COLUMN", help="of true classes; to score against, never learned from")
    add(
        "--ignore",
        metavar="COLUMN",
        action="append",
        default=[],
        help="that is no feature; may be given more than once",
    )
    add(
        "--unlabelled",
        metavar="VALUE",
        action="append",
        default=[],
        help="what besides a blank means that a label is not known, such as -1",
    )
    gaps = group.add_mutually_exclusive_group()
    gaps.add_argument(
        "--drop-missing",
        dest="gaps",
        action="store_const",
        const="drop",
        default="refuse",
        help="leave rows out whose features are missing or no numbers",
    )
    gaps.add_argument(
        "--fill-missing",
        dest="gaps",
        action="store_const",
        const="fill",
        help="put the column's mean in the place of such features",
    )
    add("--categorical", action="store_true", help="take columns of text for categories")
    add(
        "--scale",
        action=argparse.BooleanOptionalAction,
        help="give columns mean 0 and deviation 1 (default: those of tables, not of .npz)",
    )
    add("--edges", action="store_true", help="the table lists edges, and does not say so itself")
    add("--largest-component", action="store_true", help="keep that of a graph in pieces")
    add("--encoding", default="utf-8", help="of text (default: utf-8)")
    add(
        "--neighbors",
        type=int,
        metavar="K",
        help="join each item to its K nearest (default: 10)",
    )


def read_items(options: argparse.Namespace) -> files.Items:
    """Return what FILE holds."""
    return files.read(
        options.file,
        label=options.label,
        labels=options.labels,
        id_column=options.id,
        truth=options.truth,
        ignore=options.ignore,
        unlabelled=options.unlabelled,
        gaps=options.gaps,
        categorical=options.categorical,
        scale=options.scale,
        edges=options.edges,
        largest=options.largest_component,
        encoding=options.encoding,
    )
