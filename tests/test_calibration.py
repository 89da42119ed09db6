from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss

import graphuq as gq

CLASSES = np.array(["a", "b", "c"])


def draws(m, seed, K=3):
    """Probabilities, and truths drawn from them: perfectly calibrated."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(K), m)
    return p, CLASSES[:K][(rng.random((m, 1)) > p.cumsum(axis=1)).sum(axis=1)]


@given(seed=st.integers(0, 2**31), m=st.integers(1, 60))
@settings(max_examples=30, deadline=None)
def test_brier_is_the_definition_and_scikit_learns(seed, m):
    p, truth = draws(m, seed, K=2)
    theirs = brier_score_loss(truth, p[:, 1], labels=CLASSES[:2], pos_label="b")
    assert np.isclose(gq.brier_score(p, truth, CLASSES[:2]), 2 * theirs)
    p, truth = draws(m, seed)
    by_hand = [sum((p[i, k] - (truth[i] == CLASSES[k])) ** 2 for k in range(3)) for i in range(m)]
    assert np.isclose(gq.brier_score(p, truth, CLASSES), np.mean(by_hand))


@given(
    seed=st.integers(0, 2**31),
    m=st.integers(1, 60),
    n_bins=st.integers(1, 12),
    K=st.integers(2, 3),
)
@settings(max_examples=30, deadline=None)
def test_calibration_error_is_the_definition(seed, m, n_bins, K):
    p, truth = draws(m, seed, K)
    confidence, right = p.max(axis=1), CLASSES[p.argmax(axis=1)] == truth
    width = (1 - 1 / K) / n_bins
    total = 0.0
    for b in range(n_bins):
        inside = (confidence > 1 / K + b * width) & (confidence <= 1 / K + (b + 1) * width)
        if inside.any():
            total += inside.mean() * abs(right[inside].mean() - confidence[inside].mean())
    ours = gq.expected_calibration_error(p, truth, CLASSES[:K], n_bins=n_bins)
    assert np.isclose(ours, total)
    assert 0 <= ours <= 1


def test_all_bins_serve_two_classes():
    """Errors that cancel in a bin of [0, 1], such as (0.5, 0.6], show in ten bins of [1/2, 1]."""
    p = np.array([[0.52, 0.48]] * 50 + [[0.58, 0.42]] * 50)
    truth = np.repeat(["a", "b", "a"], [29, 21 + 24, 26])
    assert np.isclose(gq.expected_calibration_error(p, truth, ["a", "b"]), 0.06)
    assert np.isclose(gq.expected_calibration_error(p, truth, ["a", "b"], n_bins=5), 0)


@pytest.mark.parametrize("confidence", [0.5, 0.55, 0.75, 1.0])
def test_a_bin_holds_its_upper_end(confidence):
    beyond = min(confidence + 1e-9, 1)
    p = np.array([[confidence, 1 - confidence], [beyond, 1 - beyond]])
    error = gq.expected_calibration_error(p, ["a", "b"], ["a", "b"], n_bins=10)
    # together in a bin, one right and one wrong make 1/2; apart, 1 and 0
    together = abs(0.5 - confidence)
    assert np.isclose(error, together if confidence in (0.5, 1.0) else 0.5)


def test_true_probabilities_are_calibrated_and_sharpened_ones_are_not():
    p, truth = draws(20_000, 0)
    assert gq.expected_calibration_error(p, truth, CLASSES) < 0.02
    sharp = p**3 / (p**3).sum(axis=1, keepdims=True)
    assert gq.expected_calibration_error(sharp, truth, CLASSES) > 0.1
    assert gq.brier_score(sharp, truth, CLASSES) > gq.brier_score(p, truth, CLASSES)


def test_certain_answers():
    p = np.eye(3)[[0, 1, 2]]
    assert gq.brier_score(p, CLASSES, CLASSES) == 0
    assert gq.expected_calibration_error(p, CLASSES, CLASSES) == 0
    assert gq.brier_score(p, CLASSES[[1, 2, 0]], CLASSES) == 2
    assert gq.expected_calibration_error(p, CLASSES[[1, 2, 0]], CLASSES) == 1
    assert gq.brier_score(p, np.array(["x"] * 3), CLASSES) == 1


@pytest.mark.parametrize("score", [gq.brier_score, gq.expected_calibration_error])
@pytest.mark.parametrize(
    ("p", "truth", "message"),
    [
        ([[0.5, 0.5]], ["a", "b"], r"shapes \(m, K\), \(m,\) and \(K,\)"),
        ([[1.0]], ["a"], r"shapes"),
        (np.empty((0, 2)), [], r"m > 0"),
        ([[0.5, 0.6]], ["a"], r"sum to 1: divide"),
        ([[1.5, -0.5]], ["a"], r"non-negative"),
        ([[np.nan, 1.0]], ["a"], r"non-negative"),
    ],
)
def test_what_are_no_probabilities_is_refused(score, p, truth, message):
    with pytest.raises(ValueError, match=message):
        score(p, truth, ["a", "b"])


@pytest.mark.parametrize("score", [gq.brier_score, gq.expected_calibration_error])
def test_a_single_class_is_refused(score):
    with pytest.raises(ValueError, match=r"K > 1, got \(1, 1\)"):
        score([[1.0]], ["a"], ["a"])


def test_at_least_one_bin():
    with pytest.raises(ValueError, match=r"n_bins must be between 1 and"):
        gq.expected_calibration_error([[0.5, 0.5]], ["a"], ["a", "b"], n_bins=0)
