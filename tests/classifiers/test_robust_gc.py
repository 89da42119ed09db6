import functools
import tracemalloc

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from references.graphs import random_graphs
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.semi_supervised import LabelSpreading

import graphuq as gq
from graphuq.classifiers import diffusion, resolvent

# here some graphs are disconnected, or long, on purpose: see test_transductive.py
pytestmark = pytest.mark.filterwarnings("ignore:no label reaches")

few = settings(max_examples=25, deadline=None)
forms = st.sampled_from([np.asarray, sparse.csr_array])
seeds = st.integers(0, 2**32 - 1)

# A path of two strong halves.
HALVES = np.diag([9.0, 9, 1, 9, 9], 1) + np.diag([9.0, 9, 1, 9, 9], -1)


def some_labels(n, seed, n_classes=2):
    """Random labels, at least one node of each class."""
    rng = np.random.default_rng(seed)
    nodes = rng.permutation(n)[: rng.integers(n_classes, n + 1)]
    return gq.Labels(nodes, rng.permutation(np.arange(nodes.size) % n_classes))


def coded(labels, n):
    y = np.zeros(n)
    y[labels.nodes] = labels.codes
    return y


def eigenpairs(A):
    """Return the eigenpairs of the normalized Laplacian, by numpy."""
    scale = 1 / np.sqrt(A.sum(axis=1))
    return np.linalg.eigh(np.eye(len(A)) - scale[:, None] * A * scale)


def clusters(sizes, within, between, seed):
    """Return a connected planted partition and the group of each node."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(sizes)), sizes)
    while True:
        A = np.triu(rng.random((y.size, y.size)) < np.where(y[:, None] == y, within, between), 1)
        graph = gq.Graph(A + A.T)
        if graph.n_components == 1:
            return graph, y


@given(A=random_graphs, form=forms, eta=st.floats(0.01, 0.99), seed=seeds)
@few
def test_robust_scores_are_the_expansion_in_eigenvectors(A, form, eta, seed):
    labels = some_labels(len(A), seed)
    model = gq.RobustGC(eta).fit(form(A), labels)
    values, V = eigenpairs(A)
    assert model.gamma_ == pytest.approx(eta * values[1], rel=1e-9)
    shares = V[:, 1:].T @ coded(labels, len(A)) / (values[1:] / model.gamma_ - 1)
    size = max(1, abs(shares).max())
    f = model.decision_scores_[:, 1]
    np.testing.assert_allclose(f, V[:, 1:] @ shares, rtol=0, atol=1e-7 * size)
    np.testing.assert_array_equal(model.decision_scores_[:, 0], -f)
    assert abs(f @ V[:, 0]) < 1e-12 * size
    np.testing.assert_array_equal(model.transduction_, f > 0)


@given(A=random_graphs, eta=st.floats(0.01, 0.99), seed=seeds)
@few
def test_no_field_orthogonal_to_v0_is_better_than_the_robust_one(A, eta, seed):
    labels = some_labels(len(A), seed)
    model = gq.RobustGC(eta).fit(A, labels)
    y, L = coded(labels, len(A)), gq.Graph(A).laplacian()

    def objective(f):  # Problem (4)
        return f @ L @ f / 2 - model.gamma_ / 2 * np.sum((f + y) ** 2)

    f, v0 = model.decision_scores_[:, 1], np.sqrt(A.sum(axis=1) / A.sum())
    rng = np.random.default_rng(seed)
    for size in (1e-2, 1.0, 1e2):
        step = size * rng.standard_normal(len(A))
        other = f + step - v0 * (v0 @ step)
        assert objective(f) <= objective(other) + 1e-9 * (1 + abs(objective(other)))


@given(A=random_graphs, form=forms, seed=seeds)
@few
def test_a_small_eta_gives_the_pseudo_inverse_of_the_laplacian(A, form, seed):
    labels = some_labels(len(A), seed)
    model = gq.RobustGC(1e-7).fit(form(A), labels)
    inverse = np.linalg.pinv(gq.Graph(A).laplacian(), rcond=1e-12, hermitian=True)
    expected = inverse @ coded(labels, len(A))
    f = model.decision_scores_[:, 1] / model.gamma_
    np.testing.assert_allclose(f, expected, rtol=0, atol=1e-6 * max(1, abs(expected).max()))


@given(A=random_graphs, form=forms, seed=seeds)
@few
def test_an_eta_near_one_gives_the_second_eigenvector(A, form, seed):
    labels = some_labels(len(A), seed)
    values, V = eigenpairs(A)
    share = V[:, 1] @ coded(labels, len(A))
    assume(abs(share) > 0.1)
    assume(len(A) == 2 or values[2] - values[1] > 0.1 * values[1])
    f = gq.RobustGC(1 - 1e-5).fit(form(A), labels).decision_scores_[:, 1]
    np.testing.assert_allclose(f / np.linalg.norm(f), np.sign(share) * V[:, 1], rtol=0, atol=5e-3)


@given(A=random_graphs, form=forms, log_gamma=st.floats(-12, 6), seed=seeds)
@few
def test_zhou_scores_are_the_expansion_in_eigenvectors(A, form, log_gamma, seed):
    labels, gamma = some_labels(len(A), seed, min(3, len(A))), 10**log_gamma
    scores = gq.ZhouGC(gamma).fit(form(A), labels).decision_scores_
    values, V = eigenpairs(A)
    values[0] = 0
    expected = (V * (gamma / (values + gamma))) @ V.T @ labels.indicators(len(A))
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-9)
    assert (scores >= 0).all()


@given(A=random_graphs, form=forms, seed=seeds)
@few
def test_extreme_gamma_give_the_labels_or_the_constant_part(A, form, seed):
    labels, v0 = some_labels(len(A), seed), np.sqrt(A.sum(axis=1) / A.sum())
    Y = labels.indicators(len(A))
    fitted = gq.ZhouGC(1e9).fit(form(A), labels).decision_scores_
    np.testing.assert_allclose(fitted, Y, rtol=0, atol=1e-8)
    spread = gq.ZhouGC(1e-12).fit(form(A), labels).decision_scores_
    np.testing.assert_allclose(spread, np.outer(v0, v0 @ Y), rtol=0, atol=1e-8)


@given(A=random_graphs, form=forms, gamma=st.floats(0.05, 20), seed=seeds)
@few
def test_zhou_is_the_limit_of_label_spreading(A, form, gamma, seed):
    np.fill_diagonal(A, 0)  # scikit-learn does this only after summing degrees
    labels = some_labels(len(A), seed, min(3, len(A)))
    model = gq.ZhouGC(gamma).fit(form(A), labels)
    y = np.full(len(A), -1)
    y[labels.nodes] = labels.values
    # Nodes stand for their own rows of A. Sums of changes below 1e-12 are rounding, and steps
    # shrink them by 1 / (1 + gamma), so that what is left is far below the tolerance.
    spreading = LabelSpreading(
        kernel=lambda i, j: A[np.ix_(i[:, 0].astype(int), j[:, 0].astype(int))],
        alpha=1 / (1 + gamma), tol=1e-12, max_iter=10_000,
    ).fit(np.arange(len(A), dtype=float)[:, None], y)  # fmt: skip
    np.testing.assert_allclose(model.predict_proba(), spreading.label_distributions_, atol=1e-7)


def long_path(n):
    return gq.Graph(sparse.diags_array([np.ones(n - 1)] * 2, offsets=[1, -1]))


@pytest.mark.parametrize("gamma", [0.1, 1.0, 50.0])
def test_far_scores_decay_as_they_should_below_the_solver_s_accuracy(gamma, monkeypatch):
    labels, half = gq.Labels([0, 241], ["a", "b"]), np.repeat(["a", "b"], 121)

    def decays():
        """Return the ratios of scores of adjacent middle nodes for the far label."""
        model = gq.ZhouGC(gamma).fit(long_path(242), labels)
        assert (model.decision_scores_ >= 0).all()
        with np.errstate(invalid="ignore", divide="ignore"):
            scores = model.decision_scores_[60:120, 0]
            return scores[1:] / scores[:-1], model.predict()

    # (1 + gamma) f_i = (f_(i-1) + f_(i+1)) / 2 has the decaying solution f_i = r^i
    r = 1 + gamma - np.sqrt((1 + gamma) ** 2 - 1)
    found, prediction = decays()
    np.testing.assert_allclose(found, r, rtol=1e-5)
    assert (prediction == half).all()
    monkeypatch.setattr(diffusion, "SWEEP_TOLERANCE", 1e300)  # as solved: lost
    assert not np.allclose(decays()[0], r, rtol=1e-2)


def test_zhou_scores_nodes_that_no_label_reaches_evenly():
    A = sparse.block_diag([HALVES, HALVES, [[0, 1], [1, 0]]], format="csr")
    for form in (A, A.toarray()):
        model = gq.ZhouGC(0.5).fit(form, gq.Labels([0, 5, 6], ["a", "b", "b"]))
        assert (model.decision_scores_[12:] == 0).all()
        np.testing.assert_allclose(model.predict_proba()[6:12], [[0, 1]] * 6, atol=1e-15)
        np.testing.assert_allclose(model.predict_proba([12, 13]), 0.5)
        alone = gq.ZhouGC(0.5).fit(HALVES, gq.Labels([0, 5], ["a", "b"]))
        np.testing.assert_allclose(model.decision_scores_[:6], alone.decision_scores_, atol=1e-9)


@given(
    A=random_graphs, form=forms, kind=st.sampled_from(["normalized", "combinatorial"]), seed=seeds
)
@few
def test_belkin_niyogi_leaves_errors_orthogonal_to_the_eigenvectors(A, form, kind, seed):
    n = len(A)
    labels, p = some_labels(n, seed), 1 + seed % n
    model = gq.BelkinNiyogi(p, laplacian=kind).fit(form(A), labels)
    L = gq.Graph(A).laplacian(kind)
    values, V = np.linalg.eigh(L)
    assume(p == n or values[p] - values[p - 1] > 1e-6 * values[-1])  # else the space is any
    f = model.decision_scores_[:, 1]
    a, rows = V[:, :p].T @ f, V[labels.nodes, :p]
    np.testing.assert_allclose(V[:, p:].T @ f, 0, atol=1e-5 * np.linalg.norm(f) + 1e-9)
    np.testing.assert_allclose(rows.T @ (labels.codes - rows @ a), 0, atol=1e-6)
    # the solution with the smallest norm, if p exceeds the number of labels
    unseen = a - np.linalg.pinv(rows, rcond=1e-9) @ (rows @ a)
    np.testing.assert_allclose(unseen, 0, atol=1e-4 * np.linalg.norm(a))


def test_all_eigenvectors_give_back_the_labels_and_one_gives_a_constant_sign():
    graph, y = clusters([10, 12], 0.8, 0.1, seed=1)
    labels = gq.reveal(y, counts=3, seed=0)
    everything = gq.BelkinNiyogi(22).fit(graph, labels)
    np.testing.assert_allclose(everything.decision_scores_[labels.nodes, 1], labels.codes)
    only_v0 = gq.BelkinNiyogi(1).fit(graph, gq.Labels([0, 1, 15], [0, 0, 1]))
    assert (only_v0.predict() == 0).all()


MODELS = [gq.RobustGC(), gq.RobustGC(0.3), gq.ZhouGC(0.1), gq.BelkinNiyogi(3)]


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_three_planted_classes_are_found_under_any_names(model):
    graph, y = clusters([30, 40, 50], 0.5, 0.03, seed=2)
    names = np.array(["sun", "moon", "earth"])
    labels = gq.reveal(names[y], counts=4, seed=0)
    model = clone(model).fit(graph, labels)
    assert model.classes_.tolist() == ["earth", "moon", "sun"]
    assert model.accuracy(names[y]) > 0.97
    assert model.decision_scores_.shape == (120, 3)


@pytest.mark.parametrize("model", [gq.RobustGC(), gq.BelkinNiyogi(3)], ids=repr)
def test_many_classes_are_taken_one_against_the_rest(model):
    graph, y = clusters([10, 12, 14], 0.5, 0.1, seed=3)
    labels = gq.reveal(y, counts=2, seed=1)
    many = clone(model).fit(graph, labels).decision_scores_
    for k in range(3):
        two = clone(model).fit(graph, gq.Labels(labels.nodes, labels.values == k))
        np.testing.assert_allclose(many[:, k], two.decision_scores_[:, 1], atol=1e-9)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_sparse_and_dense_graphs_and_both_forms_of_labels_agree(model):
    graph, y = clusters([10, 12], 0.5, 0.1, seed=4)
    labels = gq.reveal(y, counts=2, seed=0)
    in_one_array = np.full(22, -1)
    in_one_array[labels.nodes] = labels.values
    dense = clone(model).fit(graph, labels)
    thin = clone(model).fit(sparse.coo_array(graph.adjacency), in_one_array)
    np.testing.assert_allclose(thin.decision_scores_, dense.decision_scores_, atol=1e-8)
    np.testing.assert_array_equal(thin.predict([3, 20]), dense.predict([3, 20]))


def test_only_shares_of_non_negative_scores_are_probabilities():
    labels = gq.Labels([0, 5], [0, 1])
    assert gq.ZhouGC(1.0).fit(HALVES, labels).predict_proba().shape == (6, 2)
    assert not hasattr(gq.RobustGC().fit(HALVES, labels), "predict_proba")
    assert not hasattr(gq.BelkinNiyogi(2).fit(HALVES, labels), "predict_proba")


def test_the_concave_loss_forgives_wrong_labels_that_least_squares_follow():
    graph, y = clusters([60, 60], 0.6, 0.2, seed=5)
    labels = gq.reveal(y, counts=15, seed=0)
    wrong = np.arange(30) % 3 == 0
    given_labels = gq.Labels(labels.nodes, np.where(wrong, 1 - labels.values, labels.values))
    assert gq.RobustGC().fit(graph, given_labels).accuracy(y) == 1
    assert gq.ZhouGC(1.0).fit(graph, given_labels).accuracy(y) < 0.95


@pytest.mark.slow
def test_a_large_sparse_graph_is_never_made_dense():
    n = 10_000
    i = np.arange(n)
    rng = np.random.default_rng(0)
    j = np.concatenate([rng.permutation(n) for _ in range(4)])
    A = sparse.csr_array((np.ones(4 * n), (np.tile(i, 4), j)), shape=(n, n))
    A.setdiag(0)
    graph, labels = gq.Graph(A + A.T), gq.Labels(np.arange(30), np.arange(30) % 3)
    tracemalloc.start()
    for model in MODELS:
        clone(model).fit(graph, labels)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * n * n / 10


two = gq.Labels([0, 5], [0, 1])
apart = sparse.block_diag([HALVES, HALVES])


@pytest.mark.parametrize(
    ("model", "graph", "labels", "error", "message"),
    [
        (gq.RobustGC(1.0), HALVES, two, ValueError, r"eta must lie in \(0, 1\), got 1: .*convex"),
        (gq.RobustGC(0), HALVES, two, ValueError, r"eta must lie in \(0, 1\), got 0"),
        (gq.RobustGC(-0.5), HALVES, two, ValueError, r"eta must lie in \(0, 1\), got -0.5"),
        (gq.RobustGC(1 - 1e-15), HALVES, two, ValueError, r"eta = 0.99\d+ leaves gamma within"),
        (gq.RobustGC(float("nan")), HALVES, two, ValueError, "eta must be finite, got nan"),
        (gq.RobustGC("0.9"), HALVES, two, TypeError, "eta must be a number, got '0.9'"),
        (gq.RobustGC(), apart, two, ValueError, "disconnected: 2 components of 6, 6 nodes"),
        (gq.ZhouGC(0.0), HALVES, two, ValueError, "gamma must be positive"),
        (gq.ZhouGC(-1.0), HALVES, two, ValueError, "gamma must be positive"),
        (gq.ZhouGC(None), HALVES, two, TypeError, "gamma must be a number, got None"),
        (gq.ZhouGC(1.0), np.diag([1.0, 0, 1]), [0, -1, 1], ValueError, "1 node has no edge"),
        (gq.BelkinNiyogi(0), HALVES, two, ValueError, "n_eigenvectors must be between 1 and 6"),
        (gq.BelkinNiyogi(7), HALVES, two, ValueError, "got 7; the graph has 6 nodes"),
        (gq.BelkinNiyogi(2.0), HALVES, two, TypeError, "n_eigenvectors must be an integer"),
        (gq.BelkinNiyogi(2, laplacian="odd"), HALVES, two, ValueError, "laplacian must be one of"),
        (gq.BelkinNiyogi(2), apart, two, ValueError, "disconnected: 2 components"),
        *(
            (model, HALVES, y, ValueError, message)
            for model in MODELS
            for y, message in [
                ([0, 1, -1], r"class of each of 6 nodes.*got shape \(3,\)"),
                ([1, 1, -1, -1, -1, 1], r"at least two classes besides -1.*got \['1'\]"),
                (gq.Labels([0, 6], [0, 1]), "from 0 to 5, got 6"),
            ]
        ),
    ],
)
def test_bad_input_is_refused_with_a_remedy(model, graph, labels, error, message):
    with pytest.raises(error, match=message):
        clone(model).fit(graph, labels)


def test_a_refused_fit_leaves_nothing_behind():
    model = gq.RobustGC()
    with pytest.raises(ValueError, match="disconnected"):
        model.fit(apart, two)
    with pytest.raises(NotFittedError):
        model.predict()


@pytest.mark.parametrize("model", [gq.RobustGC(), gq.ZhouGC(0.01)], ids=repr)
def test_a_solver_that_stops_short_warns(model, monkeypatch):
    short = functools.partial(resolvent.solve_positive_definite, max_iterations=2)
    monkeypatch.setattr(resolvent, "solve_positive_definite", short)
    graph, _ = clusters([10, 12], 0.5, 0.1, seed=4)
    with pytest.warns(gq.ConvergenceWarning, match="stopped at a relative residual"):
        clone(model).fit(sparse.csr_array(graph.adjacency), gq.Labels([0, 20], [0, 1]))


def test_scores_that_do_not_settle_warn():
    model = gq.ZhouGC(1e-4)
    with pytest.warns(gq.ConvergenceWarning, match="change of the smallest scores is still"):
        model.fit(long_path(1500), gq.Labels([0, 1], [0, 1]))
    assert (model.predict_proba() >= 0).all()


def test_dense_systems_that_do_not_fit_are_refused(monkeypatch):
    monkeypatch.setattr("graphuq.utils.memory._available_memory", lambda: 100.0)
    with pytest.raises(MemoryError, match="a linear system of a dense graph of 6 nodes needs"):
        gq.ZhouGC(1.0).fit(HALVES, two)
