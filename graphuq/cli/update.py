"""``graphuq update``: a result with more labels, on the graph that was built before."""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import graphuq as gq
from graphuq.cli.class_shares import add_class_shares, choose_shares
from graphuq.cli.files import Items, read_classes
from graphuq.cli.files.columns import Column
from graphuq.cli.options import add_command, add_json, add_read_option, read_options
from graphuq.cli.result import Result, read_run
from graphuq.cli.result_folder import require_result_folder
from graphuq.cli.sample_steps import (
    Data,
    Model,
    Source,
    checksums,
    choose_model,
    command_line,
)
from graphuq.cli.saved_problem import SavedProblem
from graphuq.cli.write_result import sample_and_write
from graphuq.labels.labels import ANY
from graphuq.priors.default_sum import default_graph_prior, default_sum
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.utils.validation import AUTO
from graphuq.utils.warnings import warn
from graphuq.utils.words import count, list_names

# Parameters are chosen again once there are this many times the labels that chose them.
GROWTH = 2

DESCRIPTION = """\
Add the labels of a table to a result, and sample again. The graph and its eigenpairs are those of
the result. So are the parameters of prior and likelihood, unless the labels have doubled since
these were chosen or show a new class. Chains start again, which takes less than a second. A label
of an item that has one already replaces it."""


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "update",
        "RESULT --labels FILE",
        "add labels to a result",
        DESCRIPTION,
        "examples:\n  graphuq suggest votes-graphuq --k 20 --out ask.csv\n"
        "  graphuq update votes-graphuq --labels ask.csv\n"
        "  graphuq update votes-graphuq --labels more.csv --out votes-second",
    )
    parser.add_argument(
        "result", type=Path, metavar="RESULT", help="folder that graphuq sample wrote"
    )
    parser.add_argument(
        "--labels",
        type=Path,
        metavar="FILE",
        required=True,
        help="table with columns id and label, and optionally confidence; rows without a label "
        "are ignored",
    )
    add_read_option(parser, "label")
    add_read_option(parser, "annotators")
    add_read_option(parser, "unlabeled")
    add_read_option(parser, "classes")
    add_read_option(parser, "encoding")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FOLDER",
        help="folder of the new result (default: RESULT, which is replaced)",
    )
    parser.add_argument(
        "--parameters",
        choices=("auto", "keep", "choose"),
        default="auto",
        help="keep the parameters that the labels chose, choose them again, or choose them again "
        "if the labels have doubled or show a new class (auto, the default)",
    )
    for name, meaning in (
        ("--draws", "number of draws per chain"),
        ("--chains", "number of chains"),
        ("--seed", "random seed"),
    ):
        parser.add_argument(
            name, type=int, metavar="N", help=f"{meaning} (default: that of the result)"
        )
    add_class_shares(parser, "those of the result")
    add_json(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Add the labels, sample, and write the result."""
    start = time.perf_counter()
    folder = options.out or options.result
    require_result_folder(folder)
    result, problem = read_run(options.result)
    if not result.posterior.is_sampled:
        raise ValueError(f"{options.result} was not sampled: run graphuq sample first")
    settings, former = result.posterior.settings, result.run
    for name, value in (
        ("draws", settings["draws"]),
        ("chains", settings["chains"]),
        ("seed", former["seed"]),
    ):
        if getattr(options, name) is None:
            setattr(options, name, value)
    data = _read_data(options, result, problem)
    model = _build_model(options.parameters, result, problem, data)
    source = Source(
        Path(former["file"]),
        former["sha256"] | checksums(options.labels),
        former["neighbors"],
        (*result.commands, command_line(options)),
    )
    return sample_and_write(options, source, data, model, folder, start)


def _read_data(options: argparse.Namespace, result: Result, problem: SavedProblem) -> Data:
    """Return the items with all labels, the former and the new."""
    former, labels = result.run, result.posterior.labels
    ids, left_out = result.ids, former["left_out"]
    known = np.full(ids.size, None, dtype=object)
    known[labels.nodes] = labels.values
    every, classes = np.array([*ids, *left_out]), (*labels.classes.tolist(), *options.classes)
    how = replace(read_options(options), classes=classes)
    table = read_classes(options.labels, every, "--labels", how)
    read = table.names[: ids.size]
    new = np.flatnonzero([label is not None for label in read])
    trust = np.ones(ids.size)
    trust[labels.nodes] = 1.0 if labels.confidence is None else labels.confidence
    doubts = np.ones(ids.size) if table.confidence is None else table.confidence[: ids.size]
    changed = [
        node
        for node in new
        if known[node] is not None and (known[node], trust[node]) != (read[node], doubts[node])
    ]
    added = [node for node in new if known[node] is None]
    if not added and not changed:
        raise ValueError(
            f"{options.labels} has no new label: fill in its column label for at least one item"
        )
    known[new], trust[new] = read[new], doubts[new]
    notes = [*former["notes"], f"added {count(len(added), 'label')} from {options.labels}"]
    notes.extend(table.notes)
    if changed:
        notes.append(f"replaced {count(len(changed), 'label')} by those of {options.labels}")
    fresh = sorted({*read[new]} - {*labels.classes.tolist()})
    if fresh:
        notes.append(f"new in {options.labels}: {', '.join(map(repr, fresh))}")
    truth = None if former["truth"] is None else np.array(former["truth"])
    items = Items(
        Path(former["file"]),
        ids,
        problem.features,
        problem.graph if former["neighbors"] is None else None,
        known,
        truth,
        tuple(notes),
        tuple(left_out),
        None if problem.images is None else problem.images.shape[1:],
        problem.encoding,
        classes,
        trust,
        None if former.get("groups") is None else np.array(former["groups"]),
        tuple(Column(**row) for row in former.get("columns", ())),
        problem.shown,
        linked=former["linked"],
    )
    # new labels are mostly those of items that the result asked for
    found = items.labels(ANY if added else labels.sampling)
    unlabeled = np.setdiff1d(np.arange(ids.size), found.nodes)
    images = None if problem.images is None else problem.images.reshape(ids.size, -1)
    shares = choose_shares(options, found, items.groups, result.shares)
    if not {*fresh} <= {*options.classes}:
        warn(
            f"{options.labels}: no earlier label is {list_names(fresh)}: correct it if it is a "
            f"typing error; now the model has {found.classes.size} classes"
        )
    return Data(items, found, unlabeled, truth if unlabeled.size else None, images, shares)


def _build_model(parameters: str, result: Result, problem: SavedProblem, data: Data) -> Model:
    """Return the model of the result, with parameters chosen again where that is asked for."""
    former, labels = result.run, data.labels
    chosen, n_tuned = former["chosen"], former["n_tuned"]
    settings = dict(result.posterior.settings["likelihood"])
    kind = getattr(gq, settings.pop("name"))
    outgrown = (
        len(labels) >= GROWTH * n_tuned
        or labels.classes.size != result.posterior.labels.classes.size
    )
    if not chosen or parameters == "keep" or (parameters == "auto" and not outgrown):
        likelihood = kind(**settings)
        return Model(problem.graph, problem.prior, likelihood, chosen, former["at_edge"], n_tuned)
    likelihood = kind(**{name: AUTO if name in chosen else settings[name] for name in settings})
    prior = _reopen(problem.prior, chosen, labels)
    return choose_model(problem.graph, prior, likelihood, labels)


def _reopen(prior: GaussianPrior, chosen: dict[str, float], labels: gq.Labels) -> GaussianPrior:
    """Return the prior of the result, in which what the labels chose is open again."""
    prior = prior.with_parameters(**{name: AUTO for name in prior.ranges if name in chosen})
    if not isinstance(prior, gq.SumPrior) or prior.component is None:
        return prior
    # other components may have labels now
    part: Any = prior.graph_part
    if part is None:
        graph: GaussianPrior = gq.ComponentLevel(prior.component)
    else:
        graph = default_graph_prior(part.spectrum, part.spectrum.rank, part.alpha, labels)
    return default_sum(graph, level=prior.level, labels=labels)
