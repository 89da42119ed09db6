"""Plots of more than two classes."""

from __future__ import annotations

import colorsys
import dataclasses

import matplotlib.pyplot as plt
import numpy as np
import pytest
from conftest import NodesAlone, quietly
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

import graphuq as gq
from graphuq.plots.classes import TEN
from graphuq.plots.simplex import CORNERS


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def panel():
    return Figure().subplots()


def of_classes(n_classes, n=60, labelled=None, names=None, seed=0):
    """Return a posterior whose probabilities are known, and its truth."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    p = rng.dirichlet(np.ones(n_classes) / 2, size=n) + np.eye(n_classes)[y] * rng.random((n, 1))
    p /= p.sum(axis=1, keepdims=True)
    names = np.arange(n_classes) if names is None else np.array(names)
    nodes = np.arange(n_classes if labelled is None else labelled)
    labels = gq.Labels(nodes, names[y[nodes]], classes=names)
    order = np.argsort(names)  # as labels have them
    nothing = np.zeros_like(p)
    post = NodesAlone(labels, p[:, order], nothing[:, 0], p[:, order], *[nothing] * 3)
    return post, names[y]


@pytest.fixture(scope="module")
def drawn():
    """A sampled posterior of three classes, with its prior."""
    rng = np.random.default_rng(5)
    y = np.repeat([0, 1, 2], 15)
    X = rng.standard_normal((45, 2)) + 2.5 * np.eye(3)[y, :2]
    prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=6, connect=True), 8, alpha=2.0)
    labels = gq.Labels([0, 7, 16, 20, 33, 40], ["low", "low", "mid", "mid", "top", "top"])
    options = {"draws": 50, "nodes": [9, 12], "seed": 0, "progress": False}
    return quietly(prior, gq.Probit(0.2), labels, **options), prior


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
    # labelled nodes do not count
    other = post.probability.copy()
    other[:4] = other[:4, ::-1]
    again = gq.plots.confusion(dataclasses.replace(post, probability=other), y, figure=Figure())
    np.testing.assert_array_equal(matrix_of(again[0]), matrix_of(expected))


def test_colours_of_a_confusion_are_of_what_lies_off_the_diagonal():
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


def test_rows_without_nodes_and_true_classes_without_labels_are_told():
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


def test_confusion_without_the_truth_is_of_what_was_predicted(drawn, small):
    post, _ = of_classes(5)
    (ax,) = gq.plots.confusion(post, figure=Figure())
    hidden = np.arange(5, 60)
    for a in range(5):
        own = hidden[post.prediction[hidden] == a]
        np.testing.assert_allclose(matrix_of(ax)[a], post.probability[own].mean(axis=0))
    two = gq.approximate(gq.Prior.projected(small[0], 8), gq.Probit(0.2), small[1])
    assert matrix_of(gq.plots.confusion(two, figure=Figure())[0]).shape == (2, 2)
    post, y = of_classes(3, labelled=60)
    for truth in (None, y):
        with pytest.raises(ValueError, match="every node is labelled"):
            gq.plots.confusion(post, truth)
    with pytest.raises(ValueError, match="truth must have shape"):
        gq.plots.confusion(drawn[0], y)


def test_the_triangle_has_nodes_where_their_probabilities_put_them():
    post, y = of_classes(3, names=["cow", "ant", "bee"])
    for truth in (None, y):
        ax = gq.plots.simplex(post, truth, ax=panel())
        shown = post.prediction if truth is None else y
        dots, labelled = ax.collections[::2], ax.collections[1::2]
        assert len(dots) == len(labelled) == 3
        for k, name in enumerate(["ant", "bee", "cow"]):  # left, right and top
            own = np.flatnonzero(shown == name)
            own = own[own >= 3]
            _, right, top = post.by_class[own].T
            expected = np.column_stack([right + top / 2, np.sqrt(0.75) * top])
            np.testing.assert_allclose(dots[k].get_offsets(), expected)
            given = post.labels.nodes[post.labels.values == name]
            np.testing.assert_allclose(labelled[k].get_offsets(), post.by_class[given] @ CORNERS)
        names = {text.get_text(): np.array(text.xy) for text in ax.texts}
        for k, name in enumerate(["ant", "bee", "cow"]):
            assert np.linalg.norm(names[name] - CORNERS[k]) < 0.15
        assert len({dot.get_paths()[0].vertices.tobytes() for dot in dots}) == 3  # for grey print


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_triangle_is_of_three_classes(n_classes, small):
    if n_classes == 2:
        post = gq.approximate(gq.Prior.projected(small[0], 8), gq.Probit(0.2), small[1])
    else:
        post = of_classes(4)[0]
    with pytest.raises(ValueError, match=f"three corners, and the labels are of {n_classes}"):
        gq.plots.simplex(post)
    assert not plt.get_fignums()


def test_nodes_have_the_colour_of_their_class_the_paler_the_less_certain():
    post, _ = of_classes(4)
    places = np.random.default_rng(0).random((60, 2))
    ax = gq.plots.embedding(post, places, ax=panel())
    p = post.probability
    opacity = 1 + (p * np.log(np.maximum(p, 1e-300))).sum(axis=1) / np.log(4)
    assert opacity.min() < 0.3
    assert opacity.max() > 0.7
    classes, labelled = ax.collections[1:5], ax.collections[5:]
    for k in range(4):
        own = post.prediction == k
        np.testing.assert_array_equal(classes[k].get_offsets(), places[own])
        rgba = classes[k].get_facecolors()
        np.testing.assert_allclose(rgba[:, :3], np.tile(to_rgb(TEN[k]), (own.sum(), 1)))
        np.testing.assert_allclose(rgba[:, 3], opacity[own])
        np.testing.assert_array_equal(labelled[k].get_offsets(), places[[k]])
        np.testing.assert_allclose(labelled[k].get_facecolors(), [[*to_rgb(TEN[k]), 1]])
        assert labelled[k].get_sizes()[0] > classes[k].get_sizes()[0]
    middles = {text.get_text(): text.xy for text in ax.texts}
    np.testing.assert_allclose(middles["2"], np.median(places[post.prediction == 2], axis=0))


def test_certain_nodes_are_full_and_unknown_ones_hollow():
    post, _ = of_classes(3, n=9)
    p = np.full((9, 3), 1 / 3)
    p[:5] = np.eye(3)[[0, 0, 1, 2, 2]]
    extreme = dataclasses.replace(post, probability=p)
    ax = gq.plots.embedding(extreme, np.eye(9)[:, :2], ax=panel())
    opacity = np.concatenate([dots.get_facecolors()[:, 3] for dots in ax.collections[1:4]])
    np.testing.assert_allclose(np.sort(opacity), [0] * 4 + [1] * 5, atol=1e-12)


def test_a_hundred_classes_have_looks_of_their_own():
    post, _ = of_classes(100, n=200)
    ax = gq.plots.embedding(post, np.random.default_rng(0).random((200, 2)), ax=panel())
    labelled = ax.collections[-100:]
    looks = {
        (*dots.get_facecolors()[0], dots.get_paths()[0].vertices.tobytes()) for dots in labelled
    }
    assert len(looks) == 100
    assert len(ax.get_legend().get_texts()) == 100


def test_the_ten_colours_are_no_greys_and_far_from_each_other():
    rgb = np.array([to_rgb(colour) for colour in TEN])
    assert min(colorsys.rgb_to_hsv(*colour)[1] for colour in rgb) > 0.3
    apart = np.linalg.norm(rgb[:, None] - rgb, axis=2) + np.eye(10)
    assert apart.min() > 0.2


def test_a_small_graph_of_three_classes_is_drawn(drawn):
    pytest.importorskip("networkx")
    post, _ = drawn
    ring = np.roll(np.eye(45), 1, axis=1)
    ax = gq.plots.graph_layout(post, ring + ring.T, ax=panel())
    names = [text.get_text() for text in ax.texts]
    assert {"low", "mid", "top", "44"} <= set(names)


def test_pixels_have_the_colours_of_their_classes():
    post, _ = of_classes(3, n=24)
    pixels = np.setdiff1d(np.arange(30), [0, 7, 8, 9, 10, 29])
    ax = gq.plots.pixel_map(post, (5, 6), pixels=pixels, ax=panel())
    picture = np.asarray(ax.images[0].get_array()).reshape(30, 4)
    for node, pixel in enumerate(pixels):
        np.testing.assert_allclose(picture[pixel, :3], to_rgb(TEN[post.prediction[node]]))
        opacity = 1 - post.entropy[node] / np.log(3)
        np.testing.assert_allclose(picture[pixel, 3], opacity)
    assert (picture[[0, 7, 29], 3] == 0).all()
    grey = gq.plots.pixel_map(post, (4, 6), statistic="variance", ax=panel())
    np.testing.assert_array_equal(grey.images[0].get_array().ravel(), post.variance)


def test_of_many_classes_the_commonest_nine_have_colours_in_a_picture():
    post, _ = of_classes(14, n=140)
    p = np.eye(14)[np.repeat(np.arange(14), [20] * 4 + [2] * 5 + [10] * 5)]
    post = dataclasses.replace(post, probability=p)
    ax = gq.plots.pixel_map(post, (10, 14), ax=panel())
    picture = np.asarray(ax.images[0].get_array()).reshape(140, 4)
    shown = [text.get_text() for text in ax.get_legend().get_texts()]
    assert shown == [str(k) for k in (0, 1, 2, 3, 9, 10, 11, 12, 13)] + ["5 others"]
    rare = np.isin(post.prediction, [4, 5, 6, 7, 8])
    assert len(np.unique(picture[rare], axis=0)) == 1
    assert len(np.unique(picture[~rare], axis=0)) == 9


def test_hard_images_carry_their_two_likeliest_classes():
    post, y = of_classes(3, names=["a", "b", "a long name"])
    axes = gq.plots.hard_and_easy(post, np.random.default_rng(0).random((60, 4)), y, count=3)
    assert axes.shape == (3, 6)
    assert [ax.get_ylabel() for ax in axes[:, 0]] == ["a", "a long name", "b"]
    order = post.ranking()
    for row, name in enumerate(["a", "a long name", "b"]):
        own = order[(order >= 3) & (y[order] == name)]
        for ax, node in zip(axes[row], [*own[:3], *own[::-1][:3]], strict=True):
            first, second = ax.get_title().split("\n")
            best = np.sort(post.probability[node])[::-1]
            assert first.rsplit(" ", 1)[0] in (
                post.prediction[node],
                post.prediction[node][:8] + "…",
            )
            assert [int(line.split()[-1]) for line in (first, second)] == [
                int(f"{100 * p:.0f}") for p in best[:2]
            ]
            framed = ax.spines["top"].get_visible()
            assert framed == (post.prediction[node] != name)


def test_node_marginals_show_the_fields_of_the_likeliest_classes(drawn):
    post, prior = drawn
    nodes = post.ranking()[[0, 20, 44]]
    ax = gq.plots.node_marginals(post, prior, nodes, ax=panel())
    said = [text.get_text() for text in ax.texts]
    for row, node in enumerate(nodes):
        order = np.argsort(-post.probability[node])
        names = post.labels.classes[order]
        expected = [
            f"P({c}) = {p:.2f}" for c, p in zip(names, post.probability[node][order], strict=True)
        ]
        assert said[3 * row : 3 * row + 3] == expected
    draws = np.concatenate(list(post.latent_draws(prior, nodes, seed=0)))
    likeliest = int(post.probability[nodes[0]].argmax())
    outline = ax.patches[1].get_data()
    counts = np.histogram(draws[:, 0, likeliest], outline.edges)[0]
    np.testing.assert_allclose(outline.values, 0.85 * counts / counts.max())


def test_traces_are_of_the_class_whose_chains_agree_least(drawn):
    post, _ = drawn
    apart = post.modes.copy()
    apart[0, :, 1, 2] += 5
    axes = gq.plots.traces(dataclasses.replace(post, modes=apart), modes=2, figure=Figure())
    names = [ax.get_ylabel() for ax in axes[:, 0]]
    assert names[0] == "log posterior"
    assert names[2] == "mode 2, top"
    assert [name.split(",")[0] for name in names[1:]] == ["mode 1", "mode 2", "node 9", "node 12"]
    np.testing.assert_array_equal(
        [line.get_ydata() for line in axes[2, 1].lines], apart[:, :, 1, 2]
    )
    ranks = gq.plots.ranks(post, modes=1, nodes=0, figure=Figure())
    assert ranks[1].get_title().startswith("mode 1, ")


def test_reliability_begins_where_the_largest_of_many_probabilities_can(drawn):
    post, y = of_classes(4)
    top, _ = gq.plots.reliability(post.calibration(y), figure=Figure())
    assert top.lines[0].get_xdata()[0] == 0.25
