"""Planted partitions whose edges join unlike nodes: modes by the evidence, and smooth modes.

python -m benchmarks.trust.heterophily [--quick]

Classes have equal sizes, and ten labels each. A node has twelve edges on average, a share of them
within its class; an edge between classes joins any two of these. "By evidence" is
gq.approximate(graph, gq.Probit(), labels), and "smooth" the same of gq.Spectrum.of(graph, 300).
Label spreading may choose its parameter by cross-validation.
"""

from __future__ import annotations

import warnings

import numpy as np

import graphuq as gq
from benchmarks.common import report
from benchmarks.trust.peers.scores import score
from benchmarks.trust.peers.task import Answer, Problem, Task
from benchmarks.trust.peers.with_sklearn import label_spreading

DEGREE, PER_CLASS, RANK = 12, 10, 300
SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def task(n: int, n_classes: int, share: float, seed: int) -> Task:
    size = n // n_classes
    within, between = n_classes * share * DEGREE / n, (1 - share) * DEGREE / (n - size)
    graph, y = gq.datasets.planted_partition([size] * n_classes, within, between, seed=seed)
    labels = gq.reveal(y, counts=PER_CLASS, seed=seed)
    return Task(Problem(f"planted {n}", graph, None, y, graph), labels, seed)


def answers(one: Task) -> dict[str, tuple[Answer, bool]]:
    """Return the answer of each method, and whether neighbors were found to differ."""
    found = {}
    graph = one.problem.graph
    for name, source in (("by evidence", graph), ("smooth", gq.Spectrum.of(graph, RANK))):
        tuned = gq.tune(source, one.labels)
        post = gq.approximate(tuned.prior, tuned.likelihood, one.labels)
        differ = tuned.prior.graph_part.spectrum.laplacian == "signless"
        found[name] = Answer(post.by_class), differ
    return {**found, "label spreading": (label_spreading(one), False)}


def row(n: int, n_classes: int, share: float, draws: int) -> dict:
    scores: dict[str, list[dict]] = {}
    differ = []
    for seed in range(draws):
        one = task(n, n_classes, share, seed)
        hidden = np.setdiff1d(np.arange(one.problem.y.size), one.labels.nodes)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the table shows what fails
            found = answers(one)
        differ.append(found["by evidence"][1])
        for name, (answer, _) in found.items():
            scores.setdefault(name, []).append(score(answer, one, hidden))
    means = {
        f"{measure}, {name}": float(np.mean([draw[measure] for draw in each]))
        for measure in ("accuracy", "log score")
        for name, each in scores.items()
    }
    return {
        "nodes": n, "classes": n_classes, "share within classes": share,
        "found to differ": float(np.mean(differ)), **means, "chance": float(np.log(n_classes)),
    }  # fmt: skip


def main() -> None:
    options = report.options(__doc__.splitlines()[0], draws=(int, 5))
    draws = 1 if options.quick else options.draws
    rows = [
        row(n, n_classes, share, draws)
        for n in ((400,) if options.quick else (400, 2000))
        for n_classes in ((2,) if options.quick else (2, 4, 8))
        for share in (SHARES[1::4] if options.quick else SHARES)
    ]
    ours = "log score, by evidence"
    (two,) = (
        one["accuracy, by evidence"]
        for one in rows
        if (one["nodes"], one["classes"], one["share within classes"]) == (400, 2, 0.1)
    )
    agree = [one for one in rows if one["share within classes"] > 1.5 / one["classes"]]
    claims = {
        "accuracy of two classes among 400 nodes, a tenth of the edges within, at least 0.8":
            (two, two >= 0.8),
        "log score less that of smooth modes, where more edges are within classes than half as many"
        " again as by chance, at most 0.01": at_most(
            [one[ours] - one["log score, smooth"] for one in agree], 0.01),
        "log score less that of chance (no bound)":
            at_most([one[ours] - one["chance"] for one in rows], np.inf),
    }  # fmt: skip
    report.write("heterophily", options.out, rows, claims)


def at_most(values: list[float], bound: float) -> tuple[float, bool]:
    return float(max(values)), bool(max(values) <= bound)


if __name__ == "__main__":
    main()
