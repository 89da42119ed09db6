"""``graphuq sample``: from a user's file to probabilities and a ranked list."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from graphuq.cli.class_shares import add_class_shares
from graphuq.cli.files.table import stem
from graphuq.cli.options import (
    Parser,
    add_command,
    add_file,
    add_json,
    add_sampling,
    add_seed,
    number_or_auto,
)
from graphuq.cli.result_folder import require_result_folder
from graphuq.cli.sample_steps import (
    build_likelihood,
    build_model,
    check_prior_options,
    read_data,
    source_of,
)
from graphuq.cli.write_result import sample_and_write
from graphuq.labels.labels import ANY, BY_CLASS, RANDOM
from graphuq.priors.prior import DEFAULT_MAX_MODES
from graphuq.utils.validation import AUTO

LIKELIHOODS = ("probit", "noisy-probit", "level-set")

DESCRIPTION = """\
Build a graph of the items in FILE, sample the posterior over the classes of all items given a few
labels, and report which items are uncertain, which labels are suspect, and which items to label
next."""

EPILOG = """\
examples:
  graphuq sample votes.csv --label party
  graphuq sample votes.csv --label party --drop-missing --out votes-result
  graphuq sample flowers.parquet --labels known.csv --likelihood noisy-probit
  graphuq sample friends.csv --edges --labels clubs.csv
  graphuq sample cells.h5ad --label cell_type
  graphuq sample votes.csv --label party --groups region
  graphuq sample mail.csv --class-shares ham=0.9,spam=0.1 --class-shares-strength 50
  graphuq sample votes.csv --label party --graph-weight 1 --level 0 --alpha 1 --gamma 0.1
                 (the paper's prior and noise)

files in the folder:
  nodes.csv      one row per item, in the order of the file
  uncertain.csv  the items without a label, the most uncertain first
  suspects.csv   the labels, most doubtful first, and whether each is suspect
  groups.csv     with --groups, the shares of the classes in each group
  report.html    all results with plots, for a browser
  posterior.nc   all draws, for gq.load and arviz
  problem.npz    the graph and the features, for graphuq suggest, update and predict
  run.json       settings, versions and seed"""


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands, "sample", "sample the posterior for the items of a file", DESCRIPTION, EPILOG
    )
    add_file(parser)
    _add_model(parser)
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FOLDER",
        help="folder of the results (default: the name of FILE followed by -graphuq)",
    )
    parser.add_argument(
        "--images",
        action="store_true",
        help="show the items in the report: X in the .npz file has gray images, of shape (n, "
        "height, width) or a square image in each row",
    )
    add_json(parser)
    parser.set_defaults(run=run)


def _add_model(parser: Parser) -> None:
    """Add the options of the likelihood, the prior and the sampler."""
    add = parser.add_argument_group("model and sampler").add_argument
    add(
        "--likelihood",
        choices=LIKELIHOODS,
        default="probit",
        help="probit (default) doubts labels only near the border between classes; the others "
        "doubt any label",
    )
    for name, meaning in (
        ("--gamma", "label noise"),
        ("--alpha", "smoothness over the graph; with a number, tau is 0"),
        (
            "--graph-weight",
            "share of the graph in the prior, from 0 to 1 (the rest is the share of the features, "
            "which only a table has)",
        ),
        ("--level", "how much classes may differ in size (0: no shift that all items share)"),
        ("--flip-rate", "fraction of wrong labels, for noisy-probit"),
    ):
        add(
            name,
            type=number_or_auto,
            # None where it matters whether the option was given
            default=None if name in ("--flip-rate", "--graph-weight") else AUTO,
            metavar="X",
            help=f"{meaning}: a number, or auto to choose it from the labels (default: auto)",
        )
    add(
        "--rank",
        type=int,
        metavar="N",
        help=f"number of modes of the prior (default: up to {DEFAULT_MAX_MODES})",
    )
    add(
        "--sampling",
        choices=[how.replace(" ", "-") for how in (RANDOM, BY_CLASS, ANY)],
        metavar="HOW",
        help="how the labeled items were chosen: random; by-class, a fixed number of each class; "
        "or any, in another way, such as those that a model asked for. It decides how the shares "
        "of the classes are estimated, and whether the level is chosen from the labels (default: "
        "by-class if all classes have the same number of labels, else random)",
    )
    add(
        "--groups",
        metavar="COLUMN",
        help="column with the group of each item, such as its ward or batch: the shares of the "
        "classes are estimated for each group too; the column is no feature",
    )
    add_class_shares(add, "none")
    add_sampling(add)
    add_seed(add)


def run(options: argparse.Namespace) -> int:
    """Sample the posterior, write the results and print a summary."""
    start = time.perf_counter()
    # Refuse mistakes before any work.
    folder = options.out or Path(f"{stem(options.file)}-graphuq")
    require_result_folder(folder, options.file)
    likelihood = build_likelihood(options)
    check_prior_options(options)
    data = read_data(options)
    # Build the graph and the prior; choose open parameters from the labels.
    model = build_model(options, data, likelihood)
    # Sample, write all files or none, and print the summary.
    return sample_and_write(options, source_of(options, data.items), data, model, folder, start)
