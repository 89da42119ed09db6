"""Wrong labels: how well the posterior and cleanlab find them, from the same labels.

GRAPHUQ_DATA=... python -m benchmarks.trust.suspects_beside_cleanlab [--quick] [--only cora,...]

Up to 200 items are labeled at random, at most 40% of a set, and none, 5%, 10% or 20% of the labels
are flipped: to any other class, or to the likeliest other one, which a logistic regression on all
true labels names. Classes with fewer than ten labels are left out.

The posterior is that of the default prior under probit, by expectation propagation, and mistakes
are those of `graphuq.find_mistakes`. "flagged" is how many labels are suspect, and "flagged, wrong"
how many of these were flipped. Labels that were not flipped count as right, though some sets have
labels that are wrong to begin with.

cleanlab gets what its documentation advises: out-of-sample probabilities of a logistic regression,
here on 50 principal components, by five-fold cross-validation, and its default score, the
probability of the given label. It has no use for items without a label. "cleanlab, pred_probs of
the posterior" is the same score of what all other labels say of each label. Average precision is
that of the order of each.
"""

from __future__ import annotations

import warnings
from importlib.util import find_spec

import numpy as np
from cleanlab.rank import get_label_quality_scores
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import graphuq as gq
from benchmarks.common import report
from benchmarks.trust.defaults import posterior
from benchmarks.trust.peers.data_sets import COMPONENTS, SETS, network

MOST_LABELS, MOST_SHARE, FEWEST, FOLDS = 200, 0.4, 10, 5
FLIPS = [(share, kind) for kind in ("random", "likeliest") for share in (0.0, 0.05, 0.1, 0.2)]
FLIPS.remove((0.0, "likeliest"))
COUNTS = ("wrong", "flagged", "flagged, wrong")
OURS, OURS_SCORED, THEIRS = "suspect_labels", "cleanlab, pred_probs of the posterior", "cleanlab"


def regression():
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))


def out_of_sample(X, y) -> np.ndarray:
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    return cross_val_predict(regression(), X, y, cv=folds, method="predict_proba")


def draw_labels(y, likely, share: float, kind: str, seed: int):
    """Return flipped labels of some items, and which of them are wrong."""
    rng = np.random.default_rng(seed)
    nodes = np.sort(rng.permutation(y.size)[: min(MOST_LABELS, round(MOST_SHARE * y.size))])
    shown, counts = np.unique(y[nodes], return_counts=True)
    nodes = nodes[np.isin(y[nodes], shown[counts >= FEWEST])]
    classes, values = np.unique(y[nodes], return_inverse=True)
    wrong = np.zeros(nodes.size, dtype=bool)
    wrong[rng.permutation(nodes.size)[: round(share * nodes.size)]] = True
    if kind == "random":
        other = (values + rng.integers(1, classes.size, size=values.size)) % classes.size
    else:
        p = likely[nodes][:, classes]
        p[np.arange(nodes.size), values] = -1
        other = p.argmax(axis=1)
    return gq.Labels(nodes, np.where(wrong, other, values), np.arange(classes.size)), wrong


def one_draw(problem, X, likely, share: float, kind: str, seed: int) -> dict[str, float]:
    labels, wrong = draw_labels(problem.y, likely, share, kind, seed)
    post = gq.find_mistakes(posterior(problem, labels, "default"))
    table = post.suspect_labels()
    order, flagged = np.searchsorted(labels.nodes, table["node"]), table["suspect"].to_numpy()
    counts = {"wrong": wrong.sum(), "flagged": flagged.sum()}
    counts["flagged, wrong"] = wrong[order[flagged]].sum()
    if not wrong.any():
        return counts | dict.fromkeys((OURS, OURS_SCORED, THEIRS), np.nan)
    rank = np.empty(order.size)
    rank[order] = np.arange(order.size)
    theirs = out_of_sample(X[labels.nodes], labels.indices)
    suspicion = {
        OURS: -rank,
        OURS_SCORED: -get_label_quality_scores(labels.indices, post.pred_probs()),
        THEIRS: -get_label_quality_scores(labels.indices, theirs),
    }
    return counts | {
        name: average_precision_score(wrong, score) for name, score in suspicion.items()
    }


def main() -> None:
    options = report.options(__doc__.splitlines()[0], draws=(int, 0), only=(str, ""))
    draws = options.draws or (1 if options.quick else 5)
    sets = {**SETS, **{name: lambda name=name: network(name)[0] for name in ("cora", "citeseer")}}
    # without features there is nothing for a regression, and the cells come with scanpy
    left_out = {"polblogs"} | (set() if find_spec("scanpy") else {"pbmc68k_reduced"})
    names = options.only.split(",") if options.only else [n for n in sets if n not in left_out]
    rows, claims = [], {}
    for name in names:
        problem = sets[name]()
        X = problem.features
        X = gq.pca(X, COMPONENTS) if X.shape[1] > COMPONENTS else X
        likely = out_of_sample(X, problem.y)
        for share, kind in FLIPS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                runs = [one_draw(problem, X, likely, share, kind, seed) for seed in range(draws)]
            means = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
            means |= {key: sum(int(run[key]) for run in runs) for key in COUNTS}
            gain = np.array([run[OURS] - run[THEIRS] for run in runs])
            error = float(gain.std(ddof=1) / np.sqrt(draws)) if draws > 1 else np.nan
            mean = float(gain.mean())
            row = {"data": name, "classes": problem.n_classes, "flips": f"{share:.0%} {kind}"}
            rows.append({**row, **means, "gain": mean, "its s.e.": error})
            print(rows[-1], flush=True)
            if share:
                claim = f"{name}, {share:.0%} {kind}: gain over cleanlab, at least 0"
                claims[claim] = (mean, mean >= 0)
    flagged, found = (sum(row[key] for row in rows) for key in COUNTS[1:])
    claims["share of right labels among those flagged, at most 0.2"] = (
        1 - found / flagged,
        found >= 0.8 * flagged,
    )
    report.write("suspects_beside_cleanlab", options.out, rows, claims)


if __name__ == "__main__":
    main()
