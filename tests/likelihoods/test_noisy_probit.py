"""Labels that may be wrong: noisy probit and level set."""

from __future__ import annotations

import math

import numpy as np
import pytest
from references.potentials import phi, probabilities

import graphuq as gq
from graphuq.likelihoods.bound import bind


def test_noisy_probit_flips_to_any_other_class_alike():
    u = np.random.default_rng(0).standard_normal(5)
    p, f = probabilities(gq.Probit(0.5), u), 0.3
    confusion = np.full((5, 5), f / 4) + (1 - f - f / 4) * np.eye(5)
    assert np.allclose(probabilities(gq.NoisyProbit(0.5, f), u), confusion @ p, atol=1e-9)


@pytest.mark.parametrize("n_classes", [3, 7])
def test_sign_models_say_what_potentials_do(n_classes):
    rng = np.random.default_rng(0)
    u, c = rng.standard_normal((40, n_classes)), rng.integers(0, n_classes, 40)
    wrong = (u.argmax(axis=1) != c).sum()
    assert 0 < wrong < 40
    _, cost = gq.LevelSet(0.8).sign_model(n_classes)
    assert np.isclose(phi(gq.LevelSet(0.8), u, c), cost * wrong)
    # noise that is too small to matter leaves the flips: Phi is -log(1 - f), or the cost more
    noisy = gq.NoisyProbit(1e-6, 0.2)
    noise, cost = noisy.sign_model(n_classes)
    assert noise == 1e-6
    assert cost == pytest.approx(math.log(0.8 * (n_classes - 1) / 0.2))
    assert phi(noisy, u, c) == pytest.approx(cost * wrong - 40 * math.log(0.8))
    assert noisy.sign_model(2) == noisy.sign_model()
    assert gq.Probit(0.3).sign_model(n_classes) == (0.3, math.inf)


def test_a_flip_rate_is_the_probability_that_a_label_is_wrong():
    """P(wrong) = (K - 1) e^-V / (1 + (K - 1) e^-V)."""
    labels = gq.Labels(range(5), range(5))
    _, cost = bind(gq.NoisyProbit(0.3, 0.2), labels, 5).sign_model
    assert 4 / (4 + np.exp(cost)) == pytest.approx(0.2)
