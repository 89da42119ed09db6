"""All 45 pairs of digits: the ten-class posterior beside a binary posterior of each pair.

GRAPHUQ_DATA=... python benchmarks/multiclass_pairs.py [--quick]

1,000 images of each digit of MNIST, 10 labels of each; --quick takes the 1,797 small digits. A
binary posterior sees the images and the labels of its pair alone, on a graph of their own; the
ten-class posterior sees all of them. Both are gq.sample(spectrum, gq.Probit(), labels), up to 300
modes, parameters chosen by the labels; labels are drawn five times.

A pair's confusion, stated before anything was run: the mean over the unlabelled images of the two
digits of min(q, 1 - q), with q the binary posterior's probability of the first of the two, or
p_a / (p_a + p_b) of the ten-class posterior's. Images that are neither digit in any draw of the
ten-class posterior are left out there, and counted.
"""

from __future__ import annotations

import warnings
from itertools import combinations

import numpy as np
import report
from scipy.stats import spearmanr

import graphuq as gq

RANK, PER_CLASS, COUNT = 300, 1000, 10
LEAST = 0.8


def images(quick: bool) -> tuple[np.ndarray, np.ndarray]:
    if quick:
        return gq.datasets.digits()
    X, y = gq.datasets.mnist()
    rng = np.random.default_rng(0)
    kept = np.sort(
        np.concatenate([rng.permutation(np.flatnonzero(y == d))[:PER_CLASS] for d in range(10)])
    )
    return X[kept], y[kept]


def spectrum_of(X: np.ndarray) -> gq.Spectrum:
    graph = gq.knn_graph(gq.pca(X, 50), n_neighbors=20, connect=True)
    return gq.Spectrum.of(graph, min(RANK, len(X) - 1))


def sampled(spectrum: gq.Spectrum, labels: gq.Labels, seed: int) -> gq.Posterior:
    with warnings.catch_warnings():  # R-hat is a column
        warnings.simplefilter("ignore", gq.ConvergenceWarning)
        return gq.sample(
            spectrum, gq.Probit(), labels, draws=250, threads=1, seed=seed, progress=False
        )


def confusion_of_two(post: gq.Posterior) -> float:
    p = np.delete(post.probability, post.labels.nodes)
    return float(np.minimum(p, 1 - p).mean())


def confusion_of_ten(post: gq.Posterior, y: np.ndarray, pair) -> tuple[float, int]:
    """Return a pair's confusion, and how many images it leaves out."""
    hidden = np.setdiff1d(np.flatnonzero(np.isin(y, pair)), post.labels.nodes)
    p = post.probability[np.ix_(hidden, pair)]  # classes are the digits 0 to 9
    either = p.sum(axis=1)
    seen = either > 0
    return float((p[seen].min(axis=1) / either[seen]).mean()), int((~seen).sum())


def main() -> None:
    options = report.options(__doc__.splitlines()[0], draws=(int, 5))
    draws = 2 if options.quick else options.draws
    X, y = images(options.quick)
    pairs = list(combinations(range(10), 2))
    labels = [gq.reveal(y, counts=COUNT, seed=seed) for seed in range(draws)]
    everything = spectrum_of(X)
    tens = [sampled(everything, given, seed) for seed, given in enumerate(labels)]
    rows = []
    for pair in pairs:
        members = np.flatnonzero(np.isin(y, pair))
        spectrum = spectrum_of(X[members])
        twos = []
        for seed, given in enumerate(labels):
            own = np.isin(given.nodes, members)
            places = np.searchsorted(members, given.nodes[own])
            twos.append(sampled(spectrum, gq.Labels(places, given.values[own]), seed))
        ten = [confusion_of_ten(post, y, pair) for post in tens]
        rows.append({
            "pair": "{}, {}".format(*pair),
            "confusion, binary": float(np.mean([confusion_of_two(post) for post in twos])),
            "confusion, ten classes": float(np.mean([value for value, _ in ten])),
            "left out, a draw": float(np.mean([number for _, number in ten])),
            "wrong, binary": float(np.mean([1 - post.accuracy(y[members]) for post in twos])),
            **report.health(twos),
        })  # fmt: skip
    health = report.health(tens)
    two, ten = (np.array([row[f"confusion, {which}"] for row in rows])
                for which in ("binary", "ten classes"))  # fmt: skip
    rho = float(spearmanr(two, ten).statistic)
    claims = {
        f"pairs' confusions, binary beside ten classes: Spearman, at least {LEAST}":
            report.of_chains(rho, rho >= LEAST, [*rows, health]),
        "accuracy of the ten-class posterior (no bound)":
            (float(np.mean([post.accuracy(y) for post in tens])), True),
    }  # fmt: skip
    rows.sort(key=lambda row: -row["confusion, ten classes"])
    report.write("multiclass_pairs", options.out, rows, claims)


if __name__ == "__main__":
    main()
