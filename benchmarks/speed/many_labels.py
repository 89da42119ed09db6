"""50,000 labels of 200,000 nodes, rank 200: time, memory, and agreement with the harmonic sampler.

python -m benchmarks.speed.many_labels [--quick]

Nodes are rows of Gaussian clusters, modes their Nystrom vectors, and labels signs of a draw of the
prior plus noise. gq.sample chooses its sampler, runs on two threads, and computes the statistics of
all nodes; each noise has a process of its own, whose peak memory is shown, and code is compiled
before. At 2,000 labels of 20,000 nodes the probabilities of all nodes are compared with those of
gq.Harmonic, in standard errors of their difference.
"""

from __future__ import annotations

import json
import time

import numpy as np

import graphuq as gq
from benchmarks.common import report
from benchmarks.common.processes import measure_apart, peak_gib

GAMMAS = (0.1, 0.3)
DRAWS = {0.1: 260, 0.3: 220}  # of each chain
CLUSTERS, DIMENSION, TAU = 30, 6, 1.5
LEAST_ESS, MOST_SECONDS, MOST_GIB, MOST_ERRORS = 400, 20.0, 4.0, 4.0
RUN = {"threads": 2, "progress": False}


def problem(n_nodes: int, n_labels: int, rank: int, gamma: float) -> tuple:
    """Return a prior, and labels that are signs of one of its draws."""
    rng = np.random.default_rng(0)
    centers = 3 * rng.standard_normal((CLUSTERS, DIMENSION))
    X = centers[rng.integers(CLUSTERS, size=n_nodes)]
    X += rng.standard_normal(X.shape)
    spectrum = gq.nystrom(
        X, rank, tau=TAU, n_landmarks=2 * rank, landmarks="uniform", dtype="float32"
    )
    prior = gq.Prior.projected(spectrum, rank, alpha=2.0, tau=0.3)
    nodes = np.sort(rng.choice(n_nodes, n_labels, replace=False))
    field = prior.draw(1, seed=1)[0, nodes] + gamma * rng.standard_normal(n_labels)
    return prior, gq.Labels(nodes, field > 0)


def time_many(gamma: float, quick: bool) -> dict:
    """Return ESS, seconds and GiB of a whole call."""
    few, some = problem(2000, 500, 20, gamma)
    gq.sample(few, gq.Probit(gamma), some, gq.PreconditionedHMC(), draws=200, seed=0, **RUN)
    prior, labels = problem(*((40_000, 10_000, 100) if quick else (200_000, 50_000, 200)), gamma)
    before, worked, begun = peak_gib(), time.process_time(), time.perf_counter()
    post = gq.sample(prior, gq.Probit(gamma), labels, draws=DRAWS[gamma], seed=0, **RUN)
    seconds, worked = time.perf_counter() - begun, time.process_time() - worked
    health = post.diagnostics()
    return {
        "labels": len(labels), "nodes": prior.n_nodes, "gamma": gamma,
        "sampler": post.settings["sampler"]["name"],
        "draws": post.draws.modes.shape[0] * DRAWS[gamma],
        "ESS": health.ess, "R-hat": health.r_hat, "seconds": seconds,
        "processor seconds": worked, "steps per draw": float(post.draws.stats["n_steps"].mean()),
        "GiB before": before, "GiB": peak_gib(),
    }  # fmt: skip


def compare(gamma: float, quick: bool) -> dict:
    """Return the largest difference from the harmonic sampler, in standard errors."""
    prior, labels = problem(*((2000, 500, 50) if quick else (20_000, 2000, 200)), gamma)
    each, seconds = [], []
    for sampler, draws in ((gq.PreconditionedHMC(), 4000), (gq.Harmonic(), 1500)):
        begun = time.process_time()
        each.append(gq.sample(prior, gq.Probit(gamma), labels, sampler, draws=draws, seed=1, **RUN))
        seconds.append(time.process_time() - begun)
    a, b = each
    gap = a.probability - b.probability
    gap /= np.hypot(a.probability_mcse, b.probability_mcse).clip(1e-6)
    rate, harmonic_rate = (
        post.diagnostics().ess / used for post, used in zip(each, seconds, strict=True)
    )
    return {
        "labels": len(labels), "nodes": prior.n_nodes, "gamma": gamma,
        "largest gap in standard errors": float(abs(gap).max()),
        "root mean square gap in standard errors": float(np.sqrt(np.mean(gap**2))),
        "ESS per processor second": rate, "of the harmonic sampler": harmonic_rate,
    }  # fmt: skip


def main() -> None:
    options = report.options(__doc__.splitlines()[0], part=(str, ""), gamma=(float, 0.1))
    if options.part:
        work = {"time": time_many, "compare": compare}[options.part]
        print(json.dumps(work(options.gamma, options.quick)))
        return
    quick = ["--quick"] if options.quick else []
    rows, claims = [], {}
    for gamma in GAMMAS:
        how = ["--gamma", str(gamma), *quick]
        many = measure_apart("benchmarks.speed.many_labels", "--part", "time", *how)
        pair = measure_apart("benchmarks.speed.many_labels", "--part", "compare", *how)
        rows += [many, pair]
        for key, limit, holds in (
            (f"ESS, at least {LEAST_ESS}", many["ESS"], many["ESS"] >= LEAST_ESS),
            (
                f"seconds, at most {MOST_SECONDS:g}",
                many["seconds"],
                many["seconds"] <= MOST_SECONDS,
            ),
            (f"GiB, at most {MOST_GIB:g}", many["GiB"], many["GiB"] <= MOST_GIB),
            (
                f"gap to gq.Harmonic at all nodes, at most {MOST_ERRORS:g} standard errors",
                pair["largest gap in standard errors"],
                pair["largest gap in standard errors"] <= MOST_ERRORS,
            ),
        ):
            claims[f"gamma = {gamma:g}: {key}"] = (limit, bool(holds))
    shown = [
        {"gamma": row["gamma"], "labels": row["labels"], "measured": key, "value": value}
        for row in rows
        for key, value in row.items()
        if key not in ("gamma", "labels")
    ]
    report.write("many_labels", options.out, rows, claims, shown)


if __name__ == "__main__":
    main()
