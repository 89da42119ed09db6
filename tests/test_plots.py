from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from conftest import quietly

import graphuq as gq


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def prior(small):
    return gq.Prior.approximated(small[0], 4)


@pytest.fixture(scope="module")
def post(small, prior):
    return quietly(
        prior, gq.Probit(0.2), small[1], draws=50, thin=10, nodes=[9], seed=0, progress=False
    )


@pytest.fixture(scope="module")
def quick(small, prior):
    return gq.approximate(prior, gq.Probit(0.2), small[1])


def images():
    return np.random.default_rng(0).random((40, 12))


def test_hard_and_easy_shows_unlabelled_nodes_by_uncertainty(post, small):
    _, labels, y = small
    axes = gq.plots.hard_and_easy(post, images(), y, count=4, shape=(3, 4))
    assert [ax.get_ylabel() for ax in axes[:, 0]] == ["hard 0", "easy 0", "hard 1", "easy 1"]
    shown = [float(ax.get_title()) for ax in axes.flat]
    hidden = np.setdiff1d(np.arange(40), labels.nodes)
    for row, value in ((0, 0), (2, 1)):
        means = post.mean[hidden][y[hidden] == value]
        order = means[np.argsort(abs(means))]
        np.testing.assert_allclose(shown[4 * row : 4 * row + 4], order[:4], atol=0.006)
        np.testing.assert_allclose(shown[4 * row + 4 : 4 * row + 8], order[::-1][:4], atol=0.006)


def test_wrong_predictions_are_framed(post, small):
    y = small[2]
    axes = gq.plots.hard_and_easy(post, images(), 1 - y, count=3, shape=(3, 4))
    framed = [ax.spines["top"].get_visible() for ax in axes.flat]
    assert any(framed)
    assert not all(framed) or (post.prediction == y).all()


def test_images_that_do_not_fit_are_refused(post):
    with pytest.raises(ValueError, match="one row for each"):
        gq.plots.hard_and_easy(post, images()[1:])
    with pytest.raises(ValueError, match="give shape"):
        gq.plots.hard_and_easy(post, images())
    with pytest.raises(ValueError, match="truth must have shape"):
        gq.plots.hard_and_easy(post, images(), [0, 1], shape=(3, 4))


def test_reliability_shows_every_bin_that_has_items():
    p = np.repeat([0.57, 0.71, 0.99], [30, 50, 20])
    truth = np.repeat(["a", "b", "a", "b", "a"], [24, 6, 25, 25, 20])
    result = gq.calibrate(np.column_stack([p, 1 - p]), truth, ["a", "b"])
    top, below = gq.plots.reliability(result)
    heights = [bar.get_height() for bar in below.patches]
    assert heights == [0, 30, 0, 0, 50, 0, 0, 0, 0, 20]
    assert [bar.get_x() for bar in below.patches] == result.curve["low"].tolist()
    points = {bars.get_label(): bars.lines[0].get_xydata() for bars in top.containers}
    np.testing.assert_allclose(points["more often: underconfident"], [[0.57, 0.8], [0.99, 1.0]])
    np.testing.assert_allclose(points["less often: overconfident"], [[0.71, 0.5]])
    (left, _), (bottom, height) = top.get_xlim(), top.get_ylim()
    assert left < 0.5
    assert bottom < result.curve["accuracy_low"].min() < 0.5
    assert height > 1


def test_only_a_calibration_has_a_reliability(post):
    with pytest.raises(TypeError, match=r"post\.calibration\(truth\)"):
        gq.plots.reliability(post)


def test_tuning_shows_each_open_parameter_and_what_was_chosen(small):
    spectrum, labels, _ = small
    found = gq.tune(spectrum, labels, gq.Probit)
    axes = gq.plots.tuning(found)
    titles = [ax.get_title() for ax in axes]
    assert titles == [f"{name} = {value:.3g}" for name, value in found.chosen.items()]
    assert str(len(found.table)) in axes[0].figure.get_suptitle()
    with pytest.raises(TypeError, match=r"must come from gq\.tune"):
        gq.plots.tuning(found.table)
