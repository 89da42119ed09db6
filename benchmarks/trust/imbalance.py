"""Classes of unequal size: the default prior, with a level, and the same prior without.

GRAPHUQ_DATA=... python -m benchmarks.trust.imbalance [--quick]

The data are 1,500 images of two digits of MNIST, of which the second has a share from 0.5 to 0.05,
and 1,500 images of three digits with shares 0.85, 0.10 and 0.05. 60 images drawn at random are
labeled, ten times; a class may get no label. The default is what a graph stands for:
Prior.projected on 300 modes and a level, with all parameters chosen by the labels. "No level" is
the same without the level. Both are gq.sample. Laplace learning (Zhu, Ghahramani and Lafferty 2003)
sees the same graph and labels. "Majority" is the accuracy of always answering the largest class.
Differences are paired over draws of labels. Scores are those of unlabeled images.
"""

from __future__ import annotations

import numpy as np

import graphuq as gq
from benchmarks.common import report
from benchmarks.common.problems import RANK
from benchmarks.common.scores import fit, means, scores, standard_error
from graphuq.priors.default_sum import default_graph_prior

PAIRS = ((4, 9), (3, 8), (3, 5), (7, 9))
# share of the second digit -> largest log score
BOUNDS = {0.5: None, 0.2: 0.26, 0.1: 0.25, 0.05: 0.20}
THREE = {4: 0.85, 9: 0.10, 7: 0.05}
N_ITEMS, N_LABELS = 1500, 60


def images(shares: dict[int, float]) -> tuple[gq.Graph, np.ndarray]:
    """Return a graph of images with these shares of digits, and the digits."""
    X, y = gq.datasets.mnist()
    rng = np.random.default_rng(0)
    kept = np.sort(np.concatenate([
        rng.permutation(np.flatnonzero(y == digit))[: round(share * N_ITEMS)]
        for digit, share in shares.items()
    ]))  # fmt: skip
    return gq.knn_graph(gq.pca(X[kept] / 255, 50), n_neighbors=20, connect=True), y[kept]


def label_at_random(y: np.ndarray, seed: int) -> gq.Labels:
    nodes = np.random.default_rng(seed).choice(len(y), N_LABELS, replace=False)
    return gq.Labels(nodes, y[nodes], classes=np.unique(y))


def one_case(shares: dict[int, float], draws: int) -> dict:
    graph, y = images(shares)
    spectrum = gq.Spectrum.of(graph, RANK)
    default, no_level, others = [], [], []
    for seed in range(draws):
        labels = label_at_random(y, seed)
        bare = default_graph_prior(spectrum, RANK)
        post = fit(spectrum, labels, seed)
        chosen = post.settings["prior"]["level"]
        default.append({**scores(post, y, seed), "level": chosen})
        no_level.append(scores(fit(bare, labels, seed), y, seed))
        hidden, truth = labels.unlabelled_truth(y, len(y))
        laplace = gq.LaplaceLearning().fit(graph, labels)
        largest = np.unique_counts(truth).counts.max() / hidden.size
        others.append((largest, laplace.accuracy(y)))
    majority, laplace = np.transpose(others)
    gain = np.array([one["accuracy"] for one in default]) - majority
    loss = np.subtract(*([one["log score"] for one in runs] for runs in (default, no_level)))
    here, bare = means(default), means(no_level)
    return {
        "digits": ", ".join(map(str, shares)),
        "shares": ", ".join(f"{share:g}" for share in shares.values()),
        "accuracy": here["accuracy"], "no level": bare["accuracy"],
        "majority": float(majority.mean()), "Laplace learning": float(laplace.mean()),
        "gain over majority": float(gain.mean()), "gain's s.e.": standard_error(gain),
        "log score": here["log score"], "log score, no level": bare["log score"],
        "difference": float(loss.mean()), "difference's s.e.": standard_error(loss),
        "ECE": here["ECE"], "ECE if true": here["ECE if true"],
        "ECE, no level": bare["ECE"],
        "level": here["level"],
    }  # fmt: skip


def main() -> None:
    options = report.options(__doc__.splitlines()[0], draws=(int, 10))
    draws = 3 if options.quick else options.draws
    pairs = PAIRS[:1] if options.quick else PAIRS
    of_share = {
        share: [one_case({a: 1 - share, b: share}, draws) for a, b in pairs] for share in BOUNDS
    }
    rows = [row for rows in of_share.values() for row in rows] + [one_case(THREE, draws)]
    below = [row for row in rows if row["gain over majority"] < -row["gain's s.e."]]
    claims = {
        f"of {len(rows)} cases, less accurate than the largest class by more than a standard error":
            (len(below), not below),
    }  # fmt: skip
    for share, bound in BOUNDS.items():
        if bound is not None:
            worst = max(row["log score"] for row in of_share[share])
            claims[f"largest log score at a share of {share:g}, at most {bound:g}"] = (
                worst, worst <= bound)  # fmt: skip
    worst = max(row["difference"] / row["difference's s.e."] for row in of_share[0.5])
    claims[
        "equal shares: log score with a level less that without, in standard errors, at most 1"
    ] = (worst, worst <= 1)
    report.write("imbalance", options.out, rows, claims)


if __name__ == "__main__":
    main()
