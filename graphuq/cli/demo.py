"""``graphuq demo``: a pair of digits, or all ten, with uncertainty."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

import graphuq as gq
from graphuq.cli import digits
from graphuq.cli.options import add_command
from graphuq.cli.output import table
from graphuq.diagnostics import R_HAT
from graphuq.plots.png import png
from graphuq.whole import written_whole


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "demo",
        "classify digits, with uncertainty",
        "Build a graph of two digits, sample the probit and level-set posteriors from a few "
        "labels,\nand show what is uncertain. With --classes all, of all ten digits at once.",
        "examples:\n  graphuq demo\n  graphuq demo --pair 3,8 --gamma 0.1 --alpha 1\n"
        "  graphuq demo --classes all",
    )
    digits.add_digits(parser.add_argument)
    parser.add_argument(
        "--neighbors", type=int, default=10, metavar="K", help="of the graph (default: 10)"
    )
    parser.add_argument(
        "--fraction", type=float, default=0.04, help="share of labels revealed (default: 0.04)"
    )
    parser.add_argument("--seed", type=int, default=0, help="(default: 0)")
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--pair", type=digits.pair_of_digits, default=(4, 9), help="the digits (default: 4,9)"
    )
    which.add_argument("--classes", choices=("all",), help="all ten digits instead of a pair")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("graphuq-demo"),
        metavar="FOLDER",
        help="where files go (default: graphuq-demo)",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Sample, print and write."""
    begun = time.perf_counter()
    X, y, prior, labels = digits.problem(options, None if options.classes else options.pair)
    built = time.perf_counter() - begun
    many = labels.classes.size > 2
    which = "All ten digits" if many else "Digits {} and {}".format(*labels.classes)
    print(
        f"{which}: {prior.n_nodes} images, joined to their {options.neighbors} nearest "
        f"neighbours; {len(labels)} labels.\nGraph and {prior.rank} eigenpairs: {built:.2f} s.\n"
    )
    rows, notes, posteriors = [], [], {}
    for name, model in digits.models(options).items():
        begun = time.perf_counter()
        post = posteriors[name] = digits.sampled(options, prior, model, labels)
        seconds = time.perf_counter() - begun
        health = post.diagnostics()
        alpha, gamma = digits.settings(post)
        rows.append([
            name, f"{post.accuracy(y):.3f}", f"{post.mean_variance:.3f}", f"{health.r_hat:.3f}",
            f"{health.ess:.0f}", f"{alpha:.2f}", f"{gamma:.3f}", f"{seconds:.2f}",
        ])  # fmt: skip
        notes += [f"{name}: {message}" for message in health.messages]
        if not post.complete:
            break
    table(["model", "accuracy", "mean variance", "R-hat", "ESS", "alpha", "gamma", "seconds"], rows)
    most = "all classes alike" if many else "a coin's toss"
    print(
        f"accuracy: of unlabelled images; mean variance: eq. (10), 0 is certain and 1 {most};\n"
        f"R-hat: below {R_HAT} the chains agree; ESS: independent draws that the draws are worth;\n"
        "alpha: smoothness of the classes on the graph; gamma: label noise.\n"
    )
    print("\n".join([*notes, ""]) if notes else "The chains agree.\n")

    first = posteriors["probit"]
    order = first.ranking()
    order = order[~np.isin(order, labels.nodes)]
    for title, chosen in (("uncertain", order[:10]), ("certain", order[::-1][:10])):
        print(f"Ten most {title} images (probit):")
        (_of_ten if many else _of_two)(first, y, chosen)
        print()
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(
            f"cannot make the folder {options.out} ({error}): choose another --out"
        ) from error
    for name, post in posteriors.items():
        post.save(options.out / f"{name}.nc")
    count = 5 if many else 10
    pictures = {
        "digits.png": png(
            lambda figure: gq.plots.hard_and_easy(first, X, y, count=count, figure=figure),
            10.2,
            14.9 if many else 5.9,
        )
    }
    if many:
        pictures["confusion.png"] = png(
            lambda figure: gq.plots.confusion(first, y, figure=figure), 13, 6.4
        )
    for name, picture in pictures.items():
        with written_whole(options.out / name) as temporary:
            Path(temporary).write_bytes(picture)
    written = [f"{name}.nc" for name in posteriors]
    print(f"Written to {options.out}/: {', '.join(written)} (arviz), {', '.join(pictures)}")
    return digits.exit_code(posteriors.values())


def _of_two(post: gq.Posterior, y: Any, chosen: Any) -> None:
    """Print the probability of the second digit."""
    table(
        ["node", "truth", "prediction", f"P({post.labels.classes[1]})", "variance", "mcse"],
        [
            [str(i), str(y[i]), str(post.prediction[i]), f"{post.probability[i]:.3f}",
             f"{post.variance[i]:.3f}", f"{post.mcse[i]:.4f}"]
            for i in chosen
        ],
    )  # fmt: skip


def _of_ten(post: gq.Posterior, y: Any, chosen: Any) -> None:
    """Print the two likeliest digits."""
    p, classes = post.probability, post.labels.classes
    likeliest = np.argsort(-p, axis=1, kind="stable")
    table(
        ["node", "truth", "prediction", "P", "or else", "P", "entropy", "mcse"],
        [
            [str(i), str(y[i]), str(classes[a]), f"{p[i, a]:.3f}", str(classes[b]),
             f"{p[i, b]:.3f}", f"{post.entropy[i]:.3f}", f"{post.mcse[i, a]:.4f}"]
            for i, (a, b) in zip(chosen, likeliest[chosen, :2], strict=True)
        ],
    )  # fmt: skip
