"""Options that say how a file is read, each of which stands here once."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

# Kinds of files.
TABLE, ARCHIVE, EDGES = "a table", "an .npz file", "a list of edges"
GRAPH, CELLS, PICTURES = "a graph", "an .h5ad file", "a folder of pictures"
KINDS = (TABLE, ARCHIVE, EDGES, GRAPH, CELLS, PICTURES)

# The value of an option without a column, which stands for all; no column has this name.
ALL = "\0all"

DECIMAL_MARKS = {"comma": ",", "point": "."}


class Flag(NamedTuple):
    """A flag of the command line.

    Attributes
    ----------
    names : tuple of str
    about : str
        One line of ``--help``.
    more : str
        What the reference page says in addition.
    given : dict
        Further arguments of argparse.
    """

    names: tuple[str, ...]
    about: str
    more: str
    given: dict[str, Any]

    @property
    def spelled(self) -> list[str]:
        """All ways to write it, also that which says no."""
        negated = self.given.get("action") is argparse.BooleanOptionalAction
        return [*self.names, *(f"--no-{name.removeprefix('--')}" for name in self.names if negated)]


def flag(*names: str, about: str, more: str = "", **given: Any) -> Flag:
    """Return a flag; ``given`` are further arguments of argparse."""
    return Flag(names, about, more, given)


def option(*flags: Flag, default: Any = None, kinds: Sequence[str] = KINDS) -> Any:
    """Return the field of an option with one flag, or with several of which one is given.

    Parameters
    ----------
    *flags : Flag
    default : object
    kinds : sequence of str
        The kinds of files on which it has an effect.
    """
    return field(default=default, metadata={"flags": flags, "kinds": tuple(kinds)})


def decimal_mark(text: str) -> str:
    """Return the decimal mark that a word names."""
    if text not in DECIMAL_MARKS:
        raise argparse.ArgumentTypeError(f"expected comma or point, got {text!r}")
    return DECIMAL_MARKS[text]


@dataclass(frozen=True)
class ReadOptions:
    """How a file is read: the options of the commands that read one.

    Every field but the last one is an option, and the help of its flags says what it means.
    ``label``, ``id_column``, ``truth``, ``groups``, ``ignore`` and ``show`` name arrays of an
    archive, or attributes of nodes, as well. ``needs_labels`` refuses a table without labels, and
    ``elsewhere`` has the columns of a file of links, which ``ignore`` may name as well.
    """

    label: str | None = option(
        flag("--label", metavar="COLUMN", about="classes, blank if unknown (default: label)")
    )
    labels: str | Path | None = option(
        flag(
            "--labels",
            metavar="FILE",
            type=Path,
            about="a table with the columns id and label",
            more="A column confidence may say how probably each label is right.",
        )
    )
    annotators: tuple[str, ...] = option(
        flag(
            "--annotator",
            metavar="COLUMN",
            action="append",
            about="who gave each label, or the labels of one annotator",
            more="Given once, the column of --labels says who gave the label of a row. Repeated, "
            "each column of FILE, or of --labels, has the labels of one annotator. The rate of "
            "mistakes of each is inferred from how far they agree, and the labels of an item "
            "become one, with a confidence.",
        ),
        default=(),
    )
    id_column: str | None = option(
        flag(
            "--id",
            metavar="COLUMN",
            about="names of the items (default: id)",
            more="Without such a column, items are numbered from 0.",
        ),
        kinds=(TABLE, ARCHIVE, GRAPH),
    )
    truth: str | None = option(
        flag(
            "--truth",
            metavar="COLUMN",
            about="true classes, used only to score predictions",
            more="Or a table with the columns id and label.",
        )
    )
    groups: str | None = option(
        flag(
            "--groups",
            metavar="COLUMN",
            about="groups whose shares of the classes are estimated",
            more="Such as wards or batches. The column is no feature.",
        ),
        kinds=(TABLE, ARCHIVE, GRAPH, CELLS, PICTURES),
    )
    ignore: tuple[str, ...] = option(
        flag("--ignore", metavar="COLUMN", action="append", about="no feature; can be repeated"),
        default=(),
    )
    show: tuple[str, ...] = option(
        flag(
            "--show",
            metavar="COLUMN",
            action="append",
            about="shown in lists of items; can be repeated",
            more="By default the first 12 columns are, texts before numbers.",
        ),
        default=(),
        kinds=(TABLE, ARCHIVE, GRAPH, CELLS, PICTURES),
    )
    features: Path | None = option(
        flag(
            "--features",
            metavar="FILE",
            type=Path,
            about="features of all items, such as embeddings (.npy)",
            more="An array with a row for each row of a table, or for each picture of a folder, in "
            "the order of sorted(Path(FOLDER).rglob('*')). Columns of the table are then not used.",
        ),
        kinds=(TABLE, PICTURES),
    )
    links: Path | None = option(
        flag(
            "--links",
            metavar="FILE",
            type=Path,
            about="links between the items, beside their features",
            more="A list of edges or a graph, whose nodes have the names of the items. For items "
            "without a link, the model uses only their features. An archive may hold both.",
        ),
        kinds=(TABLE, ARCHIVE, PICTURES),
    )
    text: tuple[str, ...] = option(
        flag(
            "--text",
            metavar="COLUMN",
            action="append",
            about="texts, whose words are features; can be repeated",
            more="Words that several texts share count. Beside other columns, texts have as much "
            "variance as these together.",
        ),
        default=(),
        kinds=(TABLE,),
    )
    categorical: tuple[str, ...] = option(
        flag(
            "--categorical",
            metavar="COLUMN",
            nargs="?",
            const=ALL,
            action="append",
            about="categories; without COLUMN, all columns of text",
            more="Can be repeated.",
        ),
        default=(),
        kinds=(TABLE,),
    )
    unlabeled: tuple[str, ...] = option(
        flag(
            "--unlabeled",
            metavar="VALUE",
            action="append",
            about="marks unknown labels, as blanks and -1 do",
            more="Can be repeated.",
        ),
        default=(),
    )
    classes: tuple[str, ...] = option(
        flag(
            "--class",
            metavar="VALUE",
            action="append",
            about="a class, even if no label shows it; can be repeated",
            more="Also a class that looks like another one, or like a mark of unknown labels, such "
            "as NA or -1.",
        ),
        default=(),
    )
    marks: tuple[str, ...] = option(
        flag(
            "--missing",
            metavar="VALUE",
            action="append",
            about="marks missing features, as blanks and NA do",
            more="Such as --missing=-99 --missing=999. Can be repeated.",
        ),
        default=(),
        kinds=(TABLE,),
    )
    missing: str = option(
        flag(
            "--drop-missing",
            action="store_const",
            const="drop",
            about="drop rows with missing or invalid features",
        ),
        flag(
            "--fill-missing",
            action="store_const",
            const="fill",
            about="replace such values by the mean of the column",
        ),
        default="refuse",
        kinds=(TABLE, ARCHIVE, PICTURES),
    )
    decimal: str | None = option(
        flag(
            "--decimal",
            metavar="MARK",
            type=decimal_mark,
            about="comma or point (default: as in each column)",
        ),
        kinds=(TABLE, EDGES),
    )
    scale: bool | None = option(
        flag(
            "--scale",
            action=argparse.BooleanOptionalAction,
            about="give columns mean 0 and deviation 1",
            more="By default those of tables are scaled, and those of .npz are not.",
        ),
        kinds=(TABLE, ARCHIVE),
    )
    encoding: str = option(
        flag("--encoding", metavar="NAME", about="encoding of text files (default: utf-8)"),
        default="utf-8",
    )
    edges: bool | None = option(
        flag("--edges", action="store_true", about="each row is an edge"),
        flag("--table", action="store_false", about="each row is an item"),
        kinds=(TABLE, EDGES),
    )
    weight: str | None = option(
        flag("--weight", metavar="COLUMN", about="weights of the edges (default: weight)"),
        kinds=(EDGES, GRAPH),
    )
    largest: bool = option(
        flag(
            "--largest-component",
            action="store_true",
            about="keep the largest component of the graph alone",
        ),
        default=False,
        kinds=(TABLE, ARCHIVE, EDGES, GRAPH),
    )
    needs_labels: bool = True
    elsewhere: tuple[str, ...] = ()


DEFAULTS = ReadOptions()
