"""Predictions of each label by all others: exact answers, the approximation, and other packages."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
from conftest import quietly, with_draws
from references.exact import class_evidence
from references.selection import SLOW
from scipy.special import ndtr

import graphuq as gq
from graphuq.likelihoods.argmax_probability import argmax_probability
from graphuq.posterior.left_out import GivenOthers

THREE = gq.Labels([0, 7, 25], ["x", "y", "z"])
OPTIONS = {"draws": 1000, "seed": 1, "progress": False}


@pytest.fixture(scope="module")
def prior(small):
    return gq.Prior.projected(small[0], 8)


def exact(prior, labels, noise):
    """Ratios of exact evidences: with label j as each class, over their sum."""
    found = np.empty((len(labels), labels.classes.size))
    for j in range(len(labels)):
        for k, name in enumerate(labels.classes):
            values = labels.values.copy()
            values[j] = name
            given = gq.Labels(labels.nodes, values, classes=labels.classes)
            found[j, k] = np.exp(class_evidence(prior, given, noise, np.inf))
    return found / found.sum(axis=1, keepdims=True)


def test_predictions_of_three_classes_are_exact(prior):
    gamma = 0.1
    post = quietly(prior, gq.Probit(gamma), THREE, **OPTIONS)
    right = exact(prior, THREE, gamma)

    assert abs(post.pred_probs() - right).max() < 0.02
    # what the label itself says is something else
    assert abs(post.by_class[THREE.nodes] - right).max() > 0.2


@pytest.mark.filterwarnings("ignore:expectation propagation is poor")
@pytest.mark.parametrize("model", [gq.Probit(0.3), gq.NoisyProbit(0.3, 0.1), gq.LevelSet(1.0)])
def test_predictions_of_two_classes_are_those_of_the_approximation(small, prior, model):
    post = quietly(prior, model, small[1], **OPTIONS)
    quick = gq.approximate(prior, model, small[1])

    assert np.array_equal(quick.pred_probs()[:, 1], quick.sites.leave_one_out)
    assert abs(post.pred_probs() - quick.pred_probs()).max() < 0.03


@pytest.mark.parametrize("labels", [gq.Labels([0, 7, 25], ["x", "y", "x"]), THREE], ids=len)
def test_predictions_without_mistakes_are_of_the_true_class(prior, labels):
    flip_rate, K = 0.2, labels.classes.size
    post = quietly(prior, gq.NoisyProbit(0.3, flip_rate), labels, **OPTIONS)
    found = post.pred_probs(mistakes=False)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    label = flip_rate / (K - 1) * (1 - found) + (1 - flip_rate) * found
    np.testing.assert_allclose(post.pred_probs(), label)
    without = quietly(prior, gq.Probit(0.3), labels, **OPTIONS)
    assert np.array_equal(without.pred_probs(mistakes=False), without.pred_probs())


def test_predictions_are_those_without_the_label_if_labels_outnumber_modes(small):
    spectrum, _, y = small
    prior, model = gq.Prior.projected(spectrum, 4), gq.Probit(0.3)
    labels = gq.reveal(y, counts=6, seed=0)
    options = {"draws": 1000, "progress": False}
    posts = [quietly(prior, model, labels, seed=seed, **options) for seed in range(4)]
    found = np.array([post.pred_probs()[:, 1] for post in posts])
    mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / 2
    assert error.max() < 0.03
    for j in (1, 11):  # the others contradict the second of these
        rest = np.delete(np.arange(12), j)
        others = gq.Labels(labels.nodes[rest], labels.values[rest])
        without = quietly(prior, model, others, seed=9, **options)
        right = without.probability[labels.nodes[j]]
        assert abs(mean[j] - right) < 5 * error[j] + 0.01
    assert abs(posts[0].probability[labels.nodes[11]] - right) > 0.1


def test_what_cannot_be_predicted_is_refused(small, prior, tmp_path):
    post = quietly(prior, gq.Probit(0.3), small[1], draws=20, progress=False)
    smooth = {"sign_model": None, "likelihood": {"name": "GinzburgLandau"}}
    with pytest.raises(ValueError, match=r"need a sign model.*GinzburgLandau is not one"):
        dataclasses.replace(post, settings=post.settings | smooth).pred_probs()
    with pytest.raises(ValueError, match=re.escape("take those of gq.sample(...)")):
        with_draws(post, hyperparameters={"gamma": np.ones((4, 20))}).pred_probs()
    post.save(tmp_path / "post.nc")
    read = gq.load(tmp_path / "post.nc")
    with pytest.raises(ValueError, match="pass prior="):
        read.pred_probs()
    assert read.pred_probs(prior).shape == (5, 2)
    gq.approximate(prior, gq.Probit(0.3), small[1]).save(tmp_path / "quick.nc")
    assert gq.load(tmp_path / "quick.nc").pred_probs().shape == (5, 2)  # its sites say it


@pytest.mark.filterwarnings("ignore:expectation propagation is poor")
def test_cleanlab_finds_a_flipped_label():
    rank = pytest.importorskip("cleanlab.rank")
    from cleanlab.filter import find_label_issues

    X, y = gq.datasets.two_moons(100, seed=0)
    labels = gq.reveal(y, counts=10, seed=0)
    values = labels.values.copy()
    values[3] = 1 - values[3]
    wrong = gq.Labels(labels.nodes, values)
    prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), rank=20)
    post = gq.approximate(prior, gq.NoisyProbit(0.1, 0.1), wrong)

    quality = rank.get_label_quality_scores(wrong.indices, post.pred_probs())
    issues = find_label_issues(wrong.indices, post.pred_probs(), n_jobs=1)

    assert quality.argmin() == 3
    assert issues[3]
    assert wrong.nodes[quality.argmin()] == post.suspect_labels()["node"][0]


@pytest.mark.parametrize(
    "labels", [None, pytest.param(THREE, marks=SLOW)], ids=["two classes", "three classes"]
)
def test_rare_mistakes_are_found_where_draws_hardly_ever_contradict_labels(
    small, prior, labels, monkeypatch
):
    """Both averages are right; that over the field at the label itself is the noisier one."""
    labels = small[1] if labels is None else labels
    values = labels.values.copy()
    values[0] = labels.classes[1] if values[0] == labels.classes[0] else labels.classes[0]
    wrong = gq.Labels(labels.nodes, values, labels.classes)
    model = gq.NoisyProbit(0.1, 0.002)
    exact = mistakes_by_evidence(prior, wrong, 0.1, 0.002)
    errors = {"integrated": [], "drawn": []}
    for seed in range(6):
        post = quietly(prior, model, wrong, draws=100, chains=1, seed=seed, progress=False)
        errors["integrated"].append(post._doubts().mistake - exact)
        with monkeypatch.context() as patch:
            patch.setattr(GivenOthers, "by_class", from_own_field(wrong, post))
            errors["drawn"].append(post._doubts().mistake - exact)
    integrated, drawn = (np.array(errors[key]) for key in ("integrated", "drawn"))
    assert abs(integrated.mean(axis=0)).max() < 4 * (integrated.std(axis=0) / 6**0.5).max() + 1e-3
    assert (integrated**2).sum() < 0.5 * (drawn**2).sum()


def from_own_field(labels, post):
    """The class given the field at the label itself, in place of that given the others."""

    def by_class(self, u, noise):
        if labels.classes.size > 2:
            return argmax_probability(u, noise)
        return np.stack([ndtr(-u[:, :, 0] / noise), ndtr(u[:, :, 0] / noise)], axis=-1)

    return by_class


def mistakes_by_evidence(prior, labels, noise, flip):
    """P(label j is flipped | all): the evidence with label j certainly wrong, over the whole."""
    n_wrong = labels.classes.size - 1
    cost = np.log((1 - flip) * n_wrong / flip)
    whole, found = np.exp(class_evidence(prior, labels, noise, cost)), np.empty(len(labels))
    for j in range(len(labels)):
        trust = np.ones(len(labels))
        trust[j] = 1 / labels.classes.size  # says nothing
        rest = gq.Labels(labels.nodes, labels.values, labels.classes, confidence=trust)
        none = np.exp(class_evidence(prior, rest, noise, cost)) * labels.classes.size
        # whole = (1 - f) right + f / (K - 1) (none - right)
        right = (whole - flip / n_wrong * none) / (1 - flip - flip / n_wrong)
        found[j] = 1 - (1 - flip) * right / whole
    return found
