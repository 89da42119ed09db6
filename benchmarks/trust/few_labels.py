"""Calibration of many classes with five labels each, and how much of its error no model can avoid.

GRAPHUQ_DATA=... python -m benchmarks.trust.few_labels [--quick]

The data are 300 images of each digit of MNIST and the largest component of Cora's citations. A
graph stands for the default prior, all parameters are chosen by the labels, and the posterior is
gq.sample. Labels are drawn ten times, 5 and 20 of each class.

Simulated classes tell what the calibration error of five labels consists of. They are those of the
largest of K fields plus noise, drawn from the prior with the parameters that 20 real labels of each
class choose (medians), so that the model is true.

- "Labels at random", as many, and true parameters: a perfect model. Predictions of neighboring
  nodes are right or wrong together, so that in a single draw shares differ from probabilities by
  more than independent draws would ("ECE if true"), though not in the mean over draws.
- "True parameters": five labels of each class, which are not the random sample that the model takes
  them for.
- "True parameters, gq.approximate": what its Gaussian adds.
- "Tuned": what choosing the parameters by five labels adds. What real data have beyond that is the
  model's.

Takes about 4 minutes. The bound on the calibration error fails on both data sets, and on simulated
classes with the true parameters too: with so few labels it cannot be had by better parameters.
"""

from __future__ import annotations

import numpy as np

import graphuq as gq
from benchmarks.common import report
from benchmarks.common.problems import RANK
from benchmarks.common.scores import fit, means, scores, standard_error

HIGHEST = 0.03
PER_CLASS = 300
FEW, MORE = 5, 20


def mnist() -> tuple[gq.Graph, np.ndarray]:
    X, y = gq.datasets.mnist()
    rng = np.random.default_rng(0)
    kept = np.sort(np.concatenate([
        rng.permutation(np.flatnonzero(y == digit))[:PER_CLASS] for digit in range(10)
    ]))  # fmt: skip
    return gq.knn_graph(gq.pca(X[kept] / 255, 50), n_neighbors=20, connect=True), y[kept]


def cora() -> tuple[gq.Graph, np.ndarray]:
    graph, _, y, _ = gq.datasets.planetoid("cora")
    part = graph.largest_component()
    return part, y[part.nodes]


DATA = {"mnist": mnist, "cora": cora}


def reveal(y: np.ndarray, count: int, seed: int) -> gq.Labels:
    """Return ``count`` labels of each class, or half of a smaller class."""
    classes = np.unique_counts(y)
    counts = {
        int(c): min(count, int(size) // 2)
        for c, size in zip(classes.values, classes.counts, strict=True)
    }
    labels = gq.reveal(y, counts=counts, seed=seed)
    sampling = labels.sampling if min(counts.values()) else "any"  # a simulated class may be tiny
    return gq.Labels(labels.nodes, labels.values, classes=classes.values, sampling=sampling)


def chosen_by(post: gq.Posterior) -> dict[str, float]:
    prior, likelihood = post.settings["prior"], post.settings["likelihood"]
    return {**{name: prior[name] for name in ("alpha", "tau", "level")},
            "gamma": likelihood["gamma"]}  # fmt: skip


def row(name: str, classes: str, count: int, runs: list[dict]) -> dict:
    mean = means(runs)
    gaps = [run["confidence less accuracy"] for run in runs]
    return {
        "data": name, "classes": classes, "labels of each class": count,
        "ECE": mean["ECE"], "ECE's s.e.": standard_error([run["ECE"] for run in runs]),
        "ECE if true": mean["ECE if true"],
        "confidence less accuracy": mean["confidence less accuracy"],
        "its s.e.": standard_error(gaps),
        "its deviation over draws": float(np.std(gaps, ddof=1)),
        "accuracy": mean["accuracy"], "log score": mean["log score"],
        **{name: float(np.median([run[name] for run in runs]))
           for name in ("alpha", "tau", "level", "gamma")},
    }  # fmt: skip


def real(name: str, spectrum: gq.Spectrum, y: np.ndarray, count: int, draws: int) -> dict:
    runs = []
    for seed in range(draws):
        post = fit(spectrum, reveal(y, count, seed), seed)
        runs.append({**scores(post, y, seed), **chosen_by(post)})
    return row(name, "real", count, runs)


def simulated(
    name: str, spectrum: gq.Spectrum, true: dict, n_classes: int, draws: int
) -> list[dict]:
    """Return rows for classes drawn from the prior; the last has parameters chosen by labels."""
    part = gq.Prior.projected(spectrum, RANK, alpha=true["alpha"], tau=true["tau"])
    prior, likelihood = part + gq.Level(true["level"]), gq.Probit(true["gamma"])
    found: dict[str, list[dict]] = {}
    for seed in range(draws):
        rng = np.random.default_rng([seed, 1])
        fields = prior.draw(n_classes, seed=seed)
        y = (fields + true["gamma"] * rng.standard_normal(fields.shape)).argmax(axis=0)
        nodes = rng.choice(len(y), FEW * n_classes, replace=False)
        labels = reveal(y, FEW, seed)
        posts = {
            "labels at random": fit(prior, at_random(y, nodes), seed, likelihood),
            "true parameters": fit(prior, labels, seed, likelihood),
            "true parameters, gq.approximate": gq.approximate(prior, likelihood, labels),
            "tuned": fit(spectrum, labels, seed),
        }
        for which, post in posts.items():
            found.setdefault(which, []).append({**scores(post, y, seed), **chosen_by(post)})
    return [row(name, f"simulated, {which}", FEW, runs) for which, runs in found.items()]


def at_random(y: np.ndarray, nodes: np.ndarray) -> gq.Labels:
    return gq.Labels(nodes, y[nodes], classes=np.unique(y))


def main() -> None:
    options = report.options(__doc__.splitlines()[0], draws=(int, 10))
    draws = 2 if options.quick else options.draws
    rows, claims = [], {}
    for name in ("cora",) if options.quick else DATA:
        graph, y = DATA[name]()
        spectrum = gq.Spectrum.of(graph, RANK)
        more, few = (real(name, spectrum, y, count, draws) for count in (MORE, FEW))
        *known, tuned = simulated(name, spectrum, more, np.unique(y).size, draws)
        rows += [few, more, *known, tuned]
        claims[f"{name}, {FEW} labels of each class: calibration error, at most {HIGHEST}"] = (
            few["ECE"], few["ECE"] <= HIGHEST)  # fmt: skip
        spread = np.hypot(few["ECE's s.e."], tuned["ECE's s.e."])
        beyond = (few["ECE"] - tuned["ECE"]) / spread
        claims[
            f"{name}: error less that of simulated classes, tuned, in standard errors, at most 2"
        ] = beyond, bool(beyond <= 2)
    report.write("few_labels", options.out, rows, claims)


if __name__ == "__main__":
    main()
