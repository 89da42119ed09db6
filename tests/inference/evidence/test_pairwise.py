"""K > 2 classes: parameters chosen from pairs of classes, and functions for two classes only."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from conftest import quietly

import graphuq as gq
from graphuq.inference.evidence import pairwise
from graphuq.inference.evidence.pairwise import PairwiseEvidence
from graphuq.priors.hyperprior import log_prior
from graphuq.propagation.gaussian_sites import NotConvergedError


def test_for_two_classes_it_is_the_evidence(small):
    spectrum, labels, _ = small
    prior = gq.Prior.projected(spectrum, 12)
    found = PairwiseEvidence(labels)(prior, gq.Probit(0.1))
    assert found == pytest.approx(gq.evidence(prior, gq.Probit(0.1), labels), abs=1e-4)


def many(small, n_classes, per_class=3):
    nodes = np.random.default_rng(1).permutation(40)[: n_classes * per_class]
    return gq.Labels(nodes, np.arange(nodes.size) % n_classes)


@pytest.mark.parametrize("model", [gq.Probit(0.3), gq.NoisyProbit(0.3, 0.2)], ids=repr)
def test_pairs_are_binary_problems(small, model):
    labels = many(small, 4)
    prior = gq.Prior.approximated(small[0], 12)
    expected = 0.0
    for pair in itertools.combinations(range(4), 2):
        own = model
        if isinstance(model, gq.NoisyProbit):  # one of three wrong labels, or the right one
            own = gq.NoisyProbit(0.3, (0.2 / 3) / (0.2 / 3 + 0.8))
        expected += math.log2(4) / 3 * gq.evidence(prior, own, labels.of_classes(*pair))
    value_of = PairwiseEvidence(labels)
    assert value_of(prior, model) == pytest.approx(expected, abs=1e-3)
    # warm starts change nothing
    value_of(gq.Prior.approximated(small[0], 12, alpha=3.0), model)
    again = value_of(prior, model)
    assert again == pytest.approx(expected, abs=1e-3)
    assert again.method == "pairwise composite"


@pytest.mark.parametrize("model", [gq.Probit(0.1), gq.LevelSet(0.5), gq.NoisyProbit(0.1, 0.2)])
def test_pairs_that_settle_together_are_apart(small, model, monkeypatch):
    labels = many(small, 6)
    prior = gq.Prior.projected(small[0], 12) + gq.Level(0.5)
    together = PairwiseEvidence(labels).near(prior, model, None)
    for size in (1, 20):  # a pair, and three
        monkeypatch.setattr(pairwise, "GROUP", size)
        apart = PairwiseEvidence(labels).near(prior, model, None)
        assert together.log_evidence == pytest.approx(apart.log_evidence, abs=1e-3)
        for ours, theirs in zip(together.sites, apart.sites, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=0.01, atol=0.01)
    # from the sites of others
    again = PairwiseEvidence(labels).near(prior, model, together.sites)
    assert together.log_evidence == pytest.approx(again.log_evidence, abs=1e-3)


def test_pairs_that_do_not_settle_together_settle_alone(small, monkeypatch):
    labels, prior = many(small, 6), gq.Prior.projected(small[0], 12)
    together = PairwiseEvidence(labels)(prior, gq.Probit(0.1))
    propagate, most = pairwise.propagate_apart, 1

    def fails(roots, *rest):
        if len(roots) > most:
            raise NotConvergedError("sites still move")
        return propagate(roots, *rest)

    monkeypatch.setattr(pairwise, "propagate_apart", fails)
    apart = PairwiseEvidence(labels)(prior, gq.Probit(0.1))
    assert together == pytest.approx(apart, abs=1e-4)
    most = 0
    with pytest.raises(RuntimeError, match="did not converge"):
        PairwiseEvidence(labels)(prior, gq.Probit(0.1))


@pytest.mark.parametrize("n_classes", [3, 5, 6, 12])
def test_labels_that_say_nothing_have_their_probability(small, n_classes):
    labels = many(small, n_classes)
    nothing = PairwiseEvidence(labels)(gq.Prior.projected(small[0], 12), gq.LevelSet(1e6))
    assert nothing == pytest.approx(-len(labels) * math.log(n_classes))


@pytest.mark.parametrize(("n_classes", "met"), [(3, 2), (5, 4), (6, 4), (7, 4), (100, 4)])
def test_each_class_meets_as_many(n_classes, met):
    pairs = pairwise._choose_pairs(np.arange(n_classes) + 10)
    assert len({frozenset(pair) for pair in pairs}) == len(pairs) == n_classes * met // 2
    assert (np.bincount(np.ravel(pairs))[10:] == met).all()


@pytest.fixture(scope="module")
def simulated():
    """Three classes at 60 nodes, from fields with alpha = 2 and little noise."""
    X, _ = gq.datasets.digit_pair(4, 9)
    spectrum = gq.Spectrum.of(gq.knn_graph(X, n_neighbors=10), rank=40)
    rng = np.random.default_rng(0)
    fields = gq.Prior.projected(spectrum, 40, alpha=2.0).draw(3, seed=3)
    nodes = rng.permutation(361)[:60]
    noisy = fields[:, nodes] + 0.1 * rng.standard_normal((3, 60))
    return spectrum, gq.Labels(nodes, np.array(["a", "b", "c"])[noisy.argmax(axis=0)])


@pytest.mark.slow
def test_it_picks_what_the_exact_evidence_prefers(simulated):
    spectrum, labels = simulated
    pairs = PairwiseEvidence(labels)
    grid = list(itertools.product([1.0, 2.0, 3.0, 5.0], [0.05, 0.2, 0.8]))
    exact, found = [], []
    for alpha, gamma in grid:
        prior, model = gq.Prior.projected(spectrum, 40, alpha=alpha), gq.Probit(gamma)
        estimate = gq.annealed_evidence(prior, model, labels, draws=100, chains=8, seed=0)
        exact.append(estimate.log_evidence - alpha / 4)
        found.append(pairs(prior, model) - alpha / 4)
    penalty = np.array([alpha for alpha, _ in grid]) / 4
    best, chosen = int(np.argmax(exact)), int(np.argmax(found))
    assert exact[best] - exact[chosen] < 1
    # the values also agree near the maximum; elsewhere the grid has much lower ones. How well
    # depends on the labels: of other draws they differ by up to 5
    near = np.array(exact) > exact[best] - 10
    assert abs(np.array(found) - exact)[near].max() < 2.5
    unweighted = (np.array(found) + penalty) / math.log2(3) - penalty
    assert abs(unweighted - exact)[near].max() > 2.5
    assert sum(value < exact[best] - 3 for value in exact) > len(grid) / 2


@pytest.mark.slow
def test_auto_supports_many_classes(simulated):
    spectrum, labels = simulated
    found = gq.tune(spectrum, labels, gq.Probit)
    assert found.log_evidence.method == "pairwise composite"
    assert set(found.chosen) == {"alpha", "tau", "level", "gamma"}
    fresh = PairwiseEvidence(labels)(found.prior, found.likelihood)
    assert found.log_evidence == pytest.approx(fresh, abs=0.01)
    best = found.log_evidence + log_prior(found.chosen, 3, noisy=True)
    assert found.table["log_posterior"].max() == pytest.approx(best, abs=1e-12)
    renamed = gq.Labels(labels.nodes, np.array(["z", "x", "y"])[labels.indices])
    again = gq.tune(spectrum, renamed, gq.Probit)
    assert again.log_evidence == pytest.approx(found.log_evidence, abs=0.02)
    post = quietly(spectrum, gq.Probit(), labels, draws=20, chains=1, seed=0, progress=False)
    assert found.prior.matches(post.settings["prior"])
    assert post.settings["likelihood"]["gamma"] == found.likelihood.gamma


def test_a_class_without_labels_is_in_no_pair(simulated):
    spectrum, labels = simulated
    more = gq.Labels(labels.nodes, labels.values, classes=["a", "b", "c", "d"])
    prior = gq.Prior.projected(spectrum, 40)
    three, four = (PairwiseEvidence(seen)(prior, gq.Probit(0.1)) for seen in (labels, more))
    assert four / three == pytest.approx(2 / math.log2(3))
    assert gq.tune(spectrum, more, gq.Probit).chosen["alpha"] > 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda graph, labels: gq.sample(graph, gq.Probit(), labels.one),
            "all labels are 'a', and parameters cannot be chosen by labels of one class: label",
        ),
        (lambda graph, labels: gq.tune(graph, labels.one), "parameters cannot be chosen"),
        (lambda graph, labels: gq.tune(graph, labels.all, Binary), "Binary supports two classes"),
        (lambda graph, labels: gq.sample(graph, Binary(), labels.all), "Binary supports two"),
        (lambda graph, labels: gq.sample_jointly(graph, Binary(), labels.all), "Binary supports"),
    ],
)
def test_functions_for_two_classes_refuse_more_before_any_work(small, monkeypatch, call, message):
    class Given:
        spectrum = small[0]
        all = gq.Labels([0, 1, 2], ["a", "b", "c"])
        one = gq.Labels([0, 1, 2], ["a", "a", "a"], classes=["a", "b", "c"])

    X, _ = gq.datasets.two_moons(60, seed=0)
    graph = gq.knn_graph(X, n_neighbors=8, connect=True)
    monkeypatch.setattr(gq.Spectrum, "of", lambda *arguments: pytest.fail("eigenpairs"))
    with pytest.raises(ValueError, match=message) as caught:
        call(graph, Given)
    assert "\n" not in str(caught.value)


@dataclass(frozen=True)
class Binary(gq.Probit):
    multiclass: ClassVar[bool] = False
