"""The light of the model: accuracy beside that of the most frequent class, and confidence."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import graphuq as gq
from graphuq.posterior.assessment.model_trust import trust_in_model


def predictions(right, wrong, confidence, n_classes=2):
    """Probabilities and true classes, half of each of the first two, of so many predictions."""
    n = right + wrong
    truth = np.arange(n) % 2
    predicted = np.where(np.arange(n) < right, truth, 1 - truth)
    p = np.full((n, n_classes), (1 - confidence) / (n_classes - 1))
    p[np.arange(n), predicted] = confidence
    return p, truth


def light(right, wrong, confidence=0.8, n_classes=2):
    p, truth = predictions(right, wrong, confidence, n_classes)
    return trust_in_model(p, truth, f"{len(p)} labels are", "from the other labels")


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n", [6, 20, 60])
def test_it_is_green_just_where_the_interval_says_so(n, n_classes):
    for right in range(n + 1):
        found = light(right, n - right, confidence=0.6, n_classes=n_classes)
        low, high = stats.binomtest(right, n).proportion_ci(method="wilson")
        assert found.interval == pytest.approx((low, high))
        assert (found.light == "green") == (low >= 0.75 and high >= 0.59)
        assert (found.light == "red") == (high < 0.5 and n >= 20)
        assert (found.judged, found.right, found.most_frequent) == (n, right, n // 2)


def test_the_reasons_name_the_numbers():
    found = light(57, 3)
    assert found.reasons == (
        "57 of 60 labels are predicted correctly from the other labels: 95.0%, with a 95% interval "
        "from 86.3% to 98.3%. Always predicting the most frequent class would be right in 50.0%.",
    )
    assert light(45, 15).reasons[1] == "60 predictions do not show that the model is wrong at "\
        "most half as often."  # fmt: skip
    assert "31 of 60" in light(31, 29).reasons[0]
    assert light(31, 29).reasons[1] == "60 predictions do not show that the model is better than "\
        "that."  # fmt: skip
    assert "worse than that" in light(10, 50).reasons[1]


def test_confidence_above_the_interval_is_not_green():
    # the interval ends at 93.1%
    assert light(52, 8, confidence=0.94).light == "green"
    sure = light(52, 8, confidence=0.95)
    assert sure.light == "amber"
    assert "too sure: its mean confidence is 95.0%" in sure.reasons[-1]


def test_it_compares_labels_with_what_the_others_predict():
    X, y = gq.datasets.two_moons(200, seed=0)
    graph = gq.knn_graph(X, n_neighbors=8, connect=True)
    labels = gq.reveal(y, counts={0: 9, 1: 4}, seed=0)
    post = gq.sample(graph, gq.Probit(), labels, seed=0, progress=False)
    found, p = post.model_trust(), post.pred_probs()
    assert found.right == (p.argmax(axis=1) == labels.indices).sum() > 10
    assert found.most_frequent == 9
    assert found.confidence == pytest.approx(p.max(axis=1).mean())
    quick = gq.approximate(post.prior, gq.Probit(post.settings["likelihood"]["gamma"]), labels)
    assert quick.model_trust().right == pytest.approx(found.right, abs=1)


def test_the_only_label_of_a_class_is_not_judged():
    X, y = gq.datasets.two_moons(60, seed=0)
    prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), rank=10)
    for counts, judged in (({0: 3, 1: 2}, 5), ({0: 3, 1: 1}, 0)):
        labels = gq.reveal(y, counts=counts, seed=0)
        assert gq.approximate(prior, gq.Probit(0.1), labels).model_trust().judged == judged
    alone = gq.approximate(prior, gq.Probit(0.1), gq.reveal(y, counts=1, seed=0)).model_trust()
    assert (alone.light, alone.judged) == ("amber", 0)
    assert "fewer than two classes have two labels" in alone.reasons[0]


def test_labels_that_are_probably_wrong_are_not_judged():
    X, y = gq.datasets.two_moons(100, seed=0)
    labels = gq.reveal(y, counts=20, seed=0)
    values, trust = labels.values.copy(), np.full(40, 0.95)
    values[[3, 17, 30]], trust[[3, 17, 30]] = 1 - values[[3, 17, 30]], 0.05
    doubted = gq.Labels(labels.nodes, values, confidence=trust)
    graph = gq.knn_graph(X, n_neighbors=8, connect=True)
    found = gq.approximate(graph, gq.Probit(), doubted).model_trust()
    assert (found.judged, found.light) == (37, "green")


def test_labels_that_say_nothing_are_hardly_ever_green():
    """A negative control: random classes, with all parameters chosen from them."""
    lights = []
    for seed in range(15):
        rng = np.random.default_rng(seed)
        graph = gq.knn_graph(rng.normal(size=(80, 3)), n_neighbors=8, connect=True)
        labels = gq.Labels(np.arange(40), rng.integers(0, 2, 40))
        lights.append(gq.approximate(graph, gq.Probit(), labels).model_trust().light)
    # 2.5% each, if labels left out are independent
    assert lights.count("green") <= stats.binom.isf(0.001, 15, 0.025)
    assert "amber" in lights
