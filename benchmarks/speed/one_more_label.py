"""One more label on all of MNIST: from the answer to the next question.

GRAPHUQ_DATA=... python -m benchmarks.speed.one_more_label [--quick]

200 labels, 200 modes; the classes are even and odd, or all ten digits. The answer updates
`gq.approximate`, and `suggest` asks for the next label among 300 candidates.
"""

from __future__ import annotations

import time

import numpy as np

import graphuq as gq
from benchmarks.common import report

LABELS, RANK, ANSWERS = 200, 200, 5
BOUNDS = {2: 0.15, 10: 1.0}


def answer(spectrum: gq.Spectrum, y: np.ndarray) -> list[dict[str, float]]:
    """Return the seconds of each answer's update and of the question after it."""
    nodes = gq.reveal(y, LABELS / y.size, seed=0).nodes
    prior = gq.Prior.projected(spectrum, RANK, alpha=2.0, tau=0.1)
    post, rows = None, []
    for _ in range(1 + ANSWERS):
        begun = time.perf_counter()
        post = gq.approximate(prior, gq.Probit(0.3), gq.Labels(nodes, y[nodes]), start=post)
        updated = time.perf_counter()
        asked = post.suggest()
        rows.append({"update s": updated - begun, "question s": time.perf_counter() - updated})
        nodes = np.append(nodes, asked)
    return rows[1:]  # the first has no approximation to start from


def main() -> None:
    options = report.options(__doc__.splitlines()[0])
    X, digits = gq.datasets.mnist()
    if options.quick:
        X, digits = X[:8000], digits[:8000]
    spectrum = gq.Spectrum.of(gq.knn_graph(gq.pca(X, 50), 20, connect=True), RANK)
    rows, claims = [], {}
    for n_classes, y in ((2, digits % 2), (10, digits)):
        each = answer(spectrum, y)
        row = {name: float(np.median([one[name] for one in each])) for name in each[0]}
        rows.append({"classes": n_classes, "nodes": y.size, **row})
        seconds, bound = row["update s"] + row["question s"], BOUNDS[n_classes]
        claims[f"{n_classes} classes: seconds from answer to question, at most {bound}"] = (
            seconds,
            seconds <= bound,
        )
    report.write("one_more_label", options.out, rows, claims)


if __name__ == "__main__":
    main()
