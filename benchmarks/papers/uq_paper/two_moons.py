"""Figures 5, 6a and 6c, two moons: variance against feature noise, share of labels, and gamma.

Self-loops are kept: the paper's formula for the weights gives a_ii = 1. The paper states neither a
rank nor a prior here, nor the ranges of Figure 6. This study uses spectral projection to 50 modes.
As in the paper's captions, 3% of nodes are labeled in Figure 5 and 4% in Figure 6c.

A trend is the slope of each trial's curve, and its standard error is that over trials. In the
level-set model each label that the field contradicts has the factor exp(-2 / gamma^2). Up to
gamma = 0.3 this factor is so small that no draw contradicts a label. The draws for 0.1 and 0.3 are
therefore identical, and the step between them is 0. At the highest noise the graph has nearly lost
the moons, and the curves of variance against noise are flat under both models.

python -m benchmarks.papers.uq_paper.two_moons [--quick]
"""

from __future__ import annotations

import numpy as np

import graphuq as gq
from benchmarks.common import report
from benchmarks.papers.uq_paper import data_sets, sweeps

NOISE = np.arange(0.02, 0.125, 0.01)
SHARES = (0.01, 0.02, 0.03, 0.05, 0.08)
GAMMAS = (0.1, 0.3, 0.5, 0.7, 0.9)
RANK = 50
SIGNS = {"feature noise": 1, "share of labels": -1, "gamma": 1}


def main() -> None:
    options = report.options(__doc__.splitlines()[0])
    trials = 2 if options.quick else 20
    noise = NOISE[::2] if options.quick else NOISE
    runs = [("feature noise", x, {"sigma": x}) for x in noise.round(2).tolist()]
    runs += [("share of labels", x, {"share": x}) for x in SHARES]
    runs += [("gamma", x, {"gamma": x, "share": 0.04}) for x in GAMMAS]
    results: dict[tuple, list] = {}
    for trial in data_sets.seeds(trials):
        moons = {}
        for swept, x, changed in runs:
            setting = {"sigma": 0.06, "share": 0.03, "gamma": 0.1, **changed}
            sigma = setting["sigma"]
            if sigma not in moons:
                graph, y = data_sets.moons(sigma, trial)
                moons[sigma] = gq.Prior.projected(gq.Spectrum.of(graph, RANK), RANK), y
            prior, y = moons[sigma]
            labels = gq.reveal(y, setting["share"], seed=trial)
            for model in sweeps.MODELS:
                found = sweeps.measured(prior, model(setting["gamma"]), labels, y, trial)
                results.setdefault((swept, x, model.__name__), []).append(found)
    rows = sweeps.table(results)
    titles = {
        "feature noise": "Figure 5: more feature noise",
        "share of labels": "Figure 6a: more labels",
        "gamma": "Figure 6c: larger gamma",
    }
    sweeps.draw("two_moons", rows, titles, options.out)
    report.write("two_moons", options.out, rows, sweeps.claims(results, rows, SIGNS))


if __name__ == "__main__":
    main()
