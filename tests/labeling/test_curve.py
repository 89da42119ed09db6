"""Forecasts of a curve, and the accuracy that a posterior expects."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import graphuq as gq
from graphuq.labeling import curve
from graphuq.labeling.curve import Point, forecast
from graphuq.labeling.expected_accuracy import (
    DRAWS,
    ENDS,
    MISFIT,
    Expected,
    draw_accuracies,
    expect_accuracy,
)
from graphuq.labeling.learner import Learned

N_ITEMS, SEEN, NONE = 3000, 60, np.zeros(0)


def drawn_path(rng):
    """Expected accuracies with 2, 3, ... labels, drawn from the model that forecasts assume."""
    variance = curve.SHAPE * curve.SCATTER**2 / rng.gamma(curve.SHAPE)
    drift = curve.DRIFT + math.sqrt(variance / curve.WEIGHT) * rng.standard_normal()
    steps = np.diff(np.log(np.arange(2, N_ITEMS + 1)))
    moves = -drift * steps + np.sqrt(variance * steps) * rng.standard_normal(steps.size)
    return 1 - np.exp(math.log(0.4) + np.concatenate([[0.0], moves.cumsum()]))


def coverage(change=lambda found: (found.low, found.high)):
    """The share of forecasts on drawn paths whose interval holds the truth, and their number."""
    rng, inside = np.random.default_rng(0), []
    for _ in range(400):
        expected = drawn_path(rng)
        points = [Point(n, expected[n - 2], NONE) for n in range(2, SEEN + 1)]
        goal = 1 - (1 - expected[SEEN - 2]) * 0.7
        found = forecast(points, goal, N_ITEMS) if expected[SEEN - 2] > 0 else None
        if found is None:
            continue
        later = np.flatnonzero(expected[SEEN - 2 :] >= goal)
        truth = later[0] if later.size else N_ITEMS - SEEN
        low, high = change(found)
        inside.append(low <= truth <= high)
    return np.mean(inside), len(inside)


def test_forecasts_cover_where_their_model_holds():
    share, count = coverage()
    assert count > 200
    assert abs(share - 0.9) < 3 * math.sqrt(0.9 * 0.1 / count)


def test_a_forecast_that_is_too_narrow_is_seen():
    share, count = coverage(lambda found: (math.sqrt(found.low * found.answers), found.high))
    assert share < 0.9 - 3 * math.sqrt(0.9 * 0.1 / count)


def test_a_power_law_is_continued():
    points = [Point(n, 1 - 2 / n, NONE) for n in range(4, 101)]
    found = forecast(points, 0.99, 10_000)
    assert found.low <= 100 <= found.high
    assert found.answers == pytest.approx(100, rel=0.3)


@pytest.mark.parametrize(
    ("expected", "goal"),
    [
        ([0.6] * 3, 0.9),  # too few points
        (np.linspace(0.9, 0.6, 100), 0.95),  # it falls
    ],
)
def test_curves_that_allow_no_forecast(expected, goal):
    points = [Point(n + 10, one, NONE) for n, one in enumerate(expected)]
    assert forecast(points, goal, 200) is None
    assert forecast([], goal, 200) is None


def test_a_goal_that_is_reached_takes_no_answer():
    points = [Point(n, 0.96, NONE) for n in range(10, 30)]
    assert forecast(points, 0.95, 200) == curve.Forecast(0.95, 0, 0, 0)


def test_labels_that_are_taken_back_leave_no_points():
    found = curve.Curve(200, 0.95, 0.05, [Point(n, 0.8, NONE) for n in (2, 3, 4)])
    found.add(Learned(3, (), expected=Expected(0.9, 0.9, 10.0, 197), counts=NONE))
    assert [(p.n_labels, p.expected) for p in found.points] == [(2, 0.8), (3, 0.9)]
    found.add(Learned(1, ()))  # of one class
    assert found.points == []
    assert found.forecast is found.stop is None


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_expected_accuracy_is_that_of_truths_drawn_from_the_posterior(n_classes):
    X, y = gq.datasets.digits()
    some = np.flatnonzero(y < n_classes)[:200]
    graph = gq.knn_graph(X[some], n_neighbors=8, connect=True)
    labels = gq.reveal(y[some], counts=2, seed=0)
    prior = gq.Prior.projected(graph, 30)
    post = gq.approximate(prior, gq.Probit(0.5), labels)
    hidden = np.setdiff1d(np.arange(some.size), labels.nodes)

    found = expect_accuracy(post, hidden, seed=0)
    drawn = draw_accuracies(post, hidden, hidden.size, np.random.default_rng(0))

    # truths: draws of the field with the noise that belongs to the class
    rng, right = np.random.default_rng(1), []
    for u in post.latent_draws(prior, hidden, draws=4000, seed=2):
        noisy = u + 0.5 * rng.standard_normal(u.shape)
        truth = noisy > 0 if n_classes == 2 else noisy.argmax(axis=2)
        right.append((truth == post.by_class[hidden].argmax(axis=1)).mean(axis=1))
    shares = np.concatenate(right)
    assert found.accuracy == pytest.approx(shares.mean(), abs=0.01)
    # the ends are quantiles of DRAWS draws
    error = math.sqrt(0.05 * 0.95 / DRAWS)
    low, high = np.quantile(drawn, [0.05, 0.95])
    assert abs((shares < low).mean() - 0.05) < 3 * error
    assert abs((shares >= high).mean() - 0.05) < 3 * error or high == shares.max() == 1
    # truths of flatter or sharper probabilities spread further
    assert found.interval[0] < low
    assert found.interval[1] > high


def test_the_interval_holds_the_accuracy_of_probabilities_that_are_too_flat_or_too_sharp():
    X, y = gq.datasets.two_moons(400, seed=0)
    labels = gq.reveal(y, counts=20, seed=0)
    graph = gq.knn_graph(X, n_neighbors=8, connect=True)
    post = gq.approximate(gq.Prior.projected(graph, 5), gq.Probit(0.5), labels)
    hidden = np.setdiff1d(np.arange(y.size), labels.nodes)
    low, high = expect_accuracy(post, hidden, seed=0).interval
    # many labels of few modes: the field is known
    rng, p = np.random.default_rng(1), post.by_class[hidden].max(axis=1)
    power = np.exp(MISFIT * rng.standard_normal((4000, 1)))
    shares = rng.binomial(1, p**power / (p**power + (1 - p) ** power)).mean(axis=1)
    assert 0.9 - 3 * math.sqrt(0.09 / DRAWS) < ((low <= shares) & (shares <= high)).mean() < 0.98


@pytest.mark.parametrize("right", [13, 20])
def test_a_random_sample_counts_as_an_enumeration_says(right):
    mean, worth, total, n = 0.8, 12.0, 20, 40
    alone = Expected(mean, mean, worth, n + total)
    found = alone.with_sample(right, total)

    share = (np.arange(20_000) + 0.5) / 20_000
    prior = stats.beta.pdf(share, mean * worth, (1 - mean) * worth)
    weights = prior * stats.binom.pmf(right, total, share)
    weights /= weights.sum()
    rest = stats.binom.pmf(np.arange(n + 1)[:, None], n, share) @ weights
    assert found.accuracy == pytest.approx(rest @ np.arange(n + 1) / n, abs=1e-6)
    assert found.interval == pytest.approx(np.searchsorted(rest.cumsum(), ENDS) / n)
    for goal in (0.0, 0.7, 0.75, 0.751, 1.0):
        assert found.probability(goal) == pytest.approx(rest[math.ceil(goal * n) :].sum())
    # negative controls: the sample forgotten, and the chance of the other items
    assert abs(found.accuracy - mean) > 0.05
    known = np.interp(ENDS, weights.cumsum(), share)
    assert np.diff(found.interval) > 1.2 * np.diff(known)


@pytest.mark.parametrize("n", [1, 2, 2000])
def test_a_random_sample_moves_a_model_that_is_certain(n):
    alone = Expected(1.0, 1.0, 10.0, n + 20)
    assert alone.with_sample(20, 20).interval == (1.0, 1.0)
    assert alone.with_sample(20, 20).probability(1.0) == pytest.approx(1.0)
    found = alone.with_sample(10, 20)
    assert found.accuracy == pytest.approx(2 / 3)
    assert found.interval[0] < 2 / 3 <= found.interval[1]


def test_a_random_sample_narrows_the_interval_and_may_contradict_the_model():
    X, y = gq.datasets.two_moons(2000, sigma=0.3, seed=0)
    labels = gq.reveal(y, counts=20, seed=0)
    graph = gq.knn_graph(X, n_neighbors=8, connect=True)
    post = gq.approximate(gq.Prior.projected(graph, 20), gq.Probit(0.5), labels)
    hidden = np.setdiff1d(np.arange(y.size), labels.nodes)
    alone = expect_accuracy(post, hidden, seed=0)
    widths = [np.diff(alone.interval)]
    for total in (20, 50, 200):
        agrees = expect_accuracy(post, hidden, 0, round(alone.accuracy * total), total)
        assert agrees.accuracy == pytest.approx(alone.accuracy, abs=1 / total)
        widths.append(np.diff(agrees.interval))
        contradicts = expect_accuracy(post, hidden, 0, total // 2, total)
        assert 0.5 < contradicts.accuracy < 0.5 + 0.5 * len(labels) / (len(labels) + total)
    assert (np.diff(widths, axis=0) < 0).all()
    # 200 answers say more than the model: as if they were counted alone
    p = alone.accuracy
    assert widths[-1] == pytest.approx(3.29 * math.sqrt(p * (1 - p) / 200), rel=0.15)


@pytest.mark.parametrize("counts", [4, 16])
def test_one_answer_of_a_random_sample_says_little(counts):
    X, y = gq.datasets.two_moons(300, seed=0)
    labels = gq.reveal(y, counts=counts, seed=0)
    tuned = gq.tune(gq.Spectrum.of(gq.knn_graph(X, n_neighbors=8, connect=True), 20), labels)
    post = gq.approximate(tuned.prior, tuned.likelihood, labels)
    hidden = np.setdiff1d(np.arange(y.size), labels.nodes)
    alone = expect_accuracy(post, hidden, seed=0)
    told = expect_accuracy(post, hidden, 0, 1, 1)
    assert alone.accuracy <= told.accuracy < alone.accuracy + 0.05
    assert 0.75 < np.diff(told.interval) / np.diff(alone.interval) <= 1.05


def test_a_model_is_worth_at_most_its_labels():
    X, y = gq.datasets.two_moons(200, seed=0)
    labels = gq.reveal(y, counts=2, seed=0)
    graph = gq.knn_graph(X, n_neighbors=8, connect=True)
    post = gq.approximate(gq.Prior.projected(graph, 5), gq.Probit(3.0), labels)
    hidden = np.setdiff1d(np.arange(y.size), labels.nodes)
    alone = expect_accuracy(post, hidden, seed=0)
    assert alone.accuracy < 0.6  # all probabilities are near 1/2
    found = expect_accuracy(post, hidden, 0, 20, 20)
    assert found.accuracy == pytest.approx((4 * alone.accuracy + 20) / (4 + 20))
