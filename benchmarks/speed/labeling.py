"""A labeling session on MNIST: from an answer to the next question, and until it is learned.

GRAPHUQ_DATA=... python -m benchmarks.speed.labeling [--quick]

The annotator answers every 0.3 seconds, while the learner works in the background. Then a few
answers are each waited for: until the next questions know the answer, and until the statistics of
all items do. The classes are even and odd, or all ten digits.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

import graphuq as gq
from benchmarks.common import report
from graphuq.labeling.session import LabelingSession

SIZES, RANK = (2000, 20_000, 70_000), 300
ANSWERS, PAUSE, WAITED = 100, 0.3, 5
LATENCY, LEARNED = 0.1, {2: 0.15, 10: 1.0}


class Setting(NamedTuple):
    """Items to label, and a file for the answers."""

    graph: gq.Graph
    spectrum: gq.Spectrum
    pixels: np.ndarray
    y: np.ndarray
    path: Path

    @property
    def classes(self) -> list[str]:
        """The names of the classes."""
        return np.unique(self.y).tolist()

    def __str__(self) -> str:
        return f"{self.y.size} items, {len(self.classes)} classes"


def settings(quick: bool) -> Iterator[Setting]:
    """Yield each number of items with each number of classes."""
    X, digits = gq.datasets.mnist()
    for n in SIZES[:1] if quick else SIZES:
        some = np.random.default_rng(0).permutation(digits.size)[:n]
        graph = gq.knn_graph(gq.pca(X[some], 50), 20, connect=True)
        spectrum = gq.Spectrum.of(graph, RANK)
        for y in (digits[some] % 2, digits[some]):
            path = Path(tempfile.mkdtemp()) / "answers.csv"
            yield Setting(graph, spectrum, X[some], y.astype(str), path)


def answer(session: LabelingSession, y: np.ndarray) -> float:
    """Answer the question, ask the next, and return the seconds."""
    node = session.question("Ann").node
    begun = time.perf_counter()
    session.answer(node, y[node], who="Ann")
    session.question("Ann")
    return time.perf_counter() - begun


def learned(session: LabelingSession, y: np.ndarray) -> tuple[float, float]:
    """Return the seconds until an answer is learned: by the next questions, and of all items."""
    assert session.wait(600.0)
    answer(session, y)
    begun = time.perf_counter()
    n_labeled = session.progress().n_labeled
    while not (curve := session.curve()) or curve[-1][0] != n_labeled:
        time.sleep(0.005)
    first = time.perf_counter() - begun
    assert session.wait(600.0)
    return first, time.perf_counter() - begun


def main() -> None:
    options = report.options(__doc__.splitlines()[0])
    rows, claims = [], {}
    for setting in settings(options.quick):
        spectrum, y, classes = setting.spectrum, setting.y, setting.classes
        with LabelingSession(
            setting.graph, setting.path, classes=classes, spectrum=spectrum
        ) as session:
            latency = []
            for _ in range(ANSWERS):
                latency.append(answer(session, y))
                time.sleep(PAUSE)
            waited = np.array([learned(session, y) for _ in range(WAITED)])
        tail = float(np.quantile(latency, 0.95))
        first, every = np.median(waited, axis=0).tolist()
        rows.append({
            "items": y.size,
            "classes": len(classes),
            "median ms": 1e3 * float(np.median(latency)),
            "95% ms": 1e3 * tail,
            "largest ms": 1e3 * max(latency),
            "questions know it, s": first,
            "all items know it, s": every,
        })  # fmt: skip
        claims[f"{setting}: 95% of next questions within {LATENCY} s"] = tail, tail <= LATENCY
        bound = LEARNED[len(classes)]
        claims[f"{setting}: questions know an answer within {bound} s"] = first, first <= bound
    report.write("labeling", options.out, rows, claims)


if __name__ == "__main__":
    main()
