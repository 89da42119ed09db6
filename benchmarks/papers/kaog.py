"""KAOG and MKAOG, Tables 2 and 3 of Mohammadi et al. 2014: components, and accuracy under noise.

GRAPHUQ_DATA=... python -m benchmarks.papers.kaog [--quick] [--repeats 300]

KAOG connects training items to those of their nearest neighbors that share their class, and so
divides each class into components; MKAOG merges components by a less strict rule
(`gq.KAssociatedOptimalGraph`). The paper's numbers are means of 30 runs; here there are 300 random
splits, and both methods see the same ones. The text states neither the share of training items nor
the treatment of features. These are our readings: 70% of items are for training, Table 2 counts the
components with more than one item on raw features, and in Table 3 the features of iris are
standardized and all others are raw. The paper's accuracies on wine lie between ours with raw and
with standardized features. Raw features without the last column, whose numbers are in the hundreds,
come closest, and the claims are about these; the table has all three. The paper's glass has 223
rows; the public file has 214. Noise of 10% moves 10% of the training labels to another class.

Without noise MKAOG is below KAOG on wine, glass and ionosphere here. The paper says that it gains
most of the time, and most under noise: the claims are about noise.

The paper's t-test has the result 1 for a difference, and 0 or NS for none. Its text says that on
iris the gain is significant with noise, but its table has 0 and NS at 5 and 20%.
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
    ("iris", "standardized"), ("wine", "raw"), ("wine", "standardized"),
    ("wine", "without the last column"), ("glass", "raw"),
    ("ecoli", "raw"), ("ionosphere", "raw"), ("pima", "raw"),
]  # fmt: skip

# of these sets and readings the accuracies are closest to the paper's
NEAREST = (("iris", "standardized"), ("wine", "without the last column"), ("glass", "raw"))


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    X, y = gq.datasets.uci(name)
    if name == "ecoli":  # the paper's 327 rows omit classes with at most 5 items
        classes, sizes = np.unique(y, return_counts=True)
        kept = np.isin(y, classes[sizes > 5])
        X, y = X[kept], y[kept]
    return X, y


# Splits have seeds from here on: the reading of wine was chosen by those below.
FIRST_SEED = 1000


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
        for seed in range(FIRST_SEED, FIRST_SEED + repeats):
            train, _ = split(y.size, seed)
            model = gq.KAssociatedOptimalGraph(merge).fit(X[train], y[train])
            sizes.append(np.bincount(model.components_))
        counts = [int((s > 1).sum()) for s in sizes]
        small = [float(((s == 2) | (s == 3)).sum() / (s > 1).sum()) for s in sizes]
        gap = "-" if paper is None else float(np.mean(counts) / paper - 1)
        if paper is not None and abs(gap) > SPREAD_2[method]:
            off.append(f"{method} by {gap:+.0%}")
        row |= {
            method: float(np.mean(counts)), f"{method} sd": float(np.std(counts, ddof=1)),
            f"{method} paper": paper or "-", f"{method} gap": gap,
            f"{method} of 2 or 3 items": float(np.mean(small)),
            f"{method} with isolated": float(np.mean([s.size for s in sizes])),
        }  # fmt: skip
    order = "order only" if row["MKAOG"] < row["KAOG"] else "not reproduced"
    return row | {"verdict": f"{order}: off {', '.join(off)}" if off else "reproduced"}


def accuracies(name: str, features: str, noise: float, repeats: int) -> dict:
    X, y = load(name)
    X = X[:, :-1] if features == "without the last column" else X
    scores = {method: [] for method in METHODS}
    for seed in range(FIRST_SEED, FIRST_SEED + repeats):
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
        "gain": float(gains.mean()),
        "paper t": paper_t,
        "p of paired t, 30 splits":
            float(stats.ttest_1samp(gains[:30], 0).pvalue) if gains[:30].any() else 1.0,
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
    options = report.options(__doc__.splitlines()[0], repeats=(int, 300))
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
    ratios = {row["data"]: row["MKAOG"] / row["KAOG"] for row in rows}
    shown = ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items())
    claims["components of MKAOG divided by those of KAOG: below 1 on every set"] = (
        shown, max(ratios.values()) < 1)  # fmt: skip
    least = sorted(ratios, key=ratios.get)[:2]
    claims["this ratio is smallest on ecoli and pima, and largest on wine"] = (
        shown, sorted(least) == ["ecoli", "pima"] and max(ratios, key=ratios.get) == "wine"
    )  # fmt: skip
    small = rows[0]["KAOG of 2 or 3 items"]
    claims["share of KAOG's components on iris with two or three items: above 0.5"] = (
        small, small > 0.5)  # fmt: skip
    claims["this ratio on iris: below 0.5"] = (ratios["iris"], ratios["iris"] < 0.5)
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
            if (row["data"], row["features"]) in NEAREST
        }
        claims |= {
            f"gain of MKAOG over KAOG in points on {row['data']}, {row['features']}, noise "
            f"{row['noise']:.0%}: above 0": (
                row["gain"],
                row["gain"] > 0,
            )
            for row in rows
            if row["noise"] > 0
        }
        for name, features in READINGS:
            chosen = [r for r in rows if (r["data"], r["features"]) == (name, features)]
            grown = chosen[-1]["gain"] - chosen[0]["gain"]
            claims[
                f"gain of MKAOG in points on {name}, {features}, noise 20% minus noise 0%: above 0"
            ] = (grown, grown > 0)
        printed = [row for row in rows if (row["data"], row["features"]) in NEAREST]
        lower = sum(row["MKAOG sd"] < row["KAOG sd"] for row in printed)
        claims[
            f"rows of Table 3 where the deviation of MKAOG is below that of KAOG: all "
            f"{len(printed)}, wine without its last column"
        ] = (lower, lower == len(printed))
        noisy = max(r["p of paired t, 30 splits"] for r in printed if r["data"] == "iris"
                    and r["noise"] > 0)  # fmt: skip
        claims["iris, 5, 10 and 20% noise: largest p of a t-test of 30 splits: below 0.05"] = (
            noisy, noisy < 0.05)  # fmt: skip
        same = sum((row["p of paired t, 30 splits"] < 0.05) == (row["paper t"] == "1")
                   for row in printed)  # fmt: skip
        claims[
            f"rows of Table 3 where a t-test of 30 splits has the paper's result: all "
            f"{len(printed)}, wine without its last column"
        ] = (same, same == len(printed))
        report.write("kaog_accuracy", options.out, rows, claims)


if __name__ == "__main__":
    main()
