from __future__ import annotations

import dataclasses
import time

import numpy as np
import pytest
from conftest import NodesAlone, quietly
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from sklearn.metrics import brier_score_loss

import graphuq as gq
from graphuq.posterior.assessment import calibration as module

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


def test_all_bins_are_used_for_two_classes():
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
        (
            [[0.5, 0.5]] * 2,
            ["a", "x"],
            r"'x', which is not one of the classes .* 1 of 2 nodes: give",
        ),
    ],
)
def test_invalid_probabilities_are_refused(score, p, truth, message):
    with pytest.raises(ValueError, match=message):
        score(p, truth, ["a", "b"])


@pytest.mark.parametrize("score", [gq.brier_score, gq.expected_calibration_error])
def test_a_single_class_is_refused(score):
    with pytest.raises(ValueError, match=r"K > 1, got \(1, 1\)"):
        score([[1.0]], ["a"], ["a"])


def test_at_least_one_bin():
    with pytest.raises(ValueError, match=r"n_bins must be between 1 and"):
        gq.expected_calibration_error([[0.5, 0.5]], ["a"], ["a", "b"], n_bins=0)


def coins(m, rng, sharpness=1.0):
    """Probabilities of two classes, off by a power of the odds, and truths; 5 in 8 are right."""
    q = rng.beta(1.5, 1.5, m)
    truth = (rng.random(m) < q).astype(int)
    odds = (q / (1 - q)) ** sharpness
    p = odds / (1 + odds)
    return np.column_stack([1 - p, p]), truth


def test_calibration_by_hand():
    p = [[0.8, 0.2], [0.8, 0.2], [0.8, 0.2], [0.4, 0.6], [0.0, 1.0], [1.0, 0.0]]
    result = gq.calibrate(p, ["a", "a", "b", "b", "b", "b"], ["a", "b"], n_bins=5)
    assert result.accuracy == 4 / 6
    assert np.isclose(result.brier, 2 * (2 * 0.04 + 0.64 + 0.16 + 0 + 1) / 6)
    # the last item, surely wrong, was given 0 and counts as 1e-4
    logs = [np.log(0.8), np.log(0.8), np.log(0.2), np.log(0.6), 0, np.log(1e-4)]
    assert np.isclose(result.log_score, -np.mean(logs))
    curve = result.curve
    np.testing.assert_allclose(curve["low"], [0.5, 0.6, 0.7, 0.8, 0.9])
    np.testing.assert_allclose(curve["high"], [0.6, 0.7, 0.8, 0.9, 1.0])
    assert curve["count"].tolist() == [1, 0, 3, 0, 2]
    np.testing.assert_allclose(curve["confidence"], [0.6, np.nan, 0.8, np.nan, 1])
    np.testing.assert_allclose(curve["accuracy"], [1, np.nan, 2 / 3, np.nan, 0.5])
    # for one right item of one, Wilson's interval is from 1 / (1 + z^2) to 1
    assert np.isclose(curve["accuracy_low"][0], 1 / (1 + 1.959964**2))
    assert curve["accuracy_high"][0] == 1
    assert curve[["accuracy_low", "accuracy_high"]].isna().all(axis=1).tolist() == [
        False, True, False, True, False,
    ]  # fmt: skip
    by_definition = (0.4 + 3 * abs(2 / 3 - 0.8) + 2 * 0.5) / 6
    assert np.isclose(result.expected_calibration_error, by_definition)
    assert repr(result).startswith("Calibration(6 items: expected_calibration_error 0.3000 (")


@given(seed=st.integers(0, 2**31), m=st.integers(1, 60), K=st.integers(2, 3))
@settings(max_examples=15, deadline=None)
def test_one_definition_of_each_score_and_intervals_around_it(seed, m, K):
    p, truth = draws(m, seed, K)
    result = gq.calibrate(p, truth, CLASSES[:K], seed=seed)
    assert np.isclose(result.brier, gq.brier_score(p, truth, CLASSES[:K]))
    error = gq.expected_calibration_error(p, truth, CLASSES[:K])
    assert np.isclose(result.expected_calibration_error, error)
    assert result.curve["count"].sum() == m
    weighed = (result.curve["count"] * result.curve["accuracy"]).sum() / m
    assert np.isclose(result.accuracy, weighed)
    for name in ("expected_calibration_error", "accuracy"):
        low, high = result.intervals[name]
        assert 0 <= low <= getattr(result, name) + 1e-12
        assert getattr(result, name) - 1e-12 <= high <= 1


def test_wilson_covers_as_it_says():
    for n, share in ((300, 0.7), (300, 0.99), (40, 0.9)):
        right = np.arange(n + 1)
        low, high = module.wilson_interval(right, np.full_like(right, n))
        covered = binom.pmf(right, n, share)[(low <= share) & (share <= high)].sum()
        assert 0.93 < covered < 0.975
        # the ends solve the quadratic equation
        inner = slice(1, n)
        for end in (low[inner], high[inner]):
            gap = (right[inner] / n - end) ** 2
            np.testing.assert_allclose(gap, 1.959963985**2 * end * (1 - end) / n)


@pytest.mark.parametrize(
    ("least", "end"), [(1, 150), pytest.param(150, 2000, marks=pytest.mark.slow)]
)
def test_wilson_holds_the_share_whatever_the_rounding(least, end):
    count = np.arange(least, end)
    for right in (0 * count, count // 3, count):
        low, high = module.wilson_interval(right, count)
        assert (low >= 0).all()
        assert (low <= right / count).all()
        assert (right / count <= high).all()
        assert (high <= 1).all()


TRIALS, ITEMS = 150, 200
# 95% covered, less three standard errors of that share
COVERED = 0.95 - 3 * np.sqrt(0.95 * 0.05 / TRIALS)


def coverage(sharpness):
    """How often the intervals of each score cover what very many items give."""
    rng = np.random.default_rng(11)
    q, truth = coins(400_000, rng, sharpness)
    true = {
        "expected_calibration_error": gq.expected_calibration_error(q, truth, [0, 1]),
        "brier": gq.brier_score(q, truth, [0, 1]),
        "log_score": -np.log(np.maximum(q[np.arange(truth.size), truth], 1e-4)).mean(),
        "accuracy": (q.argmax(axis=1) == truth).mean(),
    }
    if sharpness == 1:
        assert true["expected_calibration_error"] < 0.004  # it is 0 without noise
        true["expected_calibration_error"] = 0.0
    covered = dict.fromkeys(true, 0.0)
    for seed in range(TRIALS):
        intervals = gq.calibrate(*coins(ITEMS, rng, sharpness), [0, 1], seed=seed).intervals
        for name, (low, high) in intervals.items():
            covered[name] += (low <= true[name] <= high) / TRIALS
    return covered


@pytest.mark.slow
@pytest.mark.parametrize("sharpness", [1.0, 3.0], ids=["calibrated", "overconfident"])
def test_intervals_cover(sharpness):
    covered = coverage(sharpness)
    assert min(covered.values()) > COVERED
    # intervals of means are not much too wide either
    assert max(covered[name] for name in ("brier", "log_score", "accuracy")) < 1


@pytest.mark.slow
def test_taking_all_gaps_at_their_signs_does_not_cover(monkeypatch):
    """The signs of gaps are noise if the probabilities are true, and their errors add up."""
    monkeypatch.setattr(module, "MIN_CLEAR_GAP", 0.0)
    assert coverage(1.0)["expected_calibration_error"] < COVERED


def test_intervals_separate_overconfident_from_calibrated():
    rng = np.random.default_rng(3)
    name = "expected_calibration_error"
    fair = gq.calibrate(*coins(2000, rng), [0, 1])
    assert fair.intervals[name][0] == 0
    assert fair.intervals[name][1] < 0.06
    inside = (fair.curve["accuracy_low"] <= fair.curve["confidence"]) & (
        fair.curve["confidence"] <= fair.curve["accuracy_high"]
    )
    assert inside.sum() >= 8  # eight or more of ten 95% intervals; fewer once in 90 times
    sharp = gq.calibrate(*coins(2000, rng, sharpness=3), [0, 1])
    assert sharp.intervals[name][0] > 0.1
    assert (sharp.curve["accuracy_high"] < sharp.curve["confidence"]).sum() >= 8


def test_one_seed_one_answer():
    p, truth = coins(200, np.random.default_rng(0))
    first, second = (gq.calibrate(p, truth, [0, 1], seed=4) for _ in range(2))
    assert first.intervals == second.intervals
    assert gq.calibrate(p, truth, [0, 1], seed=5).intervals["brier"] != first.intervals["brier"]


def test_many_items_are_quick():
    p, truth = coins(70_000, np.random.default_rng(0))
    start = time.process_time()
    gq.calibrate(p, truth, [0, 1])
    assert time.process_time() - start < 15  # it takes one second


@pytest.mark.parametrize(
    ("p", "truth", "options", "message"),
    [
        ([[0.5, 0.5]], ["a", "b"], {}, r"shapes"),
        ([[0.5, 0.6]], ["a"], {}, r"sum to 1"),
        ([[0.5, 0.5]], ["a"], {"n_bins": 0}, r"n_bins must be between 1"),
    ],
)
def test_what_cannot_be_calibrated_is_refused(p, truth, options, message):
    with pytest.raises(ValueError, match=message):
        gq.calibrate(p, truth, ["a", "b"], **options)


@pytest.fixture
def post():
    """Six nodes, three of them labeled."""
    p = np.array([0.1, 0.7, 0.9, 0.2, 0.6, 1.0])
    mean = 2 * p - 1
    labels = gq.Labels([0, 2, 3], ["cat", "dog", "dog"])
    return NodesAlone(labels, mean, 1 - mean**2, p, np.zeros(6), mean, np.ones(6))


def test_a_posterior_is_scored_on_its_unlabeled_nodes(post):
    truth = np.array(["dog", "dog", "cat", "cat", "cat", "dog"])  # nodes 0, 2 and 3 are labeled
    result = post.calibration(truth, n_bins=5, seed=2)
    p = [[0.3, 0.7], [0.4, 0.6], [0.0, 1.0]]
    by_hand = gq.calibrate(p, ["dog", "cat", "dog"], ["cat", "dog"], n_bins=5, seed=2)
    assert result.accuracy == post.accuracy(truth) == 2 / 3
    assert np.isclose(result.log_score, -(np.log(0.7) + np.log(0.4)) / 3)
    assert result.intervals.keys() == by_hand.intervals.keys()
    for name in result.intervals:
        np.testing.assert_allclose(result.intervals[name], by_hand.intervals[name], atol=1e-12)
    np.testing.assert_allclose(result.curve, by_hand.curve)


@pytest.mark.parametrize(
    ("truth", "message"),
    [
        (["cat"] * 5, r"truth must have shape \(6,\), got \(5,\)"),
        ([0, 1, 0, 1, 0, 1], r"names none of the classes \['cat', 'dog'\]"),
        (["cat", "dog", None, "dog", "cat", "dog"], r"that of node 2 is missing"),
    ],
)
def test_a_truth_that_does_not_fit_is_refused(post, truth, message):
    with pytest.raises(ValueError, match=message):
        post.calibration(np.array(truth))


def test_without_unlabeled_nodes_there_is_nothing_to_score(post):
    everything = gq.Labels(np.arange(6), ["cat", "dog"] * 3)
    whole = dataclasses.replace(post, labels=everything)
    with pytest.raises(ValueError, match="every node is labeled"):
        whole.calibration(everything.values)


def simulated(prior, rng, gamma=0.5, n_labels=6):
    """A truth drawn from the prior, and noisy labels of some nodes."""
    field = prior.vectors * prior.sigma
    u = field @ rng.standard_normal((prior.sigma.size, 3))
    nodes = rng.choice(prior.n_nodes, n_labels, replace=False)
    seen = (u[nodes] + gamma * rng.standard_normal((n_labels, 3))).argmax(axis=1)
    return u.argmax(axis=1), gq.Labels(nodes, seen, classes=[0, 1, 2])


@pytest.mark.slow
def test_simulated_truths_have_the_stated_probabilities(clump_graph):
    prior, rng = gq.Prior.projected(clump_graph, 12), np.random.default_rng(2)
    gaps = {1: [], 3: []}
    for _ in range(80):
        truth, labels = simulated(prior, rng)
        post = quietly(prior, gq.Probit(0.5), labels, draws=150, chains=1, seed=rng, progress=False)
        found = post.calibration(truth)
        assert found.accuracy == pytest.approx(post.accuracy(truth))
        hidden = np.setdiff1d(np.arange(60), labels.nodes)
        for sharpness, gap in gaps.items():
            p = post.probability[hidden] ** sharpness
            p /= p.sum(axis=1, keepdims=True)
            gap.append(found.accuracy - p.max(axis=1).mean())
    z = {k: np.mean(gap) / (np.std(gap) / np.sqrt(80)) for k, gap in gaps.items()}
    assert abs(z[1]) < 4
    assert z[3] < -4
