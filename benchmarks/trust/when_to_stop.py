"""Sessions that stop by `graphuq.labeling.stopping`: whether the goal is reached, and the labels.

GRAPHUQ_DATA=... python -m benchmarks.trust.when_to_stop [--quick] [--problem NAME] [--seeds N]

A simulated annotator answers the questions of a session, and labels each random sample that is
proposed. The session ends where it is told to stop, or with the largest number of questions. The
goals are what label propagation reaches with nine tenths of all labels, less 5 and less 10
hundredths. The oracle sees all classes, and stops at the first answer with which the accuracy
reaches the goal. Beside it are sessions that stop where the expected accuracy reaches the goal,
without any sample.

No sample alone can show a goal g with fewer than log(risk) / log(g) right predictions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

import graphuq as gq
from benchmarks.common import report
from benchmarks.common.problems import spectrum_of
from benchmarks.trust.label_session import PROBLEMS, load, reachable
from graphuq.labeling.kept_progress import RISK
from graphuq.labeling.learner import Learned, Learner, Task
from graphuq.labeling.stopping import judge

LESS = (0.05, 0.1)
SEEDS = {"mnist 4,9": 24, "reuters": 4, "votes": 24, "ionosphere": 24, "pima": 24}
THIRD = 3


@dataclass
class Run:
    """A session: answers to questions and to samples until it stops, and what is true then."""

    answers: int = 0
    sampled: int = 0
    accuracy: float = 0.0
    stopped: bool = False
    oracle: int | None = None
    trusting: float | None = None  # accuracy where the goal is first expected


def run(spectrum: gq.Spectrum, y: np.ndarray, goal: float, seed: int, most: int) -> Run:
    """Return how a session goes."""
    learner, rng = Learner(spectrum, None, gq.Probit(), seed), np.random.default_rng([seed, 3])
    classes, labels, sample = tuple(np.unique(y).tolist()), {}, {}

    def task() -> Task:
        return Task(labels, classes, frozenset(sample), {}, sample)

    def accuracy(learned: Learned) -> float:
        """The accuracy of all items without a label that the learner looks at."""
        nodes = learned.view.nodes
        shown = ~np.isin(nodes, [*labels, *sample])
        right = learned.view.posterior.prediction[shown] == y[nodes[shown]]
        return float(right.mean())

    found, learned = Run(), learner.begin(task())
    while found.answers < most and not found.stopped:
        node = next(n for n, _ in learned.questions if n not in labels and n not in sample)
        labels[node] = str(y[node])
        found.answers = len(labels)
        if found.answers % (THIRD if len(classes) > 2 else 1):
            continue
        *_, learned = learner.learn(task(), lambda: True)
        if learned.view is None:
            continue
        found.accuracy = accuracy(learned)
        if found.accuracy >= goal and found.oracle is None:
            found.oracle = found.answers
        if not sample and learned.expected.accuracy >= goal and found.trusting is None:
            found.trusting = found.accuracy
        stop = judge(learned.expected, goal, RISK, found.answers)
        while stop.sample and not stop.reached:
            left = np.setdiff1d(np.arange(y.size), [*labels, *sample])
            drawn = rng.choice(left, stop.sample, replace=False).tolist()
            sample |= {node: str(y[node]) for node in drawn}
            *_, learned = learner.learn(task(), lambda: True)
            stop = judge(learned.expected, goal, RISK, found.answers)
        found.stopped, found.sampled = stop.reached, len(sample)
        found.accuracy = accuracy(learned)
    return found


def main() -> None:
    options = report.options(__doc__.splitlines()[0], seeds=(int, 0), problem=(str, ""))
    rows, runs = [], []
    for name, all_seeds in SEEDS.items():
        if options.problem not in ("", name):
            continue
        seeds = options.seeds or (1 if options.quick else all_seeds)
        most = PROBLEMS[name] // 2 if options.quick else PROBLEMS[name]
        for less in LESS:
            own, goals = [], []
            for seed in range(seeds):
                graph, y = load(name, seed)
                goals.append(reachable(graph, y) - less)
                own.append(run(spectrum_of(graph), y, goals[-1], seed, most))
            rows.append(row_of(name, np.array(goals), own))
            runs += list(zip(own, goals, strict=True))
    stopped = [one for one in runs if one[0].stopped]
    claims = {}
    if stopped:
        share = float(np.mean([found.accuracy >= goal for found, goal in stopped]))
        claims["sessions that stop have reached the goal, at least 0.95"] = share, share >= 0.95
        known = [found for found, _ in stopped if found.oracle is not None]
        cost = sum(one.answers + one.sampled for one in known) / sum(one.oracle for one in known)
        claims["labels relative to an oracle, at most 1.5"] = cost, cost <= 1.5
    report.write("when_to_stop", options.out, rows, claims)


def row_of(name: str, goals: np.ndarray, own: list[Run]) -> dict:
    """Return the means over the sessions of one problem and goal."""

    def mean(values: list[float]) -> float | str:
        return float(np.mean(values)) if values else "-"

    each = list(zip(own, goals, strict=True))
    return {
        "data": name,
        "goal": float(goals.mean()),
        "sessions": len(own),
        "stop": sum(found.stopped for found in own),
        "have reached it": len([1 for one, goal in each if one.stopped and one.accuracy >= goal]),
        "answers": mean([found.answers for found in own if found.stopped]),
        "sample": mean([found.sampled for found in own if found.stopped]),
        "oracle": mean([found.oracle for found in own if found.stopped and found.oracle]),
        "least for a sample alone": math.ceil(math.log(RISK) / math.log(goals.mean())),
        "expect it": sum(found.trusting is not None for found in own),
        "and have reached it": len([1 for one, goal in each if (one.trusting or 0.0) >= goal]),
    }


if __name__ == "__main__":
    main()
