"""Posteriors under sums of priors: exact answers, and what the labels choose."""

from __future__ import annotations

import numpy as np
import pytest
from references.exact import class_probabilities, errors_in_mcse, exact_mean, orthant

import graphuq as gq

N = 30
X = np.random.default_rng(3).normal(size=(N, 2))
GRAPH = gq.knn_graph(X, 5, connect=True)
LABELS = gq.Labels([2, 7, 11, 20, 28], [0, 1, 1, 0, 1])
NODES = np.array([0, 2, 5, 13, 28])
PRIORS = {
    "level": gq.Prior.projected(GRAPH, 10) + gq.Level(0.8),
    "features and level": gq.SumPrior.of(
        [gq.Prior.projected(GRAPH, 10), gq.FeaturePrior(X, 0.8), gq.Level(0.8)], [1, 1]
    ),
    "tail and level": gq.Prior.approximated(GRAPH, 10) + gq.Level(0.8),
    "features": gq.FeaturePrior(X, 0.8),
}
each_prior = pytest.mark.parametrize("name", PRIORS)


@each_prior
@pytest.mark.parametrize("likelihood", [gq.Probit(0.3), gq.LevelSet(0.8)], ids=repr)
def test_node_means_are_exact(name, likelihood):
    post = gq.sample(PRIORS[name], likelihood, LABELS, draws=2000, seed=0, progress=False)
    exact = exact_mean(PRIORS[name], likelihood, LABELS, NODES)
    assert errors_in_mcse(post, exact, NODES).max() < 4.5
    # without the level the answers are others
    if name == "level":
        without = PRIORS[name].with_parameters(level=0.0)
        wrong = gq.sample(without, likelihood, LABELS, draws=2000, seed=0, progress=False)
        assert errors_in_mcse(wrong, exact, NODES).max() > 10


def test_three_classes_are_exact():
    prior = PRIORS["features and level"]
    labels = gq.Labels([2, 7, 11], ["a", "b", "c"])
    post = gq.sample(prior, gq.Probit(0.3), labels, draws=3000, seed=0, progress=False)
    exact = class_probabilities(prior, labels, NODES, 0.3, np.inf)
    assert (abs(post.mean[NODES] - exact) / post.mcse[NODES]).max() < 4.5


@each_prior
def test_the_evidence_is_exact(name):
    prior, gamma = PRIORS[name], 0.5
    J = LABELS.nodes
    y = LABELS.codes
    C = prior.covariance(J, J) + gamma**2 * np.eye(J.size)
    exact = np.log(orthant(y[:, None] * C * y))
    assert gq.evidence(prior, gq.Probit(gamma), LABELS) == pytest.approx(exact, abs=0.01)


@each_prior
def test_approximation_map_and_draws_agree_with_the_sampler(name):
    prior, likelihood = PRIORS[name], gq.Probit(0.5)
    post = gq.sample(prior, likelihood, LABELS, draws=2000, seed=0, progress=False)
    quick = gq.approximate(prior, likelihood, LABELS)
    assert abs(quick.mean - post.mean).max() < 0.05
    fields = np.concatenate(list(post.latent_draws(seed=0)))
    np.testing.assert_allclose(np.sign(fields).mean(axis=0), post.mean, atol=0.06)
    np.testing.assert_allclose(fields.mean(axis=0), post.latent_mean, atol=0.06)
    estimate = gq.map_estimate(prior, likelihood, LABELS)
    assert estimate.converged
    assert np.corrcoef(estimate.field, post.latent_mean)[0, 1] > 0.98


def test_a_likelihood_that_reads_all_nodes_has_the_same_law():
    """Ginzburg-Landau samples under the law of the sum; without a well it is Gaussian."""
    prior = gq.Prior.projected(GRAPH, 6) + gq.Level(0.8)
    model = gq.GinzburgLandau(epsilon=1e6, gamma=0.5)
    post = gq.sample(prior, model, LABELS, draws=1500, seed=0, progress=False)
    J, all_ = LABELS.nodes, np.arange(N)
    gain = prior.covariance(all_, J) @ np.linalg.inv(prior.covariance(J, J) + 0.25 * np.eye(J.size))
    mean = gain @ LABELS.codes
    assert (abs(post.mean - mean) / post.mcse).max() < 5


def test_a_saved_posterior_takes_its_prior_again(tmp_path):
    prior = PRIORS["features and level"]
    post = gq.sample(prior, gq.Probit(0.3), LABELS, draws=100, seed=0, progress=False)
    post.save(tmp_path / "sum.nc")
    again = gq.load(tmp_path / "sum.nc")
    assert again.suggest(2, prior=prior).tolist() == post.suggest(2).tolist()
    with pytest.raises(ValueError, match="must be the one that was sampled with"):
        again.suggest(2, prior=prior.with_parameters(level=0.1))


def test_labels_choose_level_weight_and_length_scale():
    rng = np.random.default_rng(0)
    # one class in ten, which features separate and the graph, of noise, does not
    features = rng.normal(size=(200, 2))
    y = (features[:, 0] > 1.3).astype(int)
    graph = gq.knn_graph(rng.normal(size=(200, 2)), 8, connect=True)
    prior = gq.Prior.projected(graph, 30) + gq.FeaturePrior(features) + gq.Level()
    labels = gq.reveal(y, 0.4, seed=0)
    found = gq.tune(prior, labels, gq.Probit(0.1))
    assert set(found.chosen) == {"length_scale", "weight", "level"}
    assert found.chosen["weight"] < 0.2
    assert found.prior.open == ()
    assert gq.approximate(found.prior, found.likelihood, labels).accuracy(y) > 0.95
    # every number in the range is worse
    for name, value in (("weight", 0.5), ("level", 0.0)):
        other = found.prior.with_parameters(**{name: value})
        assert gq.evidence(other, found.likelihood, labels) < found.log_evidence + 0.5


def test_a_graph_stands_for_a_prior_with_a_level():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(300, 2))
    y = (points[:, 0] > 1.4).astype(int)  # one in twelve
    graph = gq.knn_graph(points, 8, connect=True)
    labels = gq.reveal(y, 0.2, seed=1)
    found = gq.tune(graph, labels)
    assert found.chosen["level"] > 0.3
    assert (
        found.log_evidence
        > gq.tune(gq.Prior.projected(graph, 299, alpha="auto"), labels).log_evidence
    )
    accuracy = gq.approximate(found.prior, found.likelihood, labels).accuracy(y)
    assert accuracy > (y == 0).mean()


def test_a_level_beside_smooth_features_adds_no_knowledge_of_outlying_items():
    """It is a combination of smooth features, up to rounding."""
    rng = np.random.default_rng(1)
    features = rng.normal(size=(80, 2))
    labels = gq.reveal((features[:, 0] > 0.9).astype(int), 0.4, seed=0)
    far = [[0.7, -4.9], [6.2, -1.4], [-0.1, -3.6], [-1.5, 1.7]]
    prior = gq.FeaturePrior(np.vstack([features, far]), 2.3) + gq.Level(0.5)
    post = gq.sample(prior, gq.Probit(0.3), labels, seed=0, progress=False)
    law = gq.approximate(prior, gq.Probit(0.3), labels)
    assert (post.latent_variance <= prior.variance()).all()
    assert (law.latent_variance <= prior.variance()).all()
    np.testing.assert_allclose(law.probability, post.probability, atol=0.02)


TWO = gq.Prior.projected(GRAPH, 10, alpha="auto") + gq.FeaturePrior(X)


def test_parameters_that_change_nothing_are_not_searched():
    found = gq.tune(TWO, LABELS, gq.Probit(0.3), weight=1)
    assert list(found.chosen) == list(found.ranges) == ["alpha"]
    assert "length_scale" not in found.table
    assert found.prior.open == ()
    alone = gq.tune(TWO.parts[0], LABELS, gq.Probit(0.3))
    assert found.chosen == alone.chosen
    assert list(gq.tune(TWO, LABELS, gq.Probit(0.3), weight=0, alpha=(1, 2)).chosen) == [
        "length_scale"
    ]
    # a weight that is searched leaves nothing idle
    fixed = TWO.with_parameters(weight=1.0)
    searched = gq.tune(fixed, LABELS, gq.Probit(0.3), weight=(0.2, 0.8), alpha=2.0)
    assert list(searched.chosen) == ["length_scale", "weight"]
    # of three parts the first has all, whatever the share of the second in the rest
    three = (TWO + gq.FeaturePrior(X[:, :1])).with_parameters(weight=1.0)
    assert three.idle == ("length_scale", "length_scale_2", "weight_2")
    assert gq.tune(three, LABELS, gq.Probit(0.3)).chosen == alone.chosen
    # where nothing else is open, nothing is searched
    still = fixed.with_parameters(alpha=2.0)
    post = gq.approximate(still, gq.Probit(0.3), LABELS)
    same = gq.approximate(TWO.parts[0].with_parameters(alpha=2.0), gq.Probit(0.3), LABELS)
    np.testing.assert_allclose(post.probability, same.probability, atol=1e-9)


def test_a_weight_of_0_or_1_is_not_evaluated():
    graph = gq.Prior.projected(GRAPH, 10, alpha=4.0)
    labels = gq.Labels(np.arange(N), graph.draw(1, seed=0)[0] > 0)
    noise = gq.FeaturePrior(np.random.default_rng(1).normal(size=(N, 2)), 0.01)
    # the climb steps to the end where features have no share
    for prior, high in ((graph + noise, 1.0), (noise + graph, 1.0), (noise + graph, 0.5)):
        found = gq.tune(prior, labels, gq.Probit(0.1), weight=(0.0, high))
        assert np.isfinite(found.table["log_posterior"]).all()
        assert found.table["weight"].between(0, 1, inclusive="neither").all()


def test_a_list_of_priors_is_told_how_to_add_them():
    for call in (gq.approximate, gq.map_estimate, gq.evidence, gq.sample):
        with pytest.raises(TypeError, match=r"gq\.SumPrior\.of\(\[\.\.\.\]\).* got list"):
            call(list(TWO.parts), gq.Probit(0.3), LABELS)
