"""Coverage of 90% prediction sets: split conformal prediction on the posterior with "auto".

GRAPHUQ_DATA=... python -m benchmarks.trust.conformal [--quick]

8% of each class are labeled and split in halves, one for the posterior and one held out. Labels are
drawn anew for each of 50 splits. With few held-out labels the coverage exceeds the requested one: r
of n + 1, with r rounded up. Takes about 3 minutes.
"""

from __future__ import annotations

import warnings

import numpy as np

import graphuq as gq
from benchmarks.common import report
from benchmarks.common.problems import problem, spectrum_of

ASKED = 0.9
CLAIMED, SHOWN = "mnist 4,9", ("ionosphere", "pima")


def one_split(spectrum: gq.Spectrum, y: np.ndarray, seed: int) -> dict:
    given, held_out = gq.reveal(y, 0.08, seed=seed).split(seed=seed)
    with warnings.catch_warnings():  # sets are valid even if chains disagree
        warnings.simplefilter("ignore", gq.ConvergenceWarning)
        post = gq.sample(spectrum, gq.Probit(), given, seed=seed, progress=False)
    found = post.prediction_sets(held_out, ASKED, seed=seed)
    sizes = np.delete(found.sets, found.known.nodes, axis=0).sum(axis=1)
    return {
        "given": len(given), "held out": len(held_out), "coverage": found.coverage(y),
        "empty": (sizes == 0).mean(), "both classes": (sizes == 2).mean(),
        "accuracy": post.accuracy(y),
    }  # fmt: skip


def main() -> None:
    options = report.options(__doc__.splitlines()[0], splits=(int, 50))
    splits = 5 if options.quick else options.splits
    rows = []
    for name in (CLAIMED, *SHOWN):
        graph, y = problem(name)
        spectrum = spectrum_of(graph)
        runs = [one_split(spectrum, y, seed) for seed in range(splits)]
        coverage = np.array([run["coverage"] for run in runs])
        n = runs[0]["held out"]
        rows.append({
            "data": name, "given": runs[0]["given"], "held out": n, "splits": splits,
            "coverage": float(coverage.mean()),
            "s.e.": float(coverage.std(ddof=1) / np.sqrt(splits)),
            "exact mean": float(np.ceil((n + 1) * ASKED - 1e-9) / (n + 1)),
            "spread of a split": float(coverage.std(ddof=1)),
            **{key: float(np.mean([run[key] for run in runs]))
               for key in ("empty", "both classes", "accuracy")},
        })  # fmt: skip
    mean = rows[0]["coverage"]
    claims = {f"mean coverage on {CLAIMED}, between 0.88 and 0.92": (mean, 0.88 <= mean <= 0.92)}
    report.write("conformal", options.out, rows, claims)


if __name__ == "__main__":
    main()
