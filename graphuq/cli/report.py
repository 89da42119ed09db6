"""``graphuq report``: an HTML page about a saved result."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

import graphuq as gq
from graphuq.cli.files.columns import Column, for_report
from graphuq.cli.options import add_command, add_read_option
from graphuq.cli.output_file import require_output
from graphuq.cli.print_result import print_result
from graphuq.cli.result import add_result, read_result, read_truth
from graphuq.cli.result_folder import PROBLEM
from graphuq.cli.saved_problem import load_problem

DESCRIPTION = """\
Write one HTML page about a saved result: whether the sampler can be trusted, what was run, how
accurate it is, which items are uncertain and which labels are suspect.

graphuq sample also writes such a page. Use graphuq report when true classes become known later, and
for results saved from Python, which have no plots that need the graph. --text and --json print the
settings and the diagnostics, and write nothing."""


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "report",
        "RESULT",
        "write an HTML report about a saved result",
        DESCRIPTION,
        "examples:\n  graphuq report votes-graphuq --truth parties.csv\n"
        "  graphuq report posterior.nc --out page.html\n  graphuq report votes-graphuq --text",
    )
    add_result(parser)
    add_read_option(parser, "encoding")
    parser.add_argument(
        "--truth",
        type=Path,
        metavar="FILE",
        help="table with columns id and label: the true class of every item (default: the classes "
        "that were given to graphuq sample --truth)",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="PAGE",
        help="HTML page (default: the name of RESULT followed by -report.html)",
    )
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--text", action="store_true", help="print text instead")
    instead.add_argument("--json", action="store_true", help="print JSON instead")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Load a result and write its report."""
    if options.text or options.json:
        return _print(options)
    from graphuq.report.page import BEGINNING
    from graphuq.report.subject import Subject  # imports plots, which --help does not need

    place = options.result.resolve()
    name = place.name if place.is_dir() else place.stem
    page = options.out or Path(f"{name}-report.html")
    require_output(page, ".html", re.escape(BEGINNING))
    result = read_result(options.result)
    folder = result.file.parent
    complete = bool(result.run) and (folder / PROBLEM).is_file()
    given = load_problem(folder, result.posterior).for_report() if complete else {}
    subject = Subject(
        result.posterior,
        **given,
        predictions=result.predictions,
        names=result.ids,
        truth=read_truth(result, options.truth, options.encoding),
        command="\n".join(result.commands) or None,
        columns=for_report(Column(**row) for row in result.run.get("columns", ())),
    )
    gq.write_report(subject, page)
    print(f"Written to {page}: open it in a browser.")
    return 0


def _print(options: argparse.Namespace) -> int:
    for name in ("out", "truth"):
        if getattr(options, name) is not None:
            raise ValueError(f"--{name} is for a page, and nothing is written: leave it out")
    print_result(read_result(options.result), as_json=options.json)
    return 0
