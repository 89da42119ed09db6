"""``graphuq report``: an HTML page about a saved result."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import graphuq as gq
from graphuq.cli.files.columns import Column, for_report
from graphuq.cli.options import add_command, add_read_option
from graphuq.cli.output_file import require_output
from graphuq.cli.printing import to_json
from graphuq.cli.result import Result, add_result, read_result, read_truth
from graphuq.cli.result_folder import PROBLEM
from graphuq.cli.run_summary import count_classes, parameter_origins
from graphuq.cli.saved_problem import load_problem
from graphuq.utils.words import visible

if TYPE_CHECKING:
    from graphuq.report.subject import Subject

DESCRIPTION = """\
Write one HTML page about a saved result: whether the sampler can be trusted, what was run, how
accurate it is, which items are uncertain and which labels are suspect.

graphuq sample also writes such a page. Use graphuq report when true classes become known later, and
for results saved from Python, which have no plots that need the graph. --text prints the report
without its plots, --json the settings and the diagnostics, and neither writes a file."""


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
    """Load a result and write its report, or print it."""
    if (options.text or options.json) and options.out is not None:
        raise ValueError("--out is for a page, and nothing is written: leave it out")
    if options.json:
        if options.truth is not None:
            raise ValueError("--truth has no effect on --json: leave one of them out")
        print(to_json(_describe(read_result(options.result))))
        return 0
    # these import plots, which --help does not need
    from graphuq.cli.print_sections import print_block, print_sections
    from graphuq.report.page import BEGINNING
    from graphuq.report.sections import opening, sections

    place = options.result.resolve()
    name = place.name if place.is_dir() else place.stem
    page = options.out or Path(f"{name}-report.html")
    if not options.text:
        require_output(page, ".html", re.escape(BEGINNING))
    subject = _subject(options)
    if options.text:
        print(visible(str(options.result)))
        for command in (subject.command or "").splitlines():
            print(f"  {visible(command)}")
        print_block(opening(subject))
        print_sections(sections(subject, subject.posterior.trust()), ("plots", "reproduce"))
        return 0
    gq.write_report(subject, page)
    print(f"Written to {page}: open it in a browser.")
    return 0


def _subject(options: argparse.Namespace) -> Subject:
    """Return the result, and what its folder says about the items."""
    from graphuq.report.subject import Subject

    result = read_result(options.result)
    run, folder = result.run, result.file.parent
    complete = bool(run) and (folder / PROBLEM).is_file()
    given = load_problem(folder, result.posterior).for_report() if complete else {}
    return Subject(
        result.posterior,
        **given,
        predictions=result.predictions,
        names=result.ids,
        truth=read_truth(result, options.truth, options.encoding),
        command="\n".join(result.commands) or None,
        columns=for_report(Column(**row) for row in run.get("columns", ())),
        origins=parameter_origins(run) if run else {},
        label_next=run.get("label_next"),
    )


def _describe(found: Result) -> dict[str, Any]:
    """Return the settings of a result, and whether it can be trusted."""
    post, run, predictions = found.posterior, found.run, found.predictions
    return {
        "file": found.file,
        **{name: run.get(name) for name in ("command", "created", "graphuq")},
        "earlier": found.commands[:-1],
        "nodes": post.n_nodes,
        "classes": post.labels.classes,
        "labels": count_classes(post.labels.values, post.labels),
        "mean_variance": post.mean_variance,
        "class_shares": None if found.shares is None else found.shares.shares,
        "class_shares_strength": None if found.shares is None else found.shares.strength,
        "unsure": int(predictions.unsure.sum()),
        "most_uncertain": found.ids[predictions.ranking()[:10]],
        "settings": post.settings,
        "complete": post.draws.complete if post.is_sampled else None,
        "diagnostics": vars(post.diagnostics()) if post.is_sampled else None,
        "trust": post.trust().to_dict(),
        "model_trust": run.get("model_trust"),
    }
