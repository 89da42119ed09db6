"""What the classifiers of nodes share."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import graphuq as gq

EACH = [
    gq.BelkinNiyogi(2),
    gq.GDPCA(delta=0),
    gq.LaplaceLearning(),
    gq.LaplacianKernel(),
    gq.PageRankSSL(),
    gq.RobustGC(),
    gq.ZhouGC(1.0),
]
each = pytest.mark.parametrize("classifier", EACH, ids=lambda c: type(c).__name__)


@pytest.fixture
def small_graph(small):
    X = np.random.default_rng(3).standard_normal((30, 2)) + 4 * np.repeat(np.eye(3), 10, 0)[:, :2]
    return gq.knn_graph(X, n_neighbors=6, connect=True), np.repeat(["a", "b", "c"], 10)


@each
def test_it_is_a_scikit_learn_estimator(small_graph, classifier):
    graph, y = small_graph
    model = clone(classifier).fit(graph, gq.reveal(y, counts=2, seed=0))
    assert model.get_params() == classifier.get_params()
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict() == model.predict()).all()
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert (model.predict([3, 28]) == model.predict()[[3, 28]]).all()
    assert model.score([3, 28], y[[3, 28]]) == (model.predict([3, 28]) == y[[3, 28]]).mean()


@each
def test_nodes_that_are_not_there_are_refused(small_graph, classifier):
    graph, y = small_graph
    model = clone(classifier).fit(graph, gq.reveal(y, counts=2, seed=0))
    for nodes in ([30], [-1]):
        with pytest.raises(ValueError, match="nodes of the graph, from 0 to 29"):
            model.predict(nodes)
    with pytest.raises(TypeError, match="integer node ids"):
        model.predict(graph.adjacency.toarray())


@pytest.mark.parametrize("classifier", [gq.ZhouGC(1.0), gq.PageRankSSL(), gq.GDPCA(delta=0)])
def test_nodes_that_no_label_reaches_are_reported(classifier):
    two_triangles = np.kron(np.eye(2), 1 - np.eye(3))
    with pytest.warns(UserWarning, match="no label reaches 3 of 6 nodes, first node 3"):
        model = clone(classifier).fit(two_triangles, ["b", None, "c", None, None, None])
    if hasattr(model, "predict_proba"):
        assert model.predict_proba([3]).tolist() == [[0.5, 0.5]]


def path(n):
    A = np.zeros((n, n))
    i = np.arange(n - 1)
    A[i, i + 1] = A[i + 1, i] = 1
    from scipy import sparse

    return gq.Graph(sparse.csr_array(A))


@pytest.mark.parametrize("classifier", [gq.PageRankSSL(), gq.GDPCA(delta=0, solver="gmres")])
def test_far_nodes_get_the_class_of_the_nearer_label(classifier):
    n = 1200
    labels = gq.Labels([0, 500, 1199], ["a", "b", "c"])
    model = clone(classifier).fit(path(n), labels)
    nearest = labels.values[abs(np.arange(n)[:, None] - labels.nodes).argmin(axis=1)]
    # PageRank weighs by degree, so the label of an end reaches one or two nodes less far
    assert (model.predict() != nearest).sum() <= 6
    assert (model.decision_scores_ > 0).all()


def test_far_nodes_that_a_sparse_kernel_cannot_score_are_reported():
    labels = gq.Labels([0, 1199], ["a", "b"])
    with pytest.warns(UserWarning, match="no label reaches"):
        gq.LaplacianKernel("degree", alpha=1.0).fit(path(1200), labels)
    with pytest.raises(ValueError, match=r"reg must be at least 1e-12, got 1e-20"):
        gq.LaplacianKernel(reg=1e-20).fit(path(1200), labels)


def test_degree_scaling_does_not_mind_the_unit_of_weights():
    A = np.roll(np.eye(8), 1, axis=1) + np.roll(np.eye(8), -1, axis=1)
    y = [0, -1, -1, 1, -1, -1, -1, -1]
    a, b = (gq.LaplacianKernel("degree").fit(A * w, y).decision_scores_ for w in (1.0, 1e9))
    np.testing.assert_allclose(a, b, rtol=1e-6)


def test_a_refit_leaves_nothing_of_the_last():
    model = gq.LaplacianKernel(rank=3).fit(path(30), gq.Labels([0, 29], [0, 1]))
    model.set_params(rank=None).fit(path(30), gq.Labels([0, 29], [0, 1]))
    assert not hasattr(model, "eigenvalues_")


def test_truth_with_gaps_is_refused():
    with pytest.raises(ValueError, match="that of node 2 is missing"):
        gq.Labels([0, 1], [0, 1]).accuracy([0, 1, 1, 0], [0, 1, np.nan, 0])


EMPTY_IS_NOTHING = {
    "harmonic": gq.LaplaceLearning(),
    "PageRank": gq.PageRankSSL(),
    "PageRank by GMRES": gq.GDPCA(delta=1e-4, solver="gmres"),
    "label spreading": gq.ZhouGC(1.0),
    "kernel": gq.LaplacianKernel(),
}


@pytest.mark.parametrize("name", EMPTY_IS_NOTHING)
def test_a_class_without_labels_scores_nothing_or_is_refused(
    clump_graph, clump_labels, unseen, clumps, name
):
    model = EMPTY_IS_NOTHING[name]
    features = (clumps[0],) if isinstance(model, gq.GDPCA) else ()
    without = model.fit(clump_graph, clump_labels, *features).decision_scores_.copy()
    scores = model.fit(clump_graph, unseen, *features).decision_scores_
    np.testing.assert_allclose(scores[:, [0, 2, 3]], without, rtol=1e-6, atol=1e-9)
    assert (scores[:, 1] == 0).all()


@pytest.mark.parametrize("model", [gq.RobustGC(), gq.BelkinNiyogi(5)], ids=repr)
def test_one_against_the_rest_needs_labels_of_each(clump_graph, clump_labels, unseen, model):
    model.fit(clump_graph, clump_labels)
    with pytest.raises(ValueError, match="class 'ape' has none: label a node of this"):
        model.fit(clump_graph, unseen)
