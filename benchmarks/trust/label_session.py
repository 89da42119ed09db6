"""A simulated annotator labels with `graphuq.labeling`: answers to a goal, and forecasts of them.

GRAPHUQ_DATA=... python -m benchmarks.trust.label_session [--quick] [--problem NAME] [--seeds N]

The learner takes notice of every answer where there are two classes, and of every third where there
are more, since it takes a second then and people do not wait for it. A random order, which does not
depend on it, is looked at after every fifth.

The goal is an accuracy of 95% on items without a label, or where no order of labels reaches it that
of a classifier with nine tenths of all labels less 1%. All orders have the same learner: the
session's questions, a random order, and the largest predictive entropy. An order that does not
reach the goal counts with the largest number of answers.

A forecast is made after every five answers, of the answer with which the expected accuracy next
reaches 80%, 90%, 95% and 98%.
"""

from __future__ import annotations

import json

import numpy as np
from scipy import sparse
from scipy.special import entr

import graphuq as gq
from benchmarks.common import report
from benchmarks.common.problems import problem, spectrum_of
from graphuq.datasets.files import load_file
from graphuq.labeling import learner as learning
from graphuq.labeling.curve import Point, forecast
from graphuq.labeling.learner import Learned, Learner, Task
from graphuq.labeling.picks import pick_telling

ORDERS = ("session", "random", "entropy")
PROBLEMS = {"mnist 4,9": 200, "mnist ten": 240, "reuters": 150, "votes": 120, "pima": 200}
GOAL, LESS, FOLDS, EVERY, THIRD = 0.95, 0.01, 10, 5, 3
FORECAST_GOALS = (0.8, 0.9, 0.95, 0.98)

# The gamma of label propagation.
SPREAD = 0.1

ITEMS_OF_TEN = 2000


def load(name: str) -> tuple[gq.Graph, np.ndarray]:
    """Return a graph and its items' classes, as texts."""
    if name == "mnist ten":
        X, y = gq.datasets.mnist()
        some = np.random.default_rng(0).permutation(y.size)[:ITEMS_OF_TEN]
        return gq.knn_graph(gq.pca(X[some], 50), 20, connect=True), y[some].astype(str)
    if name == "reuters":
        file = load_file("reuters_r8")
        parts = (file[f"feat_{part}"] for part in ("data", "indices", "indptr"))
        counts = sparse.csr_array(tuple(parts), shape=file["feat_shape"]).toarray()
        counts /= np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-12)
        return gq.knn_graph(gq.pca(counts, 50), 20, connect=True), file["y"].astype(str)
    graph, y = problem(name)
    return graph, y.astype(str)


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


def run(graph, spectrum, y, order: str, seed: int, answers: int) -> list[dict]:
    """Return what is known after each answer: the accuracy, and what the model expects."""
    learner = Learner(spectrum, None, gq.Probit(), seed)
    # nobody asks the questions of other orders
    learning.pick_telling = pick_telling if order == "session" else lambda *_: ()
    shuffled = np.random.default_rng([seed, 1]).permutation(y.size).tolist()
    classes, labels, found = tuple(np.unique(y).tolist()), {}, []
    task = Task(labels, classes, frozenset(), {})
    learned = learner.begin(task)
    for count in range(1, answers + 1):
        node = choose(order, learned, labels, shuffled)
        labels = labels | {node: str(y[node])}
        if count % (EVERY if order == "random" else THIRD if len(classes) > 2 else 1):
            continue  # a random order does not depend on what is learned
        task = Task(labels, classes, frozenset(), {})
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
    seeds = options.seeds or (1 if options.quick else 2)
    rows, claims, curves, covered = [], {}, {}, []
    for name, most in PROBLEMS.items():
        if options.problem not in ("", name):
            continue
        graph, y = load(name)
        spectrum, most = spectrum_of(graph), most // 4 if options.quick else most
        best = reachable(graph, y)
        goal = min(GOAL, best - LESS)
        needed = {}
        for order in ORDERS:
            runs = [run(graph, spectrum, y, order, seed, most) for seed in range(seeds)]
            curves[f"{name} {order}"] = runs
            reached = [first_at(curve, "accuracy", goal, most) for curve in runs]
            needed[order] = float(np.mean(reached))
            last = [curve[-1] for curve in runs]
            inside = [p["low"] <= p["accuracy"] <= p["high"] for curve in runs for p in curve]
            row = {
                "data": name,
                "items": y.size,
                "classes": np.unique(y).size,
                "all labels": best,
                "goal": goal,
                "order": order,
                "answers to the goal": needed[order],
                "runs that reach it": sum(
                    any(p["accuracy"] >= goal for p in curve) for curve in runs
                ),
                "of": seeds,
                "last accuracy": float(np.mean([p["accuracy"] for p in last])),
                "last expected": float(np.mean([p["expected"] for p in last])),
                "intervals that hold the accuracy": float(np.mean(inside)),
            }
            if order == "session":
                own = [one for curve in runs for one in forecasts(curve, y.size)]
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
    (options.out / f"label_session_curves{options.problem}.json").write_text(json.dumps(curves))
    name = f"label_session {options.problem}".strip().replace(" ", "_")
    report.write(name, options.out, rows, claims)


if __name__ == "__main__":
    main()
