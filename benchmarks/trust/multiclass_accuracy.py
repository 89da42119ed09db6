"""Accuracy and calibration with few labels of many classes, compared with other packages.

GRAPHUQ_DATA=... python -m benchmarks.trust.multiclass_accuracy
    [--quick] [--draws 20] [--data mnist|cora]

The data are all 70,000 images of MNIST (50 principal components, 20 neighbors, self-tuning weights)
and the largest component of Cora's citations, with 1, 5 and 10 labels per class. Every method gets
the same adjacency and the same labels, drawn anew 20 times. Accuracy is that on unlabeled nodes.
graphuq is gq.sample(spectrum, gq.Probit(), labels) with 300 modes; the labels choose all
parameters. GraphLearning's Laplace learning (Zhu, Ghahramani and Lafferty 2003) and Poisson
learning (Calder, Cook, Thorpe and Slepcev 2020) run with their defaults. scikit-learn's label
spreading (Zhou et al. 2004) runs with its default alpha, 0.2, and with the paper's, 0.99. "Best" is
the one of these four with the highest mean. GraphLearning comes with
`pip install graphuq[peers]` and needs a C++ compiler.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

import graphlearning
import numpy as np
from scipy import sparse
from sklearn.semi_supervised import LabelSpreading

import graphuq as gq
from benchmarks.common import report
from benchmarks.common.scores import standard_error

RANK = 300
COUNTS = (1, 5, 10)
HIGHEST = 0.03  # calibration error with 5 or more labels per class


def mnist() -> tuple[gq.Graph, np.ndarray]:
    X, y = gq.datasets.mnist()
    return gq.knn_graph(gq.pca(X, 50), n_neighbors=20, connect=True), y


def cora() -> tuple[gq.Graph, np.ndarray]:
    graph, _, y, _ = gq.datasets.planetoid("cora")
    part = graph.largest_component()
    return part, y[part.nodes]


DATA = {"mnist": mnist, "cora": cora}


def peers(graph: gq.Graph) -> dict[str, Callable[[gq.Labels], np.ndarray]]:
    """Return functions from labels to predictions at all nodes."""
    A = sparse.csr_matrix(graph.adjacency)  # GraphLearning needs matrices, not arrays
    W = graphlearning.graph(A)

    def spreading(alpha: float, steps: int) -> Callable[[gq.Labels], np.ndarray]:
        def predict(labels: gq.Labels) -> np.ndarray:
            known = np.full(graph.n_nodes, -1)
            known[labels.nodes] = labels.values
            model = LabelSpreading(kernel=lambda *_: A, alpha=alpha, max_iter=steps)
            return model.fit(np.arange(graph.n_nodes)[:, None], known).transduction_

        return predict

    return {
        "Laplace": lambda labels: graphlearning.ssl.laplace(W).fit_predict(
            labels.nodes, labels.values
        ),
        "Poisson": lambda labels: graphlearning.ssl.poisson(W).fit_predict(
            labels.nodes, labels.values
        ),
        "spreading": spreading(0.2, 30),
        "spreading 0.99": spreading(0.99, 100),
    }


def ours(spectrum: gq.Spectrum, labels: gq.Labels, y: np.ndarray, seed: int) -> dict[str, float]:
    with warnings.catch_warnings():  # R-hat is a column
        warnings.simplefilter("ignore", gq.ConvergenceWarning)
        post = gq.sample(
            spectrum, gq.Probit(), labels, draws=200, threads=1, seed=seed, progress=False
        )
    score = post.calibration(y)
    prior, likelihood = post.settings["prior"], post.settings["likelihood"]
    return {
        "graphuq": score.accuracy, "ECE": score.expected_calibration_error,
        "log score": score.log_score, "alpha": prior["alpha"], "tau": prior["tau"],
        "gamma": likelihood["gamma"], **report.health([post]),
    }  # fmt: skip


def one_count(name, count, spectrum, y, others, draws) -> tuple[dict, dict]:
    """Return a row of the table, and the seconds of each method."""
    found: dict[str, list[float]] = {}
    seconds = dict.fromkeys([*others, "graphuq"], 0.0)
    for seed in range(draws):
        labels = gq.reveal(y, counts=count, seed=seed)
        for method, predict in others.items():
            begun = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # label spreading may stop early
                right = labels.accuracy(predict(labels), y)
            seconds[method] += (time.perf_counter() - begun) / draws
            found.setdefault(method, []).append(right)
        begun = time.perf_counter()
        for key, value in ours(spectrum, labels, y, seed).items():
            found.setdefault(key, []).append(value)
        seconds["graphuq"] += (time.perf_counter() - begun) / draws
    means = {key: float(np.mean(values)) for key, values in found.items()}
    best = max(others, key=means.__getitem__)
    gain = np.subtract(found["graphuq"], found[best])
    row = {
        "data": name, "labels per class": count, "graphuq": means["graphuq"],
        "s.e.": standard_error(found["graphuq"]),
        **{method: means[method] for method in others},
        "best": best, "best's s.e.": standard_error(found[best]),
        "graphuq less best": float(gain.mean()), "its s.e.": standard_error(gain),
        "ECE": means["ECE"], "ECE s.e.": standard_error(found["ECE"]),
        "log score": means["log score"],
        **{f"{key}, median": float(np.median(found[key])) for key in ("alpha", "tau", "gamma")},
        "R-hat": float(max(found["R-hat"])), "ESS": float(min(found["ESS"])),
        "draws of labels": draws,
    }  # fmt: skip
    return row, {f"seconds, {method}": spent for method, spent in seconds.items()}


def main() -> None:
    options = report.options(__doc__.splitlines()[0], draws=(int, 20), data=(str, ""))
    draws = 3 if options.quick else options.draws
    rows, claims = [], {}
    for name in [options.data] if options.data else DATA:
        graph, y = DATA[name]()
        spectrum = gq.Spectrum.of(graph, RANK)
        others = peers(graph)
        for count in COUNTS:
            row, seconds = one_count(name, count, spectrum, y, others, draws)
            rows.append({**row, **seconds})
            print(row, flush=True)
            less, error = row["graphuq less best"], row["best's s.e."]
            where = f"{name}, {count} per class"
            claims[f"accuracy on {where}, less {row['best']}'s: no lower than -{error:.4f}"] = (
                less, less >= -error)  # fmt: skip
            if count >= 5:
                claims[f"calibration error on {where}: at most {HIGHEST}"] = (
                    row["ECE"], row["ECE"] <= HIGHEST)  # fmt: skip
    report.write("multiclass_accuracy", options.out, rows, claims)


if __name__ == "__main__":
    main()
