"""``graphuq sample``: from a user's file to probabilities and a ranked list."""

from __future__ import annotations

import argparse
import time
from functools import partial
from pathlib import Path
from typing import Any

from graphuq.cli.class_shares import add_class_shares
from graphuq.cli.files.table import stem
from graphuq.cli.options import (
    add_command,
    add_file,
    add_json,
    add_option,
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
Sample the posterior over the classes of all items in FILE, given a few labels.
Write a folder with a report, ranked lists and all draws."""

EPILOG = """\
examples:
  graphuq sample votes.csv --label party
  graphuq sample friends.csv --edges --labels clubs.csv"""


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "sample",
        "FILE",
        "sample the posterior for the items of a file",
        DESCRIPTION,
        EPILOG,
    )
    add_option(
        parser,
        "--out",
        type=Path,
        metavar="FOLDER",
        help="results (default: the name of FILE and -graphuq)",
        more="Files that graphuq did not write are not replaced.",
    )
    add_option(
        parser,
        "--images",
        action="store_true",
        help="show the items in the report: images in .npz",
        more="X in the .npz file has gray images, of shape (n, height, width), or a square image "
        "in each row.",
    )
    add_json(parser)
    add_file(parser)
    _add_model(parser.add_argument_group("model and sampler"))
    parser.set_defaults(run=run)


def _add_model(group: Any) -> None:
    """Add the options of the likelihood, the prior and the sampler."""
    add = partial(add_option, group)
    add(
        "--likelihood",
        choices=LIKELIHOODS,
        metavar="NAME",
        default="probit",
        help="probit, noisy-probit or level-set",
        more="The first is the default, and doubts labels only near the border between classes; "
        "the others doubt any label.",
    )
    for name, meaning, more in (
        ("--gamma", "label noise", ""),
        ("--alpha", "smoothness over the graph", "With a number, tau is 0."),
        (
            "--graph-weight",
            "share of the graph in the prior",
            "From 0 to 1; the rest is the share of the features, which a graph alone lacks.",
        ),
        (
            "--level",
            "how much classes differ in size",
            "With 0 there is no shift that all items share.",
        ),
        ("--flip-rate", "share of wrong labels", "For noisy-probit."),
    ):
        add(
            name,
            type=number_or_auto,
            # None where it matters whether the option was given
            default=None if name in ("--flip-rate", "--graph-weight") else AUTO,
            metavar="X",
            help=f"{meaning} (default: auto)",
            more=f"{more} The labels choose the value if it is auto.".strip(),
        )
    add(
        "--rank",
        type=int,
        metavar="N",
        help=f"modes of the prior (default: up to {DEFAULT_MAX_MODES})",
    )
    add(
        "--sampling",
        choices=[how.replace(" ", "-") for how in (RANDOM, BY_CLASS, ANY)],
        metavar="HOW",
        help="how items were labeled: random, by-class or any",
        more="By class means a fixed number of each class, and any stands for another way, such as "
        "items that a model asked for. It decides how the shares of the classes are estimated, and "
        "whether the labels choose the level. The default is by-class if all classes have the same "
        "number of labels, else random.",
    )
    add_class_shares(group, "none")
    add_sampling(group)
    add_seed(group)


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
