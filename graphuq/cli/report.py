"""``graphuq report``: a page for others, of a saved result."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import graphuq as gq
from graphuq.cli.options import add_command
from graphuq.cli.result import Result, add_result, read_result
from graphuq.files import read_classes
from graphuq.whole import require_place

DESCRIPTION = """\
Write one HTML page of a saved result, which needs nothing but a browser: is the sampler to be
trusted, what was run, how often it is right, which items are uncertain and which labels suspect.

graphuq sample writes such a page already, with pictures that take the graph too. This one is for
classes that became known since, and for results of Python."""


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "report",
        "a page for others, of a saved result",
        DESCRIPTION,
        "examples:\n  graphuq report votes-graphuq --truth parties.csv\n"
        "  graphuq report posterior.nc --out page.html",
    )
    add_result(parser)
    parser.add_argument("--encoding", default="utf-8", help="of --truth (default: utf-8)")
    parser.add_argument(
        "--truth",
        type=Path,
        metavar="FILE",
        help="table with columns id and label: the true class of every item (default: what "
        "graphuq sample --truth was given)",
    )
    parser.add_argument(
        "--out", type=Path, metavar="PAGE", help="(default: the result's name and -report.html)"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Load and write."""
    place = options.result.resolve()
    name = place.name if place.is_dir() else place.stem
    page = options.out or Path(f"{name}-report.html")
    require_place(page)
    result = read_result(options.result)
    if page.exists() and any(
        given is not None and given.exists() and page.samefile(given)
        for given in (result.file, options.truth)
    ):
        raise ValueError(f"{page} is a file that is read: choose another --out")
    gq.write_report(
        result.posterior,
        page,
        names=result.ids,
        truth=_truth(result, options.truth, options.encoding),
        command=result.run.get("command"),
    )
    print(f"Written to {page}: open it in a browser.")
    return 0


def _truth(result: Result, path: Path | None, encoding: str) -> Any:
    """Return true classes, of the type that labels have."""
    if path is None:
        return result.run.get("truth")
    ids, left_out = result.ids, result.run.get("left_out", [])
    classes = read_classes(path, np.array([*ids, *left_out]), "--truth", encoding)[: ids.size]
    missing = np.flatnonzero([name is None for name in classes])
    if missing.size:
        raise ValueError(
            f"{path}: the true class of item {ids[missing[0]].item()!r} is missing: give that of "
            "every item"
        )
    # labels that are numbers are written as people write them
    given = {str(name): name for name in result.posterior.labels.classes.tolist()}
    strange = np.flatnonzero([name not in given for name in classes])
    if strange.size:
        at = strange[0]
        raise ValueError(
            f"{path}: the true class of item {ids[at].item()!r} is {classes[at]!r}, and the "
            f"classes are {', '.join(map(repr, given))}: mend it"
        )
    return np.array([given[name] for name in classes])
