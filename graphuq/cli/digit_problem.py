"""Handwritten digits, a pair or all ten: the problem of ``graphuq demo``."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import graphuq as gq
from graphuq.cli.files.items import NEIGHBORS
from graphuq.cli.heartbeat import begin_stage, has_terminal
from graphuq.cli.options import Parser, add_sampling, number_or_auto
from graphuq.utils import validation
from graphuq.utils.validation import AUTO


def add_digits(parser: Parser) -> None:
    """Add the options of the problem and of the models."""
    add = parser.add_argument
    add(
        "--dataset",
        choices=("digits", "mnist"),
        default="digits",
        help="bundled 8 x 8 digits (default), or MNIST from $GRAPHUQ_DATA, the cache or the web",
    )
    add("--per-class", type=int, metavar="N", help="number of images per digit (default: all)")
    add(
        "--prior",
        choices=("projected", "approximated"),
        default="projected",
        help="projected (default) ignores the modes beyond the rank; approximated gives them a "
        "common variance",
    )
    add(
        "--rank",
        type=int,
        default=50,
        metavar="N",
        help="number of modes of the prior (default: 50)",
    )
    add(
        "--gamma",
        type=number_or_auto,
        default=AUTO,
        metavar="X",
        help="label noise: a number, or auto to choose it from the labels (default: auto; paper: "
        "0.1)",
    )
    add(
        "--alpha",
        type=number_or_auto,
        default=AUTO,
        metavar="X",
        help="smoothness of the classes over the graph: a number, or auto to choose it from the "
        "labels (default: auto; paper: 1)",
    )
    add_sampling(parser)


def pair_of_digits(text: str) -> tuple[int, int]:
    """Parse "4,9"."""
    try:
        a, b = (int(part) for part in text.split(","))
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"expected two digits such as 4,9, got {text!r}"
        ) from error
    return a, b


def build_problem(
    options: argparse.Namespace, pair: tuple[int, int] | None
) -> tuple[Any, Any, gq.Prior, gq.Labels]:
    """Return images, digits, prior and labels; use all ten digits if ``pair`` is None."""
    if pair is None:
        X, y = _load_all_digits(options)
    else:
        X, y = gq.datasets.digit_pair(
            *pair, dataset=options.dataset, per_class=options.per_class, seed=options.seed
        )
    features = gq.pca(X, 50) if options.dataset == "mnist" else X
    graph = gq.knn_graph(
        features,
        n_neighbors=NEIGHBORS if options.neighbors is None else options.neighbors,
        connect=True,
    )
    labels = gq.reveal(y, options.fraction, seed=options.seed)
    build_prior = getattr(gq.Prior, options.prior)
    tau = options.alpha if validation.is_auto(options.alpha) else 0.0
    return X, y, build_prior(graph, options.rank, alpha=options.alpha, tau=tau), labels


def _load_all_digits(options: argparse.Namespace) -> tuple[Any, Any]:
    X, y = gq.datasets.digits() if options.dataset == "digits" else gq.datasets.mnist()
    if options.per_class is not None:
        sizes = np.bincount(y)
        validation.integer("per_class", options.per_class, 1, int(sizes.min()))
        kept = gq.reveal(y, counts=options.per_class, seed=options.seed).nodes
        X, y = X[kept], y[kept]
    return X.astype(np.float64) / X.max(), y


def likelihoods(options: argparse.Namespace) -> dict[str, Any]:
    """Return the two likelihoods by name."""
    return {"probit": gq.Probit(options.gamma), "level-set": gq.LevelSet(options.gamma)}


def sample_posterior(
    options: argparse.Namespace, prior: gq.Prior, likelihood: Any, labels: gq.Labels
) -> gq.Posterior:
    """Sample with the options of the command line."""
    begin_stage(f"sampling {likelihood!r}", has_bar=has_terminal())
    return gq.sample(
        prior,
        likelihood,
        labels,
        draws=options.draws,
        chains=options.chains,
        seed=options.seed,
        progress=True,
    )


def parameters(post: gq.Posterior) -> dict[str, float]:
    """Return alpha, tau and gamma of a posterior, chosen or given."""
    prior = post.settings["prior"]
    gamma = post.settings["likelihood"]["gamma"]
    return {"alpha": prior["alpha"], "tau": prior["tau"], "gamma": gamma}
