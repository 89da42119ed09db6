"""The search for neighbors: exact and approximate."""

import sys

import numpy as np
import pytest

import graphuq as gq
from graphuq.graphs import neighbor_search as module
from graphuq.graphs.neighbor_search import Approximate, Exact, build_search, find_nearest

faiss = pytest.importorskip("faiss")
K = 10


@pytest.fixture(scope="module", name="X")
def items():
    rng = np.random.default_rng(0)
    centers = 2 * rng.standard_normal((30, 8))
    return centers[rng.integers(30, size=6000)] + rng.standard_normal((6000, 8))


def share(found, true):
    return np.mean([np.intersect1d(a, b).size for a, b in zip(found, true, strict=True)]) / K


def test_exact_neighbors_are_those_of_all_distances(X):
    some = X[:300]
    squared = ((some[:, None] - some) ** 2).sum(axis=2)
    np.fill_diagonal(squared, np.inf)
    np.testing.assert_array_equal(Exact(some).nearest(None, K), squared.argsort(axis=1)[:, :K])
    np.testing.assert_array_equal(Exact(some).nearest(some[:5], 1)[:, 0], np.arange(5))


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


@pytest.mark.parametrize("name", CASES)
def test_links_are_those_of_all_differences(name):
    Y = CASES[name]
    squared = ((Y[:, None] - Y) ** 2).sum(axis=2)
    np.fill_diagonal(squared, np.inf)
    links = find_nearest(Exact(Y), None, Y, 9)
    kth = np.sort(squared, axis=1)[:, 8]
    assert np.allclose(links.kth, kth, rtol=1e-12, atol=0)
    near = squared <= kth[:, None] * (1 + 1e-9)
    assert np.array_equal(np.bincount(links.i, minlength=len(Y)), near.sum(axis=1))
    assert near[links.i, links.j].all()


@pytest.mark.parametrize("name", ["binary", "copies", "spread"])
def test_graphs_are_the_same_in_any_order_of_the_rows(name):
    X = CASES[name]
    before = gq.knn_graph(X, 8).adjacency
    order = rng.permutation(len(X))
    after = gq.knn_graph(X[order], 8).adjacency
    assert abs(after - before[order][:, order]).max() < 1e-12
    assert after.nnz == before.nnz


def test_blocks_of_an_exact_search_change_nothing(X, monkeypatch):
    whole, others = Exact(X).nearest(None, 5), Exact(X).nearest(X[::3] + 0.01, 5)
    monkeypatch.setattr(module, "EXACT_ROWS", 37)
    np.testing.assert_array_equal(Exact(X).nearest(None, 5), whole)
    np.testing.assert_array_equal(Exact(X).nearest(X[::3] + 0.01, 5), others)


def test_the_recall_is_what_it_says(X, monkeypatch):
    true = Exact(X).nearest(None, K)
    approximate = Approximate(X, K)
    own = share(approximate.nearest(None, K), true)
    assert approximate.recall >= 0.98
    assert own == pytest.approx(approximate.recall, abs=0.01)
    # negative control: a search with a lower target finds fewer
    monkeypatch.setattr(module, "MIN_RECALL", 0.3)
    poor = Approximate(X, K)
    assert poor.recall < 0.9
    assert share(poor.nearest(None, K), true) == pytest.approx(poor.recall, abs=0.03)


def test_no_item_is_its_own_neighbor_not_even_among_duplicates(X):
    doubled = np.vstack([X[:400], X[:400], X[:400]])
    found = Approximate(doubled, K).nearest(None, K)
    assert (found != np.arange(1200)[:, None]).all()
    assert all(len(set(row)) == K for row in found.tolist())


def test_more_neighbors_than_the_cells_hold_are_found_exactly(X):
    found = Approximate(X[:60], 3).nearest(None, 59)
    assert all(
        sorted(row) == [j for j in range(60) if j != i] for i, row in enumerate(found.tolist())
    )


@pytest.mark.parametrize("unit", [1e19, 1e-25])
def test_units_do_not_matter(X, unit):
    graph = gq.knn_graph(X[:2000] * unit, K, weights="binary", method="approximate")
    assert graph.recall >= 0.98
    assert (
        graph.n_edges == gq.knn_graph(X[:2000], K, weights="binary", method="approximate").n_edges
    )


def test_distances_beyond_single_precision_give_a_warning(X):
    apart = np.vstack([X[:300], X[:300] + 2e7])
    with pytest.warns(RuntimeWarning, match=r"finds only \d+% of the nearest .*method='exact'"):
        graph = gq.knn_graph(apart, K, method="approximate")
    assert graph.recall < 0.98


@pytest.mark.parametrize("n", [12, 100])
def test_few_items_are_searched_in_silence(X, n, capfd):
    assert gq.knn_graph(X[:n], 5, method="approximate").recall == 1.0
    assert capfd.readouterr().err == ""


def test_threads_change_nothing(X):
    runs = []
    before = faiss.omp_get_max_threads()
    try:
        for threads in (1, 2):
            faiss.omp_set_num_threads(threads)
            runs.append(gq.knn_graph(X, K, method="approximate").adjacency)
    finally:
        faiss.omp_set_num_threads(before)
    assert (runs[0] != runs[1]).nnz == 0


def test_graphs_of_many_items_are_approximate_and_record_their_recall(X, monkeypatch):
    exact = gq.knn_graph(X, K)
    assert exact.recall == 1.0
    monkeypatch.setattr(module, "MAX_EXACT_ITEMS", 5000)
    monkeypatch.setattr(module, "BLOCK_ROWS", 5000)
    graph = gq.knn_graph(X, K, connect=True)
    assert 0.98 <= graph.recall < 1.0
    assert graph.largest_component().recall == graph.recall
    kept = exact.adjacency.multiply(graph.adjacency > 0).nnz / exact.adjacency.nnz
    assert kept > 0.97
    assert gq.knn_graph(X, K, method="exact").recall == 1.0


def test_without_faiss_the_extra_is_named(X, monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ImportError, match=r"pip install 'graphuq\[neighbors\]', or take method="):
        gq.knn_graph(X, K, method="approximate")


def test_unknown_methods_are_refused(X):
    with pytest.raises(ValueError, match="method must be one of"):
        build_search(X, K, "fast")
