"""The evidence, and expectation propagation behind it, against exact answers."""

from __future__ import annotations

import copy
import itertools
import math
import pickle

import numpy as np
import pytest
from conftest import priors
from references.exact import errors_in_mcse, exact_mean, orthant, probit_masses
from references.mutation import plant
from references.problems import THREE
from references.selection import each_once, first_of, shown
from scipy.special import expit, ndtr

import graphuq as gq
from graphuq.inference.evidence.evidence import converged_sites
from graphuq.likelihoods.bound import bind
from graphuq.propagation import sign_propagation

GAMMAS = [0.01, 0.1, 1.0]


def exact_evidence(prior, likelihood, labels):
    """Log of a sum of orthant probabilities over which labels were flipped."""
    C, y = prior.covariance(labels.nodes, labels.nodes), labels.codes
    noise, cost = likelihood.sign_model()
    flip = 1 / (1 + np.exp(cost)) if cost < 700 else 0.0
    total = 0.0
    for flips in itertools.product([1.0, -1.0], repeat=y.size if flip else 0):
        signs = np.array(flips) if flip else np.ones(y.size)
        weight = np.prod(np.where(signs < 0, flip, 1 - flip))
        folded = (y * signs)[:, None] * C * (y * signs)
        mass = orthant(folded) if noise == 0 else probit_masses(C, [], [], y * signs, noise)[1]
        total += weight * mass
    return np.log(total)


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("kind", ["full", "projected", "approximated"])
def test_probits_evidence_is_an_orthant_probability_to_one_percent(small, kind, gamma):
    spectrum, labels, y = small
    eight = gq.Labels([0, 3, 7, 13, 21, 25, 30, 38], y[[0, 3, 7, 13, 21, 25, 30, 38]])
    prior = priors(spectrum, 12)[kind]
    for seen in (labels, eight):
        exact = exact_evidence(prior, gq.Probit(gamma), seen)
        found = gq.evidence(prior, gq.Probit(gamma), seen)
        assert found == pytest.approx(exact, rel=0.01)
        # the correction reduces the error tenfold
        assert abs(found - exact) < 0.1 * abs(found - found.correction - exact) + 2e-4


@pytest.mark.parametrize(
    "likelihood", [gq.NoisyProbit(0.1, 0.1), gq.NoisyProbit(0.5, 0.02), gq.LevelSet(1.0)]
)
@pytest.mark.parametrize("kind", ["full", "projected", "approximated"])
def test_evidence_with_flips_is_a_sum_over_them(small, kind, likelihood):
    spectrum, labels, _ = small
    prior = priors(spectrum, 12)[kind]
    exact = exact_evidence(prior, likelihood, labels)
    assert gq.evidence(prior, likelihood, labels) == pytest.approx(exact, rel=0.01)


@pytest.mark.filterwarnings("ignore:expectation propagation is poor")
@pytest.mark.parametrize("likelihood", [gq.Probit(0.3), gq.NoisyProbit(0.3, 0.1), gq.LevelSet(0.8)])
def test_the_evidence_of_all_labels_adds_up_to_one(small, likelihood):
    spectrum, _, _ = small
    prior, nodes = gq.Prior.projected(spectrum, 12, alpha=2.0), [0, 13, 25, 38]
    total = 0.0
    for values in itertools.product([0, 1], repeat=4):
        if len(set(values)) == 2:
            total += np.exp(gq.evidence(prior, likelihood, gq.Labels(nodes, values)))
    # labels must show two classes; the exact formula covers labels that all agree
    for sign in (-1.0, 1.0):
        labels = type("Same", (), {"nodes": np.array(nodes), "codes": np.full(4, sign)})
        total += np.exp(exact_evidence(prior, likelihood, labels))
    # labels that contradict the graph make laws of two lobes, of which a Gaussian misses some mass
    assert total == pytest.approx(1, abs=0.005 if likelihood == gq.Probit(0.3) else 0.04)


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    first_of(
        [
            ("_visit", "y * slope / spread", "y * slope"),
            ("_spread", "model.noise**2", "model.noise"),
            ("_visit", "... + cavity_mean * bend", "... - cavity_mean * bend"),
            ("_visit", "z + slope", "z - slope"),
        ]
    ),
)
def test_a_wrong_site_always_shows(small, monkeypatch, name, right, wrong):
    spectrum, labels, _ = small
    prior = gq.Prior.full(spectrum)
    exact = exact_evidence(prior, gq.Probit(2.0), labels)
    assert gq.evidence(prior, gq.Probit(2.0), labels) == pytest.approx(exact, abs=1e-4)
    plant(monkeypatch, sign_propagation, name, right, wrong)
    try:
        found = gq.evidence(prior, gq.Probit(2.0), labels)
    except RuntimeError:
        return
    assert found != pytest.approx(exact, abs=5e-4)


def test_the_correction_is_that_of_the_tilted_laws(small):
    """Third cumulants by quadrature, and the double sum written out."""
    spectrum, labels, _ = small
    prior, likelihood = gq.Prior.projected(spectrum, 12), gq.NoisyProbit(0.4, 0.05)
    sites = converged_sites(prior, likelihood, bind(likelihood, labels, prior.n_nodes))
    x = np.linspace(-12, 12, 200_001)
    skew = []
    for j, y in enumerate(labels.codes):
        mean, deviation = sites.cavity_mean[j], np.sqrt(sites.cavity_variance[j])
        u = mean + deviation * x
        density = np.exp(-0.5 * x**2) * (0.05 + 0.9 * ndtr(y * u / 0.4))
        density /= density.sum()
        m = density @ u
        assert m == pytest.approx(sites.mean[j], abs=1e-5)
        assert density @ (u - m) ** 2 == pytest.approx(sites.variance[j], abs=1e-5)
        skew.append(density @ (u - m) ** 3 / sites.variance[j] ** 1.5)
    half = sites.spread
    rho = half @ half.T / np.sqrt(np.outer(sites.variance, sites.variance))
    expected = sum(
        rho[i, j] ** 3 * skew[i] * skew[j] / 6
        for i, j in itertools.combinations(range(len(labels)), 2)
    )
    assert sites.correction == pytest.approx(expected, rel=1e-3)


@pytest.mark.filterwarnings("ignore:expectation propagation is poor")
def test_a_label_without_a_field_has_probability_one_half():
    graph = gq.Graph(np.kron(np.eye(2), np.ones((3, 3))) + np.ones((6, 6)) * 0.1)
    spectrum = gq.Spectrum.of(graph)
    vectors = np.zeros((6, 1))
    vectors[[0, 1], 0] = [np.sqrt(0.5), -np.sqrt(0.5)]
    flat = gq.Spectrum(spectrum.values[:1], vectors, spectrum.null)
    prior = gq.Prior.projected(flat, 1)
    labels = gq.Labels([0, 4], [1, 0])
    assert gq.evidence(prior, gq.Probit(0.1), labels) == pytest.approx(2 * np.log(0.5), abs=1e-6)
    quick = gq.approximate(prior, gq.Probit(0.1), labels)
    assert quick.probability[4] == 0.5


def test_small_noise_and_many_labels_are_no_trouble(small):
    """gamma = 1e-3, labels against each other, and more labels than modes."""
    spectrum, _, y = small
    wrong = y.copy()
    wrong[[3, 12, 27]] = 1 - wrong[[3, 12, 27]]
    labels = gq.reveal(wrong, 1.0, seed=0)
    for rank, alpha in ((12, 4.0), (39, 1.0)):
        prior = gq.Prior.projected(spectrum, rank, alpha=alpha)
        assert np.isfinite(gq.evidence(prior, gq.Probit(1e-3), labels))
    assert np.isfinite(gq.evidence(gq.Prior.projected(spectrum, 3), gq.Probit(1e-3), labels))


def test_what_does_not_converge_is_an_error_that_says_with_what(small):
    spectrum, _, y = small
    rng = np.random.default_rng(0)
    labels = gq.Labels(np.arange(40), rng.permutation(y))  # nothing to do with the graph
    prior = gq.Prior.projected(spectrum, 3, alpha=4.0)
    with pytest.raises(
        RuntimeError, match=r"did not converge for LevelSet\(gamma=0\.1\) under.*40"
    ):
        gq.evidence(prior, gq.LevelSet(0.1), labels)


def test_evidence_asks_for_a_sign_model_and_settled_parameters(small):
    spectrum, labels, _ = small
    prior = gq.Prior.projected(spectrum, 12)
    with pytest.raises(ValueError, match="leaves gamma to the labels"):
        gq.evidence(prior, gq.Probit(), labels)
    with pytest.raises(ValueError, match="got 'auto' for alpha"):
        gq.evidence(gq.Prior.projected(spectrum, 12, alpha="auto"), gq.Probit(0.1), labels)
    with pytest.raises(TypeError, match="prior must be a Prior"):
        gq.evidence(spectrum, gq.Probit(0.1), labels)


@pytest.mark.filterwarnings("ignore:expectation propagation is poor")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "likelihood"),
    each_once(
        ["full", "projected", "approximated"],
        [gq.Probit(0.1), gq.Probit(1.0), gq.LevelSet(1.0), gq.NoisyProbit(0.3, 0.1)],
    ),
    ids=shown,
)
def test_the_approximate_posterior_is_near_the_exact_one(small, kind, likelihood):
    spectrum, labels, _ = small
    prior = priors(spectrum, 12)[kind]
    quick = gq.approximate(prior, likelihood, labels)
    nodes = np.arange(0, 40, 3)
    nodes = np.union1d(nodes, labels.nodes)
    exact = exact_mean(prior, likelihood, labels, nodes)
    # with few modes the law of the field at a node is skewed, unlike a Gaussian
    assert abs(quick.mean[nodes] - exact).mean() < 0.02
    assert quick.n_nodes == 40
    np.testing.assert_allclose(quick.variance, 1 - quick.mean**2)


def test_leave_one_out_is_what_the_other_labels_say(small):
    spectrum, labels, _ = small
    prior, likelihood = gq.Prior.approximated(spectrum, 12), gq.Probit(0.3)
    quick = gq.approximate(prior, likelihood, labels)
    for j, node in enumerate(labels.nodes):
        with_j = exact_evidence(prior, likelihood, labels)
        others = np.delete(np.arange(len(labels)), j)
        rest = type("Rest", (), {"nodes": labels.nodes[others], "codes": labels.codes[others]})
        without = exact_evidence(prior, likelihood, rest)
        of_own = np.exp(with_j - without)
        expected = of_own if labels.codes[j] > 0 else 1 - of_own
        assert quick.sites.leave_one_out[j] == pytest.approx(expected, abs=0.01), node


def test_draws_of_the_gaussian_have_its_moments(small):
    spectrum, labels, _ = small
    prior = gq.Prior.approximated(spectrum, 12)
    quick = gq.approximate(prior, gq.Probit(0.3), labels)
    fields = np.concatenate(list(quick.latent_draws(prior, draws=4000, seed=0)))
    assert fields.shape == (4000, 40)
    error = np.sqrt(quick.latent_variance / 4000)
    assert (abs(fields.mean(axis=0) - quick.latent_mean) < 5 * error).all()
    assert (abs(fields.var(axis=0) / quick.latent_variance - 1) < 5 * np.sqrt(2 / 4000)).all()
    again = np.concatenate(list(quick.latent_draws(prior, draws=4000, seed=0)))
    np.testing.assert_array_equal(fields, again)
    with pytest.raises(ValueError, match="must be the one"):
        next(quick.latent_draws(gq.Prior.full(spectrum)))


@pytest.mark.filterwarnings("ignore:expectation propagation is poor")
def test_an_approximate_posterior_survives_a_pickle_and_a_copy(small):
    spectrum, labels, _ = small
    quick = gq.approximate(gq.Prior.projected(spectrum, 10), gq.Probit(0.1), labels)
    for again in (pickle.loads(pickle.dumps(quick)), copy.deepcopy(quick)):
        assert again.sites.log_evidence == quick.sites.log_evidence
        assert vars(again.sites.log_evidence) == vars(quick.sites.log_evidence)
        np.testing.assert_array_equal(again.mean, quick.mean)


def test_going_on_from_fewer_labels_ends_at_the_same(small):
    spectrum, labels, y = small
    prior, likelihood = gq.Prior.approximated(spectrum, 12), gq.Probit(0.3)
    few = gq.approximate(prior, likelihood, labels)
    more = gq.Labels([*labels.nodes, 30, 4], [*labels.values, y[30], y[4]])
    fresh = gq.approximate(prior, likelihood, more)
    onward = gq.approximate(prior, likelihood, more, start=few)
    np.testing.assert_allclose(onward.probability, fresh.probability, atol=1e-6)
    assert onward.sites.log_evidence == pytest.approx(fresh.sites.log_evidence, abs=1e-8)
    # flips may leave several places for sites, and the start does not choose among them
    flips = gq.NoisyProbit(0.1, 0.05)
    fresh, onward = (gq.approximate(prior, flips, more, start=start) for start in (None, few))
    np.testing.assert_array_equal(onward.probability, fresh.probability)
    other = gq.Prior.projected(gq.datasets.karate()[0], 5)
    with pytest.raises(
        ValueError, match=r"start must be .* same graph, of 34 nodes, got one of 40"
    ):
        gq.approximate(other, likelihood, gq.Labels([0, 33], [0, 1]), start=few)


def test_a_field_that_includes_q_0_is_sampled_correctly(small):
    spectrum, labels, _ = small
    prior = gq.Prior.projected(spectrum, 8, alpha=2.0, tau=0.3, null_mode=True)
    nodes = np.arange(0, 40, 4)
    exact = exact_mean(prior, gq.Probit(0.3), labels, nodes)
    post = gq.sample(prior, gq.Probit(0.3), labels, draws=2000, seed=0, progress=False)
    assert errors_in_mcse(post, exact, nodes).max() < 5
    assert post.draws.modes.shape[2] == 9
    drawn = np.concatenate(list(post.latent_draws(prior, nodes, seed=0)))
    np.testing.assert_allclose(drawn.mean(axis=0), post.latent_mean[nodes], atol=0.05)
    tree = post.to_arviz()
    assert tree["posterior"]["mode"].values.tolist() == list(range(9))


@pytest.fixture(scope="module")
def contradicted():
    """A prior, labels of which three of twenty are wrong, and sites of a field that follows all."""
    X, y = gq.datasets.two_moons(200, seed=0)
    spectrum = gq.Spectrum.of(gq.knn_graph(X, n_neighbors=8, connect=True), rank=50)
    clean = gq.reveal(y, counts=10, seed=0)
    values = clean.values.copy()
    values[[0, 5, 13]] = 1 - values[[0, 5, 13]]
    prior, labels = gq.Prior.projected(spectrum, 50, alpha=4.0), gq.Labels(clean.nodes, values)
    never_flipped = gq.LevelSet(0.3)
    sites = converged_sites(prior, never_flipped, bind(never_flipped, labels, 200))
    return prior, labels, (sites.precision, sites.shift)


def test_a_mode_without_weight_is_not_accepted(contradicted):
    prior, labels, start = contradicted
    rare, frequent = gq.LevelSet(0.5), gq.LevelSet(1.0)
    with pytest.raises(RuntimeError, match="a mode that misses 3 likely flips"):
        converged_sites(prior, rare, bind(rare, labels, 200), start)
    # nor is it returned by a search of its own
    smooth = prior.with_parameters(alpha=8.0)
    with pytest.raises(RuntimeError, match=r"did not converge|a mode that misses"):
        gq.evidence(smooth, rare, labels)
    # with frequent flips there is no error
    exact = gq.annealed_evidence(prior, frequent, labels, seed=0)
    assert abs(gq.evidence(prior, frequent, labels) - exact.log_evidence) < 0.5


@pytest.mark.parametrize("sure", [[], [1], [1, 15]], ids=["none", "one", "two"])
def test_labels_that_are_certain_do_not_hide_a_mode_without_weight(contradicted, sure):
    """As above, with the flips of the annotator for those of the model, and certain labels."""
    prior, labels, start = contradicted
    trust, sharp = np.full(20, expit(2 / 0.5**2)), gq.LevelSet(0.03)
    trust[sure] = 1.0
    doubted = gq.Labels(labels.nodes, labels.values, confidence=trust)
    with pytest.raises(RuntimeError, match="a mode that misses 3 likely flips"):
        converged_sites(prior, sharp, bind(sharp, doubted, 200), start)
    # certain labels cannot be flips: where most wrong ones are certain, this mode is the main one
    trust[[0, 13]] = 1.0
    with pytest.warns(RuntimeWarning, match=r"the log evidence is off by 0\."):
        gq.evidence(prior, sharp, gq.Labels(labels.nodes, labels.values, confidence=trust))


def test_no_labels_have_more_than_half_of_all_probability():
    X, y = gq.datasets.two_moons(600, seed=0)
    spectrum = gq.Spectrum.of(gq.knn_graph(X, n_neighbors=8, connect=True), rank=100)
    labels = gq.reveal(y, 1.0, seed=0)
    prior = gq.Prior.projected(spectrum, 100, alpha=10.0)
    assert gq.evidence(prior, gq.Probit(1e-3), labels) <= -np.log(2)


@pytest.mark.parametrize("gamma", [1e6, 1e9, 1e50])
def test_uninformative_labels_have_probability_one_half(small, gamma):
    spectrum, labels, _ = small
    prior = gq.Prior.projected(spectrum, 12)
    assert gq.evidence(prior, gq.LevelSet(gamma), labels) == pytest.approx(5 * np.log(0.5))
    assert abs(gq.approximate(prior, gq.LevelSet(gamma), labels).mean).max() < 1e-6


def test_evidence_of_many_classes_uses_annealing(small):
    prior = gq.Prior.projected(small[0], 8)
    found = gq.evidence(prior, gq.Probit(0.3), THREE, seed=5)
    assert found.method == "annealing"
    assert 0 < found.mcse < 0.1
    assert found == gq.evidence(prior, gq.Probit(0.3), THREE, seed=5)
    renamed = gq.Labels(THREE.nodes, np.array(["z", "x", "y"])[THREE.indices])
    other = gq.evidence(prior, gq.Probit(0.3), renamed, seed=6)
    assert abs(found - other) < 4 * math.hypot(found.mcse, other.mcse)


def exact_signs(prior, likelihood, labels):
    """P(u > 0) at all nodes under a prior of two modes, on a grid."""
    grid = np.linspace(-7, 7, 701)
    z = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    u = z @ prior.root(np.arange(prior.n_nodes)).T
    flip = likelihood.flip_rate
    agreed = ndtr(np.where(labels.indices == 1, 1, -1) * u[:, labels.nodes] / likelihood.gamma)
    weight = np.exp(-0.5 * (z**2).sum(axis=1)) * (flip + (1 - 2 * flip) * agreed).prod(axis=1)
    return weight @ (u > 0) / weight.sum()


def test_a_poor_gaussian_gives_a_warning_at_the_line_of_the_caller(small):
    prior, model = gq.Prior.projected(small[0], 2), gq.NoisyProbit(0.05, 0.1)
    poor = gq.Labels([9, 15, 18, 23, 29, 37], [0, 0, 1, 0, 1, 1])
    with pytest.warns(RuntimeWarning, match=r"a probability differs by 0\.\d\d at node") as caught:
        found = gq.approximate(prior, model, poor)
    assert [one.filename for one in caught] == [__file__]
    assert abs(found.latent_by_class[:, 1] - exact_signs(prior, model, poor)).max() > 0.05
    # more labels contradict the field than it has modes, and the Gaussian is good
    many = gq.Labels(np.arange(40), np.where(np.arange(40) % 4, small[2], 1 - small[2]))
    model = gq.NoisyProbit(1.0, 0.2)
    found = gq.approximate(prior, model, many)
    gq.evidence(prior, model, many)
    assert abs(found.latent_by_class[:, 1] - exact_signs(prior, model, many)).max() < 0.03


def test_a_mode_that_the_gaussian_misses_gives_a_warning():
    X, y = gq.datasets.two_moons(80, seed=0)
    prior = gq.Prior.projected(gq.knn_graph(X, 8, connect=True), 1, alpha=2.0)
    rng = np.random.default_rng(123)
    nodes = np.sort(rng.choice(80, 16, replace=False))
    labels = gq.Labels(nodes, np.where(rng.random(16) < 0.5, 1 - y[nodes], y[nodes]))
    model = gq.NoisyProbit(0.012, 0.1)
    with pytest.warns(RuntimeWarning, match=r"a probability differs by 0\.\d\d"):
        found = gq.approximate(prior, model, labels)
    grid = np.linspace(-8, 8, 200_001)
    u = grid * prior.root(np.arange(80))
    agreed = ndtr(np.where(labels.indices == 1, 1, -1)[:, None] * u[nodes] / 0.012)
    weight = np.exp(-0.5 * grid**2) * (0.1 + 0.8 * agreed).prod(axis=0)
    exact = (u > 0) @ weight / weight.sum()
    assert abs(found.latent_by_class[:, 1] - exact).max() > 0.2
    with pytest.warns(RuntimeWarning, match="the log evidence is off by 1"):
        gq.evidence(prior, model, labels)


def test_a_poor_gaussian_without_flips_gives_a_warning_too(small):
    prior, model = gq.Prior.projected(small[0], 4), gq.Probit(0.01)
    rng = np.random.default_rng(2)
    nodes = np.sort(rng.choice(40, 14, replace=False))
    y = small[2][nodes]
    labels = gq.Labels(nodes, np.where(rng.random(14) < 0.3, 1 - y, y))
    with pytest.warns(RuntimeWarning, match=r"a probability differs by 0\.09 at node"):
        found = gq.approximate(prior, model, labels)
    exact = gq.sample(prior, model, labels, draws=4000, seed=0, progress=False)
    assert abs(found.latent_probability - exact.latent_probability).max() > 0.08


def test_weights_of_few_draws_in_many_dimensions_say_nothing(small, monkeypatch):
    prior, model = gq.Prior.projected(small[0], 16), gq.NoisyProbit(0.05, 0.1)
    poor = gq.Labels([9, 15, 18, 23, 29, 37], [0, 0, 1, 0, 1, 1])
    monkeypatch.setattr("graphuq.inference.evidence.poor_sites.MAX_DRAWS", 50)
    gq.evidence(prior, model, poor)  # in silence
    with pytest.warns(
        RuntimeWarning, match="almost no draw of its Gaussian agrees with the labels"
    ):
        gq.evidence(gq.Prior.projected(small[0], 2), model, poor)


def test_a_large_leading_error_gives_a_warning(small, monkeypatch):
    monkeypatch.setattr("graphuq.inference.evidence.poor_sites.MAX_CORRECTION", 0.001)
    prior = gq.Prior.projected(small[0], 4)
    with pytest.warns(
        RuntimeWarning, match=r"the leading term of its error is .*: take gq.annealed"
    ):
        gq.evidence(prior, gq.Probit(0.1), small[1])
