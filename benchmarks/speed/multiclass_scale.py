"""All of MNIST, ten classes, 700 labels: time per independent draw, memory, seconds per stage.

GRAPHUQ_DATA=... python -m benchmarks.speed.multiclass_scale [--quick]

The run goes from images to ranked nodes on one thread, in its own process, whose peak memory is
shown. It has 70,000 nodes, 1% of each class labeled, 6,300 walls, 200 modes under spectral
projection, and probit with gamma = 0.1. The time per draw is the processor time of gq.sample and
the ranking, including warm-up and the statistics of all nodes, divided by the smallest effective
sample size over the modes of all classes. alpha = 1 is the paper's; 3 is closer to what labels
choose.
"""

from __future__ import annotations

import json
import time
import warnings

import graphuq as gq
from benchmarks.common import report
from benchmarks.common.processes import measure_apart, peak_gib
from benchmarks.speed.scale import Clock

RANK, GAMMA, DRAWS, CHAINS = 200, 0.1, 500, 4
ALPHAS = (1.0, 3.0)
MOST_MS, MOST_GIB = 25.0, 4.0


def run(quick: bool) -> dict:
    clock = Clock()
    X, y = gq.datasets.mnist()
    if quick:
        X, y = X[:8000], y[:8000]
    clock.lap("read")
    X = gq.pca(X, 50)
    clock.lap("principal components")
    graph = gq.knn_graph(X, 20, connect=True)
    clock.lap("neighbors")
    spectrum = gq.Spectrum.of(graph, RANK)
    clock.lap("eigenpairs")
    labels = gq.reveal(y, 0.01, seed=0)
    found = {"nodes": len(y), "labels": len(labels), "of alpha": {}}
    for alpha in ALPHAS:
        found["of alpha"][alpha] = one_alpha(spectrum, labels, y, alpha, clock)
    return {**found, "seconds": clock.seconds}


def one_alpha(spectrum, labels, y, alpha: float, clock: Clock) -> dict:
    prior = gq.Prior.projected(spectrum, RANK, alpha=alpha)
    how = {"chains": CHAINS, "threads": 1, "progress": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gq.ConvergenceWarning)  # for one draw
        gq.sample(prior, gq.Probit(GAMMA), labels, draws=1, warmup=0, seed=9, **how)
    clock.lap(f"compile, alpha = {alpha:g}")
    stage = f"draws, statistics, ranking, alpha = {alpha:g}"
    begun = time.process_time()
    post = gq.sample(prior, gq.Probit(GAMMA), labels, draws=DRAWS, seed=0, **how)
    post.ranking()
    worked = time.process_time() - begun
    clock.lap(stage)
    health = post.diagnostics()
    steps = CHAINS * (DRAWS + post.settings["warmup"])
    independent = min(health.ess, CHAINS * DRAWS)
    return {
        "ms per independent draw": 1e3 * worked / independent,
        "ms per independent draw, by the clock": 1e3 * clock.seconds[stage] / independent,
        "ms per step of a chain": 1e3 * post.settings["sampling_time"] / steps,
        "steps of warm-up": steps - CHAINS * DRAWS,
        "draws": CHAINS * DRAWS, "ESS": health.ess, "R-hat": health.r_hat,
        "walls hit per draw": float(post.draws.stats["n_walls"].mean()),
        "accuracy": post.accuracy(y),
    }  # fmt: skip


def main() -> None:
    options = report.options(__doc__.splitlines()[0], part=(str, ""))
    if options.part:
        result = run(options.quick)
        print(json.dumps({"GiB": peak_gib(), **result}))
        return
    quick = ["--quick"] if options.quick else []
    found = measure_apart("benchmarks.speed.multiclass_scale", "--part", "run", *quick)
    table = [{"measured": f"seconds, {stage}", "value": s} for stage, s in found["seconds"].items()]
    table += [{"measured": key, "value": found[key]} for key in ("nodes", "labels", "GiB")]
    claims = {f"GiB in all, below {MOST_GIB:g}": (found["GiB"], found["GiB"] < MOST_GIB)}
    for alpha, result in found["of alpha"].items():
        table += [
            {"measured": f"{key}, alpha = {alpha}", "value": value} for key, value in result.items()
        ]
        ms = result["ms per independent draw"]
        claims[f"ms per independent draw on one thread, alpha = {alpha}, at most {MOST_MS:g}"] = (
            report.of_chains(ms, ms <= MOST_MS, [result])
        )
    report.write("multiclass_scale", options.out, table, claims)


if __name__ == "__main__":
    main()
