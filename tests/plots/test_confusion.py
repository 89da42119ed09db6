"""Confusion matrices."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from matplotlib.figure import Figure
from references.pictures import of_classes

import graphuq as gq


def matrix_of(ax):
    """What is drawn, diagonal and all."""
    diagonal, rest = (np.ma.filled(image.get_array(), 0.0) for image in ax.images)
    return diagonal + rest


def test_confusion_is_expected_on_the_left_and_counted_on_the_right():
    post, y = of_classes(4)
    expected, counted = gq.plots.confusion(post, y, figure=Figure())
    hidden = np.arange(4, 60)
    for a in range(4):
        own = hidden[y[hidden] == a]
        np.testing.assert_allclose(matrix_of(expected)[a], post.probability[own].mean(axis=0))
        share = [(post.prediction[own] == b).mean() for b in range(4)]
        np.testing.assert_allclose(matrix_of(counted)[a], share)
    for ax in (expected, counted):
        np.testing.assert_allclose(matrix_of(ax).sum(axis=1), 1)
        assert [tick.get_text() for tick in ax.get_xticklabels()] == list("0123")
    # labeled nodes do not count
    other = post.probability.copy()
    other[:4] = other[:4, ::-1]
    again = gq.plots.confusion(dataclasses.replace(post, by_class=other), y, figure=Figure())
    np.testing.assert_array_equal(matrix_of(again[0]), matrix_of(expected))


def test_colors_of_a_confusion_are_of_what_lies_off_the_diagonal():
    post, y = of_classes(4)
    axes = gq.plots.confusion(post, y, figure=Figure())
    off = [matrix_of(ax)[~np.eye(4, dtype=bool)].max() for ax in axes]
    for ax in axes:
        assert ax.images[1].get_clim() == (0, max(off))
        assert ax.images[1].get_array().mask.diagonal().all()
    assert max(off) < matrix_of(axes[0]).max()


def test_shares_stand_in_cells_up_to_twelve_classes():
    post, y = of_classes(12, n=120)
    expected = gq.plots.confusion(post, y, figure=Figure())[0]
    shown = {text.get_position(): float(text.get_text()) for text in expected.texts}
    for (a, b), share in np.ndenumerate(100 * matrix_of(expected)):
        assert abs(shown.get((b, a), 0.0) - share) <= (0.06 if share < 9.95 else 0.51)
    assert len(shown) > 100
    post, y = of_classes(13, n=130)
    assert all(not ax.texts for ax in gq.plots.confusion(post, y, figure=Figure()))


def test_rows_without_nodes_and_true_classes_without_labels_are_noted():
    post, y = of_classes(4, names=list("abcd"))
    y[(y == "b") & (np.arange(60) >= 4)] = "z"
    expected, counted = gq.plots.confusion(post, y, figure=Figure())
    assert matrix_of(expected).shape == (5, 4)
    names = [tick.get_text() for tick in expected.get_yticklabels()]
    assert names == ["a", "b (none)", "c", "d", "z"]
    assert expected.images[1].get_array().mask[1].all()
    own = y == "z"
    np.testing.assert_allclose(matrix_of(expected)[4], post.probability[own].mean(axis=0))
    np.testing.assert_allclose(matrix_of(counted)[4].sum(), 1)


def test_confusion_without_the_truth_is_by_predicted_class(drawn, small):
    post, _ = of_classes(5)
    (ax,) = gq.plots.confusion(post, figure=Figure())
    hidden = np.arange(5, 60)
    for a in range(5):
        own = hidden[post.prediction[hidden] == a]
        np.testing.assert_allclose(matrix_of(ax)[a], post.probability[own].mean(axis=0))
    two = gq.approximate(gq.Prior.projected(small[0], 8), gq.Probit(0.2), small[1])
    assert matrix_of(gq.plots.confusion(two, figure=Figure())[0]).shape == (2, 2)
    post, y = of_classes(3, labeled=60)
    for truth in (None, y):
        with pytest.raises(ValueError, match="every node is label"):
            gq.plots.confusion(post, truth)
    with pytest.raises(ValueError, match="truth must have shape"):
        gq.plots.confusion(drawn[0], y)
