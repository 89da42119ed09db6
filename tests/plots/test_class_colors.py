"""Colors and marks that tell classes apart."""

from __future__ import annotations

import colorsys
import dataclasses

import numpy as np
from matplotlib.colors import to_rgb
from references.pictures import of_classes, panel

import graphuq as gq
from graphuq.plots.class_colors import COLORS


def test_nodes_have_the_color_of_their_class_the_paler_the_less_certain():
    post, _ = of_classes(4)
    places = np.random.default_rng(0).random((60, 2))
    ax = gq.plots.embedding(post, places, ax=panel())
    p = post.probability
    opacity = 1 + (p * np.log(np.maximum(p, 1e-300))).sum(axis=1) / np.log(4)
    assert opacity.min() < 0.3
    assert opacity.max() > 0.7
    classes, labeled = ax.collections[1:5], ax.collections[5:]
    for k in range(4):
        own = post.prediction == k
        np.testing.assert_array_equal(classes[k].get_offsets(), places[own])
        rgba = classes[k].get_facecolors()
        np.testing.assert_allclose(rgba[:, :3], np.tile(to_rgb(COLORS[k]), (own.sum(), 1)))
        np.testing.assert_allclose(rgba[:, 3], opacity[own])
        np.testing.assert_array_equal(labeled[k].get_offsets(), places[[k]])
        np.testing.assert_allclose(labeled[k].get_facecolors(), [[*to_rgb(COLORS[k]), 1]])
        assert labeled[k].get_sizes()[0] > classes[k].get_sizes()[0]
    middles = {text.get_text(): text.xy for text in ax.texts}
    np.testing.assert_allclose(middles["2"], np.median(places[post.prediction == 2], axis=0))


def test_certain_nodes_are_full_and_unknown_ones_hollow():
    post, _ = of_classes(3, n=9)
    p = np.full((9, 3), 1 / 3)
    p[:5] = np.eye(3)[[0, 0, 1, 2, 2]]
    extreme = dataclasses.replace(post, by_class=p)
    ax = gq.plots.embedding(extreme, np.eye(9)[:, :2], ax=panel())
    opacity = np.concatenate([dots.get_facecolors()[:, 3] for dots in ax.collections[1:4]])
    np.testing.assert_allclose(np.sort(opacity), [0] * 4 + [1] * 5, atol=1e-12)


def test_a_hundred_classes_have_looks_of_their_own():
    post, _ = of_classes(100, n=200)
    ax = gq.plots.embedding(post, np.random.default_rng(0).random((200, 2)), ax=panel())
    labeled = ax.collections[-100:]
    looks = {
        (*dots.get_facecolors()[0], dots.get_paths()[0].vertices.tobytes()) for dots in labeled
    }
    assert len(looks) == 100
    assert len(ax.get_legend().get_texts()) == 100


def test_the_ten_colors_are_not_gray_and_are_far_apart():
    rgb = np.array([to_rgb(color) for color in COLORS])
    assert min(colorsys.rgb_to_hsv(*color)[1] for color in rgb) > 0.3
    apart = np.linalg.norm(rgb[:, None] - rgb, axis=2) + np.eye(10)
    assert apart.min() > 0.2


def test_pixels_have_the_colors_of_their_classes():
    post, _ = of_classes(3, n=24)
    pixels = np.setdiff1d(np.arange(30), [0, 7, 8, 9, 10, 29])
    ax = gq.plots.pixel_map(post, (5, 6), pixels=pixels, ax=panel())
    picture = np.asarray(ax.images[0].get_array()).reshape(30, 4)
    for node, pixel in enumerate(pixels):
        np.testing.assert_allclose(picture[pixel, :3], to_rgb(COLORS[post.prediction[node]]))
        opacity = 1 - post.entropy[node] / np.log(3)
        np.testing.assert_allclose(picture[pixel, 3], opacity)
    assert (picture[[0, 7, 29], 3] == 0).all()
    gray = gq.plots.pixel_map(post, (4, 6), statistic="variance", ax=panel())
    np.testing.assert_array_equal(gray.images[0].get_array().ravel(), post.variance)


def test_with_many_classes_the_nine_most_common_have_colors():
    post, _ = of_classes(14, n=140)
    p = np.eye(14)[np.repeat(np.arange(14), [20] * 4 + [2] * 5 + [10] * 5)]
    post = dataclasses.replace(post, by_class=p)
    ax = gq.plots.pixel_map(post, (10, 14), ax=panel())
    picture = np.asarray(ax.images[0].get_array()).reshape(140, 4)
    shown = [text.get_text() for text in ax.get_legend().get_texts()]
    assert shown == [str(k) for k in (0, 1, 2, 3, 9, 10, 11, 12, 13)] + ["5 others"]
    rare = np.isin(post.prediction, [4, 5, 6, 7, 8])
    assert len(np.unique(picture[rare], axis=0)) == 1
    assert len(np.unique(picture[~rare], axis=0)) == 9
