"""Two chains in two threads, compared with two chains in one.

GRAPHUQ_DATA=... python -m benchmarks.speed.threads [--quick]

Needs two idle cores: a process that spins in each shows what the machine can deliver.
"""

from __future__ import annotations

import multiprocessing
import time

import numpy as np

import graphuq as gq
from benchmarks.common import report


def spin(count: int) -> None:
    total = 0
    for i in range(count):
        total += i


def two_cores(count: int) -> float:
    """Return how much faster two processes count on two cores than one after the other."""
    begun = time.perf_counter()
    spin(count)
    spin(count)
    alone = time.perf_counter() - begun
    processes = [multiprocessing.Process(target=spin, args=(count,)) for _ in range(2)]
    begun = time.perf_counter()
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    return alone / (time.perf_counter() - begun)


def main() -> None:
    options = report.options(__doc__.splitlines()[0])
    repeats, scale = (2, 10) if options.quick else (5, 1)
    X, y = gq.datasets.digit_pair(4, 9, dataset="mnist", per_class=2000, seed=0)
    graph = gq.knn_graph(gq.pca(X, 50), n_neighbors=20, connect=True)
    prior = gq.Prior.projected(graph, 300)
    labels = gq.reveal(y, fraction=0.04, seed=0)
    rows = []
    for sampler, likelihood, draws in (
        (gq.Harmonic(), gq.Probit(0.1), 20_000 // scale),
        (gq.HilbertHMC(), gq.Probit(0.1), 10_000 // scale),
        (gq.PCN(beta=0.1), gq.Probit(0.1), 5000 // scale),
    ):
        spent = {1: [], 2: []}
        for _ in range(repeats):
            for threads, times in spent.items():
                begun = time.perf_counter()
                gq.sample(
                    prior, likelihood, labels, sampler, draws=draws, chains=2, warmup=200, seed=0,
                    threads=threads, progress=False,
                )  # fmt: skip
                times.append(time.perf_counter() - begun)
        one, two = (float(np.median(times)) for times in spent.values())
        rows.append({
            "sampler": type(sampler).__name__, "one thread s": one, "two threads s": two,
            "times as fast": one / two,
        })  # fmt: skip
    machine = two_cores(30_000_000 // scale)
    slowest = min(row["times as fast"] for row in rows)
    claims = {
        "two threads over one, slowest sampler, at least 1.7": (slowest, slowest >= 1.7),
        "gain of two processes that only count": (machine, True),
    }
    report.write("threads", options.out, rows, claims)


if __name__ == "__main__":
    main()
