"""Nodes in the triangle of three probabilities."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from references.pictures import of_classes, panel

import graphuq as gq
from graphuq.plots.simplex import CORNERS


def test_the_triangle_has_nodes_where_their_probabilities_put_them():
    post, y = of_classes(3, names=["cow", "ant", "bee"])
    for truth in (None, y):
        ax = gq.plots.simplex(post, truth, ax=panel())
        shown = post.prediction if truth is None else y
        dots, labeled = ax.collections[::2], ax.collections[1::2]
        assert len(dots) == len(labeled) == 3
        for k, name in enumerate(["ant", "bee", "cow"]):  # left, right and top
            own = np.flatnonzero(shown == name)
            own = own[own >= 3]
            _, right, top = post.by_class[own].T
            expected = np.column_stack([right + top / 2, np.sqrt(0.75) * top])
            np.testing.assert_allclose(dots[k].get_offsets(), expected)
            given = post.labels.nodes[post.labels.values == name]
            np.testing.assert_allclose(labeled[k].get_offsets(), post.by_class[given] @ CORNERS)
        names = {text.get_text(): np.array(text.xy) for text in ax.texts}
        for k, name in enumerate(["ant", "bee", "cow"]):
            assert np.linalg.norm(names[name] - CORNERS[k]) < 0.15
        assert len({dot.get_paths()[0].vertices.tobytes() for dot in dots}) == 3  # for gray print


@pytest.mark.parametrize("size", [(7, 5), (5, 7), (4, 4)])
def test_the_legend_lies_inside_the_figure_and_beside_the_triangle(size):
    post, y = of_classes(3, names=["a class of long name", "ant", "bee"])
    figure = Figure(figsize=size, layout="constrained")
    ax = gq.plots.simplex(post, y, ax=figure.subplots())
    FigureCanvasAgg(figure).draw()
    box = ax.get_legend().get_window_extent()
    assert figure.bbox.x0 <= box.x0 <= box.x1 <= figure.bbox.x1
    assert figure.bbox.y0 <= box.y0 <= box.y1 <= figure.bbox.y1
    if size == (7, 5):  # that of the report
        side = np.linspace(CORNERS[1], CORNERS[2], 100)
        assert not any(box.contains(*place) for place in ax.transData.transform(side))


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_triangle_is_of_three_classes(n_classes, small):
    if n_classes == 2:
        post = gq.approximate(gq.Prior.projected(small[0], 8), gq.Probit(0.2), small[1])
    else:
        post = of_classes(4)[0]
    with pytest.raises(ValueError, match=f"three corners, but the labels have {n_classes}"):
        gq.plots.simplex(post)
    assert not plt.get_fignums()
