"""``graphuq demo``: a pair of digits, or all ten, with uncertainty."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

import graphuq as gq
from graphuq.cli import digit_problem as digits
from graphuq.cli.options import add_command, add_seed
from graphuq.cli.print_trust import ESS_MEANING, R_HAT_MEANING, advise_draws, list_doubts
from graphuq.cli.printing import print_paragraph, print_table
from graphuq.utils.atomic_files import write_atomically
from graphuq.utils.words import count

HEADER = ["model", "accuracy", "mean variance", "R-hat", "ESS", "alpha", "tau", "gamma", "seconds"]


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "demo",
        "",
        "classify handwritten digits, with uncertainty",
        "Build a graph of images of two digits, sample the probit and level-set posteriors given "
        "a few\nlabels, and show the most uncertain and the most certain images. With --classes "
        "all, use all ten\ndigits.",
        "examples:\n  graphuq demo\n  graphuq demo --pair 3,8 --gamma 0.1 --alpha 1\n"
        "  graphuq demo --classes all",
    )
    digits.add_digits(parser)
    parser.add_argument(
        "--neighbors",
        type=int,
        default=10,
        metavar="K",
        help="connect each image to its K nearest neighbors (default: 10)",
    )
    parser.add_argument(
        "--fraction",
        type=float,
        default=0.04,
        metavar="X",
        help="fraction of images with a label (default: 0.04)",
    )
    add_seed(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--pair",
        type=digits.pair_of_digits,
        default=(4, 9),
        metavar="A,B",
        help="two digits (default: 4,9)",
    )
    which.add_argument("--classes", choices=("all",), help="all ten digits instead of a pair")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("graphuq-demo"),
        metavar="FOLDER",
        help="folder for the files (default: graphuq-demo)",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Sample the posteriors, print tables and write files."""
    # Build the graph and the prior.
    start = time.perf_counter()
    X, y, prior, labels = digits.build_problem(options, None if options.classes else options.pair)
    seconds = time.perf_counter() - start
    which = "All ten digits" if options.classes else "Digits {} and {}".format(*labels.classes)
    print(
        f"{which}: {prior.n_nodes} images, connected to their "
        f"{count(options.neighbors, 'nearest neighbor')}; {count(len(labels), 'label')}.\n"
        f"Graph and {count(prior.rank, 'eigenpair')}: {seconds:.2f} s.\n"
    )
    posteriors = _sample(options, prior, labels, y)
    # Show which images the first model finds hard and easy.
    first = posteriors["probit"]
    order = first.ranking()
    order = order[~np.isin(order, labels.nodes)]
    for title, nodes in (("uncertain", order[:10]), ("certain", order[::-1][:10])):
        print(f"Ten most {title} images (probit):")
        (_print_two_likeliest if options.classes else _print_probability)(first, y, nodes)
        print()
    _write(options.out, posteriors, X, y)
    return 0 if all(post.draws.complete for post in posteriors.values()) else 130


def _sample(
    options: argparse.Namespace, prior: gq.Prior, labels: gq.Labels, y: Any
) -> dict[str, gq.Posterior]:
    """Sample the posterior of each likelihood, and print a table of scores and diagnostics."""
    rows, messages, posteriors = [], [], {}
    for name, likelihood in digits.likelihoods(options).items():
        start = time.perf_counter()
        post = posteriors[name] = digits.sample_posterior(options, prior, likelihood, labels)
        seconds = time.perf_counter() - start
        health = post.diagnostics()
        chosen = digits.parameters(post)
        rows.append([
            name, f"{post.accuracy(y):.3f}", f"{post.mean_variance:.3f}", f"{health.r_hat:.3f}",
            f"{health.ess:.0f}", f"{chosen['alpha']:.2f}", f"{chosen['tau']:.3f}",
            f"{chosen['gamma']:.3f}", f"{seconds:.2f}",
        ])  # fmt: skip
        messages += list_doubts(name, post.trust())
        if not post.draws.complete:  # interrupted: show what there is
            break
    print_table(HEADER, rows)
    one = "50/50" if labels.classes.size == 2 else "all classes equally likely"
    print_paragraph(
        "accuracy: fraction of unlabeled images predicted correctly; mean variance: eq. (10), 0 is "
        f"certain and 1 is {one}; {R_HAT_MEANING}; {ESS_MEANING}; alpha: smoothness of the classes "
        "over the graph; tau: their inverse length; gamma: label noise."
    )
    print()
    for message in messages or ["The chains agree."]:
        print_paragraph(message, hanging="  ")
    advise_draws(messages)
    print()
    return posteriors


def _print_probability(post: gq.Posterior, y: Any, nodes: Any) -> None:
    """Print the probability of the second digit."""
    print_table(
        ["node", "truth", "prediction", f"P({post.labels.classes[1]})", "variance", "mcse"],
        [
            [str(i), str(y[i]), str(post.prediction[i]), f"{post.probability[i]:.3f}",
             f"{post.variance[i]:.3f}", f"{post.probability_mcse[i]:.4f}"]
            for i in nodes
        ],
    )  # fmt: skip


def _print_two_likeliest(post: gq.Posterior, y: Any, nodes: Any) -> None:
    """Print the two most probable digits."""
    p, classes = post.by_class, post.labels.classes
    likeliest = np.argsort(-p, axis=1, kind="stable")
    print_table(
        ["node", "truth", "prediction", "P", "runner-up", "P", "entropy", "mcse"],
        [
            [str(i), str(y[i]), str(classes[a]), f"{p[i, a]:.3f}", str(classes[b]),
             f"{p[i, b]:.3f}", f"{post.entropy[i]:.3f}", f"{post.probability_mcse[i, a]:.4f}"]
            for i, (a, b) in zip(nodes, likeliest[nodes, :2], strict=True)
        ],
    )  # fmt: skip


def _write(folder: Path, posteriors: dict[str, gq.Posterior], X: Any, y: Any) -> None:
    """Write the posteriors, and pictures of the first one."""
    from graphuq.plots.rendering import png  # imports plots, which --help does not need

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(
            f"cannot create the folder {folder} ({error}): choose another --out"
        ) from error
    for name, post in posteriors.items():
        post.save(folder / f"{name}.nc")
    first = posteriors["probit"]
    many = first.labels.classes.size > 2
    pictures = {
        "digits.png": png(
            lambda figure: gq.plots.hard_and_easy(
                first, X, y, count=5 if many else 10, figure=figure
            ),
            10.2,
            14.9 if many else 5.9,
        )
    }
    if many:
        pictures["confusion.png"] = png(
            lambda figure: gq.plots.confusion(first, y, figure=figure), 13, 6.4
        )
    for name, picture in pictures.items():
        with write_atomically(folder / name) as temporary:
            Path(temporary).write_bytes(picture)
    names = ", ".join(f"{name}.nc" for name in posteriors)
    print(f"Written to {folder}/: {names} (for arviz), {', '.join(pictures)}")
