"""Speed of a pCN step: against the size of the graph, and compared with plain NumPy.

python -m benchmarks.samplers.pcn [--quick]
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from scipy.special import log_ndtr
from threadpoolctl import threadpool_limits

import graphuq as gq
from benchmarks.common import report
from graphuq.likelihoods.bound import bind
from graphuq.samplers.protocol import Target

GAMMA, BETA = 0.1, 0.1


def ring_prior(n: int, rank: int) -> gq.Prior:
    """Return the prior of a ring of n nodes, whose eigenpairs are known."""
    k = np.arange(1, rank + 1)
    frequency = (k + 1) // 2
    angle = 2 * np.pi * np.outer(np.arange(n), frequency) / n
    vectors = np.where(k % 2, np.cos(angle), np.sin(angle)) * np.sqrt(2 / n)
    values = 1 - np.cos(2 * np.pi * frequency / n)
    spectrum = gq.Spectrum(values, vectors, np.full(n, n**-0.5))
    return gq.Prior.approximated(spectrum, rank)


def labels_on(n: int, J: int) -> gq.Labels:
    nodes = np.random.default_rng(0).choice(n, J, replace=False)
    return gq.Labels(nodes, nodes > n / 2)


def walker(prior: gq.Prior, labels: gq.Labels, kind):
    """Return a function that runs steps of one chain on one thread."""
    bound = bind(kind(GAMMA), labels, prior.n_nodes)
    target = Target(prior.at(bound.nodes), bound)
    sampler, rng = gq.PCN(beta=BETA), np.random.default_rng(0)
    state = sampler.start(target, rng)

    def steps(count: int) -> None:
        nonlocal state
        state, _ = sampler.advance(target, state, rng, 1, count, False)

    return steps


def plain_numpy(prior: gq.Prior, labels: gq.Labels):
    """Run Algorithm 2 as printed: the whole field, one proposal at a time."""
    rng = np.random.default_rng(0)
    Q, sigma = prior.spectrum.vectors, prior.sigma
    J, y = labels.nodes, labels.codes

    def phi(u):
        return -log_ndtr(y * u[J] / GAMMA).sum()

    u = Q @ (sigma * rng.standard_normal(sigma.size))

    def steps(count: int) -> None:
        nonlocal u
        for _ in range(count):
            xi = Q @ (sigma * rng.standard_normal(sigma.size))
            w = np.sqrt(1 - BETA**2) * u + BETA * xi
            if rng.random() < np.exp(min(0.0, phi(u) - phi(w))):
                u = w

    return steps


def end_to_end(sizes: tuple[int, int], rows: list[dict]) -> None:
    """Add rows for all of gq.sample, with statistics of all nodes at every hundredth step."""
    for n in sizes:
        prior, labels = ring_prior(n, 100), labels_on(n, 200)
        run = {"chains": 1, "warmup": 0, "seed": 0, "progress": False}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a short run
            post = gq.sample(prior, gq.Probit(GAMMA), labels, gq.PCN(beta=BETA), draws=200, **run)
        rows.append({"sampler": "gq.sample, all nodes", "likelihood": "Probit", "N": n,
                     "rank": 100, "J": 200,
                     "us per step": post.settings["sampling_time"] / 20_000 * 1e6})  # fmt: skip


def microseconds(contenders: dict, rounds: int) -> dict[str, float]:
    """Return median microseconds per step; contenders take turns, so that load affects all."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for steps, _ in contenders.values():
        steps(200)
    for _ in range(rounds):
        for name, (steps, count) in contenders.items():
            begun = time.perf_counter()
            steps(count)
            times[name].append((time.perf_counter() - begun) / count * 1e6)
    return {name: float(np.median(values)) for name, values in times.items()}


def main() -> None:
    options = report.options(__doc__.splitlines()[0])
    rounds = 3 if options.quick else 15
    rows = []
    with threadpool_limits(1, "blas"):
        sizes = (2_000, 20_000 if options.quick else 200_000)
        for kind in (gq.Probit, gq.LevelSet):
            contenders = {
                n: (walker(ring_prior(n, 100), labels_on(n, 200), kind), 10_000) for n in sizes
            }
            for n, us in microseconds(contenders, rounds).items():
                rows.append({"sampler": "graphuq", "likelihood": kind.__name__, "N": n,
                             "rank": 100, "J": 200, "us per step": us})  # fmt: skip
        X, y = gq.datasets.two_moons(4000, seed=0)
        graph = gq.knn_graph(gq.pca(X, 20), n_neighbors=20, connect=True)
        prior, labels = gq.Prior.projected(graph, 300), gq.reveal(y, 0.04, seed=0)
        versus = microseconds(
            {
                "graphuq": (walker(prior, labels, gq.Probit), 10_000),
                "plain NumPy, Algorithm 2": (plain_numpy(prior, labels), 200),
            },
            rounds,
        )
    for name, us in versus.items():
        rows.append({"sampler": name, "likelihood": "Probit", "N": 4000, "rank": 300,
                     "J": len(labels), "us per step": us})  # fmt: skip
    end_to_end(sizes, rows)
    flat = {k: rows[i + 1]["us per step"] / rows[i]["us per step"]
            for k, i in (("probit", 0), ("level-set", 2))}  # fmt: skip
    ours, numpy_us = versus.values()
    report.write(
        "pcn",
        options.out,
        rows,
        {
            **{
                f"step at N = {sizes[1]} over N = {sizes[0]}, {k}, at most 1.2": (x, x <= 1.2)
                for k, x in flat.items()
            },
            "steps per second over plain NumPy's, at least 20": (
                numpy_us / ours,
                numpy_us / ours >= 20,
            ),
        },
    )


if __name__ == "__main__":
    main()
