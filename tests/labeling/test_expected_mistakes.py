from __future__ import annotations

import numpy as np
import pytest

import graphuq as gq
from graphuq.labeling import expected_mistakes, learner
from graphuq.labeling.expected_mistakes import ExpectedMistakes
from graphuq.labeling.learner import Learner, Task


def saved_by_answers(prior, likelihood, labels, nodes):
    """How many expected mistakes fewer there are once a node is really answered, on average."""
    post = gq.approximate(prior, likelihood, labels)
    hidden = np.setdiff1d(np.arange(prior.n_nodes), labels.nodes)
    flip_rate = getattr(likelihood, "flip_rate", 0.0)
    found = []
    for node in nodes:
        left = 0.0
        for c in (0, 1):
            p = flip_rate + (1 - 2 * flip_rate) * post.by_class[node, c]
            more = gq.Labels([*labels.nodes, node], [*labels.values, c])
            left += p * gq.approximate(prior, likelihood, more).by_class[hidden].min(axis=1).sum()
        found.append(post.by_class[hidden].min(axis=1).sum() - left)
    return np.array(found)


@pytest.mark.parametrize(
    "likelihood", [gq.Probit(0.3), gq.NoisyProbit(0.3, 0.1)], ids=["probit", "flips"]
)
def test_scores_are_those_of_real_answers(likelihood, monkeypatch):
    X, y = gq.datasets.two_moons(200, seed=0)
    prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), 40, tau=0.3)
    labels = gq.reveal(y, counts=4, seed=0)
    nodes = np.setdiff1d(np.arange(200), labels.nodes)[92::23]
    # the node itself has a label then, which expectation propagation knows better than one step
    exact = saved_by_answers(prior, likelihood, labels, nodes)
    post = gq.approximate(prior, likelihood, labels)
    found = ExpectedMistakes(post, nodes, seed=0).scores()
    assert abs(found - exact).max() < 0.08
    assert exact.max() > 1
    # a negative control: the prior's covariances
    monkeypatch.setattr(expected_mistakes, "_covariance", lambda p, *pair: prior.covariance(*pair))
    assert abs(ExpectedMistakes(post, nodes, seed=0).scores() - exact).max() > 0.3


def test_the_first_questions_spread_over_the_graph(monkeypatch):
    monkeypatch.setattr(learner, "START", 4)
    X, y = gq.datasets.two_moons(200, seed=0)
    spectrum = gq.Spectrum.of(gq.knn_graph(X, n_neighbors=8, connect=True), 40)
    session = Learner(spectrum, None, gq.Probit(), seed=0)
    labels, classes = {}, ("0", "1")
    learned = session.begin(Task(labels, classes, frozenset(), {}, {}))
    spread = [node for node, _ in learned.questions]
    for count in range(6):
        node, information = next(one for one in learned.questions if one[0] not in labels)
        assert (information is None) == (count < 4)
        assert (node == spread[count]) == (count < 4)
        labels = labels | {node: str(y[node])}
        *_, learned = session.learn(Task(labels, classes, frozenset(), {}, {}))


def test_what_an_answer_tells_is_not_asked_again():
    X, y = gq.datasets.two_moons(200, seed=0)
    prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), 40, tau=0.3)
    labels = gq.reveal(y, counts=4, seed=0)
    post = gq.approximate(prior, gq.Probit(0.3), labels)
    hidden = np.setdiff1d(np.arange(200), labels.nodes)
    mistakes = ExpectedMistakes(post, hidden, seed=0)
    before = mistakes.scores()
    best = before.argmax()
    mistakes.observe(best)
    after = mistakes.scores()
    correlation = post.prior.covariance(hidden[best : best + 1], hidden)[0]
    near = correlation > 0.9 * correlation.max()
    assert (after[near] < 0.5 * before[near]).all()
    assert after.max() > 0.5 * before.max()  # elsewhere there is still something to learn
