"""Candidates in single precision never change which neighbors are found."""

import numpy as np
import pytest

import graphuq as gq
from graphuq.graphs import neighbor_search, single_search
from graphuq.graphs.neighbor_search import Exact
from graphuq.graphs.single_search import SingleSearch

rng = np.random.default_rng(0)
spread = rng.normal(size=(700, 20)) * np.geomspace(5, 0.1, 20)
CASES = {
    "spread": spread,
    "large units": 1e120 * spread,
    "small units": 1e-120 * spread,
    "an outlier": np.vstack([spread, 1e9 * spread[:1]]),
    "clusters far apart": spread + 1e3 * rng.integers(0, 2, (700, 1)),
    "clusters closer than single precision": 3e-4 * spread + rng.choice([-1, 1], (700, 1)),
    "binary": (rng.random((700, 20)) < 0.3).astype(float),
    "copies": np.repeat(spread[:70], 10, axis=0),
    "all but one equal": np.vstack([np.zeros((699, 20)), np.ones((1, 20))]),
}


def lengths_to_nearest(X, Y, k):
    """Return the sorted squared distances to the k nearest rows of Y, from all differences."""
    squared = ((X[:, None] - Y) ** 2).sum(axis=2)
    return np.sort(squared, axis=1)[:, :k], squared


@pytest.mark.parametrize("name", CASES)
def test_what_is_sure_is_true(name):
    Y = CASES[name]
    for X in (Y[::7], Y[::7] + 0.01 * Y[3], 1e30 * Y[:3]):
        true, squared = lengths_to_nearest(X, Y, 9)
        found = SingleSearch(Y).find(X, 9)
        lengths = np.sort(np.take_along_axis(squared, found.items, axis=1), axis=1)
        assert np.allclose(lengths[found.sure], true[found.sure], rtol=1e-12, atol=0)
    if name in ("spread", "large units", "small units", "an outlier"):
        assert SingleSearch(Y).find(Y[:500:7], 9).sure.all()


def test_without_the_bound_of_rounding_wrong_neighbors_would_be_sure(monkeypatch):
    Y = CASES["clusters closer than single precision"]
    true, squared = lengths_to_nearest(Y, Y, 9)
    assert not SingleSearch(Y).find(Y, 9).sure.any()
    monkeypatch.setattr(single_search, "EPS", 0.0)
    found = SingleSearch(Y).find(Y, 9)
    lengths = np.sort(np.take_along_axis(squared, found.items, axis=1), axis=1)
    assert not np.allclose(lengths[found.sure], true[found.sure], rtol=1e-9, atol=0)


@pytest.mark.parametrize("name", CASES)
def test_an_exact_search_finds_the_same_with_it_and_without(name, monkeypatch):
    X, found = CASES[name], []
    monkeypatch.setattr(neighbor_search, "EXACT_ROWS", 300)
    for least in (1, 10**9):
        monkeypatch.setattr(neighbor_search, "MIN_PAIRS", least)
        _, squared = lengths_to_nearest(X, X, 1)
        items = Exact(X).nearest(None, 9)
        assert not (items == np.arange(len(X))[:, None]).any()
        found.append(np.sort(np.take_along_axis(squared, items, axis=1), axis=1))
    assert np.allclose(*found, rtol=1e-12, atol=1e-14 * abs(X).max() ** 2)


@pytest.mark.parametrize("name", ["binary", "copies", "spread"])
def test_graphs_are_the_same_in_any_order_of_the_rows(name, monkeypatch):
    X = CASES[name]
    before = gq.knn_graph(X, 8).adjacency
    order = rng.permutation(len(X))
    monkeypatch.setattr(neighbor_search, "MIN_PAIRS", 1)
    after = gq.knn_graph(X[order], 8).adjacency
    assert abs(after - before[order][:, order]).max() < 1e-12
    assert after.nnz == before.nnz


def test_the_heap_keeps_the_smallest_of_each_row():
    products = rng.normal(size=(50, 333)).astype(np.float32)
    values = np.full((50, 17), np.finfo(np.float32).max)
    items = np.zeros((50, 17), dtype=np.int64)
    for first in range(0, 333, 100):
        part = np.ascontiguousarray(products[:, first : first + 100])
        single_search._keep_smallest(part, first, values, items)
    assert np.array_equal(np.sort(values, axis=1), np.sort(products, axis=1)[:, :17])
    assert np.array_equal(np.take_along_axis(products, items, axis=1), values)
