"""`gq.approximate` compared with long runs of `gq.sample`, on MNIST pairs with rank 300.

The labels choose the parameters. The table shows differences of P(class) over all nodes, and the
largest Monte Carlo error of the sampled probabilities.

GRAPHUQ_DATA=... python -m benchmarks.trust.approximation [--quick]
"""

from __future__ import annotations

import time

import numpy as np

import graphuq as gq
from benchmarks.common import report

HIGHEST = 0.01


def main() -> None:
    options = report.options(__doc__.splitlines()[0])
    trials = 1 if options.quick else 3
    rows = []
    for pair in ((4, 9), (3, 8), (0, 6), (5, 7)):
        X, y = gq.datasets.digit_pair(*pair, dataset="mnist", per_class=2000, seed=0)
        graph = gq.knn_graph(gq.pca(X, 50), n_neighbors=20, connect=True)
        spectrum = gq.Spectrum.of(graph, 300)
        for model in (gq.Probit(), gq.NoisyProbit()):
            found = []
            for trial in range(trials):
                labels = gq.reveal(y, 0.04, seed=trial)
                tuned = gq.tune(spectrum, labels, model)
                problem = (tuned.prior, tuned.likelihood, labels)
                times = [time.perf_counter()]
                quick = gq.approximate(*problem)
                times.append(time.perf_counter())
                post = gq.sample(*problem, draws=4000, seed=trial, progress=False)
                times.append(time.perf_counter())
                gap = abs(quick.probability - post.probability)
                found.append([
                    gap.mean(), np.quantile(gap, 0.99), gap.max(), post.mcse.max() / 2,
                    quick.accuracy(y) - post.accuracy(y), *np.diff(times),
                ])  # fmt: skip
            means = np.mean(found, axis=0)
            rows.append({
                "pair": "{},{}".format(*pair), "model": type(model).__name__,
                "mean difference": float(means[0]), "99% of nodes below": float(means[1]),
                "largest": float(np.max(found, axis=0)[2]), "largest mcse": float(means[3]),
                "accuracy minus the sampler's": float(means[4]),
                "ms": float(1000 * means[5]), "ms of 4 x 4,000 draws": float(1000 * means[6]),
            })  # fmt: skip
    worst = max(row["mean difference"] for row in rows)
    share = max(row["ms"] / row["ms of 4 x 4,000 draws"] for row in rows)
    claims = {
        f"largest mean difference, at most {HIGHEST}": (worst, worst <= HIGHEST),
        "time of the approximation over that of the run, at most 0.2": (share, share <= 0.2),
    }
    report.write("approximation", options.out, rows, claims)


if __name__ == "__main__":
    main()
