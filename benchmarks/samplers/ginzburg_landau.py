"""Ginzburg-Landau on the voting records: speed compared with tuned pCN.

GRAPHUQ_DATA=... python -m benchmarks.samplers.ginzburg_landau [--quick]
"""

from __future__ import annotations

import warnings

import numpy as np

import graphuq as gq
from benchmarks.common import report
from graphuq.posterior.arviz_compat import rhat_and_ess

BETAS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7)
NODES = 50
PAPER = gq.GinzburgLandau(epsilon=10.0, gamma=0.6)


def sampled(*arguments, **options) -> gq.Posterior:
    """Sample in one thread and ignore convergence warnings: convergence is measured here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gq.ConvergenceWarning)
        return gq.sample(*arguments, threads=1, progress=False, **options)


def efficiency(post: gq.Posterior) -> tuple[float, float, float]:
    """Return the largest R-hat, the smallest ESS and ESS per second of nodes and log posterior."""
    traces = np.concatenate([post.draws.stats["lp"][:, :, None], post.draws.field], axis=2)
    r_hat, ess = rhat_and_ess(traces)
    draws, warmup = post.settings["draws"], post.settings["warmup"]
    seconds = post.settings["sampling_time"] * draws / (draws + warmup)
    return float(r_hat.max()), float(ess.min()), float(ess.min() / seconds)


def speed(prior, labels, quick: bool) -> tuple[list[dict], dict]:
    """Compare Hilbert HMC with pCN at every beta, in turn."""
    hidden = np.setdiff1d(np.arange(prior.n_nodes), labels.nodes)
    nodes = np.random.default_rng(0).choice(hidden, NODES, replace=False)
    scale = 2 if quick else 1
    contenders = [(gq.HilbertHMC(), {"draws": 4000 // scale, "warmup": 1000})]
    contenders += [
        (gq.PCN(beta=beta), {"draws": 4000 // scale, "warmup": 1000 // scale}) for beta in BETAS
    ]
    rows = []
    for sampler, options in contenders:
        post = sampled(prior, PAPER, labels, sampler, nodes=nodes, seed=0, **options)
        r_hat, ess, rate = efficiency(post)
        rows.append({
            "sampler": repr(sampler),
            "acceptance": float(post.draws.stats["acceptance_rate"].mean()),
            "R-hat": r_hat, "ESS": ess, "ESS per second": rate,
        })  # fmt: skip
    best = max(row["ESS per second"] for row in rows[1:])
    ratio = rows[0]["ESS per second"] / best
    for row in rows:
        row["over best pCN"] = row["ESS per second"] / best
    return rows, {"ESS per second over the best-tuned pCN's, at least 12": (ratio, ratio >= 12)}


def records(seed: int = 0) -> tuple[gq.Spectrum, gq.Labels]:
    """Return the spectrum of the graph of the paper's section 5.1.2, and five labels."""
    X, y = gq.datasets.vote()
    graph = gq.full_graph(X, weights="gaussian", tau=1.25, self_loops=True)
    return gq.Spectrum.of(graph), gq.reveal(y, counts={0: 3, 1: 2}, seed=seed)


def main() -> None:
    options = report.options(__doc__.splitlines()[0])
    spectrum, labels = records()
    prior = gq.Prior.full(spectrum)
    rows, claims = speed(prior, labels, options.quick)
    report.write("ginzburg_landau", options.out, rows, claims)


if __name__ == "__main__":
    main()
