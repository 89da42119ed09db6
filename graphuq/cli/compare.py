"""``graphuq compare``: methods on a user's file, or the uncertainty of pairs of digits."""

from __future__ import annotations

import argparse
from typing import Any

import graphuq as gq
from graphuq.cli import digit_problem as digits
from graphuq.cli.files.table import require_file
from graphuq.cli.options import add_command, add_file, add_json, add_seed, read_items
from graphuq.cli.print_trust import R_HAT_MEANING, advise_draws, list_doubts
from graphuq.cli.printing import print_paragraph, print_table, to_json
from graphuq.posterior.predictions import SURE

# Label noise and number of modes in the paper (two moons, Figure 9).
PAPER_GAMMA, PAPER_RANK = 0.1, 150

# Default fraction of labels.
FRACTION = 0.04

PAIRS = ((4, 9), (3, 8), (0, 6), (5, 7))


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "compare",
        "compare methods on a file, or the uncertainty of pairs of digits",
        "With FILE: compare the accuracy, calibration and time of several methods given the same "
        "labels.\nWithout FILE: compare the mean posterior variance, eq. (10), and the accuracy "
        "of pairs of\ndigits.",
        "examples:\n"
        "  graphuq compare votes.csv --truth party                 reveal some true classes\n"
        "  graphuq compare votes.csv --label known --truth party   use the given labels\n"
        "  graphuq compare --pairs 4,9 3,8 --gamma 0.1 --alpha 1   use the paper's settings",
    )
    add_file(parser, nargs="?")
    parser.add_argument(
        "--fraction",
        type=float,
        metavar="X",
        help=f"fraction of true classes to reveal as labels if FILE has no labels (default: "
        f"{FRACTION})",
    )
    add_seed(parser.add_argument)
    add_json(parser)
    group = parser.add_argument_group("pairs of digits, without FILE")
    group.add_argument(
        "--pairs",
        type=digits.pair_of_digits,
        nargs="+",
        metavar="A,B",
        help="pairs of digits (default: 4,9 3,8 0,6 5,7)",
    )
    digits.add_digits(group.add_argument)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Compare methods on a file, or pairs of digits."""
    if options.file is None:
        for name in ("label", "labels", "truth"):
            if getattr(options, name) is not None:
                raise ValueError(f"--{name} needs a FILE: name it, or leave out --{name}")
        options.fraction = FRACTION if options.fraction is None else options.fraction
        return _compare_pairs(options)
    if options.pairs:
        raise ValueError("--pairs compares digits, without a file: leave out --pairs or FILE")
    return _compare_methods(options)


def _compare_methods(options: argparse.Namespace) -> int:
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
        print(to_json(result.reset_index().to_dict("records")))
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
    print_paragraph(
        "accuracy: fraction of unlabeled items predicted correctly; brier: mean squared error of "
        "the probabilities (0 is best); calibration error: mean difference between confidence and "
        "accuracy (0 is best); -: the method gives no probabilities."
    )
    return 0


def _compare_pairs(options: argparse.Namespace) -> int:
    rows, notes, complete = _sample_pairs(options)
    code = 0 if complete else 130
    if options.json:
        print(to_json(rows))
        return code
    models = digits.likelihoods(options)
    print_table(
        ["pair", "images", "labels"]
        + [
            f"{model} {column}"
            for model in models
            for column in ("variance", "unsure", "accuracy", "R-hat")
        ],
        [_cells(pair, rows, len(models)) for pair in dict.fromkeys(row["pair"] for row in rows)],
    )
    print_paragraph(
        "variance: mean posterior variance, eq. (10); unsure: fraction of images with no class of "
        f"probability {SURE:.0%}; accuracy: fraction of unlabeled images predicted correctly; "
        f"{R_HAT_MEANING}."
    )
    for row in rows:
        chosen = ", ".join(f"{name} {row[name]:.3g}" for name in ("alpha", "tau", "gamma"))
        print(f"{row['pair']} {row['model']}: {chosen}")
    print()
    for note in notes:
        print_paragraph(f"- {note}", hanging="  ")
    advise_draws(notes)
    return code


def _sample_pairs(options: argparse.Namespace) -> tuple[list[dict[str, Any]], list[str], bool]:
    """Return a row for each pair and model, messages, and whether all runs are complete."""
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    for pair in options.pairs or PAIRS:
        _, y, prior, labels = digits.build_problem(options, pair)
        name = f"{pair[0]},{pair[1]}"
        for model, likelihood in digits.likelihoods(options).items():
            post = digits.sample_posterior(options, prior, likelihood, labels)
            health = post.diagnostics()
            notes += list_doubts(f"{name} {model}", post.trust())
            rows.append(
                {
                    "pair": name,
                    "images": prior.n_nodes,
                    "labels": len(labels),
                    "model": model,
                    **digits.parameters(post),
                    "variance": post.mean_variance,
                    "unsure": float(post.unsure.mean()),
                    "accuracy": post.accuracy(y),
                    "r_hat": health.r_hat,
                }
            )
            if not post.draws.complete:  # interrupted: show what there is
                return rows, notes, False
    return rows, notes, True


def _cells(pair: str, rows: list[dict[str, Any]], n_models: int) -> list[str]:
    """Return the models of a pair side by side, with dashes for runs that were interrupted."""
    own = [row for row in rows if row["pair"] == pair]
    cells = [pair, str(own[0]["images"]), str(own[0]["labels"])]
    for row in own:
        cells += [f"{row['variance']:.3f}", f"{row['unsure']:.1%}", f"{row['accuracy']:.3f}",
                  f"{row['r_hat']:.2f}"]  # fmt: skip
    return cells + ["-"] * (3 + 4 * n_models - len(cells))
