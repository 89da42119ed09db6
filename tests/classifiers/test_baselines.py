from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.semi_supervised import LabelPropagation

import graphuq as gq

# here some graphs are disconnected, or long, on purpose: see test_transductive.py
pytestmark = pytest.mark.filterwarnings("ignore:no label reaches")


def random_graph(seed, n=25):
    """A connected weighted graph with self-loops: a random tree and some more edges."""
    rng = np.random.default_rng(seed)
    A = np.where(rng.random((n, n)) < 0.1, rng.random((n, n)), 0.0)
    A[np.arange(1, n), [rng.integers(i) for i in range(1, n)]] = rng.random(n - 1) + 0.1
    return A + A.T


def three_classes(n=25, seed=0):
    y = np.full(n, -1)
    y[np.random.default_rng(seed).choice(n, 6, replace=False)] = [4, 4, 7, 7, 9, 9]
    return y


@given(seed=st.integers(0, 2**31), dense=st.booleans())
@settings(max_examples=25, deadline=None)
def test_laplace_learning_is_harmonic_and_its_shares_are_probabilities(seed, dense):
    A, y = random_graph(seed), three_classes(seed=seed)
    model = gq.LaplaceLearning().fit(A if dense else sparse.csr_array(A), y)
    F = model.decision_scores_
    hidden = y == -1
    mean = (A @ F) / A.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(F[hidden], mean[hidden], atol=1e-8)
    assert (F[~hidden] == (y[~hidden, None] == model.classes_)).all()
    assert F.min() >= 0  # the maximum principle
    assert F.max() <= 1
    np.testing.assert_allclose(model.predict_proba().sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(F, model.predict_proba(), atol=1e-8)
    assert (model.predict() == model.classes_[F.argmax(axis=1)]).all()


def test_laplace_learning_is_the_dense_formula_and_the_walks_hitting_probability():
    A, y = random_graph(3), three_classes(seed=3)
    hidden, seen = np.flatnonzero(y == -1), np.flatnonzero(y != -1)
    walk = A / A.sum(axis=1, keepdims=True)
    Y = (y[seen, None] == [4, 7, 9]).astype(float)
    expected = np.linalg.solve(
        np.eye(hidden.size) - walk[np.ix_(hidden, hidden)], walk[np.ix_(hidden, seen)] @ Y
    )
    for adjacency in (A, sparse.csr_array(A)):
        ours = gq.LaplaceLearning().fit(adjacency, y).predict_proba(hidden)
        np.testing.assert_allclose(ours, expected, atol=1e-9)


def test_laplace_learning_is_the_limit_of_scikit_learns_label_propagation():
    A, y = random_graph(8), three_classes(seed=8)
    theirs = LabelPropagation(kernel=lambda X, Y: A.copy(), max_iter=100_000, tol=1e-14).fit(
        np.arange(25.0)[:, None], y
    )
    ours = gq.LaplaceLearning().fit(A, y)
    np.testing.assert_allclose(ours.predict_proba(), theirs.label_distributions_, atol=1e-8)


def test_self_loops_do_not_matter_to_laplace_learning():
    A, y = random_graph(1), three_classes()
    looped = A + np.diag(np.arange(25.0))
    ours, other = (gq.LaplaceLearning().fit(B, y).decision_scores_ for B in (A, looped))
    np.testing.assert_allclose(ours, other, atol=1e-12)


def test_laplace_learning_takes_components_that_all_hold_labels():
    A = sparse.block_diag([random_graph(1, 6), random_graph(2, 7)]).tocsr()
    y = np.full(13, -1)
    y[[0, 7]] = [1, 2]
    assert gq.LaplaceLearning().fit(A, y).predict().tolist() == [1] * 6 + [2] * 7
    y[[0, 5, 7]] = [1, 2, -1]
    with pytest.raises(ValueError, match=r"1 of 2 components .* no label, .* that of node 6"):
        gq.LaplaceLearning().fit(A, y)


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_laplace_learning_warns_of_negligible_links(form):
    A = np.kron(np.eye(2), np.ones((4, 4)))
    A[0, 4] = A[4, 0] = 1e-40
    with pytest.warns(gq.ConvergenceWarning, match=r"of 4 nodes, first node 4, .*larger weights"):
        gq.LaplaceLearning().fit(form(A), [0, 1, *[-1] * 6])


def test_laplace_learning_with_every_node_labeled():
    A = random_graph(1)
    y = np.arange(25) % 3
    assert (gq.LaplaceLearning().fit(A, y).predict() == y).all()


def test_laplace_learning_says_where_it_did_not_converge():
    y = np.full(400, -1)
    y[[0, 399]] = [0, 1]
    path = nx.path_graph(400)
    with pytest.warns(gq.ConvergenceWarning) as seen:
        gq.LaplaceLearning(max_iter=5).fit(path, y)
    for said, what in zip(seen[:2], ("relative residual", "do not sum to 1"), strict=True):
        assert what in str(said.message)
        assert "max_iter" in str(said.message)


def cliques():
    """Two cliques of 8 and 12 joined by one edge."""
    graph = nx.disjoint_union(nx.complete_graph(8), nx.complete_graph(12))
    graph.add_edge(0, 8)
    return graph, np.repeat([5, 3], [8, 12])


@pytest.mark.parametrize("laplacian", ["normalized", "combinatorial"])
def test_fiedler_clustering_is_the_sign_of_networkx_fiedler_vector(laplacian):
    graph, y = cliques()
    model = gq.FiedlerClustering(laplacian).fit(graph, gq.Labels([1, 9], y[[1, 9]]))
    assert (model.predict() == y).all()
    theirs = nx.fiedler_vector(
        graph, normalized=laplacian == "normalized", method="lanczos", seed=0
    )
    ours = model.decision_scores_[:, 1]
    ours, theirs = (v / np.linalg.norm(v) for v in (ours, np.asarray(theirs)))
    assert np.isclose(abs(ours @ theirs), 1, atol=1e-6)
    np.testing.assert_array_equal(model.decision_scores_[:, 0], -model.decision_scores_[:, 1])
    assert not hasattr(model, "predict_proba")


def test_most_labels_name_the_clusters():
    graph, y = cliques()
    wrong = y[[1, 2, 9, 10]].copy()
    wrong[0] = 3  # one of four is mislabeled
    model = gq.FiedlerClustering().fit(graph, gq.Labels([1, 2, 9, 10], wrong))
    assert (model.predict() == y).all()
    names = gq.Labels([1, 2, 9, 10], np.where(wrong == 3, "z", "a"))
    swapped = gq.FiedlerClustering().fit(graph, names)
    assert (swapped.predict() == np.where(y == 3, "z", "a")).all()


def test_a_tied_vote_goes_to_the_larger_sum():
    labels = gq.Labels([0, 1], [0, 1])
    field = np.array([1.0, 3.0, -5.0])
    np.testing.assert_array_equal(labels.oriented(field), field)
    np.testing.assert_array_equal(labels.oriented(field[[1, 0, 2]]), -field[[1, 0, 2]])


@pytest.mark.parametrize("model", [gq.LaplaceLearning(max_iter=7), gq.FiedlerClustering()])
def test_estimators_are_scikit_learns(model):
    assert clone(model).get_params() == model.get_params()


@pytest.mark.parametrize("model", [gq.LaplaceLearning(), gq.FiedlerClustering()])
@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0] + [-1] * 24, r"at least two classes"),
        ([0, 1], r"each of 25 nodes"),
        (gq.Labels([0, 25], [0, 1]), r"got 25"),
    ],
)
def test_labels_that_do_not_fit_are_refused(model, y, message):
    with pytest.raises(ValueError, match=message):
        model.fit(random_graph(0), y)


def test_bad_parameters_and_graphs_are_refused():
    graph, y = cliques()
    with pytest.raises(ValueError, match=r"max_iter must be at least 1, got 0"):
        gq.LaplaceLearning(max_iter=0).fit(graph, y)
    with pytest.raises(ValueError, match=r"laplacian must be one of"):
        gq.FiedlerClustering("random-walk").fit(graph, y)
    with pytest.raises(ValueError, match=r"two classes are needed here, got 3"):
        gq.FiedlerClustering().fit(random_graph(0), three_classes())
    graph.remove_edge(0, 8)
    with pytest.raises(ValueError, match=r"disconnected: 2 components of 12, 8 nodes"):
        gq.FiedlerClustering().fit(graph, y)
