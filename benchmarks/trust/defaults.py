"""What each choice of the default is worth: its parts, its hyperpriors, the number of neighbors.

GRAPHUQ_DATA=... python -m benchmarks.trust.defaults [--quick] [--draws 2] [--jobs 2]

Each variant changes one thing of the default. Every set is drawn anew twice, with 2, 5 and 20
labels of each class and 4% of all items at random. Sets are split into two halves by the order of
their names, so that a choice made on one half can be judged on the other. The table has the mean
difference of the log score from the default's on either half, with its standard error over sets;
the accuracy; the calibration error; and the share of runs that are too unsure, whose mean
confidence is below the accuracy by more than 0.03.

Takes about 20 minutes on two cores.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from contextlib import nullcontext
from unittest.mock import patch

import numpy as np
from joblib import Parallel, delayed

import graphuq as gq
from benchmarks.common import report
from benchmarks.trust.peers import data_sets
from benchmarks.trust.peers.data_sets import SETS, at_random, some_of_each
from benchmarks.trust.peers.task import Problem
from graphuq.priors.default_sum import default_graph_prior, default_sum

DEFAULT = "default"
COUNTS = (2, 5, 20)
MARGIN = 0.03
HYPERPRIOR = "graphuq.priors.hyperprior"

# From the name of a variant to constants of the hyperprior, or to what `posterior` does.
CONSTANTS = {
    "alpha of mean 8": {"MEAN_ALPHA": 8.0},
    "tau of mean 0.1": {"MEAN_TAU": 0.1},
    "gamma of a quarter of the scale": {"NOISE_SCALE": 0.05, "MEAN_NOISE": 0.025},
    "length scale of no typical value": {"LOG_DEVIATION": 10.0},
}
NO_LINEAR, EVIDENCE_LEVEL, FEWER = "no linear part", "level by the evidence", "10 neighbors"
VARIANTS = (DEFAULT, NO_LINEAR, EVIDENCE_LEVEL, FEWER, *CONSTANTS)
NAMES = sorted(name for name in SETS if name not in ("polblogs", "pbmc68k_reduced"))


def posterior(problem: Problem, labels: gq.Labels, variant: str) -> gq.Posterior:
    """Return the posterior of a variant, with parameters chosen by the labels."""
    spectrum = problem.spectrum
    graph = default_graph_prior(spectrum, spectrum.rank)
    prior = default_sum(graph, problem.X)
    if variant == NO_LINEAR:
        prior = graph + gq.FeaturePrior(problem.X) + gq.Level()
    ranges = {"level": (0.0, 3.0)} if variant == EVIDENCE_LEVEL else {}
    constants = CONSTANTS.get(variant)
    with patch.multiple(HYPERPRIOR, **constants) if constants else nullcontext():
        tuned = gq.tune(prior, labels, **ranges)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "expectation propagation is poor")
        return gq.approximate(tuned.prior, tuned.likelihood, labels)


def problem_of(name: str, n_neighbors: int) -> Problem:
    with patch.object(data_sets, "NEIGHBORS", n_neighbors):
        return SETS[name]()


def one_draw(name: str, draw: int) -> list[dict]:
    """Return a record of each variant on each task of a set in one draw of labels."""
    problems = {k: problem_of(name, k) for k in (data_sets.NEIGHBORS, 10)}
    problem, fewer = problems.values()
    tasks = {f"{count} a class": some_of_each(problem, count, draw) for count in COUNTS}
    tasks["random"] = at_random(problem, draw)
    records = []
    for labeled, labels in tasks.items():
        if labels is None:
            continue
        hidden = np.setdiff1d(np.arange(len(problem.y)), labels.nodes)
        for variant in VARIANTS:
            post = posterior(fewer if variant == FEWER else problem, labels, variant)
            judged = gq.calibrate(
                post.by_class[hidden], problem.y[hidden], np.arange(problem.n_classes)
            )
            records.append({
                "data": name, "labels": labeled, "draw": draw, "variant": variant,
                "log score": judged.log_score, "accuracy": judged.accuracy,
                "ECE": judged.expected_calibration_error,
                "confidence": float(post.by_class[hidden].max(axis=1).mean()),
            })  # fmt: skip
    print(f"{name}, draw {draw}: done", flush=True)
    return records


def difference(records: list[dict], variant: str, names: list[str]) -> tuple[float, float]:
    """Return the mean difference of the log score from the default's, and its error over sets."""
    by_set = defaultdict(list)
    default = {key(r): r for r in records if r["variant"] == DEFAULT}
    for record in records:
        if record["variant"] == variant and record["data"] in names:
            by_set[record["data"]].append(record["log score"] - default[key(record)]["log score"])
    means = np.array([np.mean(each) for each in by_set.values()])
    error = means.std() / np.sqrt(means.size - 1) if means.size > 1 else np.inf
    return float(means.mean()), float(error)


def key(record: dict) -> tuple:
    return record["data"], record["labels"], record["draw"]


def rows_of(records: list[dict], halves: list[list[str]]) -> list[dict]:
    rows = []
    for labeled in ("all", *dict.fromkeys(r["labels"] for r in records)):
        some = [r for r in records if labeled in ("all", r["labels"])]
        for variant in VARIANTS:
            own = [r for r in some if r["variant"] == variant]
            unsure = [r["confidence"] - r["accuracy"] < -MARGIN for r in own]
            row = {"labels": labeled, "variant": variant}
            for half, names in zip("AB", halves, strict=True):
                if any(r["data"] in names for r in own):
                    mean, error = difference(some, variant, names)
                    row[f"log score, half {half}"] = f"{mean:+.4f} ({error:.4f})"
            row |= {name: float(np.mean([r[name] for r in own]))
                    for name in ("log score", "accuracy", "ECE")}  # fmt: skip
            rows.append({**row, "too unsure": float(np.mean(unsure))})
    return rows


def main() -> None:
    options = report.options(__doc__.splitlines()[0], draws=(int, 2), jobs=(int, 2))
    names = ["iris", "wine"] if options.quick else NAMES
    runs = Parallel(n_jobs=options.jobs)(
        delayed(one_draw)(name, draw)
        for name in names
        for draw in range(1 if options.quick else options.draws)
    )
    records = [record for run in runs for record in run]
    halves = [names[::2], names[1::2]]
    claims = {}
    for variant in VARIANTS[1:]:
        each = [difference(records, variant, half) for half in halves]
        gain = [mean < -2 * error for mean, error in each]
        shown = ", ".join(f"{mean:+.4f} ({error:.4f})" for mean, error in each)
        claims[f"{variant}: no lower log score on both halves, by two standard errors"] = (
            shown, not all(gain))  # fmt: skip
    report.write("defaults", options.out, records, claims, shown=rows_of(records, halves))


if __name__ == "__main__":
    main()
