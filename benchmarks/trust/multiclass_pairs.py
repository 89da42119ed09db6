"""All 45 pairs of digits: the ten-class posterior and a binary posterior of each pair.

GRAPHUQ_DATA=... python -m benchmarks.trust.multiclass_pairs [--quick]

The data are 1,000 images of each digit of MNIST with 10 labels each; --quick takes the 1,797 small
digits. A binary posterior sees only the images and labels of its pair, on their own graph. The
ten-class posterior sees all of them. Both are gq.sample(spectrum, gq.Probit(), labels) with up to
300 modes and parameters chosen by the labels. Labels are drawn five times.

The confusion of a pair was defined before any run: the mean of min(q, 1 - q) over the unlabeled
images of the two digits. For the binary posterior q is the probability of the first digit; for the
ten-class posterior q = p_a / (p_a + p_b). Images that are neither digit in any draw of the
ten-class posterior are omitted there, and counted.
"""

from __future__ import annotations

import warnings
from itertools import combinations

import numpy as np
from scipy.stats import spearmanr

import graphuq as gq
from benchmarks.common import report

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
    """Return the confusion of a pair, and the number of omitted images."""
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
            "omitted per draw": float(np.mean([number for _, number in ten])),
            "wrong, binary": float(np.mean([1 - post.accuracy(y[members]) for post in twos])),
            **report.health(twos),
        })  # fmt: skip
    health = report.health(tens)
    two, ten = (np.array([row[f"confusion, {which}"] for row in rows])
                for which in ("binary", "ten classes"))  # fmt: skip
    rho = float(spearmanr(two, ten).statistic)
    claims = {
        f"pairs' confusions, binary and ten-class: Spearman, at least {LEAST}":
            report.of_chains(rho, rho >= LEAST, [*rows, health]),
        "accuracy of the ten-class posterior (no bound)":
            (float(np.mean([post.accuracy(y) for post in tens])), True),
    }  # fmt: skip
    rows.sort(key=lambda row: -row["confusion, ten classes"])
    report.write("multiclass_pairs", options.out, rows, claims)


if __name__ == "__main__":
    main()
