"""Hyperparameters from labels that the model generated: two moons, 1,000 nodes, 200 labels.

python -m benchmarks.trust.hyperparameters [--quick] [--simulations 100]

Each simulation draws alpha and gamma from their prior, then a field and noisy labels given them,
and estimates alpha and gamma with `gq.tune` and `gq.sample_jointly`. Correct intervals cover the
truth at their nominal rate: of 100 intervals at 90%, 85 to 95 do, except in one run of 16.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from scipy import stats

import graphuq as gq
from benchmarks.common import report
from graphuq.posterior.arviz_compat import rhat_and_ess
from graphuq.priors.hyperprior import MEAN_ALPHA, NOISE_SCALE

N, RANK, LABELS = 1000, 100, 200
RANGES = {"alpha": (1.0, 5.0), "gamma": (0.05, 1.0)}


def spectrum() -> gq.Spectrum:
    X, _ = gq.datasets.two_moons(N, seed=0)
    return gq.Spectrum.of(gq.knn_graph(X, n_neighbors=20, connect=True), RANK)


def simulated(modes: gq.Spectrum, rng: np.random.Generator) -> tuple[dict, gq.Labels]:
    """Return the true parameters and labels drawn from them, with both classes present."""
    while True:
        ends = np.exp(-np.array(RANGES["alpha"][::-1]) / MEAN_ALPHA)
        alpha = float(-MEAN_ALPHA * np.log(rng.uniform(*ends)))  # exponential in its range
        angles = np.arctan(np.array(RANGES["gamma"]) / NOISE_SCALE)
        gamma = float(NOISE_SCALE * np.tan(rng.uniform(*angles)))  # half-Cauchy in its range
        (u,) = gq.Prior.projected(modes, RANK, alpha=alpha).draw(1, seed=rng)
        nodes = rng.choice(N, LABELS, replace=False)
        y = np.sign(u[nodes] + gamma * rng.standard_normal(LABELS))
        if abs(y.sum()) < LABELS:
            return {"alpha": alpha, "gamma": gamma}, gq.Labels(nodes, y.astype(int))


def main() -> None:
    options = report.options(__doc__.splitlines()[0], simulations=(int, 100))
    count = 10 if options.quick else options.simulations
    modes, rng = spectrum(), np.random.default_rng(0)
    prior = gq.Prior.projected(modes, RANK)
    places: dict[str, list[float]] = {name: [] for name in RANGES}
    widths: dict[str, list[float]] = {name: [] for name in RANGES}
    ratios: dict[str, list[float]] = {name: [] for name in RANGES}
    r_hats, sizes, begun = [], [], time.perf_counter()
    for seed in range(count):
        truth, labels = simulated(modes, rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gq.ConvergenceWarning)  # the table shows the worst
            post = gq.sample_jointly(
                prior, gq.Probit(0.1), labels, draws=800, chains=2, warmup=100, thin=8,
                seed=seed, threads=1, progress=False, **RANGES,
            )  # fmt: skip
        tuned = gq.tune(prior, labels, gq.Probit(0.1), **RANGES)
        for name, value in tuned.chosen.items():
            ratios[name].append(max(value / truth[name], truth[name] / value))
        drawn = {name: np.log(post.draws.hyperparameters[name]) for name in RANGES}
        r_hat, ess = rhat_and_ess(np.dstack(list(drawn.values())))
        r_hats.append(r_hat)
        sizes.append(ess)
        for name, values in drawn.items():
            places[name].append(float((values < np.log(truth[name])).mean()))
            low, high = np.quantile(values, [0.05, 0.95])
            widths[name].append(float(np.exp(high - low)))
    seconds = (time.perf_counter() - begun) / count
    rows, claims = [], {}
    for i, name in enumerate(RANGES):
        place = np.array(places[name])
        covered = float(((place > 0.05) & (place < 0.95)).mean())
        rows.append({
            "parameter": name, "simulations": count, "90% intervals cover": covered,
            "50% intervals cover": float(((place > 0.25) & (place < 0.75)).mean()),
            "uniform ranks, p": float(stats.kstest(place, "uniform").pvalue),
            "tuned: median ratio to the truth": float(np.median(ratios[name])),
            "within a factor of 2": float(np.mean(np.array(ratios[name]) <= 2)),
            "median ratio of ends": float(np.median(widths[name])),
            "largest R-hat": float(np.max(r_hats, axis=0)[i]),
            "smallest ESS": float(np.min(sizes, axis=0)[i]),
            "seconds a simulation": seconds,
        })  # fmt: skip
        if options.quick:  # 10 intervals cannot determine a rate
            continue
        claims[f"joint sampling's 90% intervals of {name} cover the truth, 0.85 to 0.95"] = (
            covered,
            0.85 <= covered <= 0.95,
        )
        worst = float(np.max(ratios[name]))
        claims[f"tuned {name}, worst ratio to the truth, at most 2"] = (worst, worst <= 2)
    report.write("hyperparameters", options.out, rows, claims)


if __name__ == "__main__":
    main()
