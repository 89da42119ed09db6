"""All results have the same methods: posteriors, MAP estimates and classifiers."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import quietly

import graphuq as gq
from graphuq.posterior.predictions import PredictionMixin, most_probable


@pytest.fixture(scope="module")
def results(small):
    """Results of every kind with class probabilities."""
    spectrum, labels, _ = small
    prior = gq.Prior.projected(spectrum, 8, alpha=2.0)
    problem = prior, gq.Probit(0.2), labels
    graph = np.exp(-abs(np.subtract.outer(np.arange(40), np.arange(40))))
    return {
        "sampled": quietly(*problem, draws=50, seed=0, progress=False),
        "approximate": gq.approximate(*problem),
        "MAP": gq.map_estimate(*problem),
        "classifier": gq.LaplaceLearning().fit(graph, labels),
    }


@pytest.mark.parametrize("kind", ["sampled", "approximate", "MAP", "classifier"])
def test_every_result_answers_the_same_questions(results, small, kind):
    _, labels, y = small
    result = results[kind]
    p = result.by_class
    assert p.shape == (40, 2)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    sure = abs(p[:, 1] - 0.5) > 1e-9
    expected = result.labels.classes[most_probable(p)]
    assert (result.prediction == expected)[sure].all()
    assert result.accuracy(y) == labels.accuracy(result.prediction, y)
    np.testing.assert_allclose(result.margin, abs(p[:, 1] - p[:, 0]))
    assert (result.entropy <= np.log(2) + 1e-12).all()
    np.testing.assert_array_equal(result.unsure, p.max(axis=1) < 0.85)
    assert result.calibration(y).curve["count"].sum() == 40 - len(labels)
    with pytest.raises(TypeError, match="truth is needed"):
        gq.MapEstimate.calibration(result)


@pytest.mark.parametrize(("confidence", "unsure"), [(0.849, True), (0.85, False), (0.852, False)])
def test_an_item_is_unsure_below_the_confidence_that_is_printed(confidence, unsure):
    class Told(PredictionMixin):
        by_class = np.array([[confidence, 1 - confidence]])

    assert Told().unsure.tolist() == [unsure]


def test_without_probabilities_the_prediction_is_left(small):
    spectrum, labels, y = small
    prior = gq.Prior.projected(spectrum, 8, alpha=2.0)
    estimate = gq.map_estimate(prior, gq.GinzburgLandau(1.0, 1.0), labels)
    cut = gq.FiedlerClustering().fit(np.exp(-abs(np.subtract.outer(y, y) * 1.0)) + 0.01, labels)
    for result in (estimate, cut):
        assert result.by_class is None
        assert 0 <= result.accuracy(y) <= 1
        with pytest.raises(AttributeError, match="no class probabilities here: take one that has"):
            _ = result.entropy


def test_the_second_of_two_classes_wins_a_tie_and_the_first_of_many():
    assert most_probable(np.array([[0.5, 0.5], [0.6, 0.4]])).tolist() == [1, 0]
    assert most_probable(np.array([[0.4, 0.4, 0.2]])).tolist() == [0]


def test_diagnostics_are_computed_once(results, monkeypatch):
    from graphuq.posterior import posterior

    calls = []
    diagnose = posterior.diagnose
    monkeypatch.setattr(posterior, "diagnose", lambda *run: calls.append(run) or diagnose(*run))
    post = gq.from_arviz(results["sampled"].to_arviz())
    post.trust()
    post.trust()
    assert len(calls) == 1
    assert not results["approximate"].is_sampled
    assert results["approximate"].call().function == "approximate"


def test_what_the_other_kind_has_is_refused_with_a_remedy(results):
    sampled, quick = results["sampled"], results["approximate"]
    assert not hasattr(quick, "draws")
    assert not hasattr(sampled, "sites")
    with pytest.raises(AttributeError, match=r"make them with gq\.sample"):
        _ = quick.draws
    with pytest.raises(AttributeError, match=r"make them with gq\.sample"):
        quick.diagnostics()
    with pytest.raises(AttributeError, match=r"make them with gq\.approximate"):
        _ = sampled.sites
    with pytest.raises(ValueError, match=r"draws is for approximations"):
        sampled.latent_draws(draws=5)
    with pytest.raises(TypeError, match="got a sampled posterior"):
        gq.approximate(sampled.prior, gq.Probit(0.1), sampled.labels, start=sampled)
    for post in (sampled, quick):
        assert len(repr(post.source)) < 100
