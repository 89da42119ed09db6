"""Time of the steps of gq.annotate: modes, parameters and the posterior, by both methods.

python -m benchmarks.speed.cells [--quick]

The cells are groups of normal distributions in 50 dimensions, of unequal deviations as principal
components have, with 15 neighbors. Seconds are those of the processor, summed over threads, and
"peak GiB" is the most memory that the process had until then. Log scores are those of the cells
without a label.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import graphuq as gq
from benchmarks.common import report
from benchmarks.common.processes import peak_gib
from graphuq.priors.default_sum import default_graph_prior, default_sum
from graphuq.priors.prior import default_rank

# cells, types and labels of each type
CASES = ((4000, 10, 10), (4000, 10, 30), (4000, 10, 100), (100_000, 12, 20))
DIMENSIONS, NEIGHBORS = 50, 15
APART = 1.1


def groups(n: int, n_types: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    centers = APART * np.linspace(1, 0.2, DIMENSIONS) * rng.normal(size=(n_types, DIMENSIONS))
    y = rng.integers(n_types, size=n)
    return centers[y] + np.linspace(1.3, 0.6, DIMENSIONS) * rng.normal(size=(n, DIMENSIONS)), y


def timed(step: Callable[[], Any]) -> tuple[Any, float]:
    begun = time.process_time()
    return step(), time.process_time() - begun


def measure(n: int, n_types: int, n_each: int) -> dict[str, float]:
    X, y = groups(n, n_types)
    method = "approximate" if n > 50_000 else "exact"
    graph = gq.knn_graph(X, NEIGHBORS, connect=True, method=method)
    labels = gq.reveal(y, counts=n_each, seed=0)
    prior, modes = timed(lambda: default_sum(default_graph_prior(graph, default_rank(n)), X))
    tuned, parameters = timed(lambda: gq.tune(prior, labels))
    quick, approximate = timed(lambda: gq.approximate(tuned.prior, tuned.likelihood, labels))
    drawn, sample = timed(
        lambda: gq.sample(tuned.prior, tuned.likelihood, labels, seed=0, progress=False)
    )
    return {
        "cells": n, "types": n_types, "labels": len(labels), "modes, s": modes,
        "parameters, s": parameters, "sample, s": sample, "approximate, s": approximate,
        "log score, sample": drawn.calibration(y).log_score,
        "log score, approximate": quick.calibration(y).log_score, "peak GiB": peak_gib(),
    }  # fmt: skip


def main() -> None:
    options = report.options(__doc__.splitlines()[0])
    measure(400, 10, 5)  # compiles
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gq.ConvergenceWarning)
        rows = [measure(*case) for case in (CASES[:2] if options.quick else CASES)]
    report.write("cells", options.out, rows)


if __name__ == "__main__":
    main()
