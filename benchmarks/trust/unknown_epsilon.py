"""Ginzburg-Landau with an unknown epsilon: the average over values by their evidence.

GRAPHUQ_DATA=... python -m benchmarks.trust.unknown_epsilon [--quick]

Each of four values of epsilon is equally probable beforehand. Its weight is proportional to the
evidence of the labels, by annealing, and the average of the posteriors by these weights is that
under an unknown epsilon. It is compared with each single value, and with probit at the noise that
the labels choose. The prior has 30 modes, gamma is 0.5, and each class has five labels. Two moons
are 300 points of feature noise 0.06 on the graph of all pairs, and the votes are on that of the UQ
paper. A sign of the field is a vote for a class, so that scores are those of P(u > 0).
"""

from __future__ import annotations

import warnings

import numpy as np

import graphuq as gq
from benchmarks.common import report
from benchmarks.common.scores import standard_error
from benchmarks.papers.uq_paper import data_sets

RANK, COUNT, GAMMA = 30, 5, 0.5
EPSILONS = (0.3, 1.0, 3.0, 10.0)
AVERAGE, PROBIT = "average by evidence", "probit"


def problems() -> dict[str, tuple[gq.Graph, np.ndarray]]:
    return {"two moons": data_sets.moons(0.06, 0, 300), "votes": data_sets.votes()}


def compared(graph: gq.Graph, y: np.ndarray, seed: int) -> tuple[dict[str, float], np.ndarray]:
    """Return the log score of each method at nodes without a label, and the weights."""
    prior = gq.Prior.projected(graph, RANK)
    labels = gq.reveal(y, counts=dict.fromkeys(np.unique(y).tolist(), COUNT), seed=seed)
    hidden = np.setdiff1d(np.arange(y.size), labels.nodes)
    truth = y[hidden] == labels.classes[1]

    def score(p: np.ndarray) -> float:
        p = np.clip(p[hidden], 1e-3, 1 - 1e-3)  # draws are finitely many
        return float(-np.log(np.where(truth, p, 1 - p)).mean())

    models = [gq.GinzburgLandau(epsilon, GAMMA) for epsilon in EPSILONS]
    evidence = np.array([float(gq.evidence(prior, model, labels, seed=seed)) for model in models])
    weights = np.exp(evidence - evidence.max())
    weights /= weights.sum()
    p = [
        gq.sample(
            prior, model, labels, gq.Tempered(), draws=200, chains=2, seed=seed, progress=False
        ).latent_probability
        for model in models
    ]  # fmt: skip
    found = {f"epsilon {epsilon:g}": score(one) for epsilon, one in zip(EPSILONS, p, strict=True)}
    found[AVERAGE] = score(weights @ np.array(p))
    found[PROBIT] = score(gq.approximate(prior, gq.Probit("auto"), labels).latent_probability)
    return found, weights


def main() -> None:
    options = report.options(__doc__.splitlines()[0])
    draws = 1 if options.quick else 4
    warnings.simplefilter("ignore")  # chains that disagree are part of the comparison
    rows, claims = [], {}
    single = [f"epsilon {epsilon:g}" for epsilon in EPSILONS]
    for name, (graph, y) in list(problems().items())[: 1 if options.quick else None]:
        runs = [compared(graph, y, seed) for seed in range(draws)]
        scores = {method: [run[0][method] for run in runs] for method in runs[0][0]}
        mean = {method: float(np.mean(values)) for method, values in scores.items()}
        weights = dict(zip(single, np.mean([run[1] for run in runs], axis=0), strict=True))
        rows += [
            {
                "data": name, "method": method, "log score": mean[method],
                "standard error": standard_error(values) if draws > 1 else "",
                "mean weight": float(weights[method]) if method in weights else "",
                "draws of labels": draws,
            }
            for method, values in scores.items()
        ]  # fmt: skip
        best, worst = (pick(mean[method] for method in single) for pick in (min, max))
        claims[f"{name}: log score of the average by evidence, less the best of single values: at "
               "most 0.1"] = (mean[AVERAGE] - best, mean[AVERAGE] - best <= 0.1)  # fmt: skip
        claims[f"{name}: log score of the worst single value, less the average: at least 0.1"] = (
            worst - mean[AVERAGE], worst - mean[AVERAGE] >= 0.1)  # fmt: skip
    report.write("unknown_epsilon", options.out, rows, claims)


if __name__ == "__main__":
    main()
