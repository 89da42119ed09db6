"""``graphuq suggest``: the items to label next, as a table to fill in."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from graphuq.cli.files.shown_columns import show_beside, told_in_words
from graphuq.cli.options import add_command, add_json, add_seed
from graphuq.cli.output_file import require_output
from graphuq.cli.printing import print_paragraph, print_table, to_json
from graphuq.cli.result import read_run
from graphuq.posterior.assessment.suggestion import BY_DRAWS, BY_PRIOR
from graphuq.utils.atomic_files import write_atomically
from graphuq.utils.csv_file import write_csv

DESCRIPTION = """\
List the items whose labels would be most informative and not redundant, best first. With --out,
write them to a table whose column label is empty: fill it in, and pass it to graphuq update."""


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "suggest",
        "RESULT",
        "list the items to label next",
        DESCRIPTION,
        "examples:\n  graphuq suggest votes-graphuq --k 20\n"
        "  graphuq suggest votes-graphuq --k 20 --out ask.csv",
    )
    parser.add_argument(
        "result", type=Path, metavar="RESULT", help="folder that graphuq sample wrote"
    )
    parser.add_argument(
        "--k", type=int, default=10, metavar="N", help="number of items (default: 10)"
    )
    parser.add_argument(
        "--method",
        choices=BY_DRAWS + BY_PRIOR,
        default="bald",
        help="what makes a label informative (default: bald, its mutual information with the "
        "classes of all items)",
    )
    parser.add_argument("--out", type=Path, metavar="TABLE", help="table of the items to write")
    add_seed(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Choose the items, write a table and print them."""
    import pandas as pd

    from graphuq.report.subject import describe_row  # imports plots, which --help does not need

    if options.out is not None:
        require_output(options.out, ".csv")  # labels in an earlier table may be filled in
    result, problem = read_run(options.result)
    post = result.posterior
    nodes = post.suggest(options.k, options.method, prior=problem.prior, seed=options.seed)
    predictions = result.predictions
    asked = pd.DataFrame(
        {
            "id": result.ids[nodes],
            "label": "",
            "prediction": predictions.prediction[nodes],
            "confidence": predictions.by_class[nodes].max(axis=1),
        }
    )
    if post.labels.classes.size > 2:
        second = np.argsort(-predictions.by_class[nodes], axis=1, kind="stable")[:, 1]
        asked["runner_up"] = post.labels.classes[second]
    if options.out is not None:
        with write_atomically(options.out) as temporary:
            write_csv(show_beside(asked, problem.shown, nodes, after="label"), temporary)
    shown, told = asked.drop(columns="label"), told_in_words(problem.shown)
    if options.json:
        print(to_json(show_beside(shown, problem.shown, nodes).to_dict("records")))
        return 0
    print_table(
        [name.replace("_", "-") for name in shown.columns],
        [
            [f"{value:.1%}" if isinstance(value, float) else str(value) for value in row]
            for row in shown.itertuples(index=False)
        ],
        beside=[] if told is None else [describe_row(told, k) for k in nodes],
    )
    if options.out is not None:
        print()
        print_paragraph(
            f"Written to {options.out}: fill in the column label, leave it empty where the class "
            f"is not known, and run graphuq update {options.result} --labels {options.out}"
        )
    return 0
