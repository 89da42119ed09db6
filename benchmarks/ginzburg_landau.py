"""Ginzburg-Landau on the voting records: speed against tuned pCN, and the paper's Figure 7.

GRAPHUQ_DATA=... python benchmarks/ginzburg_landau.py [--quick]

Figure 7 is said to be drawn at epsilon = 10. With W(s) = (s^2 - 1)^2 / (4 epsilon) the barrier
between a node's wells is then 1/40, and its density exp(-W(s) - s^2 / 2) has one mode; so have the
marginals, under the full prior and under projection to 150, 50, 20, 10 or 5 modes, with and without
self-loops. Several modes show at epsilon = 1 where the prior keeps few modes.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import report
from scipy.signal import find_peaks
from scipy.stats import gaussian_kde

import graphuq as gq
from graphuq.export import rhat_and_ess

BETAS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7)
NODES = 50
PAPER = gq.GinzburgLandau(epsilon=10.0, gamma=0.6)


def sampled(*arguments, **options) -> gq.Posterior:
    """Sample in one thread, without a word: convergence is what is measured."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gq.ConvergenceWarning)
        return gq.sample(*arguments, threads=1, progress=False, **options)


def efficiency(post: gq.Posterior) -> tuple[float, float, float]:
    """Largest R-hat, smallest ESS, the latter a second: of traced nodes and log posterior."""
    traces = np.concatenate([post.stats["lp"][:, :, None], post.field], axis=2)
    r_hat, ess = rhat_and_ess(traces)
    draws, warmup = post.settings["draws"], post.settings["warmup"]
    seconds = post.settings["sampling_time"] * draws / (draws + warmup)
    return float(r_hat.max()), float(ess.min()), float(ess.min() / seconds)


def speed(prior, labels, quick: bool) -> tuple[list[dict], dict]:
    """Hilbert HMC beside pCN at every beta, in turn."""
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
            "sampler": repr(sampler), "acceptance": float(post.stats["acceptance_rate"].mean()),
            "R-hat": r_hat, "ESS": ess, "ESS a second": rate,
        })  # fmt: skip
    best = max(row["ESS a second"] for row in rows[1:])
    ratio = rows[0]["ESS a second"] / best
    for row in rows:
        row["over best pCN"] = row["ESS a second"] / best
    return rows, {"ESS a second over the best-tuned pCN's, at least 12": (ratio, ratio >= 12)}


def marginals(spectrum, labels, out: Path, quick: bool) -> dict:
    """Figure 7: marginals of the least and the most confident nodes under the three models."""
    full, smooth = gq.Prior.full(spectrum), gq.Prior.projected(spectrum, 50)
    draws = 500 if quick else 2000
    hidden = np.setdiff1d(np.arange(full.n_nodes), labels.nodes)
    deep = gq.GinzburgLandau(epsilon=1.0, gamma=0.6)
    posts = {
        "GL, epsilon 10": sampled(full, PAPER, labels, nodes=hidden, draws=draws, seed=1),
        "GL, epsilon 1, rank 50": sampled(
            smooth, deep, labels, gq.Tempered(), nodes=hidden, draws=draws // 2, seed=1
        ),
        "probit": sampled(full, gq.Probit(0.5), labels, nodes=hidden, draws=draws, seed=1),
        "level-set": sampled(full, gq.LevelSet(0.5), labels, nodes=hidden, draws=draws, seed=1),
    }  # fmt: skip
    figure, axes = plt.subplots(2, 4, figsize=(14, 6), sharex="col", layout="constrained")
    modes = {}
    for column, (name, post) in zip(axes.T, posts.items(), strict=True):
        order = np.argsort(abs(post.probability[hidden] - 0.5))
        for axis, kind, chosen in zip(
            column, ("low", "high"), (order[:6], order[-6:]), strict=True
        ):
            counts = []
            for at in chosen:
                values = post.field[:, :, at].ravel()
                grid = np.linspace(*np.quantile(values, [0.001, 0.999]), 200)
                density = gaussian_kde(values)(grid)
                peaks, _ = find_peaks(density, prominence=0.05 * density.max())
                counts.append(len(peaks))
                axis.plot(grid, density, lw=1)
            modes[name, kind] = counts
            axis.set_title(f"{name}: {kind} confidence", fontsize=10)
            axis.set_yticks([])
        column[1].set_xlabel("field u at a node")
    for axis in axes[:, 0]:
        axis.set_ylabel("posterior density, six nodes")
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / "ginzburg_landau.png", dpi=130)
    several = {name: sum(n > 1 for n in modes[name, "low"]) for name in posts}
    paper, deeper, probit, _ = several.values()
    return {
        "Figure 7: of 6 low-confidence nodes with several modes at epsilon 10, at least 4": (
            paper, paper >= 4
        ),
        "the same at epsilon 1, rank 50": (deeper, deeper >= 4),
        "the same under probit, whose posterior is log-concave: 0": (probit, probit == 0),
    }  # fmt: skip


def records(seed: int = 0) -> tuple[gq.Spectrum, gq.Labels]:
    """The graph of the paper's 5.1.2, and five labels."""
    X, y = gq.datasets.vote()
    graph = gq.full_graph(X, weights="gaussian", tau=1.25, self_loops=True)
    return gq.Spectrum.of(graph), gq.reveal(y, counts={0: 3, 1: 2}, seed=seed)


def main() -> None:
    options = report.options(__doc__.splitlines()[0])
    spectrum, labels = records()
    prior = gq.Prior.full(spectrum)
    rows, claims = speed(prior, labels, options.quick)
    claims |= marginals(spectrum, labels, options.out, options.quick)
    report.write("ginzburg_landau", options.out, rows, claims)


if __name__ == "__main__":
    main()
