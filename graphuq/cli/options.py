"""Options that several commands share."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from graphuq.cli import files
from graphuq.utils.validation import AUTO

Parser = argparse.ArgumentParser

# The width of a help, and where the text beside an option begins.
WIDTH, BESIDE = 80, 27


def number_or_auto(text: str) -> float | str:
    """Parse a number, or "auto", which chooses the value from the labels."""
    if text == AUTO:
        return AUTO
    try:
        return float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"expected a number or auto, got {text!r}") from error


def add_command(
    commands: Any, name: str, arguments: str, summary: str, description: str, epilog: str
) -> Parser:
    """Return the parser of a new command; ``arguments`` are those that it needs."""
    parser: Parser = commands.add_parser(
        name,
        usage=f"graphuq {name} {arguments} [options]".replace("  ", " "),
        help=summary,
        description=description,
        epilog=epilog,
        formatter_class=partial(
            argparse.RawDescriptionHelpFormatter, max_help_position=BESIDE, width=WIDTH
        ),
        allow_abbrev=False,  # --label of one command would be --labels of another
    )
    return parser


def add_json(parser: Parser) -> None:
    """Add ``--json``."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def add_sampling(group: Any) -> None:
    """Add the numbers of draws and chains."""
    for name, default, about in (
        ("--draws", 1000, "draws of each chain (default: 1000)"),
        ("--chains", 4, "number of chains (default: 4)"),
    ):
        add_option(group, name, type=int, default=default, metavar="N", help=about)


def add_seed(group: Any) -> None:
    """Add ``--seed``."""
    add_option(
        group,
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="seed of random numbers (default: 0)",
    )


def add_file(parser: Parser, *, without: Sequence[str] = ()) -> None:
    """Add FILE and the options that say how it is read."""
    add_option(
        parser,
        "file",
        type=Path,
        metavar="FILE",
        help="a table, an archive (.npz), a graph or cells (.h5ad)",
        more="Tables: .csv, .tsv, .csv.gz, .parquet, .xlsx, .jsonl. Archives: features X or an "
        "adjacency matrix, and optionally labels y. Graphs: .edges, .mtx, .graphml, .gml, .gexf, "
        ".net, or a table of edges (source, target and optionally weight) or of all weights.",
    )
    group = parser.add_argument_group("contents of the file")
    for each in fields(files.ReadOptions):
        if each.metadata and each.name not in without:
            add_read_option(group, each.name)
    add_option(
        group,
        "--neighbors",
        type=int,
        metavar="K",
        help="nearest neighbors of each item (default: 10)",
        more="The graph of a table or of an archive connects each item to them.",
    )


def add_read_option(group: Any, name: str) -> None:
    """Add an option that says how a file is read."""
    each = next(each for each in fields(files.ReadOptions) if each.name == name)
    flags, default = each.metadata["flags"], each.default
    into = group.add_mutually_exclusive_group() if len(flags) > 1 else group
    for names, about, more, given in flags:
        add_option(
            into,
            *names,
            dest=name,
            default=list(default) if isinstance(default, tuple) else default,
            help=about,
            more=more,
            **given,
        )


def add_option(group: Any, *names: str, more: str = "", **given: Any) -> None:
    """Add an option; ``more`` is what the reference page says in addition to its help."""
    group.add_argument(*names, **given).more = more


def read_items(options: argparse.Namespace, *, needs_labels: bool = True) -> files.Items:
    """Return the items in FILE."""
    return files.read(options.file, replace(read_options(options), needs_labels=needs_labels))


def read_options(options: argparse.Namespace) -> files.ReadOptions:
    """Return how FILE is read."""
    given: dict[str, Any] = {
        name: tuple(dict.fromkeys(value)) if isinstance(value, list) else value
        for name in (each.name for each in fields(files.ReadOptions))
        if (value := vars(options).get(name)) is not None
    }
    return files.ReadOptions(**given)
