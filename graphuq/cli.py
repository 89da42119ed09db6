"""The command line: ``graphuq demo`` and ``graphuq compare``."""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import graphuq as gq
from graphuq.diagnostics import R_HAT


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code: 0, 2 on a user's mistake, 130 on Ctrl-C."""
    options = _parser().parse_args(arguments)
    try:
        with warnings.catch_warnings():
            # what a warning would say stands in the tables and below them
            warnings.simplefilter("ignore", gq.ConvergenceWarning)
            return int(options.run(options))
    except (ValueError, TypeError, OSError, MemoryError, RuntimeError) as error:
        print(f"graphuq {options.command}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"graphuq {options.command}: interrupted", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="graphuq",
        description="Bayesian uncertainty quantification for graph-based classification.",
    )
    parser.add_argument("--version", action="version", version=f"graphuq {gq.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    shared = argparse.ArgumentParser(add_help=False)
    add = shared.add_argument
    add(
        "--dataset",
        choices=("digits", "mnist"),
        default="digits",
        help="bundled 8 x 8 digits (default), or MNIST from $GRAPHUQ_DATA or the cache",
    )
    add("--per-class", type=int, metavar="N", help="images of each digit (default: all)")
    add("--neighbors", type=int, default=10, metavar="K", help="of the graph (default: 10)")
    add(
        "--prior",
        choices=("projected", "approximated"),
        default="projected",
        help="modes beyond the rank are left out (default), or share one variance",
    )
    add("--rank", type=int, default=50, help="modes of the prior (default: 50)")
    add("--fraction", type=float, default=0.04, help="share of labels revealed (default: 0.04)")
    add("--gamma", type=float, default=0.1, help="label noise (default: 0.1)")
    add("--draws", type=int, default=1000, help="draws kept from each chain (default: 1000)")
    add("--chains", type=int, default=4, help="(default: 4)")
    add("--seed", type=int, default=0, help="(default: 0)")

    demo = commands.add_parser(
        "demo",
        parents=[shared],
        help="classify a pair of digits, with uncertainty",
        description="Build a graph of two digits, sample the probit and level-set posteriors from "
        "a few labels, and show what is uncertain.",
    )
    demo.add_argument("--pair", type=_pair, default=(4, 9), help="the digits (default: 4,9)")
    demo.add_argument("--out", type=Path, default=Path("graphuq-demo"), metavar="FOLDER",
                      help="where files go (default: graphuq-demo)")  # fmt: skip
    demo.set_defaults(run=_demo)

    compare = commands.add_parser(
        "compare",
        parents=[shared],
        help="compare uncertainty across digit pairs",
        description="Mean posterior variance, eq. (10), and accuracy of several digit pairs.",
    )
    compare.add_argument(
        "--pairs", type=_pair, nargs="+", default=[(4, 9), (3, 8), (0, 6), (5, 7)], metavar="A,B",
        help="(default: 4,9 3,8 0,6 5,7)",
    )  # fmt: skip
    compare.set_defaults(run=_compare)
    return parser


def _pair(text: str) -> tuple[int, int]:
    try:
        a, b = (int(part) for part in text.split(","))
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"expected two digits such as 4,9, got {text!r}"
        ) from error
    return a, b


def _problem(
    options: argparse.Namespace, pair: tuple[int, int]
) -> tuple[Any, Any, gq.Prior, gq.Labels]:
    """Return images, digits, prior and labels."""
    X, y = gq.datasets.digit_pair(
        *pair, dataset=options.dataset, per_class=options.per_class, seed=options.seed
    )
    features = gq.pca(X, 50) if options.dataset == "mnist" else X
    graph = gq.knn_graph(features, n_neighbors=options.neighbors, connect=True)
    labels = gq.reveal(y, options.fraction, seed=options.seed)
    return X, y, getattr(gq.Prior, options.prior)(graph, options.rank), labels


def _models(options: argparse.Namespace) -> dict[str, Any]:
    return {"probit": gq.Probit(options.gamma), "level-set": gq.LevelSet(options.gamma)}


def _sample(options: argparse.Namespace, prior: gq.Prior, model: Any, labels: gq.Labels) -> Any:
    return gq.sample(
        prior,
        model,
        labels,
        draws=options.draws,
        chains=options.chains,
        seed=options.seed,
        progress=sys.stderr.isatty(),
    )


def _demo(options: argparse.Namespace) -> int:
    begun = time.perf_counter()
    X, y, prior, labels = _problem(options, options.pair)
    built = time.perf_counter() - begun
    a, b = labels.classes
    print(
        f"Digits {a} and {b}: {prior.n_nodes} images, joined to their {options.neighbors} nearest "
        f"neighbours; {len(labels)} labels.\nGraph and {prior.rank} eigenpairs: {built:.2f} s.\n"
    )
    rows, notes, posteriors = [], [], {}
    for name, model in _models(options).items():
        begun = time.perf_counter()
        post = posteriors[name] = _sample(options, prior, model, labels)
        seconds = time.perf_counter() - begun
        health = post.diagnostics()
        rows.append([
            name, f"{post.accuracy(y):.3f}", f"{post.mean_variance:.3f}", f"{health.r_hat:.3f}",
            f"{health.ess:.0f}", f"{health.acceptance:.2f}", f"{seconds:.2f}",
        ])  # fmt: skip
        notes += [f"{name}: {message}" for message in health.messages]
        if not post.complete:
            break
    _table(["model", "accuracy", "mean variance", "R-hat", "ESS", "acceptance", "seconds"], rows)
    print(
        "accuracy: of unlabelled images; mean variance: eq. (10), 0 is certain and 1 a coin's "
        f"toss;\nR-hat: below {R_HAT} the chains agree; ESS: independent draws that the draws are "
        "worth.\n"
    )
    print("\n".join([*notes, ""]) if notes else "The chains agree.\n")

    first = posteriors["probit"]
    order = first.ranking()
    order = order[~np.isin(order, labels.nodes)]
    for title, chosen in (("uncertain", order[:10]), ("certain", order[::-1][:10])):
        print(f"Ten most {title} images (probit):")
        _table(
            ["node", "truth", "prediction", f"P({b})", "variance", "mcse"],
            [
                [str(i), str(y[i]), str(first.prediction[i]), f"{first.probability[i]:.3f}",
                 f"{first.variance[i]:.3f}", f"{first.mcse[i]:.4f}"]
                for i in chosen
            ],
        )  # fmt: skip
        print()
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(
            f"cannot make the folder {options.out} ({error}): choose another --out"
        ) from error
    for name, post in posteriors.items():
        post.save(options.out / f"{name}.nc")
    gq.plots.hard_and_easy(first, X, y).savefig(options.out / "digits.png", dpi=120)
    written = [f"{name}.nc" for name in posteriors]
    print(f"Written to {options.out}/: {', '.join(written)} (arviz), digits.png")
    return _exit_code(posteriors.values())


def _exit_code(posteriors: Iterable[gq.Posterior]) -> int:
    return 0 if all(post.complete for post in posteriors) else 130


def _compare(options: argparse.Namespace) -> int:
    rows, notes, posteriors = [], [], []
    for pair in options.pairs:
        _, y, prior, labels = _problem(options, pair)
        row = [f"{pair[0]},{pair[1]}", str(prior.n_nodes), str(len(labels))]
        for model in _models(options).values():
            post = _sample(options, prior, model, labels)
            posteriors.append(post)
            health = post.diagnostics()
            notes += [f"{row[0]} {type(model).__name__}: {text}" for text in health.messages]
            row += [
                f"{post.mean_variance:.3f}",
                f"{(post.variance > 0.5).mean():.1%}",
                f"{post.accuracy(y):.3f}",
                f"{health.r_hat:.2f}",
            ]
            if not post.complete:
                break
        rows.append(row + ["-"] * (11 - len(row)))
        if _exit_code(posteriors):
            break
    _table(
        ["pair", "images", "labels"]
        + [
            f"{model} {column}"
            for model in ("probit", "level-set")
            for column in ("variance", "unsure", "accuracy", "R-hat")
        ],
        rows,
    )
    print(
        "variance: mean posterior variance, eq. (10); unsure: share of images with variance above "
        f"1/2;\naccuracy: of unlabelled images; R-hat: below {R_HAT} the chains agree."
    )
    print("\n".join(["", *notes]) if notes else "")
    return _exit_code(posteriors)


def _table(header: list[str], rows: list[list[str]]) -> None:
    widths = [max(len(row[k]) for row in [header, *rows]) for k in range(len(header))]
    for row in [header, ["-" * width for width in widths], *rows]:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))


if __name__ == "__main__":
    sys.exit(main())
