"""Ginzburg-Landau on the voting records: speed against tuned pCN, and the paper's Figure 7.

GRAPHUQ_DATA=... python benchmarks/ginzburg_landau.py [--quick]
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

BETAS = (0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3)
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
    scale = 10 if quick else 1
    contenders = [(gq.HilbertHMC(), {"draws": 20_000 // scale, "warmup": 1000})]
    contenders += [
        (gq.PCN(beta=beta), {"draws": 20_000 // scale, "warmup": 2000 // scale}) for beta in BETAS
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


def marginals(prior, labels, out: Path, quick: bool) -> dict:
    """Figure 7: marginals of the least and the most confident nodes under three models."""
    models = {"Ginzburg-Landau": PAPER, "probit": gq.Probit(0.5), "level-set": gq.LevelSet(0.5)}
    draws = 2000 if quick else 25_000
    hidden = np.setdiff1d(np.arange(prior.n_nodes), labels.nodes)
    posts = {
        name: sampled(prior, model, labels, nodes=hidden, draws=draws, seed=1)
        for name, model in models.items()
    }
    confidence = np.mean([abs(2 * p.probability[hidden] - 1) for p in posts.values()], axis=0)
    order = np.argsort(confidence)
    figure, axes = plt.subplots(2, 3, figsize=(11, 6), sharex="col", layout="constrained")
    modes = {}
    for row, (kind, chosen) in enumerate({"low": order[:6], "high": order[-6:]}.items()):
        for axis, (name, post) in zip(axes[row], posts.items(), strict=True):
            counts = []
            for at in chosen:
                values = post.field[:, :, at].ravel()
                grid = np.linspace(*np.quantile(values, [0.001, 0.999]), 200)
                density = gaussian_kde(values[:: max(1, values.size // 20_000)])(grid)
                peaks, _ = find_peaks(density, prominence=0.05 * density.max())
                counts.append(len(peaks))
                axis.plot(grid, density, label=f"node {hidden[at]}")
            modes[name, kind] = counts
            axis.set_title(f"{name}, {kind} confidence")
            axis.set_yticks([])
    for axis in axes[1]:
        axis.set_xlabel("u")
    axes[0, 0].set_ylabel("posterior density")
    axes[0, 0].legend(fontsize=7)
    axes[1, 0].legend(fontsize=7)
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / "ginzburg_landau.png", dpi=130)
    several = sum(count > 1 for count in modes["Ginzburg-Landau", "low"])
    single = max(modes["probit", "low"] + modes["probit", "high"])
    return {
        "of 6 low-confidence nodes have several modes under Ginzburg-Landau, at least 4": (
            several, several >= 4
        ),
        "modes of any of the 12 marginals under probit, 1": (single, single == 1),
    }  # fmt: skip


def records(seed: int = 0) -> tuple[gq.Spectrum, gq.Labels]:
    """The graph of the paper's 5.1.2, and five labels."""
    data = gq.datasets.load_file("vote")
    graph = gq.full_graph(data["X"], weights="gaussian", tau=1.25, self_loops=True)
    return gq.Spectrum.of(graph), gq.reveal(data["y"], counts={0: 3, 1: 2}, seed=seed)


def main() -> None:
    options = report.options(__doc__.splitlines()[0])
    spectrum, labels = records()
    prior = gq.Prior.full(spectrum)
    rows, claims = speed(prior, labels, options.quick)
    claims |= marginals(prior, labels, options.out, options.quick)
    report.write("ginzburg_landau", options.out, rows, claims)


if __name__ == "__main__":
    main()
