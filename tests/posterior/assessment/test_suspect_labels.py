from __future__ import annotations

import numpy as np
import pytest
from conftest import NodesAlone, priors, quietly
from references.exact import exact_mean, ginzburg_landau_moments
from sklearn.metrics import average_precision_score

import graphuq as gq

QUICK = {"draws": 200, "chains": 2, "seed": 0, "progress": False}


def test_ranking_by_hand():
    p = np.array([0.5, 0.2, 0.9, 1.0, 0.0, 1.0, 0.3])
    field = np.array([0.0, -0.5, 1.0, 2.0, -3.0, 4.0, -0.2])
    labels = gq.Labels([1, 2, 3, 4, 5, 6], ["cat", "cat", "cat", "dog", "cat", "dog"])
    mean = 2 * p - 1
    post = NodesAlone(labels, mean, 1 - mean**2, p, np.zeros(7), field, np.ones(7))
    suspects = post.suspect_labels()
    # labels 3, 4 and 5 are surely wrong; the field of 5 contradicts its label most
    assert suspects["node"].tolist() == [5, 4, 3, 2, 6, 1]
    assert suspects["label"].tolist() == ["cat", "dog", "cat", "cat", "dog", "cat"]
    assert suspects["likelier"].tolist() == ["dog", "cat", "dog", "dog", "cat", "cat"]
    np.testing.assert_allclose(suspects["probability_wrong"], [1, 1, 1, 0.9, 0.7, 0.2])
    assert suspects.index.tolist() == list(range(6))


@pytest.mark.parametrize("model", [gq.Probit(1.0), gq.LevelSet(1.2), gq.NoisyProbit(0.3, 0.1)])
def test_probabilities_of_sign_models_are_exact(small, model):
    spectrum, labels, _ = small
    prior = priors(spectrum, 8)["projected"]
    post = gq.sample(prior, model, labels, draws=2000, seed=2, progress=False)
    found = post.suspect_labels().set_index("node")["probability_wrong"][labels.nodes]
    exact = (1 - labels.codes * exact_mean(prior, model, labels, labels.nodes)) / 2
    errors = abs(found - exact) / (post.mcse[labels.nodes] / 2)
    assert errors.max() < 5
    # the right probabilities are not those of the labels turned round
    assert (abs(found - (1 - exact)) / (post.mcse[labels.nodes] / 2)).max() > 5


def test_under_ginzburg_landau_the_sign_of_the_field_counts(small):
    spectrum, labels, _ = small
    prior = gq.Prior.projected(spectrum, 3)
    model = gq.GinzburgLandau(epsilon=20.0, gamma=1.0)
    post = quietly(prior, model, labels, draws=2000, seed=3, progress=False)
    positive = ginzburg_landau_moments(prior, labels, 20.0, 1.0)[2][labels.nodes]
    found = post.suspect_labels().set_index("node")["probability_wrong"][labels.nodes]
    np.testing.assert_allclose(found, np.where(labels.codes > 0, 1 - positive, positive), atol=0.03)


def excess_of_wrong_labels(prior, assumed, simulations=60):
    """Wrong labels beyond those expected, in standard errors over simulations from the model."""
    rng = np.random.default_rng(8)
    nodes = np.arange(0, 40, 2)
    excess, precision, share = [], [], []
    for seed in range(simulations):
        (u,) = prior.draw(1, seed=rng)
        y = np.sign(u[nodes] + 0.1 * rng.standard_normal(nodes.size))
        y *= np.where(rng.random(nodes.size) < 0.15, -1, 1)
        if abs(y.sum()) == y.size:
            continue
        post = quietly(prior, assumed, gq.Labels(nodes, y), draws=200, seed=seed, progress=False)
        suspects = post.suspect_labels()
        wrong = suspects["label"] != np.sign(u[suspects["node"]])
        excess.append(wrong.sum() - suspects["probability_wrong"].sum())
        if wrong.any():
            precision.append(average_precision_score(wrong, suspects["probability_wrong"]))
            share.append(wrong.mean())
    error = np.std(excess, ddof=1) / np.sqrt(len(excess))
    return np.mean(excess) / error, np.mean(precision), np.mean(share)


@pytest.mark.slow
def test_as_many_labels_are_wrong_as_their_probabilities_say(small):
    prior = gq.Prior.projected(small[0], 5)
    excess, precision, share = excess_of_wrong_labels(prior, gq.NoisyProbit(0.1, 0.15))
    assert abs(excess) < 4
    assert precision > 2 * share


@pytest.mark.slow
def test_where_flips_are_fewer_than_assumed_fewer_labels_are_wrong_than_said(small):
    prior = gq.Prior.projected(small[0], 5)
    assert excess_of_wrong_labels(prior, gq.NoisyProbit(0.1, 0.35))[0] < -4


def test_planted_wrong_labels_are_found(clump_graph, clumps):
    _, y = clumps
    labels = gq.reveal(y, counts=8, seed=1)
    values = labels.values.copy()
    wrong = [2, 11, 20]
    values[wrong] = np.array(["bee", "cow", "ant"])[labels.indices[wrong]]
    given = gq.Labels(labels.nodes, values)
    prior = gq.Prior.projected(clump_graph, 12, alpha=2.0)
    post = quietly(prior, gq.NoisyProbit(0.1, 0.1), given, **QUICK)
    suspects = post.suspect_labels()
    assert set(suspects["node"][:3]) == set(labels.nodes[wrong])
    right = dict(zip(labels.nodes.tolist(), labels.values.tolist(), strict=True))
    assert all(right[r.node] == r.likelier for r in suspects.iloc[:3].itertuples())
    at = [int(np.flatnonzero(given.nodes == node)[0]) for node in suspects["node"]]
    own = post.latent_probability[given.nodes, given.indices]
    np.testing.assert_allclose(suspects["probability_wrong"], 1 - own[at])
    # no true label is suspect
    none = quietly(prior, gq.NoisyProbit(0.1, 0.1), labels, **QUICK).suspect_labels()
    assert (none["likelier"] == none["label"]).all()


def test_ranking_of_three_classes_by_hand():
    labels = gq.Labels([0, 1, 2], ["a", "b", "c"])
    p = np.array([[0.2, 0.7, 0.1], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.3, 0.3, 0.4]])
    field = np.array([[0.0, 1, 0], [0, 5.0, 0], [0, 1.0, 2], [0, 0, 0]])
    post = NodesAlone(labels, p, np.ones(4), p, 0 * p, field, np.ones((4, 3)))
    suspects = post.suspect_labels()
    assert suspects["node"].tolist() == [0, 2, 1]  # the field at node 1 speaks for its label more
    assert suspects["likelier"].tolist() == ["b", "c", "b"]
    np.testing.assert_allclose(suspects["probability_wrong"], [0.8, 0.0, 0.0])
    assert post.accuracy(["a", "b", "c", "c"]) == 1.0


def test_the_most_probable_class_may_be_the_label_even_below_one_half():
    labels = gq.Labels([0, 1, 2], ["a", "b", "c"])
    p = np.array([[0.4, 0.3, 0.3], [0.55, 0.45, 0.0], [0.1, 0.1, 0.8]])
    nothing = np.zeros_like(p)
    post = NodesAlone(labels, p, nothing[:, 0], p, *[nothing] * 3)
    suspects = post.suspect_labels()
    assert suspects["node"].tolist() == [0, 1, 2]  # the most probably wrong first
    assert suspects["likelier"].tolist() == ["a", "a", "c"]
    assert not suspects["suspect"].any()  # nothing expects a mistake here


def test_suspects_are_judged_by_the_field_as_probabilities_of_being_wrong_are():
    """Where classes overlap, the predictive class may be another than that of the field."""
    labels = gq.Labels([0, 1], ["a", "b"])
    p, latent = np.array([[0.6, 0.4], [0.3, 0.7]]), np.array([[0.45, 0.55], [0.2, 0.8]])
    nothing = np.zeros(2)
    mean, settings = 2 * latent[:, 1] - 1, {"overlap": 0.3}
    post = NodesAlone(labels, mean, nothing, p, *[nothing] * 3, settings)
    suspects = post.suspect_labels()
    assert suspects["likelier"].tolist() == ["b", "b"]
    np.testing.assert_allclose(suspects["probability_wrong"], [0.55, 0.2])
