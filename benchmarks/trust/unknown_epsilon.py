"""Ginzburg-Landau with an unknown epsilon: the average over values by their evidence.

GRAPHUQ_DATA=... python -m benchmarks.trust.unknown_epsilon [--quick]

Each of four values of epsilon is equally probable beforehand. Its weight is proportional to the
evidence of the labels, by annealing, and the average of the posteriors by these weights is that
under an unknown epsilon. It is compared with each single value, with the average of equal weights,
and with probit, whose noise gamma the labels choose. Under Ginzburg-Landau gamma is 0.5. The prior
has 30 modes, and each class has five labels. Two moons are 300 points of feature noise 0.06 on the
graph of all pairs, and the votes are on that of the UQ paper. A sign of the field is a vote for a
class, so that scores are those of P(u > 0). The table has the largest R-hat and the largest Monte
Carlo error of a log evidence, over the draws of labels.
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
AVERAGE, EQUAL, PROBIT = "average by evidence", "average of equal weights", "probit"


def problems() -> dict[str, tuple[gq.Graph, np.ndarray]]:
    return {"two moons": data_sets.moons(0.06, 0, 300), "votes": data_sets.votes()}


def compared(graph: gq.Graph, y: np.ndarray, seed: int) -> dict[str, dict[str, float]]:
    """Return the log score of each method at nodes without a label, and what else is known."""
    prior = gq.Prior.projected(graph, RANK)
    labels = gq.reveal(y, counts=dict.fromkeys(np.unique(y).tolist(), COUNT), seed=seed)
    hidden = np.setdiff1d(np.arange(y.size), labels.nodes)
    truth = y[hidden] == labels.classes[1]

    def score(p: np.ndarray) -> float:
        p = np.clip(p[hidden], 1e-3, 1 - 1e-3)  # draws are finitely many
        return float(-np.log(np.where(truth, p, 1 - p)).mean())

    models = [gq.GinzburgLandau(epsilon, GAMMA) for epsilon in EPSILONS]
    evidence = [gq.evidence(prior, model, labels, seed=seed) for model in models]
    posts = [
        gq.sample(
            prior, model, labels, gq.Tempered(), draws=400, chains=2, seed=seed, progress=False
        )
        for model in models
    ]  # fmt: skip
    p = np.array([post.latent_probability for post in posts])
    weights = np.exp(np.array(evidence) - max(evidence))
    weights /= weights.sum()
    found = {
        f"epsilon {epsilon:g}": {
            "log score": score(one), "weight": float(weight),
            "R-hat": post.diagnostics().r_hat, "error of log evidence": log_evidence.mcse,
        }
        for epsilon, one, weight, post, log_evidence in zip(
            EPSILONS, p, weights, posts, evidence, strict=True
        )
    }  # fmt: skip
    quick = gq.approximate(prior, gq.Probit("auto"), labels).latent_probability
    means = {AVERAGE: weights @ p, EQUAL: p.mean(axis=0), PROBIT: quick}
    return found | {name: {"log score": score(one)} for name, one in means.items()}


def main() -> None:
    options = report.options(__doc__.splitlines()[0])
    draws = 1 if options.quick else 4
    warnings.simplefilter("ignore")  # chains that disagree are part of the comparison
    rows, claims = [], {}
    single = [f"epsilon {epsilon:g}" for epsilon in EPSILONS]
    for name, (graph, y) in list(problems().items())[: 1 if options.quick else None]:
        runs = [compared(graph, y, seed) for seed in range(draws)]
        mean = {}
        for method in runs[0]:
            scores = [run[method]["log score"] for run in runs]
            mean[method] = float(np.mean(scores))
            known = {what: [run[method].get(what) for run in runs] for what in runs[0][single[0]]}
            only = method in single
            rows.append({
                "data": name, "method": method, "log score": mean[method],
                "standard error": standard_error(scores) if draws > 1 else "",
                "mean weight": float(np.mean(known["weight"])) if only else "",
                "R-hat": float(max(known["R-hat"])) if only else "",
                "error of log evidence":
                    float(max(known["error of log evidence"])) if only else "",
                "draws of labels": draws,
            })  # fmt: skip
        best, worst = (pick(mean[method] for method in single) for pick in (min, max))
        claims[f"{name}: log score of the average by evidence, less the best of single values: at "
               "most 0.1"] = (mean[AVERAGE] - best, mean[AVERAGE] - best <= 0.1)  # fmt: skip
        claims[f"{name}: log score of the worst single value, less the average: at least 0.1"] = (
            worst - mean[AVERAGE], worst - mean[AVERAGE] >= 0.1)  # fmt: skip
    report.write("unknown_epsilon", options.out, rows, claims)


if __name__ == "__main__":
    main()
