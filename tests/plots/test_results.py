"""Which results a plot shows: those of probabilities alone, and those that it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure
from references.pictures import of_classes, panel

import graphuq as gq
from graphuq.plots.simplex import CORNERS

GRAPH = gq.knn_graph(np.random.default_rng(0).normal(size=(60, 2)), 6, connect=True)
PRIOR = gq.Prior.projected(GRAPH, 10, alpha=2.0)
POST, Y = of_classes(3, labeled=9)
SHARES = POST.with_class_shares({0: 0.5, 1: 0.3, 2: 0.2})
TWO = gq.Labels([0, 20, 40, 59], [0, 1, 1, 0])


def probable(n_classes):
    """Results with probabilities, other than posteriors."""
    labels = POST.labels if n_classes == 3 else TWO
    return [
        gq.approximate(PRIOR, gq.Probit(0.5), labels).with_class_shares(
            dict.fromkeys(range(n_classes), 1 / n_classes)
        ),
        gq.map_estimate(PRIOR, gq.Probit(0.5), labels),
        gq.ZhouGC(gamma=1.0).fit(GRAPH, labels),
    ]


def signed():
    """Results without probabilities."""
    return [
        gq.map_estimate(PRIOR, gq.GinzburgLandau(epsilon=1.0, gamma=0.5), TWO),
        gq.RobustGC().fit(GRAPH, TWO),
    ]


def test_every_result_knows_its_number_of_nodes():
    for result in (POST, SHARES, *probable(2), *probable(3), *signed()):
        assert result.n_nodes == 60


@pytest.mark.parametrize("n_classes", [2, 3])
def test_confusion_shows_every_result_with_probabilities(n_classes):
    truth = np.arange(60) % n_classes
    for result in probable(n_classes):
        truth[result.labels.nodes] = result.labels.values
        expected, counted = gq.plots.confusion(result, truth, figure=Figure())
        gq.plots.confusion(result, figure=Figure())
        hidden = np.setdiff1d(np.arange(60), result.labels.nodes)
        for ax, values in (
            (expected, result.by_class),
            (counted, result.prediction[:, None] == np.arange(n_classes)),
        ):
            shown = sum(np.ma.filled(image.get_array(), 0.0) for image in ax.images)
            for a in range(n_classes):
                own = hidden[truth[hidden] == a]
                np.testing.assert_allclose(shown[a], values[own].mean(axis=0))


def test_simplex_shows_every_result_of_three_classes():
    for result in (SHARES, *probable(3)):
        ax = gq.plots.simplex(result, Y, ax=panel())
        dots = np.concatenate([dots.get_offsets() for dots in ax.collections])
        places = result.by_class @ CORNERS
        assert dots.shape == places.shape
        np.testing.assert_allclose(np.sort(dots, axis=0), np.sort(places, axis=0))


def test_results_without_probabilities_are_refused():
    for result in (*signed(), gq.BayesianGraphClassifier(), "post.nc"):
        for plot in (gq.plots.confusion, gq.plots.simplex):
            with pytest.raises(TypeError, match=rf"class probab.*got {type(result).__name__} "):
                plot(result)


@pytest.mark.parametrize(
    "plot",
    [
        lambda result: gq.plots.embedding(result, PRIOR),
        lambda result: gq.plots.graph_layout(result, GRAPH),
        lambda result: gq.plots.hard_and_easy(result, np.zeros((60, 4))),
        lambda result: gq.plots.pixel_map(result, (6, 10)),
        lambda result: gq.plots.node_marginals(result, PRIOR, [1]),
    ],
    ids=["embedding", "graph_layout", "hard_and_easy", "pixel_map", "node_marginals"],
)
def test_plots_of_the_posterior_refuse_mere_predictions(plot):
    for result in (SHARES, *probable(2), *signed(), "post.nc"):
        message = rf"what gq\.sample or .*got {type(result).__name__}: show.*confusion"
        with pytest.raises(TypeError, match=message):
            plot(result)
