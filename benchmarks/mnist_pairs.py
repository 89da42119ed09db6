"""MNIST pairs, Table 1: mean posterior variance and accuracy against the rank.

Under spectral projection, which comes near the printed figures; the paper states neither the rank
nor which of its priors it used. Where there are more labels than modes (rank 50), some draws of
labels leave next to no field that satisfies all of them: level-set chains then disagree, as the
R-hat column shows.

GRAPHUQ_DATA=... python benchmarks/mnist_pairs.py [--quick]
"""

from __future__ import annotations

import numpy as np
import report

import graphuq as gq

PAPER = {
    "Probit": {(4, 9): 0.1485, (3, 8): 0.1005, (0, 6): 0.0429, (5, 7): 0.0084},
    "LevelSet": {(4, 9): 0.1280, (3, 8): 0.1018, (0, 6): 0.0489, (5, 7): 0.0121},
}


def main() -> None:
    options = report.options(__doc__.splitlines()[0], trials=(int, 0))
    ranks = (50, 150) if options.quick else (50, 150, 300)
    trials = options.trials or (1 if options.quick else 3)
    rows = []
    for pair in PAPER["Probit"]:
        X, y = gq.datasets.digit_pair(*pair, dataset="mnist", per_class=2000, seed=0)
        graph = gq.knn_graph(gq.pca(X, 50), n_neighbors=20, connect=True)
        spectrum = gq.Spectrum.of(graph, max(ranks))
        for rank in ranks:
            prior = gq.Prior.projected(spectrum, rank)
            for model in (gq.Probit(0.1), gq.LevelSet(0.1)):
                posts = [
                    gq.sample(prior, model, gq.reveal(y, 0.04, seed=trial), draws=1000,
                              seed=trial, progress=False)
                    for trial in range(trials)
                ]  # fmt: skip
                healths = [post.diagnostics() for post in posts]
                rows.append({
                    "pair": "{},{}".format(*pair), "model": type(model).__name__, "rank": rank,
                    "mean variance": float(np.mean([post.mean_variance for post in posts])),
                    "paper": PAPER[type(model).__name__][pair],
                    "accuracy": float(np.mean([post.accuracy(y) for post in posts])),
                    "R-hat": max(health.r_hat for health in healths),
                    "ESS": min(health.ess for health in healths),
                })  # fmt: skip
    claims = {}
    for model in PAPER:
        for rank in ranks:
            values = [
                row["mean variance"]
                for row in rows
                if row["model"] == model and row["rank"] == rank
            ]
            falls = bool((np.diff(values) < 0).all())
            claims[f"variance falls in the paper's order, {model}, rank {rank}"] = (falls, falls)
    worst = min(row["accuracy"] for row in rows if row["pair"] == "4,9")
    claims["smallest accuracy at 4,9, at least 0.94"] = (worst, worst >= 0.94)
    worst = max(row["R-hat"] for row in rows)
    claims["largest R-hat, below 1.05"] = (worst, worst < 1.05)
    report.write("mnist_pairs", options.out, rows, claims)


if __name__ == "__main__":
    main()
