"""Learning curves with scikit-activeml: BALD of the joint posterior beside its own strategies.

All strategies ask for the classes of the same items, five at a time, and are scored by the same
classifier, `gq.skactiveml.GraphClassifier`, on the items without a label. The first four items are
random and the same for all.

python -m benchmarks.trust.active_scikit [--quick]
"""

from __future__ import annotations

import warnings

import numpy as np
from skactiveml.pool import RandomSampling, UncertaintySampling

import graphuq as gq
from benchmarks.common import report

FIRST, LAST, BATCH = 4, 64, 5
SHOWN = (4, 14, 24, 44, 64)
GraphClassifier = gq.skactiveml.GraphClassifier


def strategies(model, seed):
    """Return each strategy and the further arguments of its queries."""
    options = {"random_state": seed}
    uncertainty = {"clf": model}
    return {
        "random": (RandomSampling(**options), {}),
        "margin": (UncertaintySampling("margin_sampling", **options), uncertainty),
        "entropy": (UncertaintySampling("entropy", **options), uncertainty),
        "bald": (gq.skactiveml.GraphQuery("bald", model, **options), {}),
    }


def curve(X, y, name: str, seed: int) -> np.ndarray:
    """Return the accuracy on items without a label, with 4, 9, ... 64 labels."""
    model = GraphClassifier(classes=np.unique(y), n_neighbors=10, random_state=0)
    known = np.full(y.size, np.nan)
    first = np.random.default_rng(seed).permutation(y.size)[:FIRST]
    known[first] = y[first]
    accuracy = []
    for count in range(FIRST, LAST + 1, BATCH):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rest = np.isnan(known)
            model.fit(X, known)
            accuracy.append((model.predict(X) == y)[rest].mean())
            if count < LAST:
                strategy, more = strategies(model, seed)[name]
                if "clf" in more:
                    more = {**more, "fit_clf": False}
                asked = strategy.query(X, known, batch_size=BATCH, **more)
                known[asked] = y[asked]
    return np.array(accuracy)


def main() -> None:
    options = report.options(__doc__.splitlines()[0], seeds=(int, 0))
    seeds = options.seeds or (2 if options.quick else 10)
    pairs = [(4, 9)] if options.quick else [(4, 9), (3, 8), (1, 7)]
    names = list(strategies(None, 0))
    rows, claims = [], {}
    counts = list(range(FIRST, LAST + 1, BATCH))
    for pair in pairs:
        X, y = gq.datasets.digit_pair(*pair, dataset="mnist", per_class=500, seed=0)
        X = gq.pca(X, 50)
        curves = {n: np.array([curve(X, y, n, seed) for seed in range(seeds)]) for n in names}
        for name, runs in curves.items():
            each = runs.mean(axis=1)
            rows.append({
                "digits": f"{pair[0]} and {pair[1]}",
                "strategy": name,
                **{f"{n} labels": float(runs[:, counts.index(n)].mean()) for n in SHOWN},
                "mean of the curve": float(each.mean()),
                "its s.e.": float(each.std(ddof=1) / np.sqrt(seeds)),
            })  # fmt: skip
        for other in names[:-1]:
            gain = (curves["bald"] - curves[other]).mean(axis=1)
            value, error = float(gain.mean()), float(gain.std(ddof=1) / np.sqrt(seeds))
            claims[f"{pair}: BALD minus {other}, mean of the curve (s.e. {error:.4f})"] = (
                value,
                value > -2 * error,
            )
    report.write("active_scikit", options.out, rows, claims)


if __name__ == "__main__":
    main()
