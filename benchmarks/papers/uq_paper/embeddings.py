"""Figure 3: MNIST pairs in the plane of the second and third eigenvector.

The paper shows four pictures, and says that (4, 9), (3, 8), (0, 6), (5, 7) are increasingly easy to
separate. This study measures how well the position in that plane predicts the digit: by the 15
nearest neighbors and by a straight line, in 5-fold cross-validation.

GRAPHUQ_DATA=... python -m benchmarks.papers.uq_paper.embeddings [--quick]
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import graphuq as gq
from benchmarks.common import report
from benchmarks.papers.uq_paper import data_sets

PAIRS = ((4, 9), (3, 8), (0, 6), (5, 7))
READERS = {
    "15 nearest neighbors": KNeighborsClassifier(15),
    "a straight line": make_pipeline(StandardScaler(), LogisticRegression(C=1e4)),
}


def main() -> None:
    options = report.options(__doc__.splitlines()[0])
    seeds = 2 if options.quick else 10
    rows, drawn = [], {}
    for rank, pair in enumerate(PAIRS, start=1):
        found: dict[str, list[float]] = {name: [] for name in READERS}
        for seed in range(seeds):
            graph, y, _ = data_sets.digits(*pair, seed=seed)
            plane = gq.Spectrum.of(graph, 2).vectors
            drawn.setdefault(pair, (plane, y))
            folds = StratifiedKFold(5, shuffle=True, random_state=seed)
            for name, reader in READERS.items():
                found[name].append(float(cross_val_score(reader, plane, y, cv=folds).mean()))
        for name, values in found.items():
            rows.append({
                "pair": "{}, {}".format(*pair), "classifier": name,
                "accuracy": float(np.mean(values)),
                "standard error": float(np.std(values, ddof=1) / np.sqrt(seeds)),
                "samples of images": seeds, "paper's order": rank,
            })  # fmt: skip
    draw(drawn, rows, options.out)
    claims = {}
    for name in READERS:
        values = [row["accuracy"] for row in rows if row["classifier"] == name]
        rises = bool((np.diff(values) > 0).all())
        claims[f"accuracy of {name} rises from pair to pair in the paper's order"] = (
            ", ".join(f"{value:.3f}" for value in values), rises, "increasingly easy, by eye"
        )  # fmt: skip
    report.write("embeddings", options.out, rows, claims)


def draw(drawn, rows, out) -> None:
    figure = Figure(figsize=(14, 3.9), layout="constrained")
    for panel, (pair, (plane, y)) in zip(figure.subplots(1, 4), drawn.items(), strict=True):
        for digit, color, marker in zip(pair, ("#0072b2", "#e69f00"), "o^", strict=True):
            panel.scatter(*plane[y == digit].T, s=5, c=color, marker=marker, linewidths=0,
                          alpha=0.6, label=str(digit))  # fmt: skip
        accuracy = next(row["accuracy"] for row in rows if row["pair"] == "{}, {}".format(*pair))
        panel.set_title(f"{pair}: {accuracy:.1%} right by 15 nearest", fontsize=10)
        panel.set(xticks=[], yticks=[], xlabel="second eigenvector")
        panel.legend(title="digit", fontsize=8, title_fontsize=8, markerscale=2)
    figure.axes[0].set_ylabel("third eigenvector")
    figure.suptitle("Figure 3: MNIST pairs in the plane of two eigenvectors", fontsize=11)
    report.picture("embeddings", out, figure)


if __name__ == "__main__":
    main()
