"""What draws say of the given labels: leave-one-out probabilities, replicates and mistakes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from conftest import quietly
from references.exact import class_evidence, probit_masses
from scipy.special import ndtr

import graphuq as gq
from graphuq.likelihoods.argmax_probability import argmax_probability
from graphuq.likelihoods.sign_model import SignModel
from graphuq.posterior import label_likelihood, posterior
from graphuq.posterior.arviz_compat import arviz_module

THREE = gq.Labels([0, 7, 25], ["x", "y", "z"])
OPTIONS = {"draws": 4000, "seed": 1, "progress": False}
NOISY = gq.NoisyProbit(0.5, 0.1)


@pytest.fixture(scope="module")
def prior(small):
    return gq.Prior.projected(small[0], 8)


@pytest.fixture(scope="module")
def noisy(small, prior):
    return quietly(prior, NOISY, small[1], **OPTIONS)


def left_out(log_likelihood):
    """1 / E[1 / p(y_j | u)], and its relative standard error."""
    inverse = np.exp(-log_likelihood).reshape(-1, log_likelihood.shape[-1])
    return 1 / inverse.mean(0), inverse.std(0) / inverse.mean(0) / np.sqrt(len(inverse))


def exact_mistakes(prior, labels, model):
    """P(label j is flipped | labels): a sum over which labels are."""
    C, y, f = prior.covariance(labels.nodes, labels.nodes), labels.codes, model.flip_rate
    total, flipped = 0.0, np.zeros(y.size)
    for signs in itertools.product([1.0, -1.0], repeat=y.size):
        weight = np.prod(np.where(np.array(signs) < 0, f, 1 - f))
        weight *= probit_masses(C, C[:0], np.empty(0), y * np.array(signs), model.gamma)[1]
        total += weight
        flipped += weight * (np.array(signs) < 0)
    return flipped / total


@pytest.mark.filterwarnings("ignore:expectation propagation is poor")
def test_left_out_probabilities_of_two_classes_are_those_of_the_approximation(small, prior, noisy):
    for model in (NOISY, gq.LevelSet(1.0)):
        post = noisy if model is NOISY else quietly(prior, model, small[1], **OPTIONS)
        found, error = left_out(post.label_draws().log_likelihood)
        quick = gq.approximate(prior, model, small[1])
        p = np.where(small[1].codes > 0, quick.sites.leave_one_out, 1 - quick.sites.leave_one_out)
        assert (abs(found / p - 1) < 5 * error + 0.05).all()


def test_left_out_probabilities_of_three_classes_are_exact(prior):
    model = gq.Probit(0.8)
    post = quietly(prior, model, THREE, **OPTIONS)
    found, error = left_out(post.label_draws().log_likelihood)
    for j in range(3):
        rest = np.delete(np.arange(3), j)
        others = gq.Labels(THREE.nodes[rest], THREE.values[rest], classes=THREE.classes)
        exact = class_evidence(prior, THREE, 0.8, np.inf) - class_evidence(
            prior, others, 0.8, np.inf
        )
        assert abs(np.log(found[j]) - exact) < 5 * error[j]


@pytest.mark.filterwarnings("ignore")  # those of arviz
def test_arviz_compares_models_by_them(small, prior, noisy):
    arviz, trees = arviz_module(), {}
    blurred = quietly(prior, gq.Probit(0.8), small[1], **OPTIONS)
    for name, post in (("noisy", noisy), ("blurred", blurred)):
        trees[name] = post.to_arviz()
        likelihood = trees[name]["log_likelihood"]["y"]
        assert likelihood.dims == ("chain", "draw", "label_node")
        assert likelihood.shape == (4, 4000, 5)
    found = arviz.loo(trees["noisy"], pointwise=True)
    log_p = np.log(left_out(noisy.label_draws().log_likelihood)[0])
    elpd = found["elpd_loo"] if "elpd_loo" in found else found["elpd"]
    assert float(elpd) == pytest.approx(log_p.sum(), abs=0.02)
    assert set(arviz.compare(trees).index) == {"noisy", "blurred"}


def test_labels_drawn_anew_have_the_probability_of_a_label(noisy):
    tree = noisy.to_arviz()
    again = tree["posterior_predictive"]["y"].values
    assert set(np.unique(again)) == {-1, 1}
    # flips are part of them: f + (1 - 2 f) p
    p = 0.1 + 0.8 * noisy.probability[noisy.labels.nodes]
    assert (abs((again > 0).mean(axis=(0, 1)) - p) < 5 * np.sqrt(p * (1 - p) / 16_000)).all()


def test_mistakes_are_exact(small, prior, noisy):
    exact = exact_mistakes(prior, small[1], NOISY)
    table = noisy.suspect_labels().set_index("node").loc[small[1].nodes]
    batches = noisy.label_draws().mistake.reshape(160, 100, 5).mean(axis=1)
    np.testing.assert_allclose(table["probability_mistake"], batches.mean(axis=0))
    error = batches.std(axis=0) / np.sqrt(160)
    assert error.max() < 0.01
    assert (abs(table["probability_mistake"] - exact) < 5 * error).all()
    quick = gq.approximate(prior, NOISY, small[1]).suspect_labels().set_index("node")
    np.testing.assert_allclose(quick.loc[small[1].nodes]["probability_mistake"], exact, atol=0.01)
    # and they are not what the field says of the labels
    assert abs(table["probability_wrong"] - exact).max() > 0.05
    sampled_too = gq.sample_jointly(
        prior, NOISY, small[1], gamma=(0.499, 0.501), draws=400, seed=1, progress=False
    )
    table = sampled_too.suspect_labels().set_index("node").loc[small[1].nodes]
    np.testing.assert_allclose(table["probability_mistake"], exact, atol=0.02)


def weighted_overlaps(prior, labels, model):
    """P(label j is no mistake, the class of u_j is another | labels), from draws of the prior.

    Draws are weighed by the likelihood.
    """
    K, rng = labels.classes.size, np.random.default_rng(0)
    C = prior.covariance(labels.nodes, labels.nodes)
    shape = (400_000, len(labels)) if K == 2 else (400_000, K, len(labels))
    u = rng.standard_normal(shape) @ np.linalg.cholesky(C + 1e-9 * np.eye(len(labels))).T
    if K == 2:
        right, differs = ndtr(labels.codes * u / model.gamma), labels.codes * u < 0
    else:
        u = np.swapaxes(u, 1, 2)
        right = argmax_probability(u, model.gamma)[:, np.arange(len(labels)), labels.indices]
        differs = u.argmax(axis=2) != labels.indices
    right = (1 - model.flip_rate) * right
    other = model.flip_rate / (K - 1)
    likelihood = right + other * (1 - right / (1 - model.flip_rate))
    weight = likelihood.prod(axis=1)
    return weight @ (differs * right / likelihood) / weight.sum()


MANY = gq.Labels([0, 7, 13, 25, 38], ["x", "y", "x", "z", "z"])


@pytest.mark.parametrize("n_classes", [2, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.filterwarnings("ignore:expectation propagation is poor")
def test_overlaps_are_exact(small, prior, n_classes):
    labels, model = small[1] if n_classes == 2 else MANY, gq.NoisyProbit(0.8, 0.2)
    exact = weighted_overlaps(prior, labels, model)
    post, quick = quietly(prior, model, labels, **OPTIONS), gq.approximate(prior, model, labels)
    for result, atol in ((post, 0.01), (quick, 0.02)):
        table = result.suspect_labels().set_index("node").loc[labels.nodes]
        np.testing.assert_allclose(table["probability_overlap"], exact, atol=atol)
        # it is not what is left of the other two, since a mistake may agree with the field
        rest = (table["probability_wrong"] - table["probability_mistake"]).clip(lower=0)
        assert abs(rest - exact).max() > 1.5 * atol


def test_mistakes_come_first(small, prior, noisy):
    table = noisy.suspect_labels()
    assert (np.diff(table["probability_mistake"]) <= 0).all()
    assert (table["probability_overlap"] < table["probability_wrong"] + 0.01).all()
    plain = quietly(prior, gq.Probit(0.5), small[1], **OPTIONS).suspect_labels()
    assert (plain["probability_mistake"] == 0).all()
    np.testing.assert_array_equal(plain["probability_overlap"], plain["probability_wrong"])
    assert (np.diff(plain["probability_wrong"]) <= 0).all()
    levels = quietly(prior, gq.LevelSet(1.0), small[1], **OPTIONS).suspect_labels()
    np.testing.assert_array_equal(levels["probability_mistake"], levels["probability_wrong"])
    assert (levels["probability_overlap"] == 0).all()


def test_mistakes_of_three_classes_agree_with_the_approximation(prior):
    labels = gq.Labels([0, 7, 13, 25, 38], ["x", "y", "x", "z", "z"])
    model = gq.NoisyProbit(0.4, 0.2)
    post = quietly(prior, model, labels, **OPTIONS)
    quick = gq.approximate(prior, model, labels)
    both = [p.suspect_labels().set_index("node").loc[labels.nodes] for p in (post, quick)]
    np.testing.assert_allclose(*(t["probability_mistake"] for t in both), atol=0.04)


def test_files_have_mistakes_and_leave_draws_of_labels_out(noisy, tmp_path, monkeypatch):
    noisy.save(tmp_path / "a.nc")
    again = gq.load(tmp_path / "a.nc")
    assert again.suspect_labels().equals(noisy.suspect_labels())
    assert again.label_draws() is None
    assert "log_likelihood" not in list(again.to_arviz().groups())
    # too many draws: the groups are left out, and mistakes are of fewer draws
    whole = noisy._doubts().mistake
    monkeypatch.setattr(posterior, "MAX_TERMS", 20_000)
    assert noisy.label_draws() is None
    np.testing.assert_allclose(noisy._doubts().mistake, whole, atol=0.01)


def test_a_wrong_flip_rate_would_show(small, prior, noisy, monkeypatch):
    exact = exact_mistakes(prior, small[1], NOISY)
    model_of = label_likelihood._model_of
    monkeypatch.setattr(
        label_likelihood,
        "_model_of",
        lambda *run: SignModel.flipping(model_of(*run).noise, np.full((16_000, 1), 0.2), 2),
    )
    assert abs(noisy._doubts().mistake - exact).max() > 0.05
