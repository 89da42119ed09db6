"""Graphs of nearest neighbors that other packages found."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

import graphuq as gq

K = 6
X = np.random.default_rng(0).normal(size=(80, 4))
TWINS = X.copy()
TWINS[5:8] = X[4]
DISTANCES, INDICES = NearestNeighbors(n_neighbors=K).fit(X).kneighbors()
GOOD = (INDICES, DISTANCES)
WEIGHTS = [
    {"weights": "self-tuning"},
    {"weights": "gaussian", "tau": 1.3},
    {"weights": "binary"},
]


def gap(a, b):
    return abs(a.adjacency - b.adjacency).max()


@pytest.mark.parametrize("options", WEIGHTS, ids=lambda options: options["weights"])
@pytest.mark.parametrize("symmetrise", ["union", "mean", "mutual"])
def test_lists_give_the_graph_of_the_items(options, symmetrise):
    expected = gq.knn_graph(X, K, symmetrise=symmetrise, **options)
    given = gq.knn_graph(neighbors=GOOD, symmetrise=symmetrise, **options)
    assert gap(given, expected) < 1e-12
    # one neighbor fewer is another graph
    other = gq.knn_graph(X, K - 1, symmetrise=symmetrise, **options)
    assert gap(given, other) > 0.1
    fewer = gq.knn_graph(neighbors=GOOD, n_neighbors=K - 1, symmetrise=symmetrise, **options)
    assert gap(fewer, other) < 1e-12


def test_items_that_list_themselves_are_dropped_wherever_they_stand():
    search = NearestNeighbors(n_neighbors=K + 1).fit(TWINS)
    distances, indices = search.kneighbors(TWINS)
    assert not (indices[:, 0] == np.arange(80)).all()  # scikit-learn gives a duplicate first
    without = search.kneighbors(n_neighbors=K)
    expected = gq.knn_graph(neighbors=(without[1], without[0]))
    assert gap(gq.knn_graph(neighbors=(indices, distances)), expected) < 1e-12
    shuffled = np.random.default_rng(1).permuted(np.tile(np.arange(K + 1), (80, 1)), axis=1)
    lists = tuple(np.take_along_axis(a, shuffled, axis=1) for a in (indices, distances))
    assert gap(gq.knn_graph(neighbors=lists), expected) < 1e-12
    # types of hnswlib, and rounding of distances between duplicates
    rounded = np.where(distances == 0, -1e-7, distances).astype(np.float32)
    given = gq.knn_graph(neighbors=(indices.astype(np.uint64), rounded))
    assert gap(given, expected) < 1e-5


def test_an_item_that_duplicates_push_out_of_its_list_loses_the_farthest():
    twins = np.zeros((6, 1))
    twins[5] = 1.0
    indices = np.array([[0, 1, 2], [0, 1, 2], [0, 1, 2], [0, 1, 2], [0, 1, 4], [5, 0, 1]])
    distances = abs(twins[indices, 0] - twins)
    graph = gq.knn_graph(neighbors=(indices, distances), weights="binary", symmetrise="mean")
    assert graph.adjacency[[3]].toarray().tolist() == [[0.5, 0.5, 0, 0, 0, 0]]
    assert (graph.adjacency.diagonal() == 0).all()


def test_cosine_distances_are_one_minus_the_weights():
    positive = abs(X) + 0.1
    distances, indices = NearestNeighbors(n_neighbors=K, metric="cosine").fit(positive).kneighbors()
    expected = gq.knn_graph(positive, K, weights="cosine", symmetrise="mutual")
    given = gq.knn_graph(neighbors=(indices, distances), weights="cosine", symmetrise="mutual")
    assert gap(given, expected) < 1e-12


def of_umap():
    umap = pytest.importorskip("umap.umap_")
    return umap.nearest_neighbors(X, K + 1, "euclidean", {}, False, np.random.RandomState(0))[:2]


def of_pynndescent():
    pynndescent = pytest.importorskip("pynndescent")
    return pynndescent.NNDescent(X, n_neighbors=K + 1, random_state=0).neighbor_graph


def of_faiss():
    faiss = pytest.importorskip("faiss")
    index = faiss.IndexFlatL2(X.shape[1])
    index.add(X.astype(np.float32))
    squared, indices = index.search(X.astype(np.float32), K + 1)
    return indices, np.sqrt(np.maximum(squared, 0))


@pytest.mark.parametrize("search", [of_umap, of_pynndescent, of_faiss])
def test_lists_of_other_packages_give_the_graph_of_scikit_learn(search):
    assert gap(gq.knn_graph(neighbors=search()), gq.knn_graph(neighbors=GOOD)) < 1e-5


def changed(at, value, which=1):
    arrays = [INDICES.copy(), DISTANCES.copy()]
    arrays[which][at] = value
    return tuple(arrays)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, TypeError, "either X, the items, or neighbors"),
        ({"X": X, "neighbors": GOOD}, TypeError, "either X, the items, or neighbors"),
        ({"neighbors": (*GOOD, None)}, TypeError, r"got 3 of them: .*neighbors\[:2\]"),
        ({"neighbors": INDICES}, TypeError, "another type"),
        ({"neighbors": GOOD[::-1]}, TypeError, r"distances first.*\(neighbors\[1\], neighbors\[0"),
        ({"neighbors": (INDICES, INDICES > 3)}, TypeError, "got int64 and bool"),
        ({"neighbors": (INDICES, DISTANCES[:9])}, ValueError, r"same shape .*\(80, 6\) and \(9, 6"),
        ({"neighbors": (INDICES[:9], DISTANCES[:9])}, ValueError, "search the 9 rows among them"),
        ({"neighbors": changed((3, 2), -1, 0)}, ValueError, "-1, no neighbor, for item 3.*more c"),
        ({"neighbors": changed((3, 2), 80, 0)}, ValueError, "item 80 for item 3, and 80 items"),
        ({"neighbors": changed((3, 2), INDICES[3, 1], 0)}, ValueError, "more than once for item 3"),
        ({"neighbors": changed((7, 1), np.nan)}, ValueError, "one of item 7 is nan"),
        ({"neighbors": changed((7, 1), np.inf)}, ValueError, "one of item 7 is inf"),
        ({"neighbors": changed((7, 1), -0.1)}, ValueError, "one of item 7 is -0.1"),
        (
            {"neighbors": (np.arange(5)[:, None], np.zeros((5, 1)))},
            ValueError,
            "each item itself, and no other: search for one neighbor more",
        ),
        ({"neighbors": GOOD, "n_neighbors": K + 1}, ValueError, "between 1 and 6, got 7"),
        ({"neighbors": GOOD, "connect": True}, ValueError, "connect and method need X"),
        ({"neighbors": GOOD, "method": "exact"}, ValueError, "connect and method need X"),
        ({"neighbors": GOOD, "weights": "gaussian"}, ValueError, "need a scale"),
    ],
)
def test_bad_lists_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        gq.knn_graph(**options)
