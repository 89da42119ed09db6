"""``graphuq compare``: methods on a user's file, or on the problem of a result."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import graphuq as gq
from graphuq.cli.files.options import ReadOptions
from graphuq.cli.files.table import require_file
from graphuq.cli.options import (
    add_command,
    add_file,
    add_json,
    add_option,
    add_seed,
    read_items,
    read_options,
)
from graphuq.cli.printing import print_paragraph, print_table, to_json
from graphuq.cli.result import read_run, read_truth
from graphuq.priors.default_sum import default_graph_prior, default_sum
from graphuq.priors.prior import default_rank

# Label noise and number of modes in the paper (two moons, Figure 9).
PAPER_GAMMA, PAPER_RANK = 0.1, 150

# Default fraction of labels.
FRACTION = 0.04


# The graph, its labels, the true classes, the features, whether the links of the graph were known
# beside these, and whether the labels were given.
Problem = tuple[gq.Graph, gq.Labels, Any, Any, bool, bool]


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "compare",
        "FILE|RESULT --truth COLUMN|FILE",
        "compare methods on a file",
        "Compare the accuracy, calibration and time of several methods given the same labels.",
        "examples:\n"
        "  graphuq compare votes.csv --truth party                 reveal some true classes\n"
        "  graphuq compare votes.csv --label known --truth party   use the given labels\n"
        "  graphuq compare votes-graphuq --truth parties.csv       those of a result",
    )
    add_file(parser, without=("groups", "show"))
    add_option(
        parser,
        "--fraction",
        type=float,
        metavar="X",
        help=f"share of true classes to reveal (default: {FRACTION})",
        more="If FILE has no labels.",
    )
    add_seed(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Compare methods on a file or a result, and print a table of scores."""
    read = _read_result if options.file.is_dir() else _read_file
    graph, labels, truth, X, linked, given = read(options)
    methods: dict[str, Any] = {}
    if X is not None:
        from sklearn.linear_model import LogisticRegression  # takes a moment to import

        methods["logistic regression"] = LogisticRegression(max_iter=1000)
    methods["Laplace learning"] = gq.LaplaceLearning()
    methods["PageRank"] = gq.PageRankSSL()
    methods["robust GC"] = gq.RobustGC()
    if labels.classes.size == 2:
        methods["Fiedler"] = gq.FiedlerClustering()
    # as graphuq sample has it
    modes = default_graph_prior(graph, default_rank(graph), labels=labels)
    prior = default_sum(modes, X, labels=labels, links=graph if linked else None)
    methods["probit, auto"] = prior, gq.Probit()
    if graph.n_components == 1:
        papers = gq.Prior.approximated(graph, min(PAPER_RANK, graph.n_nodes - 1))
        methods["probit, the paper's settings"] = papers, gq.Probit(PAPER_GAMMA)
    tables, refused = [], {}
    for name, method in methods.items():
        try:
            one = gq.compare(graph, labels, truth, {name: method}, X=X, seed=options.seed)
            tables.append(one)
        except ValueError as error:  # some need a connected graph, or a label in each component
            refused[name] = str(error)
    if not tables:
        raise ValueError(next(iter(refused.values())))
    result = pd.concat(tables)
    if options.json:
        left_out = [{"method": name, "refused": why} for name, why in refused.items()]
        print(to_json([*result.reset_index().to_dict("records"), *left_out]))
        return 0
    origin = "given" if given else f"revealed from {options.truth!r}"
    print(f"{options.file}: {graph.n_nodes} items; labels {origin}: {labels!r}\n")
    print_table(
        ["method", *(name.replace("_", " ") for name in result.columns)],
        [
            [str(method), *("-" if value != value else f"{value:.3f}" for value in row)]
            for method, row in zip(result.index, result.to_numpy(), strict=True)
        ],
    )
    print()
    for name, why in refused.items():
        print_paragraph(f"{name} is left out: {why.partition(': ')[0]}")
    print_paragraph(
        "accuracy: fraction of unlabeled items predicted correctly; brier: mean squared error of "
        "the probabilities (0 is best); calibration error: mean difference between confidence and "
        "accuracy (0 is best); -: the method gives no probabilities."
    )
    return 0


def _read_result(options: argparse.Namespace) -> Problem:
    """Return the problem of a result folder."""
    if options.fraction is not None:
        raise ValueError(f"{options.file} has labels, and --fraction reveals others: leave it out")
    read = read_options(options)
    used = ReadOptions(truth=read.truth, encoding=read.encoding, classes=read.classes)
    if read != used or options.neighbors is not None:
        raise ValueError(
            f"{options.file} is a result, whose file was read before: only --truth, --class, "
            "--encoding and --seed can be used with it"
        )
    result, problem = read_run(options.file)
    path = None if options.truth is None else Path(options.truth)
    truth = read_truth(result, path, options.encoding, read.classes)
    if truth is None:
        raise ValueError(
            f"{options.file} has no true classes, against which methods are scored: give a table "
            "with columns id and label, --truth FILE"
        )
    labels = result.posterior.labels
    linked = result.run["linked"]
    return problem.graph, labels, np.asarray(truth), problem.features, linked, True


def _read_file(options: argparse.Namespace) -> Problem:
    """Return the problem in a file of items."""
    require_file(options.file)
    if options.truth is None:
        raise ValueError(
            f"{options.file}: methods are scored against the true classes: name their column "
            "with --truth"
        )
    items = read_items(options)
    assert items.truth is not None
    truth = items.truth.astype(str)
    given = any(label is not None for label in items.known)
    if given and options.fraction is not None:
        raise ValueError(
            f"{options.file} has labels, and --fraction reveals others: leave out --fraction, or "
            "exclude the labels with --ignore"
        )
    fraction = FRACTION if options.fraction is None else options.fraction
    labels = items.labels() if given else gq.reveal(truth, fraction, seed=options.seed)
    graph = items.to_graph(options.neighbors)
    return graph, labels, truth, items.features, items.linked, given
