"""The posterior predictive and its expected entropy against exact answers and quadrature."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from conftest import priors, quietly
from references.exact import class_probabilities, exact_mean, expected_entropy
from references.mutation import mutated
from scipy.special import entr, ndtr

import graphuq as gq
from graphuq.likelihoods.argmax_probability import argmax_probability
from graphuq.posterior import class_entropy, node_kernels, node_statistics
from graphuq.posterior.node_statistics import NodeMoments
from graphuq.priors.given import Rows

NODES = np.array([3, 7, 13, 21, 34])  # two of them labeled
THREE = gq.Labels([0, 7, 25], ["x", "y", "z"])
GAMMA = 0.5


@pytest.fixture(scope="module")
def sampled(small):
    """Posteriors of two and of three classes, by the kind of prior and the likelihood."""
    known = {}

    def sample(kind, model, n_classes=2):
        key = kind, model, n_classes
        if key not in known:
            prior, labels = priors(small[0], 8)[kind], small[1] if n_classes == 2 else THREE
            options = {"draws": 4000, "seed": 1, "progress": False}
            known[key] = prior, labels, quietly(prior, model, labels, **options)
        return known[key]

    return sample


MODELS = [gq.Probit(GAMMA), pytest.param(gq.NoisyProbit(GAMMA, 0.1), marks=pytest.mark.slow)]


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("kind", ["projected", "approximated"])
def test_two_classes_are_exact(sampled, kind, model):
    prior, labels, post = sampled(kind, model)
    predictive = (1 + exact_mean(prior, model, labels, NODES, GAMMA)) / 2
    latent = (1 + exact_mean(prior, model, labels, NODES)) / 2
    assert (abs(post.probability[NODES] - predictive) / post.probability_mcse[NODES]).max() < 5
    assert (abs(post.latent_probability[NODES] - latent) / (post.mcse[NODES] / 2)).max() < 5
    # the one is not the other
    assert (abs(post.probability[NODES] - latent) / post.probability_mcse[NODES]).max() > 20
    assert post.probability_mcse.mean() < post.mcse.mean() / 2  # smoother, so less noisy


@pytest.mark.parametrize(
    "kind", ["projected", pytest.param("approximated", marks=pytest.mark.slow)]
)
def test_three_classes_are_exact(sampled, kind):
    prior, labels, post = sampled(kind, gq.Probit(GAMMA), 3)
    predictive = class_probabilities(prior, labels, NODES, GAMMA, np.inf, GAMMA)
    latent = class_probabilities(prior, labels, NODES, GAMMA, np.inf)
    assert (abs(post.probability[NODES] - predictive) / post.probability_mcse[NODES]).max() < 5
    assert (abs(post.latent_probability[NODES] - latent) / post.mcse[NODES]).max() < 5
    assert (abs(post.probability[NODES] - latent) / post.probability_mcse[NODES]).max() > 20


@pytest.mark.parametrize("n_classes", [2, 3])
def test_without_overlap_both_are_the_same(sampled, n_classes):
    for model in (gq.LevelSet(1.0), gq.GinzburgLandau(1.0, 0.5)):
        _, _, post = sampled("projected", model, n_classes)
        np.testing.assert_array_equal(post.by_class, post.latent_by_class)
        assert (post.aleatoric == 0).all()
        assert post.overlap == 0
    scale = 2 if n_classes == 2 else 1
    _, _, post = sampled("projected", gq.LevelSet(1.0), n_classes)
    np.testing.assert_allclose(post.probability_mcse, post.mcse / scale)


@pytest.mark.parametrize("kind", ["projected", "approximated"])
def test_the_expected_entropy_is_that_of_drawn_fields(sampled, kind):
    _, _, post = sampled(kind, gq.Probit(GAMMA))
    u = np.concatenate(list(post.latent_draws(seed=1)))
    p = ndtr(u / GAMMA)
    error = (entr(p) + entr(1 - p)).std(axis=0) / np.sqrt(1000)
    assert (abs(post.aleatoric - expected_entropy(u, GAMMA)) < 6 * error + 2e-5).all()
    assert 0.1 < post.aleatoric.mean() < np.log(2)


@pytest.mark.parametrize(
    "kind", ["projected", pytest.param("approximated", marks=pytest.mark.slow)]
)
def test_the_expected_entropy_of_three_classes_is_that_of_drawn_fields(sampled, kind):
    assert_entropy_of_draws(sampled(kind, gq.Probit(GAMMA), 3)[2])


def assert_entropy_of_draws(post):
    u = np.concatenate(list(post.latent_draws(seed=1)))
    entropy = entr(argmax_probability(u, GAMMA)).sum(axis=2)
    # fields given those read are drawn anew, so that these are not the same draws
    error = entropy.std(axis=0) / np.sqrt(len(u) / 4)
    assert (abs(post.aleatoric - entropy.mean(axis=0)) < 5 * error).all()
    assert (post.aleatoric <= post.entropy + 5 * error).all()


@pytest.mark.parametrize("draws", [1000, 4000])
@pytest.mark.parametrize("n_classes", [3, 10])
def test_the_mean_entropy_of_some_draws_is_nearly_that_of_all(n_classes, draws):
    assert entropy_error(n_classes, draws) < 0.05 * np.sqrt(1000 / draws)


def test_without_what_is_near_the_noise_of_few_entropies_would_show(monkeypatch):
    monkeypatch.setattr(node_statistics, "add_near_entropy", lambda *_: None)
    assert entropy_error(3, 1000) > 0.1


def entropy_error(n_classes, draws):
    """The largest error of the mean entropy of 50 nodes, for independent draws of the field."""
    rng = np.random.default_rng(0)
    loadings = rng.standard_normal((50, 4)) / 2
    moments = NodeMoments(Rows(loadings, np.zeros(50)), "field", draws, n_classes)
    fields = rng.standard_normal((draws, n_classes, 4))
    for piece in np.array_split(fields, 7):
        moments.add(piece, np.zeros((len(piece), n_classes)), GAMMA)
    u = np.swapaxes(fields @ loadings.T, 1, 2)
    exact = entr(argmax_probability(u, GAMMA)).sum(axis=2).mean(axis=0)
    return abs(moments.totals().aleatoric - exact).max()


@pytest.mark.parametrize("n_classes", [3, 10])
@pytest.mark.parametrize("scale", [0.0, 0.5, 2.0, 9.0, 1e4])
def test_what_is_near_to_the_entropy_is_near(n_classes, scale):
    rng = np.random.default_rng(0)
    # more nodes than a tile has, and draws of which only some count
    mean = (scale * rng.standard_normal((n_classes, 5, 700))).astype(np.float32)
    deviation, noise = rng.uniform(0, 1, 700), rng.standard_normal((5, n_classes))
    exact, near, which = np.zeros(700), np.zeros(700), np.array([0, 3, 4])
    for add, found in (
        (class_entropy.add_class_entropy, exact),
        (class_entropy.add_near_entropy, near),
    ):
        add(mean, deviation, noise, 0.8, which, found)
    assert ((near - exact) / 3).std() < 0.06
    assert abs(near - exact).max() / 3 < 0.15


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_the_approximation_is_near(sampled, model):
    for kind in ("projected", "approximated"):
        prior, labels, post = sampled(kind, model)
        quick = gq.approximate(prior, model, labels)
        exact = (1 + exact_mean(prior, model, labels, NODES, GAMMA)) / 2
        np.testing.assert_allclose(quick.probability[NODES], exact, atol=0.01)
        np.testing.assert_allclose(quick.probability, post.probability, atol=0.03)
        np.testing.assert_allclose(quick.latent_probability, post.latent_probability, atol=0.04)
        atol = 0.02 if isinstance(model, gq.Probit) else 0.05  # flips make tails heavier
        np.testing.assert_allclose(quick.aleatoric, post.aleatoric, atol=atol)
        at = labels.nodes
        np.testing.assert_allclose(quick.aleatoric[at], post.aleatoric[at], atol=atol / 2)
        # at a labeled node the tilted law is nearer than the Gaussian
        spread = np.sqrt(quick.latent_variance + GAMMA**2)
        plain = ndtr(quick.latent_mean / spread)[labels.nodes]
        true = (1 + exact_mean(prior, model, labels, labels.nodes, GAMMA)) / 2
        assert abs(quick.probability[labels.nodes] - true).max() <= abs(plain - true).max() + 1e-4


def test_the_approximation_of_three_classes_is_near(sampled):
    prior, labels, post = sampled("projected", gq.Probit(GAMMA), 3)
    quick = gq.approximate(prior, gq.Probit(GAMMA), labels)
    exact = class_probabilities(prior, labels, NODES, GAMMA, np.inf, GAMMA)
    np.testing.assert_allclose(quick.by_class[NODES], exact, atol=0.01)
    np.testing.assert_allclose(quick.by_class, post.by_class, atol=0.02)
    np.testing.assert_allclose(quick.latent_by_class, post.latent_by_class, atol=0.02)
    u = np.concatenate(list(post.latent_draws()))
    entropy = entr(argmax_probability(u, GAMMA)).sum(axis=2).mean(axis=0)
    np.testing.assert_allclose(quick.aleatoric, entropy, atol=0.03)


def test_sampled_hyperparameters_have_each_draws_overlap(small):
    prior = priors(small[0], 8)["projected"]
    model = gq.NoisyProbit(0.3, 0.1)
    post = gq.sample_jointly(
        prior, model, small[1], gamma=(0.05, 2.0), draws=150, seed=1, nodes=NODES, progress=False
    )
    p = ndtr(post.draws.field / post.draws.hyperparameters["gamma"][..., None])
    np.testing.assert_allclose(post.probability[NODES], p.mean(axis=(0, 1)), atol=1e-5)
    entropy = (entr(p) + entr(1 - p)).mean(axis=(0, 1))
    np.testing.assert_allclose(post.aleatoric[NODES], entropy, atol=3e-5)
    np.testing.assert_allclose(
        post.latent_probability[NODES], (post.draws.field > 0).mean(axis=(0, 1)), atol=1e-12
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gq.ConvergenceWarning)
        levels = gq.sample_jointly(
            prior, gq.LevelSet(0.9), small[1], gamma=(0.5, 2.0), draws=20, seed=1, progress=False
        )
    np.testing.assert_array_equal(levels.by_class, levels.latent_by_class)


@pytest.mark.parametrize("deviation", [0.0, 0.02, 0.4, 3.0])
@pytest.mark.parametrize("overlap", [0.05, 0.3, 1.0])
def test_the_entropy_of_a_gaussian_field_is_that_of_quadrature(deviation, overlap):
    n = np.linspace(-9, 9, 40_001)
    weights = np.exp(-(n**2) / 2) / np.exp(-(n**2) / 2).sum()
    mean = np.linspace(-4, 4, 9)
    p = ndtr((mean[:, None] + deviation * n) / overlap)
    exact = (entr(p) + entr(1 - p)) @ weights
    found = node_kernels.expected_entropy(mean, np.full(9, deviation), overlap)
    np.testing.assert_allclose(found, exact, atol=3e-5)


def test_the_polynomials_are_accurate():
    z = np.linspace(0, class_entropy.MAX_Z, 501)
    found = np.array([class_entropy._tail(value) for value in z])
    np.testing.assert_allclose(found, 2 * ndtr(-np.sqrt(2) * z), rtol=5e-8)
    found = np.array([class_entropy._bell(value**2) for value in z])
    np.testing.assert_allclose(found, np.exp(-(z**2)), rtol=1e-5)


def test_the_polynomials_in_single_precision_are_accurate():
    z = np.linspace(0, node_kernels.MAX_Z - 1e-6, 2001, dtype=np.float32)
    found = np.array([node_kernels._single_tail(value) for value in z])
    exact = 2 * ndtr(-np.sqrt(2) * z.astype(np.float64))
    np.testing.assert_allclose(found, exact, atol=1e-7)
    np.testing.assert_allclose(found, exact, rtol=2e-5)
    assert found[0] == 1
    assert node_kernels._single_tail(np.float32(node_kernels.MAX_Z)) == 0
    x = np.linspace(-100, 0, 2001, dtype=np.float32)
    found = np.array([node_kernels._power_of_two(value) for value in x])
    np.testing.assert_allclose(found, np.exp2(x.astype(np.float64)), rtol=2e-7)
    assert found[-1] == 1


@pytest.mark.parametrize("overlap", [0.0, 0.1, 2.0])
def test_one_pass_over_draws_makes_all_sums(overlap):
    """More draws than a run has, more nodes than a tile has, certain nodes and none at all."""
    rng = np.random.default_rng(0)
    mean = rng.standard_normal((53, 1100)).astype(np.float32)
    mean[:, 7], mean[:, 8] = 0.0, 40.0
    deviation = rng.uniform(0.0, 2.0, 1100)
    deviation[:10] = 0.0
    found, entropies = np.zeros((4, 1100)), np.zeros(1100)
    factors = node_kernels.sign_factors(deviation, overlap)
    node_kernels.add_signs(mean, mean, deviation, factors, found, entropies)
    m = mean.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        sign = np.where(deviation > 0, 2 * ndtr(m / deviation) - 1, np.sign(m))
        label = 2 * ndtr(m / np.hypot(deviation, overlap)) - 1 if overlap else np.zeros_like(m)
    exact = [sign, m, m**2 + deviation**2, label]
    np.testing.assert_allclose(found / 53, np.mean(exact, axis=1), atol=2e-7, rtol=2e-7)
    np.testing.assert_array_equal(found[[0, 3], 8], [53, 53 if overlap else 0])
    np.testing.assert_array_equal(found[:, 7], 0)
    apart = [
        node_kernels.expected_entropy(row.astype(np.float64), deviation, overlap) for row in mean
    ]
    np.testing.assert_allclose(entropies, np.sum(apart, axis=0), rtol=1e-6, atol=1e-9)


def test_a_small_variance_about_a_large_mean_keeps_its_digits():
    mean = (1000.0 + np.random.default_rng(0).standard_normal((4000, 5))).astype(np.float32)
    found, factors = np.zeros((4, 5)), node_kernels.sign_factors(np.zeros(5), 0.0)
    for block in np.split(mean, 16):
        node_kernels.add_signs(block, block, np.zeros(5), factors, found, np.zeros(5))
    variance = found[2] / 4000 - (found[1] / 4000) ** 2
    np.testing.assert_allclose(variance, mean.astype(np.float64).var(axis=0), rtol=1e-6)


def test_the_probability_of_the_other_sign_keeps_its_digits():
    """Sums of signs would lose what is below the rounding of 1."""
    z = np.array([4.0, 5.0, 6.0])
    mean, found = np.tile(z, (1000, 1)).astype(np.float32), np.zeros((4, 3))
    factors = node_kernels.sign_factors(np.ones(3), 0.0)
    node_kernels.add_signs(mean, mean, np.ones(3), factors, found, np.zeros(3))
    np.testing.assert_allclose(1 - found[0] / 1000, 2 * ndtr(-z), rtol=1e-4)


@pytest.mark.parametrize("n_classes", [3, 10])
@pytest.mark.parametrize("scale", [0.0, 0.5, 2.0, 9.0])
def test_the_entropy_of_many_classes_is_that_of_the_integral(n_classes, scale):
    rng = np.random.default_rng(0)
    u = (scale * rng.standard_normal((200, n_classes))).astype(np.float32)
    found, first = np.zeros(200), np.array([0])
    one_draw = np.ascontiguousarray(u.T)[:, None]
    class_entropy.add_class_entropy(
        one_draw, np.zeros(200), np.zeros((1, n_classes)), 0.8, first, found
    )
    exact = entr(argmax_probability(u.astype(np.float64), 0.8)).sum(axis=1)
    np.testing.assert_allclose(found, exact, atol=2e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("overlap**2 / variance", "variance / variance"),
        ("3.0 * B[2]", "B[2]"),
        ("spread**2 + overlap**2", "0 * spread + overlap**2"),
    ],
)
def test_a_mistake_in_the_entropy_would_show(monkeypatch, right, wrong):
    broken = mutated(node_kernels.sign_factors, right, wrong)
    monkeypatch.setattr(node_kernels, "sign_factors", broken)
    with pytest.raises(AssertionError):
        test_the_entropy_of_a_gaussian_field_is_that_of_quadrature(0.4, 0.3)


# What more labels resolve, and what they do not


def test_the_parts_of_the_entropy_add_up(sampled):
    for n_classes in (2, 3):
        _, _, post = sampled("projected", gq.Probit(GAMMA), n_classes)
        parts = post.uncertainty()
        assert parts.columns.tolist() == ["total", "aleatoric", "epistemic"]
        np.testing.assert_allclose(parts["total"], post.entropy)
        np.testing.assert_allclose(parts["aleatoric"] + parts["epistemic"], parts["total"])
        assert (parts.to_numpy() >= 0).all()
        for by in parts:
            assert (np.diff(parts[by][post.ranking(by=by)]) <= 1e-12).all()
        np.testing.assert_array_equal(post.ranking(by="total"), post.ranking())
    _, _, post = sampled("projected", gq.LevelSet(1.0))
    assert (post.uncertainty()["aleatoric"] == 0).all()


def test_more_labels_resolve_the_epistemic_part_alone():
    """Labels drawn from the model itself, whose field is known."""
    rng = np.random.default_rng(5)
    X = rng.uniform(size=(400, 2))
    prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), 10, alpha=3.0)
    u = prior.law.draw(1, rng)[0]
    p = ndtr(u / GAMMA)
    y = np.where(u + GAMMA * rng.standard_normal(u.size) > 0, 1, 0)
    true = (entr(p) + entr(1 - p)).mean()
    order, parts = rng.permutation(u.size), []
    for n_labels in (10, 60, 360):
        labels = gq.Labels(order[:n_labels], y[order[:n_labels]], classes=[0, 1])
        post = quietly(prior, gq.Probit(GAMMA), labels, draws=300, seed=0, progress=False)
        parts.append(post.uncertainty().iloc[order[360:]].mean())
    total, aleatoric, epistemic = np.transpose(parts)
    assert (np.diff(epistemic) < 0).all()
    assert epistemic[0] > 0.1 > 0.04 > epistemic[-1]
    assert abs(aleatoric[-1] - true) < 0.05  # what is left is what the field itself leaves open
    assert (aleatoric > 0.6 * true).all()
    assert total[-1] < total[0]
