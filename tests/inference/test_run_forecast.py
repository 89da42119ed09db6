"""How long a run takes, by its pace."""

import warnings
from types import SimpleNamespace

import pytest

from graphuq.inference.runner import Forecast
from graphuq.utils import progress

N_THREADS, CHUNK = 2, 10


def follow(monkeypatch, chains, chunks, start, draw, until=1e9):
    """Forecast a run by the seconds of each start and draw, until the clock has gone so far."""
    clock = [0.0]
    monkeypatch.setattr(progress.time, "perf_counter", lambda: clock[0])
    sampler = SimpleNamespace(advice=lambda *_: "", draw_seconds=lambda *_: draw)
    run = Forecast(sampler, None, 1, CHUNK * chunks * chains, chains, N_THREADS)
    for k in range(chunks * chains):
        first = k < chains
        seconds = first * start + CHUNK * draw
        clock[0] += seconds / N_THREADS
        if clock[0] > until:
            return
        run.update(CHUNK, {}, first, seconds)


def test_many_chains_are_forecast_while_they_start(monkeypatch):
    # 10^5 starts of 0.01 s and 2 * 10^6 draws of 0.001 s in two threads take 25 minutes
    said = r"^sampling takes about 25 minutes more: Ctrl-C after the warm-up returns the draws"
    with pytest.warns(RuntimeWarning, match=said):
        follow(monkeypatch, 10**5, 2, start=0.01, draw=0.001, until=6.0)


def test_a_long_start_is_not_taken_for_the_pace_of_draws(monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        follow(monkeypatch, 6, 100, start=30.0, draw=0.0001)
