"""The gradient of the evidence, and sites of one setting where those of another start."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import graphuq as gq
from graphuq.inference.evidence.evidence import SignEvidence
from graphuq.inference.evidence.pairwise import PairwiseEvidence
from graphuq.inference.evidence.tangent import LabeledCovariance, root_of
from graphuq.inference.parameter_ranges import with_values
from graphuq.likelihoods.label_rule import label_rule

STEP = 1e-3


@pytest.fixture(scope="module")
def moons():
    X, y = gq.datasets.two_moons(200, seed=0)
    return X, y, gq.Spectrum.of(gq.knn_graph(X, n_neighbors=8, connect=True), rank=40)


def problems(moons):
    X, y, spectrum = moons
    graph = gq.Prior.projected(spectrum, 40, alpha=3.0, tau=0.2)
    few, many = gq.reveal(y, counts=8, seed=0), gq.reveal(y, counts=50, seed=0)
    thirds = gq.reveal((X[:, 0] * 1.5).round().clip(0, 2).astype(int), counts=6, seed=0)
    level = {"alpha": 3.0, "tau": 0.2, "level": 0.7}
    return {
        "probit": (graph + gq.Level(0.7), gq.Probit(0.3), many, {**level, "gamma": 0.3}),
        "flips": (
            graph + gq.Level(0.7),
            gq.NoisyProbit(0.3, 0.1),
            few,
            {**level, "flip_rate": 0.1},
        ),
        "level-set": (graph, gq.LevelSet(0.8), few, {"alpha": 3.0, "gamma": 0.8}),
        "tail": (
            gq.Prior.approximated(spectrum, 10, alpha=3.0, tau=0.2),
            gq.Probit(0.3),
            few,
            {"alpha": 3.0, "tau": 0.2},
        ),
        "features": (
            gq.SumPrior.of([graph, gq.FeaturePrior(X, 0.8)], weights=[2, 1]),
            gq.Probit(0.3),
            few,
            {"length_scale": 0.8, "weight": 2 / 3},
        ),
        "classes": (graph + gq.Level(0.7), gq.Probit(0.3), thirds, {**level, "gamma": 0.3}),
    }


@pytest.mark.parametrize("name", ["probit", "flips", "level-set", "tail", "features", "classes"])
def test_the_tangent_has_the_slope_of_the_evidence(moons, name, monkeypatch):
    from graphuq.inference.evidence import evidence as module

    monkeypatch.setattr(module, "COARSE", 1e-9)
    prior, likelihood, labels, values = problems(moons)[name]
    n_classes = label_rule(labels).n_classes
    value_of = PairwiseEvidence(labels) if name == "classes" else SignEvidence(labels)
    tangent = value_of.near(prior, likelihood, None).tangent

    def exact(setting):
        found = value_of.near(*setting, None).log_evidence
        return found - found.correction

    for parameter, value in values.items():
        ends = [with_values(prior, likelihood, {parameter: value + d}) for d in (-STEP, STEP)]
        lower, upper = ((p, model.sign_model(n_classes)) for p, model in ends)
        rise = tangent(*upper) - tangent(*lower)
        expected = exact(ends[1]) - exact(ends[0])
        # pairs of classes converge to a coarser tolerance
        accuracy = 2e-2 if name == "classes" else 2e-3
        assert rise == pytest.approx(expected, rel=accuracy, abs=accuracy * STEP)


def test_the_tangent_of_other_labels_has_another_slope(moons):
    prior, likelihood, labels, _ = problems(moons)["probit"]
    flipped = gq.Labels(labels.nodes, 1 - labels.values)
    flipped = gq.Labels(labels.nodes, np.where(np.arange(100) < 20, flipped.values, labels.values))
    slopes = []
    for each in (labels, flipped):
        tangent = SignEvidence(each).near(prior, likelihood, None).tangent
        lower, upper = (prior.with_parameters(alpha=3.0 + d) for d in (-STEP, STEP))
        model = likelihood.sign_model()
        slopes.append((tangent(upper, model) - tangent(lower, model)) / (2 * STEP))
    assert abs(slopes[0] - slopes[1]) > 0.1


def test_sites_of_a_likelihood_with_flips_may_start_one_without(moons):
    _, y, spectrum = moons
    labels = gq.reveal(y, counts=50, seed=1)
    prior = gq.Prior.projected(spectrum, 40, alpha=4.0, tau=0.1)
    wrong = gq.Labels(
        labels.nodes, np.where(np.arange(100) % 10 == 0, 1 - labels.values, labels.values)
    )
    doubted = quietly_approximate(prior, gq.NoisyProbit(0.1, 0.1), wrong)
    assert doubted.sites.precision.min() < 0
    alone, after = (
        quietly_approximate(prior, gq.Probit(0.3), wrong, start=start) for start in (None, doubted)
    )
    np.testing.assert_allclose(after.probability, alone.probability, atol=1e-8)


def quietly_approximate(*arguments, **options):
    """Approximate without the warning that the Gaussian is poor, but with all others."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "expectation propagation is poor")
        return gq.approximate(*arguments, **options)


def test_the_covariance_of_each_setting_is_that_of_the_prior(moons):
    for prior, likelihood, labels, values in problems(moons).values():
        at = LabeledCovariance(labels.nodes)
        for factor in (1.0, 0.9):
            own = {name: factor * v for name, v in values.items() if name in prior.ranges}
            prior, _ = with_values(prior, likelihood, own)
            F = root_of(at.terms(prior), slice(None))
            expected = prior.covariance(labels.nodes, labels.nodes)
            np.testing.assert_allclose(F @ F.T, expected, atol=1e-9)
