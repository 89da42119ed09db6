"""Long work is announced by its pace."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import graphuq as gq
from graphuq.utils import forecast

X = np.random.default_rng(0).normal(size=(60, 2))
GRAPH = gq.knn_graph(X, 6, connect=True)
LABELS = gq.Labels([0, 1, 2, 3], [0, 1, 0, 1])

WORK = {
    "choosing alpha, gamma takes about": lambda: gq.tune(
        gq.Prior.projected(GRAPH, 10, alpha="auto"), LABELS, gq.Probit()
    ),
    "solving for 4 nodes and 50 probes takes about": lambda: gq.SolvedPrior.of(
        GRAPH, LABELS.nodes, rank=5, probes=50
    ),
}


@pytest.mark.parametrize("message", WORK)
def test_long_work_says_so_once(message, monkeypatch):
    WORK[message]()  # nothing is said of short work: warnings are errors
    monkeypatch.setattr(forecast, "MAX_SILENT_SECONDS", 1e-9)
    monkeypatch.setattr(forecast, "LOOK_SECONDS", 0.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        WORK[message]()
    assert len([one for one in caught if str(one.message).startswith(message)]) == 1


def test_the_pace_is_that_of_the_steps_after_the_first(monkeypatch):
    clock = iter([0.0, 4.0, 8.0, 12.0])
    monkeypatch.setattr(forecast.time, "perf_counter", lambda: next(clock))
    pace = forecast.Pace(1002, "work", "do less")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pace.step()
        pace.step()  # too early to tell
    # 999 steps of 4 seconds are left
    with pytest.warns(RuntimeWarning, match="work takes about 67 minutes: do less"):
        pace.step()
    pace.step()
