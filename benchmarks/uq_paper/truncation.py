"""Section 5.3, voting records: how far projection and approximation are from the full prior.

GRAPHUQ_DATA=... python -m benchmarks.uq_paper.truncation [--quick]
"""

from __future__ import annotations

import numpy as np

import graphuq as gq
from benchmarks import report

PAPER = {"projected": 0.1577, "approximated": 0.0261}


def main() -> None:
    options = report.options(__doc__.splitlines()[0])
    data = gq.datasets.load_file("vote")
    rows, claims = [], {}
    for loops in (True, False):
        graph = gq.full_graph(data["X"], weights="gaussian", tau=1.25, self_loops=loops)
        spectrum = gq.Spectrum.of(graph)
        priors = {
            "full": gq.Prior.full(spectrum),
            "projected": gq.Prior.projected(spectrum, 150),
            "approximated": gq.Prior.approximated(spectrum, 150),
        }
        for model in (gq.Probit(0.1), gq.LevelSet(0.1)):
            gaps = {"projected": [], "approximated": []}
            r_hat = 1.0
            for seed in range(3 if options.quick else 30):
                labels = gq.reveal(data["y"], counts={0: 3, 1: 2}, seed=seed)
                posts = {
                    kind: gq.sample(prior, model, labels, seed=seed, progress=False)
                    for kind, prior in priors.items()
                }
                r_hat = max(r_hat, *(post.diagnostics().r_hat for post in posts.values()))
                for kind, values in gaps.items():
                    values.append(abs(posts[kind].mean - posts["full"].mean).mean())
            for kind, values in gaps.items():
                rows.append({
                    "model": type(model).__name__, "self-loops": loops, "prior": kind,
                    "mean |difference|": float(np.mean(values)),
                    "standard error": float(np.std(values, ddof=1) / np.sqrt(len(values))),
                    "paper": PAPER[kind], "largest R-hat": r_hat,
                })  # fmt: skip
            ratio = float(np.mean(gaps["projected"]) / np.mean(gaps["approximated"]))
            name = f"{type(model).__name__}, self-loops {loops}"
            claims[f"projection over approximation, {name}, at least 5"] = (ratio, ratio >= 5)
    report.write("truncation", options.out, rows, claims)


if __name__ == "__main__":
    main()
