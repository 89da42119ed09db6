"""KAOG and MKAOG, Tables 2 and 3 of Mohammadi et al. 2014: components, and accuracy under noise.

GRAPHUQ_DATA=... python -m benchmarks.papers.kaog [--quick] [--repeats 30]

KAOG connects training items to those of their nearest neighbors that share their class, and so
divides each class into components; MKAOG merges components by a less strict rule
(`gq.KAssociatedOptimalGraph`). There are 30 random splits with 70% for training, as in the paper;
both methods see the same splits. Table 2 counts the components with more than one item, on raw
features. In Table 3 the features of iris are standardized, those of wine are both raw and
standardized, and all others are raw. Noise of 10% moves 10% of the training labels to another
class. Takes about ten seconds.

Ten bounds fail. Two do so by chance: the means of 30 splits are uncertain by about a component or a
point of accuracy. With --repeats 300, two minutes, both hold. The other eight are those on the
accuracies on wine. The paper's accuracies on wine lie between ours with raw and with standardized
features.
"""

from __future__ import annotations

import numpy as np
from scipy import stats
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import graphuq as gq
from benchmarks.common import report

METHODS = {"KAOG": "strict", "MKAOG": "mean"}
NOISE = (0.0, 0.05, 0.1, 0.2)

# Components in Table 2, KAOG and MKAOG; one cell of the paper is blank. "Diabet" is pima.
TABLE_2 = {
    "iris": (16, 7), "wine": (29, 25), "glass": (38, 29), "ecoli": (50, 15),
    "ionosphere": (34, 17), "pima": (None, 65),
}  # fmt: skip
SPREAD_2 = {"KAOG": 0.10, "MKAOG": 0.35}

# Accuracies of KAOG and MKAOG in Table 3 at each noise level, and the result of its t-test. The
# paper prints no other sets.
TABLE_3 = {
    ("iris", 0.0): (94.8444, 94.8224, "0"), ("iris", 0.05): (89.4, 92.5176, "0"),
    ("iris", 0.1): (83.9778, 90.3474, "1"), ("iris", 0.2): (74.3111, 83.5119, "NS"),
    ("wine", 0.0): (85.5472, 86.5471, "0"), ("wine", 0.05): (83.717, 85.3047, "1"),
    ("wine", 0.1): (72.0189, 77.7547, "1"), ("wine", 0.2): (68.0566, 71.7547, "1"),
    ("glass", 0.0): (69.4478, 69.434, "0"), ("glass", 0.05): (66.8955, 68.0215, "0"),
    ("glass", 0.1): (63.2463, 64.4925, "1"), ("glass", 0.2): (58.6269, 61.5794, "1"),
}  # fmt: skip
# Expected points between ours and the paper's, by noise; that at 10% is interpolated.
SPREAD_3 = {0.0: 2.5, 0.05: 2.5, 0.1: 3.0, 0.2: 4.0}

READINGS = [
    ("iris", "standardized"), ("wine", "raw"), ("wine", "standardized"), ("glass", "raw"),
    ("ecoli", "raw"), ("ionosphere", "raw"), ("pima", "raw"),
]  # fmt: skip


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    X, y = gq.datasets.uci(name)
    if name == "ecoli":  # the paper's 327 rows omit classes with at most 5 items
        classes, sizes = np.unique(y, return_counts=True)
        kept = np.isin(y, classes[sizes > 5])
        X, y = X[kept], y[kept]
    return X, y


def split(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    order = np.random.default_rng(seed).permutation(n)
    return order[int(0.3 * n) :], order[: int(0.3 * n)]


def mislabel(y: np.ndarray, share: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng([seed, 1])
    classes, codes = np.unique(y, return_inverse=True)
    moved = rng.permutation(y.size)[: round(share * y.size)]
    codes[moved] += rng.integers(1, classes.size, moved.size)
    return classes[codes % classes.size]


def components(name: str, repeats: int) -> dict:
    X, y = load(name)
    row, off = {"data": name}, []
    for (method, merge), paper in zip(METHODS.items(), TABLE_2[name], strict=True):
        sizes = []
        for seed in range(repeats):
            train, _ = split(y.size, seed)
            model = gq.KAssociatedOptimalGraph(merge).fit(X[train], y[train])
            sizes.append(np.bincount(model.components_))
        counts = [int((s > 1).sum()) for s in sizes]
        gap = "-" if paper is None else float(np.mean(counts) / paper - 1)
        if paper is not None and abs(gap) > SPREAD_2[method]:
            off.append(f"{method} by {gap:+.0%}")
        row |= {
            method: float(np.mean(counts)), f"{method} sd": float(np.std(counts, ddof=1)),
            f"{method} paper": paper or "-", f"{method} gap": gap,
            f"{method} with isolated": float(np.mean([s.size for s in sizes])),
        }  # fmt: skip
    order = "order only" if row["MKAOG"] < row["KAOG"] else "not reproduced"
    return row | {"verdict": f"{order}: off {', '.join(off)}" if off else "reproduced"}


def accuracies(name: str, features: str, noise: float, repeats: int) -> dict:
    X, y = load(name)
    scores = {method: [] for method in METHODS}
    for seed in range(repeats):
        train, test = split(y.size, seed)
        labels = mislabel(y[train], noise, seed)
        scaler = StandardScaler() if features == "standardized" else FunctionTransformer()
        for method, merge in METHODS.items():
            model = make_pipeline(scaler, gq.KAssociatedOptimalGraph(merge))
            scores[method].append(100 * model.fit(X[train], labels).score(X[test], y[test]))
    *paper, paper_t = TABLE_3.get((name, noise), ("-", "-", "-"))
    row = {"data": name, "features": features, "noise": noise}
    for (method, values), printed in zip(scores.items(), paper, strict=True):
        row |= {
            method: float(np.mean(values)), f"{method} sd": float(np.std(values, ddof=1)),
            f"{method} paper": printed,
        }  # fmt: skip
    gains = np.subtract(scores["MKAOG"], scores["KAOG"])
    row |= {
        "gain": float(gains.mean()), "paper t": paper_t,
        "p of paired t": float(stats.ttest_1samp(gains, 0).pvalue) if gains.any() else 1.0,
    }  # fmt: skip
    if "-" in paper:
        return row | {"gap": "-", "verdict": "not printed"}
    gap = max((row[m] - printed for m, printed in zip(METHODS, paper, strict=True)), key=abs)
    if abs(gap) <= SPREAD_3[noise]:
        return row | {"gap": gap, "verdict": "reproduced"}
    same_order = gains.mean() * (paper[1] - paper[0]) > 0
    order = "order only" if same_order else "not reproduced"
    return row | {"gap": gap, "verdict": f"{order}: off by {gap:+.1f}"}


def main() -> None:
    options = report.options(__doc__.splitlines()[0], repeats=(int, 30))
    repeats = 5 if options.quick else options.repeats
    rows = [components(name, repeats) for name in TABLE_2]
    claims = {
        f"components of {method} on {row['data']}, relative difference from Table 2: at most "
        f"{spread}": (
            row[f"{method} gap"],
            abs(row[f"{method} gap"]) <= spread,
        )
        for row in rows
        for method, spread in SPREAD_2.items()
        if row[f"{method} gap"] != "-"
    }
    try:
        report.write("kaog_components", options.out, rows, claims)
    finally:  # write the other table even if a claim of this one fails
        print()
        rows = [accuracies(*reading, noise, repeats) for reading in READINGS for noise in NOISE]
        claims = {
            f"accuracies on {row['data']}, {row['features']}, noise {row['noise']:.0%}, "
            "larger of the differences of KAOG and MKAOG from Table 3, in points: within "
            f"{SPREAD_3[row['noise']]}": (
                row["gap"],
                abs(row["gap"]) <= SPREAD_3[row["noise"]],
            )
            for row in rows
            if row["gap"] != "-"
        }
        claims |= {
            f"gain of MKAOG over KAOG in points on {row['data']}, {row['features']}, noise "
            f"{row['noise']:.0%}: above 0": (
                row["gain"],
                row["gain"] > 0,
            )
            for row in rows
            if row["noise"] >= 0.1
        }
        report.write("kaog_accuracy", options.out, rows, claims)


if __name__ == "__main__":
    main()
