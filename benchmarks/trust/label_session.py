"""A simulated annotator labels with `graphuq.labeling`: answers to a goal, and forecasts of them.

GRAPHUQ_DATA=... python -m benchmarks.trust.label_session [--quick] [--problem NAME] [--seeds N]

Each run has random items of its own. The learner takes notice of every answer where there are two
classes, and of every third where there are more, since it takes a second then and people do not
wait for it. A random order, which does not depend on it, is looked at after every fifth.

The goal is an accuracy of 95% on items without a label, or where no order of labels reaches it that
of a classifier with nine tenths of all labels less 1%. All orders have the same learner: the
session's questions, a random order, and the largest predictive entropy. A random order may go on
three times as long as the others. An order that does not reach the goal counts with its largest
number of answers.

A forecast is made after every five answers, of the answer with which the expected accuracy next
reaches 80%, 90%, 95% and 98%.
"""

from __future__ import annotations

import json
import re

import numpy as np
from scipy import sparse
from scipy.special import entr

import graphuq as gq
from benchmarks.common import report
from benchmarks.common.problems import spectrum_of
from graphuq.datasets.files import load_file
from graphuq.labeling import learner as learning
from graphuq.labeling.curve import Point, forecast
from graphuq.labeling.learner import Learned, Learner, Task
from graphuq.labeling.picks import pick_telling

ORDERS = ("session", "random", "entropy")
PROBLEMS = {
    "mnist 4,9": 90,
    "mnist ten": 240,
    "reuters": 90,
    "votes": 60,
    "ionosphere": 60,
    "pima": 90,
}
GOAL, LESS, FOLDS, EVERY, THIRD = 0.95, 0.01, 10, 5, 3
LONGER = 3
FORECAST_GOALS = (0.8, 0.9, 0.95, 0.98)

# The gamma of label propagation.
SPREAD = 0.1

# At most as many items of each problem, and this share of the items of a smaller one.
ITEMS, SHARE = 2000, 0.85


def load(name: str, seed: int) -> tuple[gq.Graph, np.ndarray]:
    """Return the graph of random items and their classes, as texts."""
    rng = np.random.default_rng([seed, 2])
    if name == "votes":
        X, y = gq.datasets.vote()
    elif name == "mnist ten":
        X, y = gq.datasets.mnist()
    elif name == "mnist 4,9":
        X, y = gq.datasets.digit_pair(4, 9, dataset="mnist", per_class=ITEMS, seed=0)
    elif name == "reuters":
        file = load_file("reuters_r8")
        parts = (file[f"feat_{part}"] for part in ("data", "indices", "indptr"))
        X, y = sparse.csr_array(tuple(parts), shape=file["feat_shape"]), file["y"]
    else:
        X, y = gq.datasets.uci(name)
    some = np.sort(rng.permutation(y.size)[: min(ITEMS, int(SHARE * y.size))])
    X, y = X[some], y[some].astype(str)
    if name == "votes":  # the paper's section 5.1.2
        return gq.full_graph(X, weights="gaussian", tau=1.25, self_loops=True), y
    if name == "reuters":
        X = X.toarray()
        X = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)
    return gq.knn_graph(gq.pca(X, min(50, X.shape[1])), 20, connect=True), y


def reachable(graph: gq.Graph, y: np.ndarray) -> float:
    """Return the accuracy of label propagation in ten folds, each from the labels of the others."""
    folds = np.random.default_rng(0).permutation(y.size) % FOLDS
    hits = []
    for fold in range(FOLDS):
        rest = np.flatnonzero(folds != fold)
        found = gq.ZhouGC(SPREAD).fit(graph, gq.Labels(rest, y[rest])).predict()
        hits.append(found[folds == fold] == y[folds == fold])
    return float(np.concatenate(hits).mean())


def choose(order: str, learned: Learned, labels: dict[int, str], shuffled: list[int]) -> int:
    """Return the item to label next; the first ones spread over the graph in both other orders."""
    if order == "random":
        return next(node for node in shuffled if node not in labels)
    if order == "entropy" and learned.view is not None:
        nodes = learned.view.nodes
        entropy = entr(learned.view.posterior.by_class).sum(axis=1)
        entropy[np.isin(nodes, list(labels))] = -1.0
        return int(nodes[entropy.argmax()])
    return next(node for node, _ in learned.questions if node not in labels)


def run(spectrum, y, order: str, seed: int, answers: int) -> list[dict]:
    """Return what is known after each answer: the accuracy, and what the model expects."""
    learner = Learner(spectrum, None, gq.Probit(), seed)
    # nobody asks the questions of other orders
    nothing = np.empty(0, dtype=np.int64)
    learning.pick_telling = pick_telling if order == "session" else lambda *_: nothing
    shuffled = np.random.default_rng([seed, 1]).permutation(y.size).tolist()
    classes, labels, found = tuple(np.unique(y).tolist()), {}, []
    task = Task(labels, classes, frozenset(), {}, {})
    learned = learner.begin(task)
    for count in range(1, answers + 1):
        node = choose(order, learned, labels, shuffled)
        labels = labels | {node: str(y[node])}
        if count % (EVERY if order == "random" else THIRD if len(classes) > 2 else 1):
            continue  # a random order does not depend on what is learned
        task = Task(labels, classes, frozenset(), {}, {})
        *_, learned = learner.learn(task, lambda: True)
        if learned.view is None:
            continue
        view = learned.view
        # accuracy of the items that stand for all
        shown = np.isin(view.nodes, learner._panel) & ~np.isin(view.nodes, list(labels))
        if view.nodes.size == y.size:
            shown = ~np.isin(view.nodes, list(labels))
        right = view.posterior.prediction[shown] == y[view.nodes[shown]]
        low, high = learned.expected.interval
        found.append({
            "answers": count,
            "accuracy": float(right.mean()),
            "expected": learned.expected.accuracy,
            "low": low,
            "high": high,
        })  # fmt: skip
    return found


def first_at(curve: list[dict], key: str, goal: float, most: int) -> int:
    """Return the answer with which a curve first reaches the goal, or the largest number."""
    return next((point["answers"] for point in curve if point[key] >= goal), most)


def forecasts(curve: list[dict], n_items: int) -> list[tuple[bool, int, int, int]]:
    """Return whether the interval of each forecast covers, and its three numbers.

    Where the goal was not reached, a forecast covers if its interval ends beyond the last answer.
    """
    empty, found, last = np.zeros(0), [], curve[-1]["answers"]
    for goal in FORECAST_GOALS:
        for count in range(EVERY, last, EVERY):
            before = [p for p in curve if p["answers"] <= count]
            if not before or before[-1]["expected"] >= goal:
                continue
            points = [Point(p["answers"], p["expected"], empty) for p in before]
            said = forecast(points, goal, n_items)
            if said is not None:
                reached = first_at(curve[len(before) :], "expected", goal, last + 1) - count
                low, high = said.low, said.high
                covers = count + high > last if reached + count > last else low <= reached <= high
                found.append((covers, low, said.answers, high))
    return found


def main() -> None:
    options = report.options(__doc__.splitlines()[0], seeds=(int, 0), problem=(str, ""))
    seeds = options.seeds or (1 if options.quick else 5)
    rows, claims, curves, covered = [], {}, {}, []
    for name, most in PROBLEMS.items():
        if options.problem not in ("", name):
            continue
        most = most // 4 if options.quick else most
        drawn = [load(name, seed) for seed in range(seeds)]
        spectra = [spectrum_of(graph) for graph, _ in drawn]
        best = [reachable(graph, y) for graph, y in drawn]
        goals, n_items = [min(GOAL, one - LESS) for one in best], drawn[0][1].size
        needed = {}
        for order in ORDERS:
            longest = LONGER * most if order == "random" else most
            runs = [
                run(spectrum, y, order, seed, longest)
                for seed, ((_, y), spectrum) in enumerate(zip(drawn, spectra, strict=True))
            ]
            curves[f"{name} {order}"] = runs
            each = list(zip(runs, goals, strict=True))
            reached = [first_at(curve, "accuracy", goal, longest) for curve, goal in each]
            needed[order] = float(np.mean(reached))
            last = [curve[-1] for curve in runs]
            inside = [p["low"] <= p["accuracy"] <= p["high"] for curve in runs for p in curve]
            row = {
                "data": name,
                "items": n_items,
                "classes": np.unique(drawn[0][1]).size,
                "all labels": float(np.mean(best)),
                "goal": float(np.mean(goals)),
                "order": order,
                "answers to the goal": needed[order],
                "standard error": float(np.std(reached) / np.sqrt(max(seeds - 1, 1))),
                "runs that reach it": sum(
                    any(p["accuracy"] >= goal for p in curve) for curve, goal in each
                ),
                "of": seeds,
                "last accuracy": float(np.mean([p["accuracy"] for p in last])),
                "last expected": float(np.mean([p["expected"] for p in last])),
                "intervals that hold the accuracy": float(np.mean(inside)),
            }
            if order == "session":
                own = [one for curve in runs for one in forecasts(curve, n_items)]
                covered += own
                middle = np.median([one[1:] for one in own], axis=0) if own else [np.nan] * 3
                row |= {
                    "forecasts": len(own),
                    "that cover": float(np.mean([one[0] for one in own])) if own else "-",
                    "median low, answers, high": ", ".join(f"{x:.0f}" for x in middle),
                }
            else:
                row |= dict.fromkeys(("forecasts", "that cover", "median low, answers, high"), "-")
            rows.append(row)
        ratio = needed["session"] / needed["random"]
        claims[f"{name}: answers relative to random order, at most 0.5"] = ratio, ratio <= 0.5
    if covered:
        share = float(np.mean([one[0] for one in covered]))
        claims["forecasts whose 90% interval covers, at least 0.9"] = share, share >= 0.9
    options.out.mkdir(parents=True, exist_ok=True)
    name = "_".join(["label_session", *re.findall(r"\w+", options.problem)])
    (options.out / f"{name}_curves.json").write_text(json.dumps(curves))
    report.write(name, options.out, rows, claims)


if __name__ == "__main__":
    main()
