"""Student-t coefficients of modes against Gaussian ones: the log score of unlabeled nodes.

GRAPHUQ_DATA=... python -m benchmarks.trust.heavy_tails [--quick]

The prior has 50 modes, and alpha is sampled between 0.5 and 6 (`gq.sample_jointly`). Two moons are
600 points of feature noise 0.06 on the graph of all pairs, the votes are on that of the UQ paper,
and the digits 1 and 8 are the small ones of scikit-learn, on a graph of ten neighbors. The same
draws of labels are given to all priors, and a gain, by which a log score is lower, is in standard
errors over these draws.
"""

from __future__ import annotations

import warnings

import numpy as np

import graphuq as gq
from benchmarks.common import report
from benchmarks.common.scores import means, scores, standard_error
from benchmarks.papers.uq_paper import data_sets

RANK, COUNTS, TAILS = 50, (3, 10), (None, 4.0, 1.0)
NAMES = {None: "Gaussian", 4.0: "df = 4", 1.0: "df = 1"}


def problems() -> dict[str, tuple[gq.Graph, np.ndarray]]:
    X, y = gq.datasets.digit_pair(1, 8)
    return {
        "two moons": data_sets.moons(0.06, 0, 600),
        "votes": data_sets.votes(),
        "digits 1 and 8": (gq.knn_graph(X, n_neighbors=10, connect=True), y),
    }


def main() -> None:
    options = report.options(__doc__.splitlines()[0])
    draws = 2 if options.quick else 8
    warnings.simplefilter("ignore", gq.ConvergenceWarning)  # a score needs few draws
    rows, gains = [], {}
    for name, (graph, y) in problems().items():
        prior = gq.Prior.projected(graph, RANK)
        for count in COUNTS:
            found: dict = {df: [] for df in TAILS}
            for seed in range(draws):
                labels = gq.reveal(y, counts=dict.fromkeys(np.unique(y).tolist(), count), seed=seed)
                for df, runs in found.items():
                    post = gq.sample_jointly(
                        prior, gq.Probit(0.1), labels, df=df, alpha=(0.5, 6.0), draws=250, chains=2,
                        seed=seed, progress=False,
                    )  # fmt: skip
                    runs.append(scores(post, y, seed))
            for df, runs in found.items():
                gain = [other["log score"] - one["log score"]
                        for one, other in zip(runs, found[None], strict=True)]  # fmt: skip
                gains[name, count, df] = np.mean(gain) / max(standard_error(gain), 1e-12)
                mean = means(runs)
                rows.append({
                    "data": name, "labels of each class": count, "coefficients": NAMES[df],
                    "log score": mean["log score"], "accuracy": mean["accuracy"],
                    "gain over Gaussian": float(np.mean(gain)),
                    "gain in standard errors": float(gains[name, count, df]),
                    "draws of labels": draws,
                })  # fmt: skip
    moons = float(gains["two moons", 10, 1.0])
    few = max(float(gains[name, 3, 1.0]) for name in problems())
    report.write("heavy_tails", options.out, rows, {
        "gain of df = 1 on two moons, ten labels of each class, in standard errors: above 3":
            (moons, moons > 3),
        "gain of df = 1 with three labels of each class, largest, in standard errors: below 3":
            (few, few < 3),
    })  # fmt: skip


if __name__ == "__main__":
    main()
