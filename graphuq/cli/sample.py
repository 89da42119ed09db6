"""``graphuq sample``: from one's own file to probabilities and a ranked list."""

from __future__ import annotations

import argparse
import hashlib
import math
import platform
import shlex
import sys
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import graphuq as gq
from graphuq.cli.options import add_command, add_file, add_json, number_or_auto, read_items
from graphuq.cli.output import RUN, as_json, require_result_folder, result_folder
from graphuq.cli.result import DRAWS
from graphuq.cli.summary import print_summary
from graphuq.files import Items
from graphuq.likelihoods.contract import open_parameters
from graphuq.plots.nodes import unsure
from graphuq.prior import MOST_MODES, default_rank
from graphuq.tuning import left_tau
from graphuq.validation import AUTO

LIKELIHOODS = ("probit", "noisy-probit", "level-set")

# How many items are listed as most uncertain, and how many to label next.
MOST_UNCERTAIN, LABEL_NEXT = 10, 5

# What as a third class is more likely to be none.
NOT_KNOWN = ("-1", "-1.0", "unknown", "unlabelled", "unlabeled", "none", "n/a")

DESCRIPTION = """\
Build a graph of the items in FILE, sample the posterior over the classes of all of them from the
few labels that are known, and say which are uncertain, which labels look wrong, and what to label
next."""

EPILOG = """\
examples:
  graphuq sample votes.csv --label party
  graphuq sample votes.csv --label party --drop-missing --out votes-result
  graphuq sample flowers.parquet --labels known.csv --likelihood noisy-probit
  graphuq sample friends.csv --edges --labels clubs.csv

Written to the folder: nodes.csv (a row for each item), suspects.csv (the labels, most suspect
first), report.html (all of it with plots, for a browser), posterior.nc (for arviz and gq.load),
run.json (settings, versions, seed)."""


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands, "sample", "sample the posterior of a file's items", DESCRIPTION, EPILOG
    )
    add_file(parser)
    group = parser.add_argument_group("the model and the sampler")
    add = group.add_argument
    add(
        "--likelihood",
        choices=LIKELIHOODS,
        default="probit",
        help="probit (default) doubts labels where classes meet; the others doubt any label",
    )
    for name, meaning in (
        ("--gamma", "label noise"),
        ("--alpha", "smoothness of the classes on the graph"),
        ("--flip-rate", "share of wrong labels, of noisy-probit"),
    ):
        add(
            name,
            type=number_or_auto,
            default=None if name == "--flip-rate" else AUTO,
            metavar="X",
            help=f"{meaning}: a number, or auto, the labels choose (default)",
        )
    add("--rank", type=int, help=f"modes of the prior (default: up to {MOST_MODES})")
    add("--draws", type=int, default=1000, help="draws kept from each chain (default: 1000)")
    add("--chains", type=int, default=4, help="(default: 4)")
    add("--seed", type=int, default=0, help="(default: 0)")
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", help="(default: the file's name and -graphuq)"
    )
    parser.add_argument(
        "--images",
        action="store_true",
        help="show the items in the report: rows of X in the .npz file are square grey images",
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Sample, write and print."""
    begun = time.perf_counter()
    folder = options.out or Path(f"{options.file.stem}-graphuq")
    require_result_folder(folder)
    likelihood = _likelihood(options)
    items = read_items(options)
    images = _images(items) if options.images else None
    labels = _labels(items)
    unlabelled = np.setdiff1d(np.arange(items.ids.size), labels.nodes)
    truth = items.truth.astype(str) if items.truth is not None and unlabelled.size else None
    if truth is not None:
        labels.unlabelled_truth(truth, items.ids.size)  # refused before any work
    graph = items.joined(options.neighbors)
    rank = default_rank(graph.n_nodes) if options.rank is None else options.rank
    tau = left_tau(options.alpha, labels)
    prior = gq.Prior.projected(graph, rank, alpha=options.alpha, tau=tau)
    tuning = None
    if prior.open or open_parameters(likelihood):
        tuning = gq.tune(prior, labels, likelihood)
        prior, likelihood = tuning.prior, tuning.likelihood
    post = gq.sample(
        prior,
        likelihood,
        labels,
        draws=options.draws,
        chains=options.chains,
        seed=options.seed,
        progress=sys.stderr.isatty(),
    )
    suspects = post.suspect_labels()
    suspects.insert(0, "id", items.ids[suspects.pop("node")])
    nodes = _nodes(items, post)
    ranking = [node for node in post.ranking() if items.known[node] is None]
    next_ones = (
        post.suggest(min(LABEL_NEXT, unlabelled.size), seed=options.seed)
        if unlabelled.size
        else np.empty(0, dtype=np.int64)
    )
    result = {
        **_origin(options),
        "notes": items.notes,
        "left_out": items.left_out,
        "items": post.n_nodes,
        "ids": items.ids,
        "truth": truth,
        "edges": graph.n_edges,
        "neighbors": items.neighbors(options.neighbors) if items.graph is None else None,
        "classes": labels.classes.tolist(),
        "labels": {str(name): int((labels.values == name).sum()) for name in labels.classes},
        "chosen": {} if tuning is None else tuning.chosen,
        "at_edge": [] if tuning is None else tuning.at_edge,
        "parameters": {
            "alpha": prior.alpha,
            **({"tau": prior.tau} if prior.tau else {}),
            **{k: v for k, v in post.settings["likelihood"].items() if k != "name"},
        },
        "settings": post.settings,
        "complete": post.complete,
        "diagnostics": vars(post.diagnostics()),
        "leave_one_out_right": _leave_one_out(prior, likelihood, labels),
        "predicted": {str(name): int((post.prediction == name).sum()) for name in labels.classes},
        "mean_variance": post.mean_variance,
        "unsure": int(unsure(post).sum()),
        **({} if truth is None else _scores(post, truth)),
        "most_uncertain": nodes.iloc[ranking[:MOST_UNCERTAIN]].to_dict("records"),
        "suspects": suspects.head(LABEL_NEXT).to_dict("records"),
        "label_next": items.ids[next_ones],
        "folder": folder,
    }
    with result_folder(folder) as fresh:
        nodes.to_csv(fresh / "nodes.csv", index=False)
        suspects.to_csv(fresh / "suspects.csv", index=False)
        post.save(fresh / DRAWS)
        gq.write_report(
            post,
            fresh / "report.html",
            names=items.ids,
            truth=truth,
            images=images,
            prior=prior,
            graph=graph,
            command=result["command"],
        )
        result["seconds"] = round(time.perf_counter() - begun, 2)
        (fresh / RUN).write_text(as_json(result), encoding="utf-8")
    if options.json:
        print(as_json(result))
    else:
        print_summary(result)
    return 0 if post.complete else 130


def _likelihood(options: argparse.Namespace) -> Any:
    if options.likelihood == "noisy-probit":
        return gq.NoisyProbit(
            options.gamma, AUTO if options.flip_rate is None else options.flip_rate
        )
    if options.flip_rate is not None:
        raise ValueError(
            f"{options.likelihood} has no flip rate: say --likelihood noisy-probit, or leave "
            "--flip-rate out"
        )
    return (gq.Probit if options.likelihood == "probit" else gq.LevelSet)(options.gamma)


def _labels(items: Items) -> gq.Labels:
    """Return the labels, unless one seems to say that there is none."""
    labels = items.labels()
    doubtful = [name for name in labels.classes.tolist() if name.lower() in NOT_KNOWN]
    if doubtful and labels.classes.size > 2:
        raise ValueError(
            f"{items.path}: {doubtful[0]!r} is one of {labels.classes.size} classes: if it means "
            f"that a label is not known, say --unlabelled {doubtful[0]}, and if it is a class, "
            "give it another name"
        )
    return labels


def _images(items: Items) -> Any:
    """Return the pixels of square images."""
    X = items.features
    if (
        X is None
        or items.path.suffix.lower() != ".npz"
        or math.isqrt(X.shape[1]) ** 2 != X.shape[1]
    ):
        raise ValueError(
            f"{items.path}: --images takes an .npz file, in whose X each row is the pixels of a "
            "square image"
        )
    return X


def _nodes(items: Items, post: gq.Posterior) -> Any:
    import pandas as pd

    p, classes = post.by_class, post.labels.classes
    columns = {
        "id": items.ids,
        "label": items.known,
        "prediction": post.prediction,
        "confidence": p.max(axis=1),
    }
    if classes.size == 2:
        columns |= {"probability": post.probability}
        error = post.mcse
    else:
        best, second = np.argsort(-p, axis=1, kind="stable")[:, :2].T
        columns |= {"runner_up": classes[second], "entropy": post.entropy, "margin": post.margin}
        columns |= {f"probability_{name}": p[:, k] for k, name in enumerate(classes)}
        error = post.mcse[np.arange(post.n_nodes), best]
    columns |= {"variance": post.variance, "mcse": error, "rank": post.rank}
    nodes = pd.DataFrame(columns)
    return nodes if items.truth is None else nodes.assign(truth=items.truth)


def _leave_one_out(prior: gq.Prior, likelihood: Any, labels: gq.Labels) -> int | None:
    """Return how many labels all others guess right, if expectation propagation can tell."""
    if labels.classes.size > 2:
        return None
    try:
        guess = gq.approximate(prior, likelihood, labels).leave_one_out >= 0.5
    except RuntimeError:
        return None
    return int((guess == (labels.codes > 0)).sum())


def _scores(post: gq.Posterior, truth: Any) -> dict[str, Any]:
    """Return how predictions stand against the truth."""
    score = post.calibration(truth)
    names = ("accuracy", "expected_calibration_error", "brier")
    return {name: getattr(score, name) for name in names}


def _origin(options: argparse.Namespace) -> dict[str, Any]:
    """Return what it takes to do the same again."""
    return {
        "command": shlex.join(["graphuq", *options.arguments]),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "graphuq": gq.__version__,
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("numpy", "scipy", "numba", "arviz")},
        },
        "file": options.file,
        "sha256": {
            str(path): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in (options.file, options.labels)
            if path is not None
        },
        "seed": options.seed,
    }
