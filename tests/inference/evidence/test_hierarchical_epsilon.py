"""Ginzburg-Landau with a prior on epsilon: evidence and tempering against integrals on a line."""

import numpy as np
import pytest
from scipy.integrate import trapezoid

import graphuq as gq

EPSILONS, GAMMA = (0.1, 0.7, 8.0), 0.5


@pytest.fixture(scope="module")
def pair():
    """A prior of one mode on two nodes, so that a field is a number, and a label that it wants."""
    return gq.Prior.full(gq.Graph([[0.0, 1.0], [1.0, 0.0]])), gq.Labels([0, 1], [-1, 1])


def integrals(prior, labels, epsilon):
    """Return the evidence and the posterior mean of the field at node 1, by the trapezoid rule."""
    z = np.linspace(-8, 8, 4001)
    v = z[:, None] * (prior.sigma * prior.spectrum.vectors)[:, 0]
    wells = np.exp(-((v**2 - 1) ** 2).sum(axis=1) / (4 * epsilon) - z**2 / 2)
    densities = np.exp(-((v - labels.codes) ** 2) / (2 * GAMMA**2)) / (GAMMA * np.sqrt(2 * np.pi))
    right = wells * densities.prod(axis=1)
    evidence = trapezoid(right, z) / trapezoid(wells, z)
    return evidence, trapezoid(right * v[:, 1], z) / trapezoid(right, z)


@pytest.mark.slow
def test_weights_and_the_averaged_mean_are_those_of_integrals(pair):
    prior, labels = pair
    exact, means = np.transpose([integrals(prior, labels, epsilon) for epsilon in EPSILONS])
    models = [gq.GinzburgLandau(epsilon, GAMMA) for epsilon in EPSILONS]
    found = [gq.evidence(prior, model, labels, seed=0) for model in models]
    for value, right in zip(found, np.log(exact), strict=True):
        assert abs(value - right) < 4.5 * value.mcse + 1e-3
    weights = np.exp(np.array(found) - max(found))
    weights /= weights.sum()
    np.testing.assert_allclose(weights, exact / exact.sum(), atol=0.03)
    posts = [
        gq.sample(prior, model, labels, gq.Tempered(replicas=4), draws=200, seed=0, progress=False)
        for model in models
    ]
    averaged = sum(w * post.mean[1] for w, post in zip(weights, posts, strict=True))
    error = sum(w * post.mcse[1] for w, post in zip(weights, posts, strict=True))
    assert averaged == pytest.approx((exact * means).sum() / exact.sum(), abs=4.5 * error + 0.005)
    assert np.ptp(exact) > 0.3 * exact.max()  # equal weights are refuted
