"""The evidence of more than two classes against orthant probabilities, and wrong versions of it."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from conftest import priors
from exact import class_evidence

import graphuq as gq
from graphuq import annealed
from graphuq.likelihoods.contract import bind, evaluate

THREE = gq.Labels([0, 13, 38], ["a", "c", "b"])
SAME = gq.Labels([0, 7, 38], ["a", "a", "b"], classes=["a", "b", "c"])
FOUR = gq.Labels([7, 25], ["a", "d"], classes=["a", "b", "c", "d"])
MODELS = [gq.Probit(0.3), gq.LevelSet(1.2), gq.LevelSet(0.7), gq.NoisyProbit(0.3, 0.2)]


def annealed_at(prior, model, labels, seed=1):
    return gq.annealed_evidence(prior, model, labels, draws=1000, chains=16, seed=seed)


def exactly(prior, model, labels):
    return class_evidence(prior, labels, *bind(model, labels, prior.n_nodes).sign_model)


@pytest.mark.parametrize("labels", [THREE, SAME, FOUR], ids=["three", "same", "four"])
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_annealing_is_exact(small, model, labels):
    kind = {3: "approximated", 4: "projected"}[labels.classes.size]
    prior = priors(small[0], 8)[kind]
    found = annealed_at(prior, model, labels)
    assert found.mcse < 0.05
    assert abs(found.log_evidence - exactly(prior, model, labels)) < 4 * found.mcse


@pytest.mark.parametrize("mistake", ["normaliser of two classes", "smallest field"])
def test_negative_controls_fail(small, monkeypatch, mistake):
    prior, model = gq.Prior.approximated(small[0], 8), gq.LevelSet(1.2)
    if mistake == "normaliser of two classes":
        monkeypatch.setattr(annealed.math, "log1p", lambda x: np.log1p(x / 2))
    else:
        right = annealed.wrong_labels
        monkeypatch.setattr(annealed, "wrong_labels", lambda x, y: right(-x, y))
    found = annealed_at(prior, model, THREE)
    assert abs(found.log_evidence - exactly(prior, model, THREE)) > 4 * found.mcse


def test_the_evidence_of_all_labels_adds_up_to_one(small):
    prior, model, total, variance = gq.Prior.projected(small[0], 8), gq.LevelSet(1.2), 0.0, 0.0
    for values in itertools.product("abc", repeat=2):
        labels = gq.Labels([7, 13], values, classes=list("abc"))
        found = gq.annealed_evidence(prior, model, labels, chains=4, seed=0)
        total += math.exp(found.log_evidence)
        variance += (math.exp(found.log_evidence) * found.mcse) ** 2
    assert abs(total - 1) < 4 * math.sqrt(variance) < 0.1


def test_one_label_is_one_of_k(small):
    labels = gq.Labels([7], ["d"], classes=list("abcde"))
    found = gq.annealed_evidence(gq.Prior.projected(small[0], 8), gq.Probit(0.1), labels, seed=0)
    assert abs(found.log_evidence - math.log(1 / 5)) < 4 * found.mcse < 0.2


def test_ginzburg_landau_is_exact():
    """Wells and labels of three fields with one mode: quadrature over its three numbers."""
    graph = gq.Graph([[0, 1, 1, 0], [1, 0, 1, 0.5], [1, 1, 0, 1], [0, 0.5, 1, 0]])
    prior, labels = gq.Prior.projected(graph, 1), gq.Labels([0, 1, 3], ["a", "b", "c"])
    bound = bind(gq.GinzburgLandau(1.0, 1.0), labels, 4)
    mode, field_alone = prior.vectors * prior.sigma, bound.without_labels()
    points, weights = np.polynomial.hermite_e.hermegauss(24)
    with_labels = without = 0.0
    for at in itertools.product(range(24), repeat=3):
        u, mass = mode * points[list(at)], weights[list(at)].prod()
        with_labels += mass * math.exp(-evaluate(bound, u))
        without += mass * math.exp(-evaluate(field_alone, u))
    exact = math.log(with_labels / without) - 3 * 3 * 0.5 * math.log(2 * math.pi)
    found = gq.evidence(prior, gq.GinzburgLandau(1.0, 1.0), labels, seed=0)
    assert abs(found - exact) < 4 * found.mcse < 0.4


def test_evidence_of_many_classes_comes_by_annealing(small):
    prior = gq.Prior.projected(small[0], 8)
    found = gq.evidence(prior, gq.Probit(0.3), THREE, seed=5)
    assert found.method == "annealing"
    assert 0 < found.mcse < 0.1
    assert found == gq.evidence(prior, gq.Probit(0.3), THREE, seed=5)
    renamed = gq.Labels(THREE.nodes, np.array(["z", "x", "y"])[THREE.indices])
    other = gq.evidence(prior, gq.Probit(0.3), renamed, seed=6)
    assert abs(found - other) < 4 * math.hypot(found.mcse, other.mcse)
    one = gq.annealed_evidence(prior, gq.Probit(0.3), THREE, draws=50, seed=5, threads=1)
    two = gq.annealed_evidence(prior, gq.Probit(0.3), THREE, draws=50, seed=5, threads=2)
    assert one.log_evidence == two.log_evidence


@dataclass(frozen=True)
class Plugin(gq.LevelSet):
    """The same, but known by its potential alone."""

    sign_model: ClassVar[Any] = None


def test_a_potential_alone_has_an_evidence(small):
    """E[exp(-Phi)], which leaves the normaliser of labels out."""
    prior = gq.Prior.projected(small[0], 8)
    found = gq.evidence(prior, Plugin(1.2), THREE, seed=0)
    exact = exactly(prior, gq.LevelSet(1.2), THREE) + 3 * math.log1p(2 * math.exp(-2 / 1.2**2))
    assert abs(found - exact) < 4 * found.mcse < 0.2
