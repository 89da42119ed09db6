from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphuq import FeaturePrior, Graph, Level, Prior, Spectrum, SumPrior, knn_graph
from graphuq.priors.given import Given, GivenAll
from graphuq.priors.prior import log_spectral_weight

N, RANK = 12, 4
GRAPH = knn_graph(np.random.default_rng(3).normal(size=(N, 2)), 4, connect=True)
PRIORS = {
    "full": Prior.full(GRAPH),
    "projected": Prior.projected(GRAPH, RANK),
    "approximated": Prior.approximated(GRAPH, RANK),
}
kinds = pytest.mark.parametrize("kind", PRIORS)
few = settings(max_examples=30, deadline=None)
node_lists = st.lists(st.integers(0, N - 1), min_size=1, max_size=N, unique=True)

HALVES = [slice(0, 5), slice(5, N)]

# J < r, J = r + 1, J > r + 1, nearly all and all nodes, in no order
SUBSETS = [[5], [9, 0, 4], [7, 1, 11, 2, 4], [3, 8, 0, 10, 6, 1, 9], [*range(1, N)], [*range(N)]]
subsets = pytest.mark.parametrize("nodes", SUBSETS, ids=len)


def dense_covariance(kind, rank=RANK, lambda_bar=None):
    """DESIGN 4, from numpy's own eigenpairs."""
    values, vectors = np.linalg.eigh(GRAPH.laplacian().toarray())
    rank = N - 1 if kind == "full" else rank
    kept, Q = values[1 : rank + 1], vectors[:, 1 : rank + 1]
    inverse = (Q / kept) @ Q.T
    if kind == "approximated":
        inverse += (np.eye(N) - Q @ Q.T) / (lambda_bar or kept[-1])
    return inverse * N / np.trace(inverse)


COVARIANCE = {kind: dense_covariance(kind) for kind in PRIORS}


def given_labeled(C, nodes):
    """E[u | u_J] = G u_J and Cov[u | u_J], by the pseudo-inverse of C_JJ."""
    G = C[:, nodes] @ np.linalg.pinv(C[np.ix_(nodes, nodes)], rcond=1e-11, hermitian=True)
    return G, C - G @ C[nodes]


def moments(conditional, fields):
    """All nodes' conditional means and deviations, gathered from blocks of rows."""
    mean, deviation = [], []
    summaries = conditional.summarize(fields[:, None])[:, 0]
    for block in np.array_split(np.arange(N), 3):
        rows = conditional.rows(conditional.basis[block], conditional.which[block])
        mean.append(rows.mean(summaries))
        deviation.append(rows.deviation)
    return np.vstack(mean), np.concatenate(deviation)


def trace(conditional, fields, rng):
    """Modes and traced nodes of one field a draw."""
    modes, traced = conditional.trace(fields[:, None], rng)
    return modes[:, 0], traced[:, 0]


def assert_sampled(draws, mean, covariance, errors=5):
    """Sample moments agree with the exact ones within Monte Carlo error."""
    n, v = len(draws), np.diag(covariance).clip(0)
    centered = draws - mean
    off = abs(centered.mean(axis=0))
    assert (off <= errors * np.sqrt(v / n) + 1e-9).all()
    off = abs(centered.T @ centered / n - covariance)
    assert (off <= errors * np.sqrt((np.multiply.outer(v, v) + covariance**2) / n) + 1e-9).all()


# The law of the whole field


@kinds
def test_mean_node_variance_is_one(kind):
    prior = PRIORS[kind]
    assert prior.variance().mean() == pytest.approx(1, rel=1e-12)
    np.testing.assert_allclose(prior.variance(), np.diag(prior.law.covariance()), rtol=1e-12)


@kinds
def test_covariance_is_that_of_the_eigenpairs(kind):
    np.testing.assert_allclose(PRIORS[kind].law.covariance(), COVARIANCE[kind], atol=1e-12)


@pytest.mark.parametrize("kind", ["full", "projected"])
def test_the_null_vector_has_no_variance(kind):
    q0 = np.sqrt(GRAPH.degrees)
    np.testing.assert_allclose(PRIORS[kind].law.covariance() @ q0, 0, atol=1e-12)
    np.testing.assert_allclose(PRIORS[kind].draw(50, seed=0) @ q0, 0, atol=1e-12)


def test_an_eigenvalue_of_the_tail_below_the_kept_ones_is_refused():
    with pytest.raises(ValueError, match=r"at least the largest kept eigenvalue.*got 0\.2"):
        Prior.approximated(GRAPH, RANK, 0.2)


@pytest.mark.parametrize("lambda_bar", [1.2, 5])
def test_the_tail_takes_the_eigenvalue_that_is_given(lambda_bar):
    prior = Prior.approximated(GRAPH, RANK, lambda_bar)
    expected = dense_covariance("approximated", lambda_bar=lambda_bar)
    np.testing.assert_allclose(prior.law.covariance(), expected, atol=1e-12)
    assert prior.tail == pytest.approx(np.sqrt(prior.scale / lambda_bar))


@pytest.mark.parametrize("build", [Prior.projected, Prior.approximated])
def test_with_all_modes_every_kind_is_the_full_prior(build):
    prior = build(GRAPH, N - 1)
    assert prior.tail == 0
    np.testing.assert_allclose(prior.law.covariance(), COVARIANCE["full"], atol=1e-12)


@kinds
def test_a_spectrum_a_graph_and_a_matrix_give_the_same_prior(kind):
    build = getattr(Prior, kind)
    rank = () if kind == "full" else (RANK,)
    for source in (Spectrum.of(GRAPH), GRAPH.adjacency, GRAPH.adjacency.toarray()):
        prior = build(source, *rank)
        assert prior.rank == PRIORS[kind].rank
        np.testing.assert_allclose(prior.law.covariance(), COVARIANCE[kind], atol=1e-12)


def test_the_combinatorial_laplacian_makes_a_prior_too():
    L = GRAPH.laplacian("combinatorial").toarray()
    C = Prior.full(Spectrum.of(GRAPH, laplacian="combinatorial")).law.covariance()
    inverse = np.linalg.pinv(L)
    np.testing.assert_allclose(C, inverse * N / np.trace(inverse), atol=1e-12)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 3.0])
@pytest.mark.parametrize(("tau", "null_mode"), [(0.0, False), (0.5, False), (0.5, True)])
@pytest.mark.parametrize("kind", ["full", "projected", "approximated"])
def test_the_whittle_matern_family_is_a_power_of_the_laplacian(kind, alpha, tau, null_mode):
    values, vectors = np.linalg.eigh(GRAPH.laplacian().toarray())
    weights = np.append(0.0, (values[1:] + tau**2) ** -alpha)
    if null_mode:
        weights[0] = tau ** (-2 * alpha)
    if kind == "projected":
        weights[RANK + 1 :] = 0
    if kind == "approximated":  # q_0 is in the tail unless it is a mode
        weights[RANK + 1 :] = weights[RANK]
        weights[0] = weights[0] if null_mode else weights[RANK]
    expected = (vectors * weights) @ vectors.T * N / weights.sum()
    rank = () if kind == "full" else (RANK,)
    prior = getattr(Prior, kind)(GRAPH, *rank, alpha=alpha, tau=tau, null_mode=null_mode)
    np.testing.assert_allclose(prior.law.covariance(), expected, atol=1e-11)
    assert prior.variance().mean() == pytest.approx(1)
    nodes = np.arange(0, N, 2)
    F = prior.root(nodes)
    assert F.shape[1] <= max(nodes.size, RANK + 1)
    np.testing.assert_allclose(F @ F.T, expected[np.ix_(nodes, nodes)], atol=1e-11)


def test_extreme_powers_neither_overflow_nor_lose_the_scale():
    prior = Prior.projected(GRAPH, RANK, alpha=100.0)
    assert np.isfinite(prior.sigma).all()
    assert prior.variance().mean() == pytest.approx(1)


def test_open_parameters_say_what_chooses_them():
    spectrum = Spectrum.of(GRAPH)
    prior = Prior.projected(spectrum, "auto", alpha="auto", tau=0.1)
    assert prior.open == ("alpha", "rank")
    assert "alpha auto" in repr(prior)
    assert "rank up to" in repr(prior)
    with pytest.raises(ValueError, match=r"for alpha and rank: .*gq\.tune"):
        prior.draw()
    settled = prior.with_parameters(alpha=2.0, rank=RANK)
    assert settled.open == ()
    same = Prior.projected(spectrum, RANK, alpha=2.0, tau=0.1)
    np.testing.assert_array_equal(settled.sigma, same.sigma)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0.0}, "alpha must lie between 0.01 and 100, got 0"),
        ({"alpha": "automatic"}, "alpha must be a number"),
        ({"tau": -1.0}, "tau must lie between 0 and 100, got -1"),
        ({"tau": float("nan")}, "tau must be finite"),
        ({"null_mode": True}, "null_mode needs a positive tau"),
        ({"null_mode": 1}, "null_mode must be True or False"),
    ],
)
def test_parameters_of_the_family_are_checked(options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Prior.projected(GRAPH, RANK, **options)


@kinds
def test_blocks_of_the_covariance_are_cut_by_nodes(kind):
    rows, columns = [7, 0], [0, 3, 7, 11]
    expected = COVARIANCE[kind][np.ix_(rows, columns)]
    np.testing.assert_allclose(PRIORS[kind].covariance(rows, columns), expected, atol=1e-12)


# The law at some nodes


@kinds
@given(nodes=node_lists)
@few
def test_the_law_at_nodes_is_the_block_of_the_covariance(kind, nodes):
    law = PRIORS[kind].at(nodes)
    block = COVARIANCE[kind][np.ix_(nodes, nodes)]
    assert law.size == len(nodes)
    np.testing.assert_allclose(law.covariance(), block, atol=1e-11)
    np.testing.assert_allclose(law.variance(), np.diag(block), atol=1e-11)
    p = law.basis.shape[1]
    np.testing.assert_allclose(law.basis.T @ law.basis, np.eye(p), atol=1e-11)
    assert p <= min(len(nodes), PRIORS[kind].rank)
    assert (law.variances >= 0).all()


@kinds
@subsets
def test_solve_and_energy_are_those_of_the_pseudo_inverse(kind, nodes):
    law = PRIORS[kind].at(nodes)
    inverse = np.linalg.pinv(COVARIANCE[kind][np.ix_(nodes, nodes)], rcond=1e-11, hermitian=True)
    # any vector, even outside the support of the field
    fields = np.random.default_rng(0).normal(size=(5, len(nodes)))
    size = abs(inverse).max()
    np.testing.assert_allclose(law.solve(fields), fields @ inverse, atol=1e-10 * size)
    energy = 0.5 * ((fields @ inverse) * fields).sum(axis=1)
    np.testing.assert_allclose(law.energy(fields), energy, atol=1e-10 * size)


@kinds
def test_the_pseudo_inverse_takes_no_rounding_error_for_a_direction(kind):
    for nodes in combinations(range(N), 7):
        law = PRIORS[kind].at(nodes)
        rank = np.count_nonzero(law.inverse_variances)
        rank += law.size - law.basis.shape[1] if law.has_tail else 0
        assert rank == (RANK if kind == "projected" else 7), nodes


@kinds
def test_the_whole_law_solves_with_the_pseudo_inverse(kind):
    fields = np.random.default_rng(0).normal(size=(5, N))
    inverse = np.linalg.pinv(COVARIANCE[kind], rcond=1e-11, hermitian=True)
    np.testing.assert_allclose(PRIORS[kind].law.solve(fields), fields @ inverse, atol=1e-10)


@kinds
@pytest.mark.parametrize("nodes", [None, *SUBSETS[2:]], ids=lambda nodes: len(nodes or "whole"))
def test_draws_have_the_covariance(kind, nodes):
    law = PRIORS[kind].law if nodes is None else PRIORS[kind].at(nodes)
    block = COVARIANCE[kind] if nodes is None else COVARIANCE[kind][np.ix_(nodes, nodes)]
    draws = law.draw(20_000, np.random.default_rng(1))
    assert_sampled(draws, 0, block)


def test_the_check_of_draws_detects_a_wrong_covariance():
    draws = PRIORS["full"].draw(20_000, seed=1)
    with pytest.raises(AssertionError):
        assert_sampled(draws, 0, COVARIANCE["approximated"])
    with pytest.raises(AssertionError):
        assert_sampled(draws + 0.1, 0, COVARIANCE["full"])


def test_draws_repeat_by_seed_and_a_generator_advances():
    prior = PRIORS["approximated"]
    np.testing.assert_array_equal(prior.draw(3, seed=4), prior.draw(3, seed=4))
    rng = np.random.default_rng(4)
    assert (prior.draw(3, seed=rng) != prior.draw(3, seed=rng)).all()


# From the labeled nodes to all


def labeled(kind, nodes, traced=()):
    nodes = np.sort(np.array(nodes))
    fields = PRIORS[kind].draw(4, seed=2)
    conditional = Given(PRIORS[kind].field, nodes, np.array(traced, dtype=np.int64))
    return conditional, nodes, fields


@kinds
@given(nodes=node_lists)
@few
def test_rows_are_the_conditional_moments(kind, nodes):
    conditional, nodes, fields = labeled(kind, nodes)
    mean, deviation = moments(conditional, fields[:, nodes])
    gain, left = given_labeled(COVARIANCE[kind], nodes)
    np.testing.assert_allclose(mean, gain @ fields[:, nodes].T, atol=1e-6)
    np.testing.assert_allclose(deviation**2, np.diag(left), atol=1e-6)


SUMS = {
    **PRIORS,
    "with a level": PRIORS["projected"] + Level(0.7),
    "with q_0": Prior.projected(GRAPH, RANK, tau=0.3, null_mode=True),
    "with features": SumPrior.of(
        [
            PRIORS["approximated"],
            FeaturePrior(np.random.default_rng(5).normal(size=(N, 2)), length_scale=1.0),
            Level(0.5),
        ],
        weights=[0.6, 0.4],
    ),
}


@pytest.mark.parametrize("kind", SUMS)
@pytest.mark.parametrize("wider", [0.5, 1.0, 2.0], ids="spread times {}".format)
@given(nodes=node_lists)
@few
def test_a_gaussian_at_labeled_nodes_extends_to_all(kind, wider, nodes):
    # also one with a larger variance than the prior, as sites of negative precision make it
    prior, nodes = SUMS[kind], np.sort(nodes)
    C = prior.covariance(np.arange(N), np.arange(N))
    if kind == "with features":  # nodes have a variance of their own
        C[np.diag_indices(N)] = prior.field.variance()
    root, mean = prior.root(nodes), np.random.default_rng(1).normal(size=len(nodes))
    mean, spread = root @ (root.T @ mean), wider * root
    conditional = Given(prior.field, nodes)
    extend = conditional.extend(mean, spread)
    found = [extend(conditional.basis[block], conditional.which[block]) for block in HALVES]
    gain, left = given_labeled(C, nodes)
    hidden = np.setdiff1d(np.arange(N), nodes)
    wanted = np.diag(left + gain @ spread @ spread.T @ gain.T)
    got_mean, got_variance = (np.concatenate(parts) for parts in zip(*found, strict=True))
    np.testing.assert_allclose(got_mean[hidden], (gain @ mean)[hidden], atol=1e-6)
    np.testing.assert_allclose(got_variance[hidden], wanted[hidden], atol=1e-6)
    np.testing.assert_array_equal(got_mean[nodes], mean)
    np.testing.assert_allclose(got_variance[nodes], (spread**2).sum(axis=1), rtol=1e-12)


@kinds
@given(nodes=node_lists)
@few
def test_labeled_nodes_are_known_exactly(kind, nodes):
    conditional, nodes, fields = labeled(kind, nodes)
    mean, deviation = moments(conditional, fields[:, nodes])
    np.testing.assert_allclose(mean[nodes], fields[:, nodes].T, atol=1e-10)
    assert (deviation[nodes] == 0).all()


@pytest.mark.parametrize("n_labeled", [RANK + 2, RANK + 4, N - 1])
def test_as_many_labels_as_modes_leave_nothing_unknown_under_projection(n_labeled):
    nodes = np.random.default_rng(0).permutation(N)[:n_labeled]
    conditional, nodes, fields = labeled("projected", nodes)
    assert np.linalg.matrix_rank(conditional.law.covariance(), tol=1e-10) == RANK < n_labeled
    mean, deviation = moments(conditional, fields[:, nodes])
    np.testing.assert_allclose(mean, fields.T, atol=1e-10)
    assert (deviation == 0).all()


def test_the_last_node_follows_from_all_others():
    conditional, nodes, fields = labeled("full", range(1, N))
    mean, deviation = moments(conditional, fields[:, nodes])
    np.testing.assert_allclose(mean[0], fields[:, 0], atol=1e-10)
    assert deviation[0] == pytest.approx(0, abs=1e-6)


@kinds
@given(data=st.data(), nodes=node_lists)
@few
def test_a_trace_keeps_the_field_that_was_read(kind, data, nodes):
    traced = np.array(data.draw(st.permutations(range(N))))
    conditional, nodes, fields = labeled(kind, nodes, traced)
    z, u = trace(conditional, fields[:, nodes], np.random.default_rng(0))
    assert z.shape == (4, PRIORS[kind].rank)
    at = [traced.tolist().index(node) for node in nodes]
    # under projection with about as many labels as modes C_JJ may be all but singular
    np.testing.assert_allclose(u[:, at], fields[:, nodes], atol=1e-7)


@pytest.mark.parametrize("kind", ["full", "projected"])
@subsets
def test_without_a_tail_the_traced_field_is_the_sum_of_the_modes(kind, nodes):
    traced = [11, 0, 4, 5]
    conditional, nodes, fields = labeled(kind, nodes, traced)
    prior = PRIORS[kind]
    z, u = trace(conditional, fields[:, nodes], np.random.default_rng(0))
    expected = (z * prior.sigma) @ prior.spectrum.vectors[traced].T
    np.testing.assert_allclose(u, expected, atol=1e-10)


def joint_covariance(kind):
    """Return the covariance of (z, u) at all nodes."""
    prior = PRIORS[kind]
    cross = np.sqrt(prior.sigma**2 - prior.tail**2)[:, None] * prior.spectrum.vectors.T
    return np.block([[np.eye(prior.rank), cross], [cross.T, COVARIANCE[kind]]])


@kinds
@pytest.mark.parametrize("n_labeled", [3, 7])
def test_traces_have_the_conditional_law_of_modes_and_nodes(kind, n_labeled):
    rank, traced = PRIORS[kind].rank, [10, 2, 6, 0]
    nodes = [2, 5, 8, 1, 3, 9, 11][:n_labeled]
    conditional, nodes, fields = labeled(kind, nodes, traced)
    field = fields[0, nodes]
    z, u = trace(conditional, np.tile(field, (20_000, 1)), np.random.default_rng(5))
    joint = joint_covariance(kind)
    gain, left = given_labeled(joint, rank + nodes)
    wanted = [*range(rank), *(rank + node for node in traced)]
    draws = np.hstack([z, u])
    mean, covariance = (gain @ field)[wanted], left[np.ix_(wanted, wanted)]
    assert_sampled(draws, mean, covariance)


# When the likelihood reads all nodes


@kinds
def test_reading_all_nodes_leaves_nothing_unknown(kind):
    fields = PRIORS[kind].draw(3, seed=0)
    mean, deviation = moments(GivenAll(PRIORS[kind].field, np.arange(0)), fields)
    np.testing.assert_array_equal(mean, fields.T)
    assert (deviation == 0).all()


@pytest.mark.parametrize("kind", ["full", "projected"])
def test_modes_are_recovered_from_the_whole_field(kind):
    prior, traced = PRIORS[kind], np.array([8, 1])
    rng = np.random.default_rng(0)
    z = rng.normal(size=(3, prior.rank))
    fields = (z * prior.sigma) @ prior.spectrum.vectors.T
    modes, u = trace(GivenAll(prior.field, traced), fields, rng)
    np.testing.assert_allclose(modes, z, atol=1e-12)
    np.testing.assert_array_equal(u, fields[:, traced])


def test_modes_given_a_field_with_a_tail_have_their_conditional_law():
    prior, rng = PRIORS["approximated"], np.random.default_rng(0)
    field = prior.draw(1, seed=0)
    modes, _ = trace(GivenAll(prior.field, np.arange(0)), np.tile(field, (20_000, 1)), rng)
    joint = joint_covariance("approximated")
    gain, left = given_labeled(joint, [*range(RANK, RANK + N)])
    assert_sampled(modes, (gain @ field[0])[:RANK], left[:RANK, :RANK])


# Bad input

PART = Spectrum.of(GRAPH, RANK)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Prior.projected(GRAPH, 0), ValueError, r"rank must be between 1 and 11, got 0"),
        (lambda: Prior.projected(GRAPH, N), ValueError, r"between 1 and 11, got 12"),
        (lambda: Prior.approximated(GRAPH, -1), ValueError, r"between 1 and 11"),
        (lambda: Prior.approximated(GRAPH, 2.5), TypeError, r"rank must be an integer"),
        (lambda: Prior.approximated(PART, 5), ValueError, r"holds 4 modes: compute more"),
        (lambda: Prior.full(PART), ValueError, r"all 11 modes, and this spectrum holds 4"),
        (lambda: Prior.approximated(GRAPH, 4, 0), ValueError, r"lambda_bar must be positive"),
        (lambda: Prior.approximated(GRAPH, 4, -1.0), ValueError, r"lambda_bar must be positive"),
        (lambda: Prior.approximated(GRAPH, 4, np.nan), ValueError, r"lambda_bar must be finite"),
        (lambda: Prior.approximated(GRAPH, 4, "1"), TypeError, r"lambda_bar must be a number"),
        (lambda: PRIORS["full"].at([0, 12]), ValueError, r"from 0 to 11, got 12"),
        (lambda: PRIORS["full"].at([-1]), ValueError, r"got -1"),
        (lambda: PRIORS["full"].at([3, 3]), ValueError, r"each node once"),
        (lambda: PRIORS["full"].at([0.5]), TypeError, r"integer node ids"),
        (
            lambda: PRIORS["full"].covariance([0], [99]),
            ValueError,
            r"columns must hold nodes of the graph.*got 99",
        ),
        (lambda: PRIORS["full"].draw(0), ValueError, r"size must be at least 1"),
        (lambda: PRIORS["full"].draw(1, seed=1.5), TypeError, r"seed must be"),
        (lambda: Prior.full(Graph(np.eye(3))), ValueError, "no edge between two nodes"),
        (lambda: Prior(PART, "foo"), TypeError, r"got Spectrum and 'foo': take Prior.full"),
        (lambda: Prior(GRAPH, "full"), TypeError, r"takes a Spectrum .* got Graph and 'full'"),
    ],
)
def test_bad_input_is_refused_with_a_reason(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_large_alpha_has_the_heat_kernel():
    t, values = 50.0, np.linspace(0, 0.5, 2000)
    far = []
    for alpha in (1.0, 10.0, 100.0):
        logs = log_spectral_weight(values, alpha, np.sqrt(alpha / t))
        far.append(alpha * abs(np.exp(logs - logs[0]) - np.exp(-t * values)).max())
    assert far == sorted(far)
    assert 0.26 < far[-1] < 0.27


def test_a_full_prior_too_large_for_memory_is_refused_before_any_work(monkeypatch):
    monkeypatch.setattr("graphuq.utils.memory._available_memory", lambda: 1000.0)
    with pytest.raises(MemoryError, match=r"full prior on 12 nodes.*Prior\.approximated"):
        Prior.full(GRAPH)
