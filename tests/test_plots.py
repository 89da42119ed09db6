from __future__ import annotations

import numpy as np
import pytest
from conftest import quietly

import graphuq as gq


@pytest.fixture(scope="module")
def post(small):
    spectrum, labels, _ = small
    prior = gq.Prior.approximated(spectrum, 4)
    return quietly(prior, gq.Probit(0.2), labels, draws=50, thin=10, seed=0, progress=False)


def images():
    return np.random.default_rng(0).random((40, 12))


def test_hard_and_easy_shows_unlabelled_nodes_by_uncertainty(post, small):
    _, labels, y = small
    figure = gq.plots.hard_and_easy(post, images(), y, count=4, shape=(3, 4))
    assert [ax.get_ylabel() for ax in figure.axes[::4]] == ["hard 0", "easy 0", "hard 1", "easy 1"]
    shown = [float(ax.get_title()) for ax in figure.axes]
    hidden = np.setdiff1d(np.arange(40), labels.nodes)
    for row, value in ((0, 0), (2, 1)):
        means = post.mean[hidden][y[hidden] == value]
        order = means[np.argsort(abs(means))]
        np.testing.assert_allclose(shown[4 * row : 4 * row + 4], order[:4], atol=0.006)
        np.testing.assert_allclose(shown[4 * row + 4 : 4 * row + 8], order[::-1][:4], atol=0.006)


def test_wrong_predictions_are_framed(post, small):
    y = small[2]
    figure = gq.plots.hard_and_easy(post, images(), 1 - y, count=3, shape=(3, 4))
    framed = [ax.spines["top"].get_visible() for ax in figure.axes]
    assert any(framed)
    assert not all(framed) or (post.prediction == y).all()


def test_images_that_do_not_fit_are_refused(post):
    with pytest.raises(ValueError, match="one row for each"):
        gq.plots.hard_and_easy(post, images()[1:])
    with pytest.raises(ValueError, match="give shape"):
        gq.plots.hard_and_easy(post, images())
    with pytest.raises(ValueError, match="truth must have shape"):
        gq.plots.hard_and_easy(post, images(), [0, 1], shape=(3, 4))
