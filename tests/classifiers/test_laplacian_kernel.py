import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg, optimize, sparse
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge

import graphuq as gq
from graphuq.classifiers import (
    component_bound,
    cut,
    kernel_bound,
    kernel_diagonal,
    kernel_inverse,
    laplacian_kernel,
    oracle_bound,
    projection_bound,
    scaling_factors,
    small_cut_bound,
    tr_p,
)

# here some graphs are disconnected, or long, on purpose: see test_transductive.py
pytestmark = pytest.mark.filterwarnings("ignore:no label reaches")

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


def test_kernel_scaling_of_pure_components_is_by_their_size():
    A = linalg.block_diag(np.ones((4, 4)), np.ones((12, 12)))
    S = scaling_factors(A, "kernel", 1e-6)
    np.testing.assert_allclose(S / 1e-6, np.repeat([4, 12], [4, 12]), rtol=1e-5)


@pytest.mark.slow
def test_probes_estimate_the_diagonal_within_their_stated_error():
    X = np.random.default_rng(0).standard_normal((400, 2))
    graph = gq.knn_graph(X, n_neighbors=5, connect=True)
    for alpha in (1e-3, 1.0):
        exact = kernel_diagonal(graph, alpha)
        error = np.sqrt(2 / 400)
        z = (kernel_diagonal(graph, alpha, n_probes=400, seed=3) / exact - 1) / error
        assert abs(z).max() < 5
        assert np.sqrt((z**2).mean()) < 1.3
        if (
            alpha == 1.0
        ):  # the error is not smaller than stated either, if no part of the diagonal is known
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
    for rank in (None, len(A)):  # with all eigenvectors nothing is projected out
        model = gq.LaplacianKernel(scaling, alpha, reg, rank).fit(form(A), labels)
        np.testing.assert_allclose(model.decision_scores_, expected, atol=2e-6)


@given(problem=problems, scaling=st.sampled_from(SCALINGS), rank=st.integers(1, 6), rng=factors)
@few
def test_projected_scores_minimize_the_paper_s_objective(problem, scaling, rank, rng):
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
    monkeypatch.setattr("graphuq.graphs.eigensolver.DENSE_NODES", 10)
    np.testing.assert_allclose(model.fit(graph, labels).decision_scores_, dense, atol=1e-8)


@pytest.mark.parametrize("scaling", ["none", "kernel"])
@given(problem=problems, unit=st.floats(1e-3, 1e3))
@settings(max_examples=10, deadline=None)
def test_weights_in_another_unit_change_nothing_if_alpha_is_in_it_too(problem, unit, scaling):
    A, y = problem
    labels = some_labels(y, np.random.default_rng(0))
    power = {"none": -1, "kernel": 0}[scaling]  # exponent of the unit of weights in K and lambda
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


# The bounds


@given(problem=problems, rng=factors)
@few
def test_cut_is_the_regularizer_of_the_true_labels(problem, rng):
    A, y = problem
    S = rng.uniform(0.2, 5, len(A))
    F = np.equal.outer(y, np.unique(y)).astype(float)
    L = laplacian(A) / np.sqrt(np.outer(S, S))
    for form in (A, sparse.csr_array(A)):
        assert cut(form, y, S) == pytest.approx(np.trace(F.T @ L @ F), rel=1e-9, abs=1e-9)
    assert cut(A, y) == pytest.approx(A[np.not_equal.outer(y, y)].sum())


@given(rng=factors, p=st.floats(0.1, 500))
@few
def test_tr_p_is_a_mean_that_grows_to_the_largest(rng, p):
    K = np.diag(rng.uniform(0.1, 9, 6))
    K[0, 1] = 100  # off the diagonal: not looked at
    assert tr_p(K, 1) == pytest.approx(np.trace(K) / 6)
    assert tr_p(K, p) <= tr_p(K, 2 * p) * (1 + 1e-12)
    assert tr_p(K, 2 * p) <= tr_p(K, np.inf) * (1 + 1e-12) == np.diag(K).max() * (1 + 1e-12)
    assert tr_p(np.full(5, 3.0), p) == pytest.approx(3)


@given(problem=problems, alpha=alphas, p=st.sampled_from([0.5, 1, 2, 7]), rng=factors)
@few
def test_theorem_2_is_theorem_1_at_the_best_lambda(problem, alpha, p, rng):
    A, y = problem
    S, n = rng.uniform(0.2, 5, len(A)), 4
    K = np.linalg.inv(alpha * np.diag(1 / S) + laplacian(A) / np.sqrt(np.outer(S, S)))
    F = np.equal.outer(y, np.unique(y)).astype(float)
    penalty, trace = np.trace(F.T @ np.linalg.solve(K, F)), np.mean(np.diag(K) ** p) ** (1 / p)

    def theorem_1(log):  # a = 1/16, b = c = 1/2; the target has no loss
        return 16 * np.exp(log) * penalty + (trace / (np.exp(log) * n)) ** p

    best = optimize.minimize_scalar(theorem_1, bracket=(-5, 0), options={"xtol": 1e-10})
    assert kernel_bound(A, y, n, alpha, S, p=p) == pytest.approx(best.fun, rel=1e-6)


@given(problem=problems, alpha=alphas, p=st.sampled_from([1, 2, np.inf]), rng=factors)
@few
def test_theorem_1_is_that_of_the_best_scores_and_below_theorem_2(problem, alpha, p, rng):
    A, y = problem
    S, n, m = rng.uniform(0.2, 5, len(A)), 4, len(A)
    K = np.linalg.inv(alpha * np.diag(1 / S) + laplacian(A) / np.sqrt(np.outer(S, S)))
    Y = np.equal.outer(y, np.unique(y)).astype(float)
    for reg in (0.01, 1.0, 30.0):
        f = K @ np.linalg.solve(K + m * reg * np.eye(m), Y)  # kernel ridge
        risk = ((f - Y) ** 2).sum() / m + reg * np.trace(f.T @ np.linalg.solve(K, f))
        with np.errstate(over="ignore"):
            second = np.power(tr_p(K, p) / (reg * n), p)
        assert oracle_bound(A, y, n, alpha, reg, S, p=p) == pytest.approx(16 * risk + second)

    def theorem_1(log):
        return oracle_bound(A, y, n, alpha, np.exp(log), S, p=1)

    best = optimize.minimize_scalar(theorem_1, bracket=(-5, 0)).fun
    assert best <= kernel_bound(A, y, n, alpha, S) * (1 + 1e-9)


@given(problem=problems)
@few
def test_the_bound_of_a_small_cut_is_above_theorem_3_with_its_factors(problem):
    A, y = problem
    same = np.equal.outer(y, y)
    parts = sparse.csgraph.connected_components(A * same, directed=False)[1]
    S = np.bincount(parts)[parts].astype(float)
    found = small_cut_bound(A, y, 4)
    assert found >= component_bound(A, y, 4, S, p=np.inf) * (1 - 1e-9)
    cut_off = small_cut_bound(A * same, y, 4)
    assert cut_off == pytest.approx(16 * (parts.max() + 1) / 4)
    assert cut_off == pytest.approx(component_bound(A * same, y, 4, S, p=np.inf))


def test_the_bound_of_a_small_cut_by_hand():
    """Two pairs of weight 1, with lambda_2 = 2, and one link of weight 0.5 between them."""
    pairs = np.array([[0, 1, 0.5, 0], [1, 0, 0, 0], [0.5, 0, 0, 1], [0, 0, 1, 0]])
    expected = 16 / 4 * (np.sqrt(2) + np.sqrt(1.0 / (1.0 * 2))) ** 2
    assert small_cut_bound(pairs, [0, 0, 1, 1], 4) == pytest.approx(expected)


@given(problem=problems, rng=factors)
@few
def test_eigenvalues_of_a_pure_subgraph_are_ordered_as_in_theorem_4(problem, rng):
    A, y = problem
    S = rng.uniform(0.2, 5, len(A))

    def spectrum(W):
        return np.linalg.eigvalsh(laplacian(W) / np.sqrt(np.outer(S, S)))

    pure = A * np.equal.outer(y, y)
    q, parts = sparse.csgraph.connected_components(pure, directed=False)
    seconds = [
        np.linalg.eigvalsh((laplacian(pure) / np.sqrt(np.outer(S, S)))[np.ix_(part, part)])[1]
        for part in (np.flatnonzero(parts == k) for k in range(q)) if part.size > 1
    ]  # fmt: skip
    for r in range(q, len(A)):
        assert spectrum(A)[r] >= spectrum(pure)[r] - 1e-9 >= min(seconds) - 2e-9


@given(problem=problems, p=st.sampled_from([1, 2, 5, np.inf]), rng=factors)
@few
def test_theorem_3_is_above_theorem_2_at_the_best_alpha(problem, p, rng):
    A, y = problem
    S = rng.uniform(0.2, 5, len(A))

    def theorem_2(log):
        return kernel_bound(A, y, 4, np.exp(log), S, p=p)

    logs = np.linspace(-14, 9, 41)
    near = logs[np.argmin([theorem_2(log) for log in logs])]
    bounds = (near - 0.6, near + 0.6)  # where both are nearly equal, the grid is too coarse
    best = optimize.minimize_scalar(theorem_2, bounds=bounds, method="bounded").fun
    assert best <= component_bound(A, y, 4, S, p=p) * (1 + 1e-9)


@given(problem=problems, alpha=alphas)
@few
def test_trace_of_a_scaled_kernel_is_the_same_at_every_p(problem, alpha):
    A, y = problem
    S = scaling_factors(A, "kernel", alpha)
    K_jj = S * kernel_diagonal(A, alpha)
    assert tr_p(K_jj, 1) == pytest.approx(tr_p(K_jj, np.inf)) == 1
    penalty = alpha * (1 / S).sum() + cut(A, y, S)
    assert kernel_bound(A, y, 3, alpha, S, p=np.inf) == pytest.approx(16 * penalty / 3)


def test_theorem_3_without_a_cut_is_the_paper_s_two_rates():
    A = linalg.block_diag(np.ones((4, 4)), np.ones((12, 12)))
    y = np.repeat([0, 1], [4, 12])
    assert component_bound(A, y, 8) == pytest.approx(2 * np.sqrt(16 * 2 / 8))
    assert component_bound(A, y, 8, p=np.inf) == pytest.approx(16 * 16 / (8 * 4))
    # section 3.1: the best scaling is the component's size, which gives 16 q / n
    S = np.repeat([4.0, 12.0], [4, 12])
    assert component_bound(A, y, 8, S, p=np.inf) == pytest.approx(16 * 2 / 8)
    assert component_bound(A, y, 8, 1 / S, p=np.inf) > 16 * 2 / 8


@given(problem=problems, data=st.data(), rng=factors)
@few
def test_projection_misses_at_most_delta_of_the_target(problem, data, rng):
    A, y = problem
    S = rng.uniform(0.2, 5, len(A))
    rank = data.draw(st.integers(1, len(A) - 1))
    bound, delta = projection_bound(A, y, 4, rank, S)
    _, V = np.linalg.eigh(laplacian(A) / np.sqrt(np.outer(S, S)))
    for value in np.unique(y):
        f = (y == value).astype(float)
        missed = f - V[:, :rank] @ (V[:, :rank].T @ f)
        assert missed @ missed <= delta * (f @ f) + 1e-10
    assert bound == pytest.approx(16 * delta + 8 * np.sqrt(rank / 4))


def test_projection_may_miss_more_than_the_printed_square_of_delta():
    block, S = np.ones((10, 10)), np.linspace(1, 1.3, 10)
    # the share of the constant that is orthogonal to S^(1/2)
    missed = 1 - np.sqrt(S).sum() ** 2 / (10 * S.sum())
    A, y = linalg.block_diag(block, block), np.repeat([0, 1], 10)
    _, delta = projection_bound(A, y, 4, 2, np.append(S, S))
    assert delta**2 < missed <= delta


def test_a_weight_above_1_breaks_theorem_4_as_printed():
    S, y = np.array([1.0, 4.0]), [0, 0, 1, 1]
    missed = 1 - np.sqrt(S).sum() ** 2 / (2 * S.sum())
    printed = np.diff(S**-0.5) ** 2 / 2
    for w in (0.5, 2.0):
        pair = [[0, w], [w, 0]]
        _, delta = projection_bound(linalg.block_diag(pair, pair), y, 1, 2, np.append(S, S))
        assert delta == pytest.approx(missed)
        assert (printed / (w * (1 / S).sum()) < missed) == (w > 1)


@scalings
def test_mean_error_over_labeled_sets_is_below_the_bounds(scaling):
    sizes = [60, 60]
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], sizes)
    share = np.where(np.equal.outer(y, y), 0.8, 0.002)
    A = np.triu((rng.random((120, 120)) < share).astype(float), 1)
    A = A + A.T
    alpha, n = 0.05, 100
    S = scaling_factors(A, scaling, alpha)
    bounds = [component_bound(A, y, n, S, p=np.inf)]
    if scaling != "degree":  # Theorem 2 does not cover the kernel of degree scaling
        bounds.append(kernel_bound(A, y, n, alpha, S, p=np.inf))
    errors = []
    for _ in range(5):
        nodes = rng.choice(120, n, replace=False)
        model = gq.LaplacianKernel(scaling, alpha, 1e-3).fit(A, gq.Labels(nodes, y[nodes]))
        errors.append(1 - model.accuracy(y))
    assert np.mean(errors) <= min(bounds) < 1


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
    with pytest.raises(ValueError, match="no edge to another node, first node 12"):
        scaling_factors(linalg.block_diag(A, [[1.0]]), "degree", 0.1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda A, y: cut(A, y[1:]), "class of each of 12 nodes"),
        (lambda A, y: cut(A, np.zeros(12)), "at least two classes"),
        (lambda A, y: cut(A, np.where(y == 0, np.nan, y)), "is missing"),
        (lambda A, y: kernel_inverse(A, "none", 0.1, -np.ones(12)), "S must be a positive"),
        (lambda A, y: cut(A, y, np.zeros(12)), "S must be a positive number for each of 12"),
        (lambda A, y: cut(A, y, np.ones(3)), r"got shape \(3,\)"),
        (lambda A, y: tr_p(A, 0), "p must be above 0"),
        (lambda A, y: tr_p(-np.eye(2), 1), "not negative"),
        (lambda A, y: kernel_bound(A, y, 0, 0.1), "n_labels must be between 1 and 12"),
        (lambda A, y: oracle_bound(A, y, 3, 0.1, 0), "reg must be"),
        (lambda A, y: small_cut_bound(A, y, 13), "n_labels must be between 1 and 12"),
        (lambda A, y: component_bound(A, y, 3, p=0.5), "p must be at least 1"),
        (lambda A, y: projection_bound(A, y, 3, 12), "rank must be between 1 and 11"),
    ],
)
def test_bounds_refuse_what_they_do_not_hold_for(call, message):
    A, y = random_problem(12, 2, seed=0)
    with pytest.raises(ValueError, match=message):
        call(A, y)


def test_too_large_a_dense_inverse_says_what_it_needs_and_what_to_do(monkeypatch):
    A, y = random_problem(24, 2, seed=0)
    monkeypatch.setattr("graphuq.utils.memory._available_memory", lambda: 10_000)
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
