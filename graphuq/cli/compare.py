"""``graphuq compare``: methods on a user's file, or the uncertainty of pairs of digits."""

from __future__ import annotations

import argparse
import itertools
from typing import Any

import numpy as np

import graphuq as gq
from graphuq.cli import digit_problem as digits
from graphuq.cli.files.table import require_file
from graphuq.cli.options import add_command, add_file, add_json, add_seed, read_items
from graphuq.cli.print_trust import R_HAT_MEANING, advise_draws, list_doubts
from graphuq.cli.printing import print_paragraph, print_table, to_json
from graphuq.posterior.predictions import SURE
from graphuq.utils import validation

# Label noise and number of modes in the paper (two moons, Figure 9).
PAPER_GAMMA, PAPER_RANK = 0.1, 150

# Default fraction of labels.
FRACTION = 0.04

PAIRS = ((4, 9), (3, 8), (0, 6), (5, 7))

# Times that the labels of a pair are drawn anew, and the confidence of intervals of their means.
LABEL_DRAWS, LEVEL = 5, 0.9


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "compare",
        "compare methods on a file, or the uncertainty of pairs of digits",
        "With FILE: compare the accuracy, calibration and time of several methods given the same "
        "labels.\nWithout FILE: compare the mean posterior variance, eq. (10), and the accuracy "
        "of pairs of\ndigits, over several draws of labels.",
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
    group.add_argument(
        "--label-draws",
        type=int,
        metavar="N",
        help="how often the labels of each pair are drawn anew, for the intervals (default: "
        f"{LABEL_DRAWS})",
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
    for name in ("pairs", "label_draws"):
        if getattr(options, name) is not None:
            option = f"--{name.replace('_', '-')}"
            raise ValueError(
                f"{option} compares digits, without a file: leave out {option} or FILE"
            )
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
    if options.label_draws is None:
        options.label_draws = LABEL_DRAWS
    validation.integer("--label-draws", options.label_draws, 1)
    rows, notes, complete = _sample_pairs(options)
    _find_differences(rows)
    code = 0 if complete else 130
    if options.json:
        print(to_json(rows))
        return code
    print_table(
        ["pair", "images", "labels", "draws", "model", "variance", "differs from", "unsure",
         "accuracy", "R-hat"],
        [_cells(row) for row in rows],
    )  # fmt: skip
    print_paragraph(
        f"Figures are means over draws of labels, with {LEVEL:.0%} intervals. draws: how often "
        "labels were drawn; variance: mean posterior variance, eq. (10); differs from: pairs with "
        "another mean variance, by t tests of each two pairs, which find a difference where there "
        f"is none in at most {1 - LEVEL:.0%} of tables; unsure: fraction of images with no class "
        f"of probability {SURE:.0%}; accuracy: fraction of unlabeled images predicted correctly; "
        f"{R_HAT_MEANING}, in the worst draw."
    )
    if options.label_draws == 1:
        print_paragraph(
            "One draw of labels does not tell whether pairs differ: raise --label-draws."
        )
    for row in rows:
        chosen = ", ".join(f"{name} {row[name]:.3g}" for name in ("alpha", "tau", "gamma"))
        print(f"{row['pair']} {row['model']}: {chosen} on average")
    print()
    for note in notes:
        print_paragraph(f"- {note}", hanging="  ")
    advise_draws(notes)
    return code


def _sample_pairs(options: argparse.Namespace) -> tuple[list[dict[str, Any]], list[str], bool]:
    """Return a row for each pair and model, messages, and whether all runs are complete."""
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    complete = True
    for a, b in dict.fromkeys(options.pairs or PAIRS):
        _, y, prior, _ = digits.build_problem(options, (a, b))
        seeds = np.random.SeedSequence([options.seed, a, b]).spawn(options.label_draws)
        drawn = [gq.reveal(y, options.fraction, seed=seed) for seed in seeds]
        for model, likelihood in digits.likelihoods(options).items():
            posts = []
            for labels in drawn:
                posts.append(digits.sample_posterior(options, prior, likelihood, labels))
                complete = posts[-1].draws.complete
                if not complete:
                    break
            name = f"{a},{b}"
            for post in posts:
                notes += [note for note in list_doubts(f"{name} {model}", post.trust())
                          if note not in notes]  # fmt: skip
            # an interrupted run counts only if there is no other
            rows.append(_row(name, model, posts if complete else posts[:-1] or posts, y))
            if not complete:  # show what there is
                return rows, notes, False
    return rows, notes, True


def _row(pair: str, model: str, posts: list[gq.Posterior], y: Any) -> dict[str, Any]:
    """Return what the posteriors of several draws of labels say of a pair."""
    chosen = [digits.parameters(post) for post in posts]
    variances = [post.mean_variance for post in posts]
    accuracies = [post.accuracy(y) for post in posts]
    return {
        "pair": pair,
        "images": posts[0].n_nodes,
        "labels": len(posts[0].labels),
        "label_draws": len(posts),
        "model": model,
        **{name: float(np.mean([one[name] for one in chosen])) for name in chosen[0]},
        "variance": float(np.mean(variances)),
        "variance_interval": _interval(variances),
        "variances": variances,
        "differs_from": [],
        "unsure": float(np.mean([post.unsure.mean() for post in posts])),
        "accuracy": float(np.mean(accuracies)),
        "accuracy_interval": _interval(accuracies),
        "r_hat": max(post.diagnostics().r_hat for post in posts),
    }


def _interval(values: list[float]) -> list[float] | None:
    """Return the interval of the mean of shares by Student's t; None for one value."""
    from scipy import stats

    if len(values) == 1:
        return None
    half = stats.t.ppf((1 + LEVEL) / 2, len(values) - 1) * stats.sem(values)
    mean = np.mean(values)
    return [float(max(mean - half, 0.0)), float(min(mean + half, 1.0))]


def _find_differences(rows: list[dict[str, Any]]) -> None:
    """Tell each row which pairs have another mean variance in the same model.

    Draws of labels of two pairs are independent, and their variances unequal: Welch's t test, with
    Bonferroni's correction for the number of tests.
    """
    from scipy import stats

    tests = [
        (one, other)
        for one, other in itertools.combinations(rows, 2)
        if one["model"] == other["model"] and min(one["label_draws"], other["label_draws"]) > 1
    ]
    for one, other in tests:
        test = stats.ttest_ind(one["variances"], other["variances"], equal_var=False)
        if test.pvalue * len(tests) < 1 - LEVEL:
            one["differs_from"].append(other["pair"])
            other["differs_from"].append(one["pair"])


def _cells(row: dict[str, Any]) -> list[str]:
    """Return the cells of a row."""

    def mean(name: str) -> str:
        ends = row[f"{name}_interval"]
        return f"{row[name]:.3f}" + ("" if ends is None else f" ({ends[0]:.3f} to {ends[1]:.3f})")

    return [
        row["pair"],
        str(row["images"]),
        str(row["labels"]),
        str(row["label_draws"]),
        row["model"],
        mean("variance"),
        " ".join(row["differs_from"]) or "-",
        f"{row['unsure']:.1%}",
        mean("accuracy"),
        f"{row['r_hat']:.2f}",
    ]
