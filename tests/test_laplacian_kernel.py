import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg, sparse
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge

import graphuq as gq
from graphuq import validation
from graphuq.classifiers import (
    kernel_diagonal,
    kernel_inverse,
    laplacian_kernel,
    scaling_factors,
)

SCALINGS = laplacian_kernel.SCALINGS
few = settings(max_examples=25, deadline=None)
scalings = pytest.mark.parametrize("scaling", SCALINGS)


def random_problem(n, n_classes, seed):
    """A connected weighted graph, sometimes with self-loops, and classes that all occur."""
    rng = np.random.default_rng(seed)
    y = np.append(np.arange(n_classes), rng.integers(n_classes, size=n - n_classes))
    share = np.where(np.equal.outer(y, y), rng.uniform(0.3, 0.9), rng.uniform(0, 0.5))
    A = np.triu(rng.exponential(2, (n, n)) * (rng.random((n, n)) < share), rng.integers(2))
    A = A + np.triu(A, 1).T
    path = rng.permutation(n)
    A[path[1:], path[:-1]] = A[path[:-1], path[1:]] = rng.uniform(0.1, 1, n - 1)
    return A, y


problems = st.builds(
    random_problem, st.integers(6, 24), st.integers(2, 4), st.integers(0, 2**32 - 1)
)
alphas = st.floats(1e-3, 10)
factors = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def laplacian(A):
    return np.diag(A.sum(axis=1)) - A


def kernel(A, scaling, alpha):
    """K of section 3.1 by dense inverses."""
    L = laplacian(A)
    S = {
        "none": np.ones(len(A)),
        "degree": np.diag(L),
        "kernel": 1 / np.diag(np.linalg.inv(alpha * np.eye(len(A)) + L)),
    }[scaling]
    ridge = np.eye(len(A)) if scaling == "degree" else np.diag(1 / S)
    return np.linalg.inv(alpha * ridge + L / np.sqrt(np.outer(S, S)))


def some_labels(y, rng):
    """The first node of each class, and about half of the others."""
    _, first = np.unique(y, return_index=True)
    nodes = np.union1d(first, np.flatnonzero(rng.random(y.size) < 0.5))
    return gq.Labels(nodes, y[nodes])


# The kernel


@given(problem=problems, alpha=alphas)
@few
def test_kernel_scaling_makes_k_the_correlation_matrix_of_kbar(problem, alpha):
    A, _ = problem
    S = scaling_factors(A, "kernel", alpha)
    K = np.linalg.inv(kernel_inverse(A, "kernel", alpha, S))
    Kbar = np.linalg.inv(alpha * np.eye(len(A)) + laplacian(A))
    deviation = np.sqrt(np.diag(Kbar))
    np.testing.assert_allclose(np.diag(K), 1, rtol=1e-9)
    np.testing.assert_allclose(K, Kbar / np.outer(deviation, deviation), atol=1e-9)
    np.testing.assert_allclose(alpha * Kbar.sum(axis=1), 1, rtol=1e-9)


@given(problem=problems, alpha=alphas, scaling=st.sampled_from(SCALINGS))
@few
def test_inverse_kernel_is_that_of_the_paper(problem, alpha, scaling):
    A, _ = problem
    for form in (np.asarray, sparse.csr_array):
        graph = gq.Graph(form(A))
        S = scaling_factors(graph, scaling, alpha)
        inverse = kernel_inverse(graph, scaling, alpha, S)
        assert sparse.issparse(inverse) == graph.is_sparse
        inverse = inverse.toarray() if graph.is_sparse else inverse
        np.testing.assert_allclose(inverse @ kernel(A, scaling, alpha), np.eye(len(A)), atol=1e-8)


def test_degree_scaling_makes_the_diagonal_of_the_laplacian_one():
    A, _ = random_problem(20, 3, seed=1)
    inverse = kernel_inverse(A, "degree", 0.5, scaling_factors(A, "degree", 0.5))
    np.testing.assert_allclose(np.diag(inverse), 1.5, rtol=1e-14)


def test_probes_estimate_the_diagonal_within_their_stated_error():
    X = np.random.default_rng(0).standard_normal((400, 2))
    graph = gq.knn_graph(X, n_neighbors=5, connect=True)
    for alpha in (1e-3, 1.0):
        exact = kernel_diagonal(graph, alpha)
        error = np.sqrt(2 / 400)
        z = (kernel_diagonal(graph, alpha, n_probes=400, seed=3) / exact - 1) / error
        assert abs(z).max() < 5
        assert np.sqrt((z**2).mean()) < 1.3
        if alpha == 1.0:  # it is no better than stated either, where no part is known
            assert np.sqrt((z**2).mean()) > 0.7
    # a wrong alpha is seen
    wrong = kernel_diagonal(graph, 2.0, n_probes=400, seed=3)
    assert np.sqrt((((wrong / exact - 1) / error) ** 2).mean()) > 2


def test_one_seed_gives_one_estimate():
    A, _ = random_problem(20, 2, seed=1)
    first, again, other = (kernel_diagonal(A, 0.1, n_probes=3, seed=s) for s in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).all()


# Scores


@given(
    problem=problems,
    alpha=alphas,
    scaling=st.sampled_from(SCALINGS),
    reg=st.floats(-8, 2).map(lambda e: 10**e),
    form=st.sampled_from([np.asarray, sparse.csr_array]),
    rng=factors,
)
@few
def test_scores_are_those_of_kernel_ridge_with_n_lambda(problem, alpha, scaling, reg, form, rng):
    A, y = problem
    labels = some_labels(y, rng)
    K, Z = kernel(A, scaling, alpha), labels.nodes
    ridge = KernelRidge(alpha=len(labels) * reg, kernel="precomputed")
    ridge.fit(K[np.ix_(Z, Z)], labels.indicators(len(A))[Z])
    expected = ridge.predict(K[:, Z])
    for rank in (None, len(A)):  # all eigenvectors are no projection
        model = gq.LaplacianKernel(scaling, alpha, reg, rank).fit(form(A), labels)
        np.testing.assert_allclose(model.decision_scores_, expected, atol=2e-6)


@given(problem=problems, scaling=st.sampled_from(SCALINGS), rank=st.integers(1, 6), rng=factors)
@few
def test_projected_scores_minimise_the_paper_s_objective(problem, scaling, rank, rng):
    A, y = problem
    labels, alpha, reg = some_labels(y, rng), 0.3, 0.02
    model = gq.LaplacianKernel(scaling, alpha, reg, rank).fit(A, labels)
    inverse = np.linalg.inv(kernel(A, scaling, alpha))
    _, V = np.linalg.eigh((inverse + inverse.T) / 2)
    V, Y = V[:, :rank], labels.indicators(len(A))
    f, Z = model.decision_scores_, labels.nodes
    np.testing.assert_allclose(V @ (V.T @ f), f, atol=1e-7)
    # no slope along any direction that is allowed
    residual = np.zeros_like(f)
    residual[Z] = (f - Y)[Z] / len(labels)
    np.testing.assert_allclose(V.T @ (residual + reg * inverse @ f), 0, atol=1e-7)


@scalings
def test_lanczos_and_dense_eigenvectors_give_the_same_scores(scaling, monkeypatch):
    X = np.random.default_rng(2).standard_normal((300, 2))
    graph = gq.knn_graph(X, n_neighbors=6, connect=True)
    labels = gq.reveal(X[:, 0] > 0, counts=8, seed=0)
    model = gq.LaplacianKernel(scaling, rank=12)
    dense = model.fit(graph, labels).decision_scores_
    monkeypatch.setattr("graphuq.spectrum.DENSE_NODES", 10)
    np.testing.assert_allclose(model.fit(graph, labels).decision_scores_, dense, atol=1e-8)


@pytest.mark.parametrize("scaling", ["none", "kernel"])
@given(problem=problems, unit=st.floats(1e-3, 1e3))
@settings(max_examples=10, deadline=None)
def test_weights_in_another_unit_change_nothing_if_alpha_is_in_it_too(problem, unit, scaling):
    A, y = problem
    labels = some_labels(y, np.random.default_rng(0))
    power = {"none": -1, "kernel": 0}[scaling]  # of the unit in K, and so in lambda
    one = gq.LaplacianKernel(scaling, 0.2, 0.01)
    other = gq.LaplacianKernel(scaling, 0.2 * unit, 0.01 * unit**power)
    f, g = (m.fit(B, labels).decision_scores_ for m, B in ((one, A), (other, unit * A)))
    np.testing.assert_allclose(f, g, atol=1e-8)


@scalings
@pytest.mark.parametrize("rank", [None, 3])
def test_three_names_on_three_cliques_are_found(scaling, rank):
    A = linalg.block_diag(*3 * [np.ones((10, 10))])
    A[[9, 19], [10, 20]] = A[[10, 20], [9, 19]] = 0.1
    truth = np.repeat(["ant", "bee", "cow"], 10)
    model = gq.LaplacianKernel(scaling, rank=rank).fit(A, gq.Labels([0, 11, 22], truth[::11][:3]))
    assert (model.predict() == truth).all()
    assert model.classes_.tolist() == ["ant", "bee", "cow"]
    assert model.decision_scores_.shape == (30, 3)
    assert model.scaling_factors_.shape == (30,)
    assert not hasattr(model, "predict_proba")


def test_parameters_are_those_given_and_cloned():
    model = gq.LaplacianKernel("degree", alpha=0.3, rank=7, n_probes=9)
    assert clone(model).get_params() == model.get_params()
    assert model.get_params()["rank"] == 7


# What is refused


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"scaling": "l2"}, "scaling must be one of"),
        ({"alpha": 0.0}, "alpha must be positive"),
        ({"alpha": 1e-13}, "alpha must be at least .* of the largest degree"),
        ({"reg": -1.0}, "reg must be positive"),
        ({"rank": 0}, "rank must be between 1 and 12"),
        ({"rank": 13}, "rank must be between 1 and 12"),
        ({"n_probes": 0}, "n_probes must be at least 1"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
    ],
    ids=str,
)
def test_parameters_out_of_range_are_refused_in_fit(bad, message):
    A, y = random_problem(12, 2, seed=0)
    model = gq.LaplacianKernel(**bad)
    with pytest.raises(ValueError, match=message):
        model.fit(A, y)


def test_types_are_refused():
    A, y = random_problem(12, 2, seed=0)
    for bad in ({"alpha": "1"}, {"reg": None}, {"rank": 2.5}, {"seed": "x", "n_probes": 1}):
        with pytest.raises(TypeError, match="must be"):
            gq.LaplacianKernel(**bad).fit(A, y)


def test_labels_and_graphs_that_do_not_fit_are_refused():
    A, y = random_problem(12, 3, seed=0)
    model = gq.LaplacianKernel()
    with pytest.raises(ValueError, match="class of each of 12 nodes"):
        model.fit(A, y[:-1])
    with pytest.raises(ValueError, match="at least two classes"):
        model.fit(A, np.where(y == 0, 0, -1))
    with pytest.raises(ValueError, match="disconnected: 2 components"):
        model.fit(linalg.block_diag(A, A), np.append(y, y))
    with pytest.raises(ValueError, match="disconnected"):
        kernel_diagonal(linalg.block_diag(A, A), 0.1, n_probes=2)
    with pytest.raises(ValueError, match="no edge to another, first node 12"):
        scaling_factors(linalg.block_diag(A, [[1.0]]), "degree", 0.1)


def test_too_large_a_dense_inverse_says_what_it_needs_and_what_to_do(monkeypatch):
    A, y = random_problem(24, 2, seed=0)
    monkeypatch.setattr(validation, "_available_memory", lambda: 10_000)
    with pytest.raises(MemoryError, match=r"24 nodes needs about .* n_probes=400"):
        gq.LaplacianKernel().fit(sparse.csr_array(A), y)
    gq.LaplacianKernel(n_probes=4).fit(sparse.csr_array(A), y)


def test_iterations_that_do_not_converge_are_reported():
    X = np.random.default_rng(0).standard_normal((300, 2))
    graph = gq.knn_graph(X, n_neighbors=5, connect=True)
    labels = gq.reveal(X[:, 0] > 0, counts=2, seed=0)
    for scaling, n_probes in (("none", None), ("kernel", 2)):
        model = gq.LaplacianKernel(scaling, 1e-3, n_probes=n_probes, max_iter=2)
        with pytest.warns(gq.ConvergenceWarning, match="relative residual"):
            model.fit(graph, labels)
