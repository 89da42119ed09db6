"""Whether 90% intervals of the shares of the classes hold 90% of the shares.

GRAPHUQ_DATA=... python -m benchmarks.trust.class_shares [--quick] [--draws 4] [--jobs 2]

Worlds are draws of the prior itself, with a level of deviation 1, and 500 items of 2, 3 or 8
classes: graph, features and parameters are known. Of them 24 to 240 are labeled at random, by
class, or half at random and half where the posterior is least certain. Real sets have 2, 5 and 20
labels of each class, and some at random, and all parameters are chosen from the labels.
"covered" is the part of all intervals that contain the share, "rare" that of shares below 5%. The
control takes labels by class as random ones; there the intervals must fail in worlds.

Takes about 20 minutes on two cores.
"""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
from joblib import Parallel, delayed

import graphuq as gq
from benchmarks.common import report
from benchmarks.trust.peers.data_sets import SETS, at_random, some_of_each
from graphuq.labels.labels import ANY, BY_CLASS, RANDOM
from graphuq.likelihoods.sign_model import SignModel
from graphuq.priors.default_sum import default_graph_prior, default_sum

N_ITEMS, GAMMA = 500, 0.2
CLASSES, LABELS = (2, 3, 8), (24, 80, 240)
RARE = 0.05
CONTROL = "by class, as if at random"
NAMES = sorted(name for name in SETS if name not in ("polblogs", "pbmc68k_reduced"))


def judged(post: gq.Posterior, truth: np.ndarray) -> dict:
    """Return how the intervals of all classes compare with the true shares."""
    shares = post.class_shares()
    low, high = shares.interval(0.9)[0].T
    covered = (low <= truth + 1e-9) & (truth <= high + 1e-9)
    error, rare = np.abs(shares.mean[0] - truth), truth < RARE
    return {"covered": float(covered.mean()), "width": float((high - low).mean()),
            "error": float(error.mean()),
            "rare": float(covered[rare].mean()) if rare.any() else None}  # fmt: skip


def as_random(post: gq.Posterior) -> gq.Posterior:
    """Return a posterior whose labels claim to be drawn at random."""
    own = post.labels
    labels = gq.Labels(own.nodes, own.values, own.classes, sampling=RANDOM)
    return dataclasses.replace(post, labels=labels)


def world(n_classes: int, draw: int) -> list[dict]:
    """Return a record of each design and number of labels in one draw of the prior."""
    rng = np.random.default_rng([n_classes, draw])
    X = rng.normal(size=(N_ITEMS, 4)) + 3 * rng.integers(0, 2, size=(N_ITEMS, 4))
    graph = gq.knn_graph(X, n_neighbors=10, connect=True)
    prior = gq.Prior.projected(graph, rank=100, alpha=2.0, tau=0.1) + gq.Level(1.0)
    prior += gq.FeaturePrior(X, length_scale=1.0)
    prior = prior.with_parameters(weight=0.5)
    fields = prior.draw(n_classes if n_classes > 2 else 1, seed=rng)
    p = SignModel(GAMMA).wins(np.reshape(fields, (-1, N_ITEMS)).T)
    y = (p.cumsum(axis=1) > rng.random((N_ITEMS, 1))).argmax(axis=1)
    truth = np.bincount(y, minlength=n_classes) / N_ITEMS
    records = []
    for count in LABELS:
        for design in (RANDOM, BY_CLASS, ANY):
            labels = labels_of(y, n_classes, count, design, prior, rng)
            if labels is None:
                continue
            post = approximate(prior, labels)
            row = {"data": f"worlds, K = {n_classes}", "labels": count, "draw": draw}
            records.append({**row, "design": design, **judged(post, truth)})
            if design == BY_CLASS:
                records.append({**row, "design": CONTROL, **judged(as_random(post), truth)})
    return records


def labels_of(
    y: np.ndarray,
    n_classes: int,
    count: int,
    design: str,
    prior: gq.SumPrior,
    rng: np.random.Generator,
) -> gq.Labels | None:
    """Return labels of a design; None if a class has too few items."""
    classes = np.arange(n_classes)
    if design == BY_CLASS:
        each = count // n_classes
        if np.bincount(y, minlength=n_classes).min() < each:
            return None
        nodes = [rng.choice(np.flatnonzero(y == c), each, replace=False) for c in classes]
        nodes = np.concatenate(nodes)
    else:
        nodes = rng.choice(N_ITEMS, count if design == RANDOM else count // 2, replace=False)
    labels = gq.Labels(nodes, y[nodes], classes, sampling=design)
    if design == ANY:
        order = approximate(prior, labels).ranking()
        asked = order[~np.isin(order, nodes)][: count - nodes.size]
        nodes = np.append(nodes, asked)
        labels = gq.Labels(nodes, y[nodes], classes, sampling=ANY)
    return labels


def approximate(prior: gq.SumPrior, labels: gq.Labels, likelihood: object = None) -> gq.Posterior:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "expectation propagation is (poor|not)")
        return gq.approximate(prior, likelihood or gq.Probit(GAMMA), labels)


def real(name: str, draw: int) -> list[dict]:
    """Return a record of each design on a set."""
    problem, records = SETS[name](), []
    truth = np.bincount(problem.y, minlength=problem.n_classes) / len(problem.y)
    tasks = {f"{count} a class": some_of_each(problem, count, draw) for count in (2, 5, 20)}
    tasks["at random"] = at_random(problem, draw)
    prior = default_sum(default_graph_prior(problem.spectrum, problem.spectrum.rank), problem.X)
    for task, labels in tasks.items():
        if labels is None:
            continue
        tuned = gq.tune(prior, labels)
        post = approximate(tuned.prior, labels, tuned.likelihood)
        row = {"data": name, "labels": task, "draw": draw, "design": labels.sampling}
        records.append({**row, **judged(post, truth)})
    return records


def rows_of(records: list[dict]) -> list[dict]:
    """Return means over draws, and over sets."""
    rows = {}
    for r in records:
        where = r["data"] if r["data"].startswith("worlds") else "sets"
        rows.setdefault((where, r["design"], r["labels"]), []).append(r)
    return [
        {"data": where, "design": design, "labels": labels, "runs": len(own),
         **{name: mean_of(own, name) for name in ("covered", "rare", "width", "error")}}
        for (where, design, labels), own in sorted(rows.items(), key=str)
    ]  # fmt: skip


def mean_of(records: list[dict], name: str) -> float | None:
    """Return the mean of what is known."""
    known = [r[name] for r in records if r[name] is not None]
    return float(np.mean(known)) if known else None


def main() -> None:
    options = report.options(__doc__.splitlines()[0], draws=(int, 4), jobs=(int, 2))
    names = ["iris", "wine"] if options.quick else NAMES
    n_worlds, n_draws = (4, 1) if options.quick else (10 * options.draws, options.draws)
    jobs = [delayed(world)(k, draw) for k in CLASSES for draw in range(n_worlds)]
    jobs += [delayed(real)(name, draw) for name in names for draw in range(n_draws)]
    records = [r for found in Parallel(n_jobs=options.jobs)(jobs) for r in found]
    claims = {}
    for where in ("worlds", "sets"):
        for design in (RANDOM, BY_CLASS, ANY, CONTROL):
            own = [
                r["covered"]
                for r in records
                if r["design"] == design and r["data"].startswith("worlds") == (where == "worlds")
            ]
            if not own:
                continue
            share = float(np.mean(own))
            if design == CONTROL:
                claims[f"{where}, {design}: intervals hold less than 80%"] = share, share < 0.8
            elif where == "worlds":
                claims[f"{where}, {design}: intervals hold 88 to 94%"] = (
                    share,
                    0.88 <= share <= 0.94,
                )
            else:
                claims[f"{where}, {design}: intervals hold at least 88%"] = share, share >= 0.88
    report.write("class_shares", options.out, records, claims, shown=rows_of(records))


if __name__ == "__main__":
    main()
