"""The full prior by solves, against all its eigenvectors."""

import numpy as np
import pytest
from references.exact import class_probabilities, errors_in_mcse, exact_mean

import graphuq as gq
from graphuq.priors import solved as module
from graphuq.report.reproduction import code_of

N = 500
MODELS = [gq.Probit(0.3), gq.LevelSet(0.7), gq.NoisyProbit(0.3, 0.05)]


@pytest.fixture(scope="module")
def problem():
    X, y = gq.datasets.two_moons(N, d=10, sigma=0.15, seed=0)
    graph = gq.knn_graph(X, 8, connect=True)
    return graph, gq.reveal(y, counts=12, seed=0), y


@pytest.fixture(scope="module")
def exact(problem):
    return gq.Prior.full(problem[0])


@pytest.fixture(scope="module")
def solved(problem):
    nodes = np.union1d(problem[1].nodes, [3, 77])
    return gq.SolvedPrior.of(problem[0], nodes, rank=30, probes=400, seed=1)


def test_columns_are_those_of_the_full_prior(solved, exact):
    """Up to the scale, which is estimated."""
    true = exact.covariance(np.arange(N), solved.nodes) / exact.scale
    np.testing.assert_allclose(solved.columns / solved.scale, true, atol=1e-6)


def test_scale_and_variances_are_right_within_the_errors_given(solved, exact):
    assert 0 < solved.scale_error < 0.01
    assert abs(solved.scale / exact.scale - 1) < 5 * solved.scale_error
    relative = solved.variances / solved.scale / (exact.variance() / exact.scale) - 1
    hidden = np.setdiff1d(np.arange(N), solved.nodes)
    spread = np.sqrt(np.mean(relative[hidden] ** 2))
    assert spread == pytest.approx(solved.variance_error, rel=0.2)
    assert solved.variance_error < 0.03
    np.testing.assert_allclose(relative[solved.nodes], 0, atol=1e-6)


def test_errors_fall_with_the_root_of_the_number_of_probes(problem, solved, exact):
    few = gq.SolvedPrior.of(problem[0], [0], rank=30, probes=25, seed=2)
    assert few.variance_error / solved.variance_error == pytest.approx(4, rel=0.25)


def test_more_modes_leave_less_to_solve_for(problem, solved):
    more = gq.SolvedPrior.of(problem[0], solved.nodes, rank=100, probes=400, seed=1)
    ratio = more.columns / more.scale
    np.testing.assert_allclose(ratio, solved.columns / solved.scale, atol=1e-6)
    assert more.variance_error < solved.variance_error


def test_the_polynomial_s_diagonal_is_exact(problem):
    graph = problem[0]
    solver = module._Solver(graph.laplacian(), gq.Spectrum.of(graph, 30))
    polynomial = solver.polynomial()
    by_columns = [solver.times(polynomial, np.eye(1, N, i)[0])[i] for i in range(40)]
    np.testing.assert_allclose(solver.diagonal_of(polynomial)[:40], by_columns, atol=1e-10)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_posteriors_agree_with_those_of_the_full_prior(problem, solved, exact, model):
    _, labels, y = problem
    posts = [
        gq.sample(prior, model, labels, nodes=[3, 77], seed=seed, draws=2000, progress=False)
        for seed, prior in enumerate((solved, exact))
    ]
    gap = abs(posts[0].mean - posts[1].mean)
    # what an error of the variances does to E[S(u)]: at most 0.5 of its relative size
    allowed = 5 * np.hypot(posts[0].mcse, posts[1].mcse) + 0.5 * 4 * solved.variance_error
    assert (gap < allowed).all()
    assert gap.max() < 0.06
    for k in range(2):
        u, v = (post.draws.field[..., k].ravel() for post in posts)
        assert u.mean() == pytest.approx(v.mean(), abs=0.08)
        assert u.std() == pytest.approx(v.std(), rel=0.06)
    other = gq.sample(gq.Prior.projected(exact.spectrum, 5), model, labels, seed=0, progress=False)
    assert not (abs(other.mean - posts[1].mean) < allowed).all()  # negative control
    assert posts[0].draws.modes.shape == (4, 2000, 0)
    assert posts[0].diagnostics().r_hat < 1.05
    assert abs(posts[0].accuracy(y) - posts[1].accuracy(y)) < 0.02


def known_exactly(prior, nodes):
    """Return the solved prior without the errors of random probes."""
    C = prior.covariance(np.arange(prior.n_nodes), np.arange(prior.n_nodes))
    return gq.SolvedPrior(np.array(nodes), C[:, nodes], np.diag(C), prior.scale, 0.0, 0.0)


def test_a_level_adds_its_variance_to_all_covariances(problem, solved, exact):
    n = np.arange(N)
    dense = exact.covariance(n, n) + 0.8**2 * np.outer(np.ones(N), np.ones(N))
    for prior in (known_exactly(exact, [3, 77, 200]) + gq.Level(0.8),
                  gq.Level(0.8) + known_exactly(exact, [3, 77, 200])):  # fmt: skip
        found = prior.covariance(n, [3, 77, 200])
        np.testing.assert_allclose(found, dense[:, [3, 77, 200]], atol=1e-10)
        np.testing.assert_allclose(prior.variance(), np.diag(dense), atol=1e-10)
        law = prior.at([77, 3])
        np.testing.assert_allclose(law.covariance(), dense[np.ix_([77, 3], [77, 3])], atol=1e-10)
    assert repr(solved + gq.Level(0.8)) == repr(solved) + " + Level(0.8)"


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_posterior_with_a_level_is_exact(n_classes):
    """Against orthants of the dense covariance C + s^2 11'."""
    graph, _ = gq.datasets.karate()
    full, model = gq.Prior.full(graph), gq.Probit(0.3)
    labels = gq.Labels([0, 16, 33], [0, 0, n_classes - 1], classes=range(n_classes))
    prior, hidden = known_exactly(full, [0, 16, 33]) + gq.Level(1.2), np.array([8, 11, 24])
    post = gq.sample(prior, model, labels, draws=4000, seed=0, progress=False)
    for s, right in ((1.2, True), (0.0, False)):
        if n_classes == 2:
            at = exact_mean(full + gq.Level(s), model, labels, hidden)
        else:
            at = class_probabilities(full + gq.Level(s), labels, hidden, 0.3, np.inf)
        assert (errors_in_mcse(post, at, hidden).max() < 4.5) == right


def test_one_seed_gives_one_prior_whatever_the_threads(problem):
    a, b = (
        gq.SolvedPrior.of(problem[0], [1, 5], rank=20, probes=10, seed=3, threads=t) for t in (1, 3)
    )
    np.testing.assert_array_equal(a.columns, b.columns)
    np.testing.assert_array_equal(a.variances, b.variances)


def test_posteriors_can_be_saved_and_read(problem, solved, tmp_path):
    _, labels, y = problem
    for prior in (solved, solved + gq.Level(0.5)):
        post = gq.sample(prior, gq.Probit(0.3), labels, seed=0, draws=200, progress=False)
        post.save(tmp_path / "post.nc")
        again = gq.load(tmp_path / "post.nc")
        np.testing.assert_array_equal(again.mean, post.mean)
        assert again.settings["prior"] == prior.fingerprint()
        assert again.settings["prior"]["kind"] == "solved"
        assert again.accuracy(y) == post.accuracy(y)
    assert "gq.SolvedPrior.of(graph, labels.nodes) + gq.Level(0.5)" in code_of(again)


def test_evidence_tuning_and_approximation_are_those_of_the_full_prior(problem, exact):
    _, labels, _ = problem
    solved, model = known_exactly(exact, labels.nodes), gq.Probit(0.3)
    for level in (0.0, 0.7):
        own, full = (prior + gq.Level(level) for prior in (solved, exact))
        assert gq.evidence(own, model, labels) == pytest.approx(
            gq.evidence(full, model, labels), abs=1e-6
        )
        quick, other = (gq.approximate(prior, model, labels) for prior in (own, full))
        np.testing.assert_allclose(quick.by_class, other.by_class, atol=1e-6)
    annealed = gq.annealed_evidence(solved, model, labels, chains=32, seed=0)
    assert abs(annealed.log_evidence - gq.evidence(solved, model, labels)) < 4 * annealed.mcse
    found, wanted = (gq.tune(prior + gq.Level(), labels) for prior in (solved, exact))
    assert found.chosen == pytest.approx(wanted.chosen, rel=1e-3)


def test_draws_and_suggestions_need_no_eigenvectors(problem, solved):
    _, labels, _ = problem
    post = gq.sample(solved, gq.Probit(0.3), labels, seed=0, draws=200, progress=False)
    drawn = np.concatenate(list(post.latent_draws()))
    assert abs(np.sign(drawn).mean(axis=0) - post.mean).max() < 0.2
    assert not np.isin(post.suggest(3)[0], labels.nodes).any()


def test_what_a_solved_prior_cannot_do_is_refused(problem, solved):
    _, labels, _ = problem
    with pytest.raises(TypeError, match="needs the field at all nodes"):
        gq.sample(solved, gq.GinzburgLandau(1.0, 1.0), labels, progress=False)
    with pytest.raises(ValueError, match=r"not for node \d+: name all labeled and traced ones"):
        gq.sample(solved, gq.Probit(0.3), gq.Labels([0, 1], [0, 1]), progress=False)
    with pytest.raises(ValueError, match="a sum has one level"):
        solved + gq.Level(0.5) + gq.Level(0.5)
    with pytest.raises(TypeError, match="a SolvedPrior has no parameters, got alpha"):
        solved.with_parameters(alpha=2.0)


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"nodes": [N]}, ValueError, "got 500"),
        ({"nodes": []}, ValueError, "nodes"),
        ({"rank": 0}, ValueError, "rank must be at least 1"),
        ({"probes": 1}, ValueError, "probes must be at least 2"),
        ({"graph": [[0, 1, 0], [1, 0, 0], [0, 0, 0]]}, ValueError, "disconnected"),
    ],
)
def test_bad_input_is_refused(problem, options, error, match):
    arguments = {"graph": problem[0], "nodes": [0], **options}
    with pytest.raises(error, match=match):
        gq.SolvedPrior.of(**arguments)


def test_solves_that_do_not_converge_and_columns_too_large_are_refused(problem, monkeypatch):

    monkeypatch.setattr(module, "MAX_ITERATIONS", 3)
    with pytest.raises(RuntimeError, match=r"the residual is .* after 3 iterations.*raise rank"):
        gq.SolvedPrior.of(problem[0], [0], rank=2, probes=2)
    monkeypatch.setattr("graphuq.utils.memory._available_memory", lambda: 1e5)
    with pytest.raises(MemoryError, match="1 columns of the covariance of 500 nodes"):
        gq.SolvedPrior.of(problem[0], [0])


@pytest.mark.parametrize("weight", [1e12, 1e300])
def test_what_the_modes_span_is_not_solved_for(weight):
    """One vector is left to solve for, at the ends of the edge: probes may have none of it."""
    A = np.ones((30, 30)) - np.eye(30)
    A[0, 1] = A[1, 0] = weight
    with pytest.warns(RuntimeWarning, match="outweighs them"):
        graph = gq.Graph(A)
    prior = gq.SolvedPrior.of(graph, [0, 1, 2])
    exact = gq.Prior.full(graph).covariance(np.arange(30), [0, 1, 2])
    np.testing.assert_allclose(prior.columns, exact, atol=1e-4)


def test_labels_at_other_nodes_are_refused_by_all_that_need_them(problem, solved):
    nodes = np.setdiff1d(np.arange(N), solved.nodes)[[0, -1]]
    labels = gq.Labels(nodes, [0, 1])
    for call in (gq.evidence, gq.approximate, gq.sample):
        with pytest.raises(ValueError, match="solved for other nodes"):
            call(solved, gq.Probit(0.3), labels)
    with pytest.raises(ValueError, match="solved for other nodes"):
        gq.tune(solved + gq.Level(), labels)
