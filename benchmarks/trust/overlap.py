"""Graph, features and level together, beside graph and level alone and features and level alone.

GRAPHUQ_DATA=... python -m benchmarks.trust.overlap [--quick]

"Both" is the prior of BayesianGraphClassifier: Prior.projected on up to 300 modes, a FeaturePrior
and a Level. "Graph" and "features" are its parts, with the level. All parameters are chosen by the
labels, and the posterior is gq.sample. Graphs have 20 neighbors, except that cct has the neighbors
that come with it. Columns of tables are scaled to deviation 1; images, spectra and words are
reduced to 50 principal components. 5, 20 and 80 labels of each class are drawn ten times, or 5, 20
and 40 where 80 are too many. Scores are those of unlabeled items.

"ECE if true" is the calibration error that remains if truths are drawn from the probabilities.
Differences of the log score from the better part are paired over draws of labels.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.decomposition import TruncatedSVD

import graphuq as gq
from benchmarks.common import report
from benchmarks.common.problems import RANK
from benchmarks.common.scores import fit, means, scores, standard_error
from graphuq.priors.default_sum import default_graph_prior, default_sum

TABLES = ("pima", "ionosphere", "vote", "iris", "wine")
IMAGES = ("mnist 4,9", "mnist 3,8", "usps 4,9", "usps 3,5,8")
BOUNDS = {"pima": 0.54, "ionosphere": 0.25}  # of the log score with 80 labels a class
EXCESS, SHARE_OF_SETS = 0.02, 0.9  # of the calibration error
PER_CLASS, PIXELS = 500, 1500
MANY = 40  # labels of each class from which calibration is claimed


class Data(NamedTuple):
    """A graph, and the features and classes of its nodes."""

    graph: gq.Graph
    X: np.ndarray
    y: np.ndarray


def read(name: str) -> Data:
    source, _, digits = name.partition(" ")
    if name == "cct":
        graph, words, y, _ = gq.datasets.cct()
        part = graph.largest_component()
        X = TruncatedSVD(50, random_state=0).fit_transform(words)[part.nodes]
        return Data(part, X, y[part.nodes])
    rng = np.random.default_rng(0)
    if name == "jasper ridge":
        X, y, *_ = gq.datasets.jasper_ridge()
        kept = np.sort(rng.permutation(len(y))[:PIXELS])
    elif digits:
        X, y = gq.datasets.mnist() if source == "mnist" else gq.datasets.usps()
        members = [rng.permutation(np.flatnonzero(y == int(digit))) for digit in digits.split(",")]
        kept = np.sort(np.concatenate([these[:PER_CLASS] for these in members]))
    else:
        X, y = gq.datasets.vote() if name == "vote" else gq.datasets.uci(name)
        X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
        kept = np.arange(len(y))
    X, y = X[kept].astype(float), y[kept]
    X = gq.pca(X / X.std(), 50) if X.shape[1] > 50 else X
    return Data(gq.knn_graph(X, n_neighbors=20, connect=True), X, y)


def counts_of(y: np.ndarray) -> tuple[int, ...]:
    """Return the numbers of labels of each class; a third of the smallest class is not labeled."""
    return (5, 20, 80) if np.unique_counts(y).counts.min() >= 120 else (5, 20, 40)


def priors_of(data: Data) -> dict[str, Any]:
    rank = min(RANK, len(data.y) - 1)
    graph = default_graph_prior(gq.Spectrum.of(data.graph, rank), rank)
    both = default_sum(graph, data.X)
    return {"both": both, "graph": graph + gq.Level(), "features": both.parts[1] + gq.Level()}


def table(name: str, draws: int, quick: bool) -> list[dict]:
    data = read(name)
    priors = priors_of(data)
    rows = []
    for count in counts_of(data.y)[1 if quick else 0 :]:
        found: dict[str, list[dict]] = {which: [] for which in priors}
        weights = []
        for seed in range(draws):
            labels = gq.reveal(data.y, counts=count, seed=seed)
            for which, prior in priors.items():
                post = fit(prior, labels, seed)
                found[which].append(scores(post, data.y, seed))
                if which == "both":
                    weights.append(post.settings["prior"]["weights"][0])
        mean = {which: means(runs) for which, runs in found.items()}
        better = min(("graph", "features"), key=lambda which: mean[which]["log score"])
        loss = np.subtract(
            *([one["log score"] for one in found[which]] for which in ("both", better))
        )
        whole = mean["both"]
        rows.append({
            "data": name, "labels of each class": count,
            **{f"accuracy, {which}": mean[which]["accuracy"] for which in priors},
            **{f"log score, {which}": mean[which]["log score"] for which in priors},
            "better part": better, "both less better": float(loss.mean()),
            "its s.e.": standard_error(loss), "weight of the graph": float(np.mean(weights)),
            "ECE": whole["ECE"],
            "ECE's s.e.": standard_error([one["ECE"] for one in found["both"]]),
            "ECE if true": whole["ECE if true"],
            "confidence less accuracy": whole["confidence less accuracy"],
        })  # fmt: skip
    return rows


def main() -> None:
    options = report.options(__doc__.splitlines()[0], draws=(int, 10))
    draws = 2 if options.quick else options.draws
    names = TABLES[:2] if options.quick else (*TABLES, *IMAGES, "jasper ridge", "cct")
    rows = [row for name in names for row in table(name, draws, options.quick)]
    report.write("overlap", options.out, rows, claims_of(rows))


def claims_of(rows: list[dict]) -> dict[str, tuple]:
    most = {row["data"]: row for row in rows if row["labels of each class"] >= MANY}
    claims: dict[str, tuple] = {}
    for name, bound in BOUNDS.items():
        score, count = most[name]["log score, both"], most[name]["labels of each class"]
        claims[f"log score on {name} with {count} labels of each class, at most {bound:g}"] = (
            score, score <= bound)  # fmt: skip
    good = [row["ECE"] <= EXCESS + row["ECE if true"] for row in most.values()]
    claims[
        f"of {len(good)} sets with {MANY} labels of each class or more, calibration error at most "
        f"{EXCESS} above that of true probabilities, at least {SHARE_OF_SETS:.0%}"
    ] = sum(good), sum(good) >= SHARE_OF_SETS * len(good)
    errors = [row["both less better"] / row["its s.e."] for row in rows]
    claims[
        "largest log score of both less that of the better part, in standard errors, at most 2"
    ] = max(errors), max(errors) <= 2
    claims["smallest, at most -2: both are better than each part somewhere"] = (
        min(errors), min(errors) <= -2)  # fmt: skip
    return claims


if __name__ == "__main__":
    main()
