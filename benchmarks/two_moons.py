"""Two moons, Figures 5 and 6: variance against feature noise, share of labels, and gamma.

Self-loops are kept, as in the paper's own full graphs. The paper states neither a rank nor a prior
here; this is spectral projection to 50 modes.

python benchmarks/two_moons.py [--quick]
"""

from __future__ import annotations

import numpy as np
import report
from scipy.stats import spearmanr

import graphuq as gq

NOISE = np.arange(0.02, 0.125, 0.02)
SHARES = (0.01, 0.02, 0.03, 0.05, 0.08)
# the level-set model tells wrong labels, of odds exp(-2 / gamma^2), only from about 0.4 on
GAMMAS = (0.1, 0.3, 0.5, 0.7, 0.9)
RANK = 50


def main() -> None:
    options = report.options(__doc__.splitlines()[0])
    trials = 2 if options.quick else 10
    sweeps = [("feature noise", x, {"sigma": x}) for x in NOISE.round(2).tolist()]
    sweeps += [("share of labels", x, {"share": x}) for x in SHARES]
    sweeps += [("gamma", x, {"gamma": x}) for x in GAMMAS]
    results: dict[tuple[str, float, str], list] = {}
    for trial in range(trials):
        spectra = {}
        for what, x, changed in sweeps:
            setting = {"sigma": 0.06, "share": 0.03, "gamma": 0.1, **changed}
            X, y = gq.datasets.two_moons(2000, 100, setting["sigma"], seed=trial)
            if setting["sigma"] not in spectra:
                graph = gq.full_graph(X, weights="self-tuning", n_neighbors=10, self_loops=True)
                spectra[setting["sigma"]] = gq.Spectrum.of(graph, RANK)
            prior = gq.Prior.projected(spectra[setting["sigma"]], RANK)
            labels = gq.reveal(y, setting["share"], seed=trial)
            for kind in (gq.Probit, gq.LevelSet):
                post = gq.sample(prior, kind(setting["gamma"]), labels, seed=trial, progress=False)
                results.setdefault((what, x, kind.__name__), []).append(post)
    rows = []
    for (what, x, model), posts in results.items():
        values = [post.mean_variance for post in posts]
        rows.append({
            "swept": what, "value": x, "model": model, "mean variance": float(np.mean(values)),
            "standard error": float(np.std(values, ddof=1) / np.sqrt(len(values))),
            "R-hat": max(post.diagnostics().r_hat for post in posts),
        })  # fmt: skip
    claims = {}
    for what in ("feature noise", "share of labels", "gamma"):
        for model in ("Probit", "LevelSet"):
            chosen = [row for row in rows if (row["swept"], row["model"]) == (what, model)]
            values = [row["mean variance"] for row in chosen]
            trend = float(spearmanr([row["value"] for row in chosen], values).statistic)
            sign = -1 if what == "share of labels" else 1
            claims[f"rank correlation of variance with {what}, {model}"] = (
                trend,
                sign * trend > 0.99,
            )
    worst = max(row["R-hat"] for row in rows)
    claims["largest R-hat, below 1.05"] = (worst, worst < 1.05)
    report.write("two_moons", options.out, rows, claims)


if __name__ == "__main__":
    main()
