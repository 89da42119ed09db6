"""``graphuq compare``: methods on one's own file, or uncertainty across pairs of digits."""

from __future__ import annotations

import argparse
from typing import Any

import graphuq as gq
from graphuq.cli import digits
from graphuq.cli.options import add_command, add_file, add_json, read_items
from graphuq.cli.output import as_json, table
from graphuq.diagnostics import R_HAT
from graphuq.plots.nodes import unsure

# The paper's noise, and its number of modes on two moons (Figure 9).
PAPER_GAMMA, PAPER_RANK = 0.1, 150

PAIRS = ((4, 9), (3, 8), (0, 6), (5, 7))


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "compare",
        "compare methods on a file, or digit pairs",
        "With FILE: accuracy, calibration and time of several methods that see the same few "
        "labels.\nWithout: mean posterior variance, eq. (10), and accuracy of pairs of digits.",
        "examples:\n"
        "  graphuq compare votes.csv --truth party                 labels are drawn from party\n"
        "  graphuq compare votes.csv --label known --truth party\n"
        "  graphuq compare --pairs 4,9 3,8 --gamma 0.1 --alpha 1   the paper's settings",
    )
    add_file(parser, nargs="?")
    parser.add_argument(
        "--fraction",
        type=float,
        default=0.04,
        help="share of true classes revealed where there are no labels (default: 0.04)",
    )
    parser.add_argument("--seed", type=int, default=0, help="(default: 0)")
    add_json(parser)
    group = parser.add_argument_group("pairs of digits")
    group.add_argument(
        "--pairs",
        type=digits.pair_of_digits,
        nargs="+",
        metavar="A,B",
        help="(default: 4,9 3,8 0,6 5,7)",
    )
    digits.add_digits(group.add_argument)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Compare methods, or pairs."""
    if options.file is None:
        return _pairs(options)
    if options.pairs:
        raise ValueError("--pairs are of digits: leave out either these or FILE")
    return _methods(options)


def _methods(options: argparse.Namespace) -> int:
    if options.truth is None:
        raise ValueError(
            f"{options.file}: methods are scored against true classes: name their column with "
            "--truth"
        )
    items = read_items(options)
    assert items.truth is not None
    truth = items.truth.astype(str)
    given = any(label is not None for label in items.known)
    labels = items.labels() if given else gq.reveal(truth, options.fraction, seed=options.seed)
    graph = items.joined(options.neighbors)
    methods: dict[str, Any] = {
        "Laplace learning": gq.LaplaceLearning(),
        "PageRank": gq.PageRankSSL(),
        "robust GC": gq.RobustGC(),
    }
    if labels.classes.size == 2:
        methods["Fiedler"] = gq.FiedlerClustering()
    prior = gq.Prior.approximated(graph, min(PAPER_RANK, graph.n_nodes - 1))
    methods["probit, auto"] = graph, gq.Probit()
    methods["probit, the paper's settings"] = prior, gq.Probit(PAPER_GAMMA)
    result = gq.compare(graph, labels, truth, methods, X=items.features, seed=options.seed)
    if options.json:
        print(as_json(result.reset_index().to_dict("records")))
        return 0
    origin = "given" if given else f"drawn from {options.truth!r}"
    print(f"{options.file}: {graph.n_nodes} items; labels {origin}: {labels!r}\n")
    table(
        ["method", *(name.replace("_", " ") for name in result.columns)],
        [
            [str(method), *("-" if value != value else f"{value:.3f}" for value in row)]
            for method, row in zip(result.index, result.to_numpy(), strict=True)
        ],
    )
    print(
        "\naccuracy: of unlabelled items; brier: mean squared error of probabilities, 0 is best; "
        "\ncalibration error: how far confidence is from accuracy, 0 is best; - : no probabilities."
    )
    return 0


def _pairs(options: argparse.Namespace) -> int:
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    posteriors: list[gq.Posterior] = []
    for pair in options.pairs or PAIRS:
        _, y, prior, labels = digits.problem(options, pair)
        name = f"{pair[0]},{pair[1]}"
        for model, likelihood in digits.models(options).items():
            post = digits.sampled(options, prior, likelihood, labels)
            posteriors.append(post)
            health = post.diagnostics()
            notes += [f"{name} {model}: {text}" for text in health.messages]
            alpha, gamma = digits.settings(post)
            rows.append(
                {
                    "pair": name,
                    "images": prior.n_nodes,
                    "labels": len(labels),
                    "model": model,
                    "alpha": alpha,
                    "gamma": gamma,
                    "variance": post.mean_variance,
                    "unsure": float(unsure(post).mean()),
                    "accuracy": post.accuracy(y),
                    "r_hat": health.r_hat,
                }
            )
            if not post.complete:
                break
        if digits.exit_code(posteriors):
            break
    if options.json:
        print(as_json(rows))
        return digits.exit_code(posteriors)
    table(
        ["pair", "images", "labels"]
        + [
            f"{model} {column}"
            for model in digits.models(options)
            for column in ("variance", "unsure", "accuracy", "R-hat")
        ],
        [_row(name, rows) for name in dict.fromkeys(row["pair"] for row in rows)],
    )
    print(
        "variance: mean posterior variance, eq. (10); unsure: share of images with variance above "
        f"1/2;\naccuracy: of unlabelled images; R-hat: below {R_HAT} the chains agree."
    )
    for row in rows:
        print(f"{row['pair']} {row['model']}: alpha {row['alpha']:.2f}, gamma {row['gamma']:.3f}")
    print("\n".join(["", *notes]) if notes else "")
    return digits.exit_code(posteriors)


def _row(pair: str, rows: list[dict[str, Any]]) -> list[str]:
    """Return a pair's models side by side, dashes for what an interruption left out."""
    own = [row for row in rows if row["pair"] == pair]
    cells = [pair, str(own[0]["images"]), str(own[0]["labels"])]
    for row in own:
        cells += [f"{row['variance']:.3f}", f"{row['unsure']:.1%}", f"{row['accuracy']:.3f}",
                  f"{row['r_hat']:.2f}"]  # fmt: skip
    return cells + ["-"] * (11 - len(cells))
