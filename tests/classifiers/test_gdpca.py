from __future__ import annotations

import tracemalloc

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, sparse
from sklearn.base import clone
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import randomized_svd

import graphuq as gq
from graphuq.classifiers.gdpca import covariance, largest_singular_value, spectral_radius

# here some graphs are disconnected, or long, on purpose: see test_transductive.py
pytestmark = pytest.mark.filterwarnings("ignore:no label reaches")

SIGMAS = (0.0, 0.3, 0.5, 1.0)
ALPHA = 0.9


def problem(seed=0, n=30, d=12, classes=3, dense=False):
    """A random weighted graph with self-loops, features that go with the classes, and labels."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    chance = np.where(y[:, None] == y, 0.4, 0.1)
    A = np.triu(rng.uniform(0.2, 2.0, (n, n)) * (rng.uniform(size=(n, n)) < chance), 1)
    A = A + A.T + np.eye(n)
    X = rng.standard_normal((n, d)) + 2 * rng.standard_normal((classes, d))[y]
    graph = gq.Graph(A if dense else sparse.csr_array(A))
    return graph, gq.Labels(np.arange(2 * classes), y[: 2 * classes]), X, y


def matrix(graph, X, sigma, delta, center=np.mean):
    """Return M of eq. (5) as a dense matrix."""
    A = graph.adjacency.toarray() if graph.is_sparse else graph.adjacency
    Xbar = (X - center(X, axis=1, keepdims=True)).T
    S = Xbar.T @ Xbar / (X.shape[1] - 1)
    D = np.diag(A.sum(axis=1))
    with np.errstate(divide="ignore"):
        D = {power: np.diag(np.diag(D) ** power) for power in (sigma - 1, -sigma, 1 - 2 * sigma)}
    return D[sigma - 1] @ A @ D[-sigma] + delta * S @ D[1 - 2 * sigma]


def solution(M, labels):
    n = M.shape[0]
    return np.linalg.solve(np.eye(n) - ALPHA * M, (1 - ALPHA) * labels.indicators(n))


def convex_delta(graph, X, sigma, share=0.5):
    """A delta that puts alpha rho(M) between alpha and 1."""
    S = matrix(graph, X, sigma, 1.0) - matrix(graph, X, sigma, 0.0)
    return share * (1 / ALPHA - 1) / np.linalg.norm(S, 2)


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("sigma", SIGMAS)
def test_both_solvers_give_the_dense_solution(sigma, dense):
    graph, labels, X, _ = problem(dense=dense)
    delta = convex_delta(graph, X, sigma)
    exact = solution(matrix(graph, X, sigma, delta), labels)
    for solver in ("power", "gmres"):
        fitted = gq.GDPCA(sigma, ALPHA, delta, solver=solver, tol=1e-11).fit(graph, labels, X)
        np.testing.assert_allclose(fitted.decision_scores_, exact, atol=1e-9)
    sparse_X = gq.GDPCA(sigma, ALPHA, delta).fit(graph, labels, sparse.csr_array(X))
    np.testing.assert_allclose(sparse_X.decision_scores_, exact, atol=1e-7)


@pytest.mark.parametrize("sigma", SIGMAS)
def test_a_saddle_point_is_solved_for_and_warned_of(sigma):
    graph, labels, X, _ = problem()
    delta = convex_delta(graph, X, sigma, share=20)
    M = matrix(graph, X, sigma, delta)
    radius = ALPHA * abs(np.linalg.eigvals(M)).max()
    assert radius > 1
    with pytest.warns(UserWarning, match=rf"not convex: alpha rho\(M\) = {radius:.3g}"):
        fitted = gq.GDPCA(sigma, ALPHA, delta).fit(graph, labels, X)
    assert fitted.solver_ == "gmres"
    np.testing.assert_allclose(fitted.decision_scores_, solution(M, labels), atol=1e-6)


def test_the_solution_is_a_scaled_minimizer_of_problem_4():
    graph, labels, X, _ = problem(n=12, classes=2)
    sigma, d = 0.8, X.shape[1]
    delta = convex_delta(graph, X, sigma)
    A, degrees = graph.adjacency.toarray(), graph.degrees
    Xbar = (X - X.mean(axis=1, keepdims=True)).T
    mu = 2 / ALPHA - 2
    Y = labels.indicators(12)[:, 0]
    scale = degrees ** (2 * sigma - 1)
    seen = Y / scale  # Z of (5) for Y is scale times the minimizer for Y / scale

    def objective(z):
        steps = degrees ** (sigma - 1) * z
        smooth = (A * (steps[:, None] - steps) ** 2).sum()
        fit = mu * (scale * (z - seen) ** 2).sum()
        return smooth + fit - 2 * delta / (d - 1) * ((Xbar @ z) ** 2).sum()

    best = optimize.minimize(objective, seen, options={"gtol": 1e-9})
    fitted = gq.GDPCA(sigma, ALPHA, delta).fit(graph, labels, X)
    np.testing.assert_allclose(fitted.decision_scores_[:, 0], scale * best.x, atol=1e-5)
    # negative control: neither the covariances nor the scale can be left out
    assert (
        abs(gq.PageRankSSL(sigma).fit(graph, labels).decision_scores_[:, 0] - scale * best.x).max()
        > 1e-3
    )
    assert abs(fitted.decision_scores_[:, 0] - best.x).max() > 1e-3


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000), n=st.integers(6, 25), d=st.integers(2, 30),
       sigma=st.floats(0, 1), share=st.floats(0.05, 0.95))  # fmt: skip
def test_proposition_2_holds_for_every_sigma(seed, n, d, sigma, share):
    graph, labels, X, _ = problem(seed, n, d, classes=2)
    delta = convex_delta(graph, X, sigma, share)
    eigenvalues = np.linalg.eigvals(matrix(graph, X, sigma, delta))
    assert abs(eigenvalues.imag).max() < 1e-9
    assert ALPHA * abs(eigenvalues).max() < 1
    delta *= 1 - 1e-3
    fitted = gq.GDPCA(sigma, ALPHA, delta, max_iter=100_000).fit(graph, labels, X)
    assert fitted.solver_ == "power"
    assert fitted.decision_scores_.shape == (n, 2)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000), n=st.integers(2, 25), d=st.integers(2, 30), sigma=st.floats(0, 1))
def test_operators_equal_their_dense_formulas(seed, n, d, sigma):
    graph, _, X, _ = problem(seed, n, d, classes=2) if n >= 4 else problem(seed, 4, d, classes=2)
    V = np.random.default_rng(seed).standard_normal((graph.n_nodes, 3))
    for center in (np.mean, np.median):
        S = matrix(graph, X, 0.5, 1.0, center) - matrix(graph, X, 0.5, 0.0, center)
        for features in (X, sparse.csr_array(X)):
            operator = covariance(features, center(X, axis=1))
            np.testing.assert_allclose(operator @ V, S @ V, atol=1e-10)
            np.testing.assert_allclose(operator @ V[:, 0], S @ V[:, 0], atol=1e-10)
            gamma = largest_singular_value(operator)
            np.testing.assert_allclose(gamma, randomized_svd(S, 1, random_state=0)[1], rtol=1e-3)
            assert gamma <= np.linalg.norm(S, 2) * (1 + 1e-12)
    M = matrix(graph, X, sigma, 0.7)
    radius = spectral_radius(M, graph.degrees ** (sigma - 0.5))
    np.testing.assert_allclose(radius, abs(np.linalg.eigvals(M)).max(), rtol=1e-8)


@pytest.mark.parametrize("sigma", SIGMAS)
def test_without_features_it_is_pagerank_ssl(sigma):
    graph, labels, X, _ = problem()
    pagerank = gq.PageRankSSL(sigma, ALPHA).fit(graph, labels)
    for features in ((), (X,)):
        fitted = gq.GDPCA(sigma, ALPHA, delta=0).fit(graph, labels, *features)
        np.testing.assert_array_equal(fitted.decision_scores_, pagerank.decision_scores_)
    np.testing.assert_allclose(
        pagerank.decision_scores_, solution(matrix(graph, X, sigma, 0), labels), atol=1e-7
    )
    shares = pagerank.predict_proba()
    assert (shares >= 0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert not hasattr(gq.GDPCA(), "predict_proba")


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000), alpha=st.floats(0.05, 0.97))
def test_sigma_1_is_personalized_pagerank(seed, alpha):
    graph, labels, _, _ = problem(seed)
    network = nx.from_scipy_sparse_array(graph.adjacency)
    scores = gq.PageRankSSL(1.0, alpha, tol=1e-10).fit(graph, labels).decision_scores_
    for k in range(labels.classes.size):
        starts = labels.nodes[labels.indices == k]
        rank = nx.pagerank(
            network, alpha, dict.fromkeys(starts.tolist(), 1.0), tol=1e-13, max_iter=2000
        )
        np.testing.assert_allclose(scores[:, k] / starts.size, list(rank.values()), atol=1e-8)
    np.testing.assert_allclose(scores.sum(axis=0), np.bincount(labels.indices))


def test_the_papers_recipe_normalizes_ten_iterations_and_centers_by_the_median():
    graph, labels, X, _ = problem()
    X = np.exp(X)  # skewed, so that means are not medians
    delta = convex_delta(graph, X, 1.0, share=0.3)
    M = matrix(graph, X, 1.0, delta, np.median)
    Z = Y = labels.indicators(30)
    for _ in range(10):
        Z = ALPHA * M @ Z + (1 - ALPHA) * Y
        Z = Z / abs(Z).sum(axis=1, keepdims=True).clip(1e-300)
    for features in (X, sparse.csr_array(X)):
        fitted = gq.GDPCA(1.0, ALPHA, delta, recipe="paper").fit(graph, labels, features)
        assert fitted.solver_ == "power"
        np.testing.assert_allclose(fitted.decision_scores_, Z, atol=1e-10)
    assert abs(normalize(solution(M, labels), norm="l1") - Z).max() > 1e-3
    loose = gq.GDPCA(1.0, ALPHA, delta, recipe="paper", solver="gmres").fit(graph, labels, X)
    exact = solution(M, labels)
    gap = abs(loose.decision_scores_ - exact).max()
    assert 1e-9 < gap < 1e-2  # it stops early, on purpose


def test_features_reach_nodes_that_edges_do_not():
    _, labels, X, y = problem(n=120, d=40)
    loops = sparse.eye_array(120)
    delta = convex_delta(gq.Graph(loops), X, 1.0)
    unreached = gq.PageRankSSL().fit(loops, labels)
    assert (unreached.label_distributions_[6:] == 1 / 3).all()
    assert gq.GDPCA(delta=delta).fit(loops, labels, X).accuracy(y) > 0.9
    # negative control: features that do not depend on the classes
    other = np.random.default_rng(1).permutation(X)
    assert gq.GDPCA(delta=delta).fit(loops, labels, other).accuracy(y) < 0.6


def test_classes_keep_their_names_and_estimators_clone():
    graph, labels, X, y = problem(n=60)
    named = np.array(["a", "b", "c"])[y]
    hidden = np.where(np.isin(np.arange(60), labels.nodes), named, None)
    for estimator in (gq.GDPCA(1.0, 0.8, 1e-3, solver="gmres"), gq.PageRankSSL(0.5, 0.8)):
        features = (X,) if isinstance(estimator, gq.GDPCA) else ()
        fitted = clone(estimator).fit(graph.adjacency, hidden, *features)
        assert fitted.classes_.tolist() == ["a", "b", "c"]
        assert fitted.get_params() == estimator.get_params()
        plain = clone(estimator).fit(graph, labels, *features)
        np.testing.assert_array_equal(fitted.decision_scores_, plain.decision_scores_)
        assert (fitted.predict() == np.array(["a", "b", "c"])[plain.predict()]).all()


def test_solvers_that_stop_early_say_so():
    graph, labels, X, _ = problem()
    with pytest.warns(gq.ConvergenceWarning, match="power iterations stopped at a relative resid"):
        gq.PageRankSSL(max_iter=3).fit(graph, labels)
    with pytest.warns(gq.ConvergenceWarning, match="GMRES stopped at a relative residual of"):
        gq.GDPCA(delta=1e-4, solver="gmres", max_iter=2).fit(graph, labels, X)
    delta = convex_delta(graph, X, 1.0, share=20)
    with (
        pytest.warns(UserWarning, match="not convex"),
        pytest.warns(gq.ConvergenceWarning, match="residual of .*e\\+1"),
    ):
        gq.GDPCA(delta=delta, solver="power").fit(graph, labels, X)


def test_a_graph_without_features_that_vary_has_no_covariance():
    graph, labels, X, _ = problem()
    constant = np.repeat(X[:, :1], 3, axis=1)
    fitted = gq.GDPCA(delta=5.0).fit(graph, labels, constant)
    plain = gq.PageRankSSL().fit(graph, labels)
    np.testing.assert_allclose(fitted.decision_scores_, plain.decision_scores_, atol=1e-12)


def test_a_constant_added_to_all_features_of_a_node_changes_nothing():
    graph, labels, X, _ = problem()
    fitted = gq.GDPCA(tol=1e-11).fit(graph, labels, X)
    shifted = gq.GDPCA(tol=1e-11).fit(graph, labels, X + 1e6 * np.arange(30)[:, None])
    np.testing.assert_allclose(shifted.decision_scores_, fitted.decision_scores_, atol=1e-8)


def test_disconnected_graphs_are_taken():
    A = np.zeros((6, 6))
    A[[0, 1, 3, 4], [1, 0, 4, 3]] = 1
    A[[2, 5], [5, 2]] = 1
    fitted = gq.PageRankSSL().fit(A, gq.Labels([0, 3], [7, 8]))
    assert fitted.predict([0, 1, 3, 4]).tolist() == [7, 7, 8, 8]
    np.testing.assert_array_equal(fitted.predict_proba([2, 5]), 0.5)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"sigma": 1.5}, "sigma must lie in"),
        ({"sigma": "1"}, "sigma must be a number"),
        ({"alpha": 1.0}, "alpha .* must lie in"),
        ({"alpha": 0.0}, "alpha .* must lie in"),
        ({"alpha": np.nan}, "alpha must be finite"),
        ({"delta": -1e-9}, "delta must not be negative"),
        ({"solver": "cg"}, "solver must be one of"),
        ({"recipe": "house"}, "recipe must be one of"),
        ({"tol": 0}, "tol must be positive"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    graph, labels, X, _ = problem()
    with pytest.raises((ValueError, TypeError), match=message):
        gq.GDPCA(**parameters).fit(graph, labels, X)
    shared = {"sigma", "alpha", "tol", "max_iter"}
    if shared >= parameters.keys():
        with pytest.raises((ValueError, TypeError), match=message):
            gq.PageRankSSL(**parameters).fit(graph, labels)


def test_bad_input_is_refused():
    graph, labels, X, _ = problem()
    bad = X.copy()
    bad[4, 2] = np.nan
    alone = graph.adjacency.toarray()
    alone[7] = alone[:, 7] = 0
    for arguments, message in (
        ((graph, labels), "pass X, or take delta = 0"),
        ((graph, labels, X[:-1]), "one row for each of 30 nodes, got shape"),
        ((graph, labels, sparse.csr_array(X[:-1])), "one row for each of 30 nodes"),
        ((graph, labels, X[:, :1]), "at least two features"),
        ((graph, labels, X[0]), "X must be a matrix"),
        ((graph, labels, 1e90 * X), "rescale X, or take a smaller delta"),
        ((graph, labels, bad), "NaN or infinite values in 1 of 30 rows, first in row 4"),
        ((graph, labels, sparse.csr_array(bad)), "NaN or infinite values in 1 .* first in row 4"),
        ((graph, labels, [["a", "b"]] * 30), "X must be a numeric matrix"),
        ((graph, np.zeros(29), X), "class of each of 30 nodes"),
        ((graph, np.r_[0, 0, -np.ones(28)], X), "at least two classes"),
        ((graph, gq.Labels([0, 30], [0, 1]), X), "got 30"),
        ((alone, labels, X), "1 node has no edge, first node 7: add self-loops"),
        ((X, labels, X), "adjacency must be square"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            gq.GDPCA().fit(*arguments)


def test_delta_0_still_refuses_features_of_another_graph():
    graph, labels, X, _ = problem()
    with pytest.raises(ValueError, match="one row for each of 30 nodes"):
        gq.GDPCA(delta=0).fit(graph, labels, X[:-1])


def test_sparse_features_are_left_alone():
    graph, labels, X, _ = problem()
    rows, columns = np.repeat(np.arange(30), 24), np.tile(np.repeat(np.arange(12), 2), 30)
    twice = sparse.coo_array((np.repeat(X.ravel() / 2, 2), (rows, columns)), shape=X.shape)
    csr = sparse.csr_array((twice.data, columns, 24 * np.arange(31)), shape=X.shape)
    before = csr.data.copy()
    fitted = gq.GDPCA(recipe="paper").fit(graph, labels, csr)
    plain = gq.GDPCA(recipe="paper").fit(graph, labels, X)
    np.testing.assert_allclose(fitted.decision_scores_, plain.decision_scores_, atol=1e-12)
    np.testing.assert_array_equal(csr.data, before)


def test_a_large_graph_is_never_made_dense():
    """A dense matrix of 70,000 nodes would need 36 GiB."""
    n, d, classes = 70_000, 64, 4
    rng = np.random.default_rng(0)
    y = np.arange(n) % classes
    order = np.lexsort((rng.uniform(size=n), y))
    heads = np.concatenate([order] * 3)
    tails = np.concatenate([np.roll(order, shift) for shift in (1, 7, 31)])
    A = sparse.coo_array((np.ones(3 * n), (heads, tails)), shape=(n, n)).tocsr()
    A.data[:] = 1
    X = sparse.random_array((n, d), density=0.05, rng=rng, format="csr")
    labels = gq.reveal(y, counts=20, seed=0)
    tracemalloc.start()
    fitted = gq.GDPCA(delta=1e-4, tol=1e-5).fit(A + A.T, labels, X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 500e6
    assert fitted.solver_ == "power"
    assert fitted.accuracy(y) > 0.5
