"""What to label next: accuracy on MNIST (4, 9) from 10 to 100 labels, requested one by one.

Each answer updates `gq.approximate`. Every ten answers the evidence chooses the parameters anew.
All methods start with the same five labels of each digit.

GRAPHUQ_DATA=... python -m benchmarks.trust.active_labeling [--quick]
"""

from __future__ import annotations

import time

import numpy as np

import graphuq as gq
from benchmarks.common import report

METHODS = ("random", "bald", "variance_reduction", "variance", "v_opt", "sigma_opt")
FIRST, LAST, AGAIN = 10, 100, 10


def curve(spectrum, y, method: str, seed: int) -> tuple[np.ndarray, float]:
    """Return the accuracy with 10, 11, ... 100 labels, and the seconds per update."""
    labels = gq.reveal(y, counts=FIRST // 2, seed=seed)
    nodes = labels.nodes.tolist()
    shuffled = np.random.default_rng(seed).permutation(y.size)
    queue = iter(shuffled[~np.isin(shuffled, nodes)].tolist())
    accuracy, seconds, tuned, post = [], [], None, None
    for count in range(FIRST, LAST + 1):
        labels = gq.Labels(nodes, y[nodes])
        if tuned is None or count % AGAIN == 0:
            tuned, post = gq.tune(spectrum, labels, gq.Probit), None
        begun = time.perf_counter()
        post = gq.approximate(tuned.prior, tuned.likelihood, labels, start=post)
        seconds.append(time.perf_counter() - begun)
        accuracy.append(post.accuracy(y))
        if method == "random":
            nodes.append(next(queue))
        else:
            nodes.append(int(post.suggest(method=method, seed=seed)[0]))
    return np.array(accuracy), float(np.median(seconds))


def main() -> None:
    options = report.options(__doc__.splitlines()[0], seeds=(int, 0))
    seeds = options.seeds or (2 if options.quick else 10)
    X, y = gq.datasets.digit_pair(4, 9, dataset="mnist", per_class=2000, seed=0)
    graph = gq.knn_graph(gq.pca(X, 50), n_neighbors=20, connect=True)
    spectrum = gq.Spectrum.of(graph, 300)
    runs = {m: [curve(spectrum, y, m, seed) for seed in range(seeds)] for m in METHODS}
    curves = {m: np.mean([accuracy for accuracy, _ in run], axis=0) for m, run in runs.items()}
    counts = np.arange(FIRST, LAST + 1)
    random = curves["random"]

    labels = gq.reveal(y, counts=LAST // 2, seed=0)
    tuned = gq.tune(spectrum, labels, gq.Probit)
    begun = time.perf_counter()
    gq.sample(tuned.prior, tuned.likelihood, labels, seed=0, progress=False)
    new_run = time.perf_counter() - begun

    rows = []
    for method, accuracy in curves.items():
        reached = counts[accuracy >= random[-1]]
        each = np.mean([run_accuracy.mean() for run_accuracy, _ in runs[method]])
        spread = np.std([run_accuracy.mean() for run_accuracy, _ in runs[method]], ddof=1)
        rows.append({
            "method": method,
            **{f"{n} labels": float(accuracy[n - FIRST]) for n in (10, 15, 20, 30, 50, 75, 100)},
            "mean of the curve": float(each),
            "its s.e.": float(spread / np.sqrt(seeds)),
            "labels to random's accuracy at 100": int(reached[0]) if reached.size else "-",
            "seconds per update": float(np.median([s for _, s in runs[method]])),
            "of a new run": new_run,
        })  # fmt: skip

    # with half the labels, if that is at least the initial number
    even = counts[(counts % 2 == 0) & (counts // 2 >= FIRST)]
    bald = curves["bald"]
    worst = float(min(bald[n // 2 - FIRST] - random[n - FIRST] for n in even))
    needed = rows[METHODS.index("bald")]["labels to random's accuracy at 100"]
    claims = {
        "labels with which BALD has random's accuracy at 100, at most 50": (
            needed,
            needed != "-" and needed <= LAST // 2,
        ),
        "BALD with n / 2 labels minus random with n, worst n of 20 to 100": (worst, worst >= 0),
    }
    for other in ("v_opt", "sigma_opt"):
        gain = float((bald - curves[other]).mean())
        claims[f"BALD minus {other}, mean of the curve"] = (gain, gain >= 0)
        gain = float((bald - curves[other])[1:].min())
        claims[f"BALD minus {other}, worst of 11 to 100 labels"] = (gain, gain >= 0)
    update = float(np.median([s for _, s in runs["bald"]]))
    claims["cost of a new run in updates, at least 5"] = (new_run / update, new_run > 5 * update)
    report.write("active_labeling", options.out, rows, claims)


if __name__ == "__main__":
    main()
