"""Figures 6b and 6d, MNIST 4 and 9: posterior variance against share of labels, and gamma.

The paper states neither the rank nor the ranges here. This study uses spectral projection to 300
modes, as the paper's Table 2 and Figure 10 do. The trials share their images and differ in their
labels.

As on two moons, the level-set model's draws for gamma = 0.1 and 0.3 are identical.

GRAPHUQ_DATA=... python -m benchmarks.papers.uq_paper.mnist [--quick]
"""

from __future__ import annotations

import graphuq as gq
from benchmarks.common import report
from benchmarks.papers.uq_paper import data_sets, sweeps

SHARES = (0.01, 0.02, 0.03, 0.04, 0.06, 0.08)
GAMMAS = (0.1, 0.3, 0.5, 0.7, 0.9)
RANK = 300
SIGNS = {"share of labels": -1, "gamma": 1}


def main() -> None:
    options = report.options(__doc__.splitlines()[0])
    trials = 2 if options.quick else 20
    graph, y, _ = data_sets.digits(4, 9)
    prior = gq.Prior.projected(gq.Spectrum.of(graph, RANK), RANK)
    every = 2 if options.quick else 1
    runs = [("share of labels", x, x, 0.1) for x in SHARES[::every]]
    runs += [("gamma", x, 0.04, x) for x in GAMMAS[::every]]
    results: dict[tuple, list] = {}
    for trial in data_sets.seeds(trials):
        for swept, x, share, gamma in runs:
            labels = gq.reveal(y, share, seed=trial)
            for model in sweeps.MODELS:
                found = sweeps.measured(prior, model(gamma), labels, y, trial)
                results.setdefault((swept, x, model.__name__), []).append(found)
    rows = sweeps.table(results)
    titles = {"share of labels": "Figure 6b: more labels", "gamma": "Figure 6d: larger gamma"}
    sweeps.draw("mnist", rows, titles, options.out)
    report.write("mnist", options.out, rows, sweeps.claims(results, rows, SIGNS))


if __name__ == "__main__":
    main()
