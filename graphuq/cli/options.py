"""Options that several commands share."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from graphuq.cli import files
from graphuq.utils.validation import AUTO

Parser = argparse.ArgumentParser

# The value of --categorical that stands for all text columns; no column has this name.
ALL = "\0all"

DECIMAL_MARKS = {"comma": ",", "point": "."}


def number_or_auto(text: str) -> float | str:
    """Parse a number, or "auto", which chooses the value from the labels."""
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
        allow_abbrev=False,  # --label of one command would be --labels of another
    )
    return parser


def add_json(parser: Parser) -> None:
    """Add ``--json``."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def add_sampling(add: Any) -> None:
    """Add the numbers of draws and chains, through ``add``."""
    add(
        "--draws",
        type=int,
        default=1000,
        metavar="N",
        help="number of draws per chain (default: 1000)",
    )
    add("--chains", type=int, default=4, metavar="N", help="number of chains (default: 4)")


def add_seed(add: Any) -> None:
    """Add ``--seed``, through ``add``."""
    add("--seed", type=int, default=0, metavar="N", help="random seed (default: 0)")


def add_file(parser: Parser) -> None:
    """Add FILE and the options that say how it is read."""
    parser.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help=".csv, .tsv (also .csv.gz), .parquet, .xlsx, .jsonl: a table with one row per item, "
        "or a list of edges (source, target and optionally weight); .npz: features X or an "
        "adjacency matrix, and optionally labels y; .edges, .mtx, .graphml: a graph; .h5ad: cells "
        "of AnnData",
    )
    group = parser.add_argument_group("contents of the file")
    _add_columns(group.add_argument)
    _add_missing(group.add_mutually_exclusive_group().add_argument)
    _add_features(group.add_argument)
    _add_graph(group.add_argument)


def _add_columns(add: Any) -> None:
    """Add the roles of the columns."""
    add(
        "--label",
        metavar="COLUMN",
        help="column with the class of each item, blank if unknown (default: label)",
    )
    add(
        "--labels",
        type=Path,
        metavar="FILE",
        help="read the labels from another table, with columns id and label, and optionally "
        "confidence: the probability that the label is right",
    )
    add(
        "--id",
        metavar="COLUMN",
        help="column with the names of the items (default: id; without such a column, items are "
        "numbered from 0)",
    )
    add(
        "--truth",
        metavar="COLUMN",
        help="column with the true classes, used only to score the predictions, or another table "
        "with columns id and label",
    )
    add(
        "--ignore",
        metavar="COLUMN",
        action="append",
        default=[],
        help="column to exclude from the features; can be repeated",
    )
    add(
        "--text",
        metavar="COLUMN",
        help="column of texts: the words that they share are the features, in place of the other "
        "columns",
    )
    add(
        "--unlabeled",
        "--unlabelled",
        dest="unlabeled",
        metavar="VALUE",
        action="append",
        default=[],
        help="value that marks an unknown label, in addition to blanks and -1; can be repeated",
    )
    add_classes(add)


def add_classes(add: Any) -> None:
    """Add ``--class``."""
    add(
        "--class",
        dest="classes",
        metavar="VALUE",
        action="append",
        default=[],
        help="value that is a class although no label shows it, or although it looks like another "
        "class or like a mark of unknown labels, such as NA or -1; can be repeated",
    )


def _add_missing(add: Any) -> None:
    """Add what happens to missing values."""
    add(
        "--drop-missing",
        dest="missing",
        action="store_const",
        const="drop",
        default="refuse",
        help="drop rows with missing or invalid feature values",
    )
    add(
        "--fill-missing",
        dest="missing",
        action="store_const",
        const="fill",
        help="replace missing or invalid feature values by the column mean",
    )


def _add_features(add: Any) -> None:
    """Add how columns become features."""
    add(
        "--categorical",
        metavar="COLUMN",
        nargs="?",
        action="append",
        const=ALL,
        default=[],
        help="treat a column as categories; can be repeated; without COLUMN, all text columns",
    )
    add(
        "--decimal",
        choices=DECIMAL_MARKS,
        help="decimal mark of the numbers (default: found for each column)",
    )
    add(
        "--scale",
        action=argparse.BooleanOptionalAction,
        help="scale columns to mean 0 and standard deviation 1 (default: yes for tables, no for "
        ".npz)",
    )
    add("--encoding", default="utf-8", help="encoding of text files (default: utf-8)")


def _add_graph(add: Any) -> None:
    """Add how the graph is read or built."""
    add(
        "--edges",
        action="store_true",
        default=None,
        help="read a table as a list of edges, even if its header does not say so",
    )
    add(
        "--table",
        dest="edges",
        action="store_false",
        help="read a table with one row per item, even if two columns look like the ends of edges",
    )
    add(
        "--weight",
        metavar="COLUMN",
        help="column with the weights of the edges (default: weight, if there is one)",
    )
    add(
        "--largest-component",
        action="store_true",
        help="if the graph is disconnected, keep its largest component alone",
    )
    add(
        "--neighbors",
        type=int,
        metavar="K",
        help="connect each item to its K nearest neighbors (default: 10)",
    )


def read_items(
    options: argparse.Namespace, *, needs_labels: bool = True, groups: str | None = None
) -> files.Items:
    """Return the items in FILE, and the groups in a column of it."""
    return files.read(options.file, read_options(options, needs_labels=needs_labels, groups=groups))


def read_options(
    options: argparse.Namespace, *, needs_labels: bool = True, groups: str | None = None
) -> files.ReadOptions:
    """Return how FILE is read."""
    columns = tuple(dict.fromkeys(options.categorical))
    return files.ReadOptions(
        label=options.label,
        labels=options.labels,
        id_column=options.id,
        truth=options.truth,
        groups=groups,
        ignore=tuple(options.ignore),
        unlabeled=tuple(options.unlabeled),
        classes=tuple(options.classes),
        missing=options.missing,
        categorical=ALL in columns or columns or False,
        decimal=DECIMAL_MARKS.get(options.decimal),
        scale=options.scale,
        edges=options.edges,
        weight=options.weight,
        largest=options.largest_component,
        encoding=options.encoding,
        text=options.text,
        needs_labels=needs_labels,
    )
