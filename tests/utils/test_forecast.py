"""Long work is announced by its pace."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import graphuq as gq
from graphuq.inference.evidence.annealed import _stones_left
from graphuq.utils import progress

X = np.random.default_rng(0).normal(size=(60, 2))
GRAPH = gq.knn_graph(X, 6, connect=True)
LABELS = gq.Labels([0, 1, 2, 3], [0, 1, 0, 1])

WORK = {
    "choosing alpha, gamma takes about": lambda: gq.tune(
        gq.Prior.projected(GRAPH, 10, alpha="auto"), LABELS, gq.Probit()
    ),
    "annealing takes about": lambda: gq.annealed_evidence(
        gq.Prior.projected(GRAPH, 10), gq.Probit(0.1), LABELS, draws=50, seed=0
    ),
    "solving for 4 nodes and 50 probes takes about": lambda: gq.SolvedPrior.of(
        GRAPH, LABELS.nodes, rank=5, probes=50
    ),
}


@pytest.mark.parametrize("message", WORK)
def test_long_work_says_so_once(message, monkeypatch):
    WORK[message]()  # nothing is said of short work: warnings are errors
    monkeypatch.setattr(progress, "MAX_SILENT_SECONDS", 1e-9)
    monkeypatch.setattr(progress, "LOOK_SECONDS", 0.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        WORK[message]()
    assert len([one for one in caught if str(one.message).startswith(message)]) == 1


def test_the_pace_is_that_of_the_steps_after_the_first(monkeypatch):
    clock = iter([0.0, 4.0, 8.0, 12.0])
    monkeypatch.setattr(progress.time, "perf_counter", lambda: next(clock))
    pace = progress.Pace(1002, "work", "do less")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pace.step()
        pace.step()  # too early to tell
    # 999 steps of 4 seconds are left
    with pytest.warns(RuntimeWarning, match="work takes about 67 minutes more: do less"):
        pace.step()
    pace.step()


def test_the_start_of_a_chain_is_not_taken_for_the_pace_of_draws(monkeypatch):
    clock = iter([30.0, 60.0, 66.0])
    monkeypatch.setattr(progress.time, "perf_counter", lambda: next(clock))
    pace = progress.Pace(100, "sampling", "take fewer draws")
    for _ in range(2):  # starts of 30 seconds, with a draw each
        pace.skip(1)
    pace.step(6)  # a draw takes a second: 92 are left
    pace.add(1000)
    clock = iter([72.0])
    with pytest.warns(RuntimeWarning, match="sampling takes about 18 minutes more: take fewer"):
        pace.step(6)


def test_a_run_takes_its_pace_from_the_draws_after_the_start_of_each_chain(monkeypatch):
    made = []

    class Recorder(progress.Pace):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            self.skipped, self.stepped, self.added = [], [], []
            made.append(self)

        def skip(self, work):
            super().skip(work)
            self.skipped.append(work)

        def step(self, work, **options):
            super().step(work, **options)
            self.stepped.append(work)

        def add(self, work):
            super().add(work)
            self.added.append(work)

    monkeypatch.setattr("graphuq.inference.runner.Pace", Recorder)
    post = gq.sample(PRIOR, gq.Probit(0.1), LABELS, target_ess=2500, chains=3, **RUN)
    (pace,) = made
    assert len(pace.skipped) == 3
    assert pace.stepped
    assert pace.added  # the first round was not enough
    draws = 3 * (post.settings["warmup"] + post.draws.shape[1])
    assert sum(pace.skipped) + sum(pace.stepped) == draws
    assert pace._left == 0


def test_a_rest_of_more_than_a_week_has_a_second_word(monkeypatch):
    clock = iter(range(0, 60, 10))
    monkeypatch.setattr(progress.time, "perf_counter", lambda: next(clock))
    pace = progress.Pace(1000, "work", "do less")
    said = []
    for left in (1000, 1000, 10**5, 10**5, 10**5, 10):  # steps of ten seconds
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            pace.step(left=left)
        said.append([str(one.message) for one in caught])
    assert said == [
        [],
        ["work takes about 2.8 hours more: do less"],
        ["work takes about 12 days more, beyond the limit of a week: do less"],
        *[[]] * 3,
    ]


PRIOR, ABSURD = gq.Prior.projected(GRAPH, 10), 2**40
RUN = {"seed": 0, "progress": False}
ENDLESS = {
    "sample": lambda **more: gq.sample(PRIOR, gq.Probit(0.1), LABELS, **more, **RUN),
    "jointly": lambda **more: gq.sample_jointly(
        PRIOR, gq.Probit("auto"), LABELS, gamma=(0.1, 1.0), **more, **RUN
    ),
    "annealed": lambda **more: gq.annealed_evidence(PRIOR, gq.Probit(0.1), LABELS, seed=0, **more),
}


@pytest.mark.parametrize(
    ("work", "budget", "error", "message"),
    [
        ("sample", {"warmup": ABSURD}, ValueError, "more than a week: ask for fewer draws"),
        ("sample", {"thin": ABSURD}, ValueError, "more than a week: ask for fewer draws"),
        ("sample", {"draws": ABSURD}, MemoryError, "ask for fewer draws"),
        ("sample", {"chains": ABSURD}, MemoryError, "ask for fewer draws"),
        ("jointly", {"warmup": ABSURD}, ValueError, "more than a week: ask for fewer draws"),
        ("jointly", {"thin": ABSURD}, ValueError, "more than a week: ask for fewer draws"),
        ("jointly", {"draws": ABSURD}, MemoryError, "ask for fewer draws"),
        ("annealed", {"draws": ABSURD}, MemoryError, "ask for fewer draws"),
        ("annealed", {"chains": ABSURD}, MemoryError, "ask for fewer draws"),
        ("annealed", {"chains": 10**8, "draws": 1}, MemoryError, "ask for fewer draws"),
    ],
)
def test_work_without_an_end_in_sight_is_refused(work, budget, error, message, monkeypatch):
    monkeypatch.setattr("graphuq.utils.memory._available_memory", lambda: 2.0**36)
    with pytest.raises(error, match=message):
        ENDLESS[work](**budget)


def test_a_map_estimate_has_an_end():
    with pytest.raises(ValueError, match=r"max_iter must be between .*; raise tol instead"):
        gq.map_estimate(PRIOR, gq.Probit(0.1), LABELS, max_iter=ABSURD)


@pytest.mark.parametrize(("top", "stones", "left"), [
    (16.0, [0.0, 1.0, 2.0], 14.0),  # steps of one
    (1.0, [0.0, 0.125, 0.25], 2.0),  # steps that double
    (1.0, [0.0, 1.0], 0.0),
    (np.inf, [0.0, 1.0], 8.0),
    (np.inf, [0.0, np.inf], 0.0),
])  # fmt: skip
def test_stones_that_are_left(top, stones, left):
    assert _stones_left(stones, top) == pytest.approx(left)
