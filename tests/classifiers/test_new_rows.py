"""Draws of the fields at new rows: those of equal fitted rows, without a dense matrix."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import graphuq as gq
from graphuq.classifiers.new_rows import draw_new_rows
from graphuq.graphs.construction import build_graph
from graphuq.graphs.neighbors import Neighbors


def fit(X, y, n_classes):
    neighbors = Neighbors(X, 8, "self-tuning")
    graph = build_graph(neighbors, connect=True)
    prior = gq.Prior.projected(graph, rank=10, alpha=2.0)
    labels = gq.reveal((y + 2 * (X[:, 0] > 1.0)).clip(max=n_classes - 1), counts=5, seed=0)
    return gq.approximate(prior, gq.Probit(0.1), labels), prior, graph, neighbors


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_that_equal_fitted_ones_get_the_mean_of_their_draws(n_classes):
    X, y = gq.datasets.two_moons(120, seed=0)
    X[7], y[7] = X[3], y[3]
    model = fit(X, y, n_classes)
    found = draw_new_rows(*model, X, draws=6, seed=0)
    assert found.shape == (6, 120, 1 if n_classes == 2 else 3)
    blocks = model[0].latent_draws(model[1], np.arange(120), draws=6, seed=0)
    fields = np.concatenate(list(blocks)).reshape(found.shape)
    fields[:, [3, 7]] = fields[:, [3, 7]].mean(axis=1, keepdims=True)
    np.testing.assert_allclose(found, fields, rtol=0, atol=1e-12)


def test_memory_grows_with_the_rows_and_not_with_their_pairs(monkeypatch):
    X, y = gq.datasets.two_moons(2000, seed=0)
    model = fit(X, y, 2)
    # the search for neighbors takes memory of its own
    weighed = model[-1].weigh_new(X)
    monkeypatch.setattr(Neighbors, "weigh_new", lambda *_: weighed)
    tracemalloc.start()
    draw_new_rows(*model, X, draws=2, seed=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8.0 * 2000**2 / 4
