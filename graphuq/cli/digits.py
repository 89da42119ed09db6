"""Handwritten digits, two or all ten, on which ``demo`` and ``compare`` can be tried."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

import graphuq as gq
from graphuq import validation
from graphuq.cli.options import number_or_auto
from graphuq.files.items import NEIGHBORS
from graphuq.validation import AUTO


def add_digits(add: Any) -> None:
    """Add the options of the problem and of the models, by ``add``."""
    add(
        "--dataset",
        choices=("digits", "mnist"),
        default="digits",
        help="bundled 8 x 8 digits (default), or MNIST: of $GRAPHUQ_DATA or the cache, or fetched",
    )
    add("--per-class", type=int, metavar="N", help="images of each digit (default: all)")
    add(
        "--prior",
        choices=("projected", "approximated"),
        default="projected",
        help="modes beyond the rank are left out (default), or share one variance",
    )
    add("--rank", type=int, default=50, help="modes of the prior (default: 50)")
    add(
        "--gamma",
        type=number_or_auto,
        default=AUTO,
        help="label noise (default: auto, the labels choose; the paper's: 0.1)",
    )
    add(
        "--alpha",
        type=number_or_auto,
        default=AUTO,
        help="smoothness of the prior (default: auto; the paper's: 1)",
    )
    add("--draws", type=int, default=1000, help="draws kept from each chain (default: 1000)")
    add("--chains", type=int, default=4, help="(default: 4)")


def pair_of_digits(text: str) -> tuple[int, int]:
    """Parse "4,9"."""
    try:
        a, b = (int(part) for part in text.split(","))
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"expected two digits such as 4,9, got {text!r}"
        ) from error
    return a, b


def problem(
    options: argparse.Namespace, pair: tuple[int, int] | None
) -> tuple[Any, Any, gq.Prior, gq.Labels]:
    """Return images, digits, prior and labels; of all ten digits where there is no pair."""
    if pair is None:
        X, y = _all_ten(options)
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
    make = getattr(gq.Prior, options.prior)
    from graphuq.tuning import left_tau  # with numba, which help does without

    tau = left_tau(options.alpha, labels)
    return X, y, make(graph, options.rank, alpha=options.alpha, tau=tau), labels


def _all_ten(options: argparse.Namespace) -> tuple[Any, Any]:
    X, y = gq.datasets.digits() if options.dataset == "digits" else gq.datasets.mnist()
    if options.per_class is not None:
        sizes = np.bincount(y)
        validation.integer("per_class", options.per_class, 1, int(sizes.min()))
        kept = gq.reveal(y, counts=options.per_class, seed=options.seed).nodes
        X, y = X[kept], y[kept]
    return X.astype(np.float64) / X.max(), y


def models(options: argparse.Namespace) -> dict[str, Any]:
    """Return the likelihoods by name."""
    return {"probit": gq.Probit(options.gamma), "level-set": gq.LevelSet(options.gamma)}


def sampled(
    options: argparse.Namespace, prior: gq.Prior, model: Any, labels: gq.Labels
) -> gq.Posterior:
    """Return the posterior."""
    return gq.sample(
        prior,
        model,
        labels,
        draws=options.draws,
        chains=options.chains,
        seed=options.seed,
        progress=sys.stderr.isatty(),
    )


def settings(post: gq.Posterior) -> tuple[float, float]:
    """Return the alpha and gamma of a posterior, chosen or given."""
    return post.settings["prior"]["alpha"], post.settings["likelihood"]["gamma"]


def exit_code(posteriors: Iterable[gq.Posterior]) -> int:
    """Return 0, or 130 after an interruption."""
    return 0 if all(post.complete for post in posteriors) else 130
