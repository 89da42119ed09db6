"""The nodes in the triangle of the probabilities of three classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphuq.plots.canvas import new_axes
from graphuq.plots.class_colors import add_legend, class_colors, shorten
from graphuq.plots.results import require_probabilities
from graphuq.posterior.predictions import SURE, Predictions

# Corners of the first, second and third class: left, right and top.
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
MARKERS = "os^"

# Names of the classes: offsets from the corners, and horizontal alignments.
OFFSETS = np.array([[-0.06, -0.07], [0.06, -0.07], [0.0, 0.08]])
ALIGNMENTS = ("left", "right", "center")


def simplex(posterior: Predictions, truth: Any = None, *, ax: Any = None) -> Any:
    """Show each node in the triangle of its probabilities of three classes.

    A node in a corner certainly has the class of that corner, a node on a side certainly does not
    have the class of the opposite corner, and in the center all classes are equally likely. Colors
    and markers show the true classes, or the predicted ones if ``truth`` is None. Labeled nodes
    are larger and framed. The prediction changes at solid lines. Between a dashed line and its
    corner, nodes are sure (see ``posterior.unsure``).

    Parameters
    ----------
    posterior : Posterior
        A posterior of three classes, or another result with probabilities, as in `confusion`.
    truth : array_like, shape (N,), optional
        True classes. Nodes with other true classes than the three are left out.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TypeError
        The result has no probabilities.
    ValueError
        The posterior does not have three classes, or the truth does not fit it.

    Examples
    --------
    >>> import numpy as np
    >>> import graphuq as gq
    >>> y = np.repeat(["cat", "cow", "dog"], 30)
    >>> X = np.random.default_rng(0).normal(size=(90, 2)) + 2 * np.repeat(np.eye(3)[:, :2], 30, 0)
    >>> prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), 20, alpha=2.0)
    >>> labels = gq.reveal(y, counts=3, seed=0)
    >>> post = gq.sample(prior, gq.LevelSet(0.5), labels, draws=100, seed=0, progress=False)
    >>> ax = gq.plots.simplex(post, y)
    """
    by_class = require_probabilities(posterior)
    labels, n = posterior.labels, posterior.n_nodes
    classes = labels.classes
    if classes.size != 3:
        raise ValueError(
            f"a triangle has three corners, but the labels have {classes.size} classes: use "
            "gq.plots.confusion(posterior), or keep three classes, labels.of_classes(a, b, c)"
        )
    if truth is not None:
        labels.unlabelled_truth(truth, n, others=True)
    shown = posterior.prediction if truth is None else np.asarray(truth)
    # Draw the triangle, its solid lines of equal probability and its dashed lines of SURE.
    ax = new_axes(ax)
    places = by_class @ CORNERS
    ax.plot(*CORNERS[[0, 1, 2, 0]].T, color="0.3", linewidth=1, zorder=1)
    for k in range(3):
        ends = np.full((2, 3), 1 - SURE)  # here class k has the probability SURE
        ends[:, k] = SURE
        ends[[0, 1], [(k + 1) % 3, (k + 2) % 3]] = 0
        ax.plot(*(ends @ CORNERS).T, "--", color="0.6", linewidth=0.8, zorder=1)
        middle = np.array([1 / 3] * 3), np.array([0.5 * (i != k) for i in range(3)])
        ax.plot(*(np.array(middle) @ CORNERS).T, "-", color="0.6", linewidth=0.8, zorder=1)
    # Draw the nodes of each class, and its labeled nodes on top.
    size = float(np.clip(6000 / n, 8, 40))
    for k, (name, color) in enumerate(zip(classes, class_colors(3), strict=True)):
        own = shown == name
        own[labels.nodes] = False
        look: dict[str, Any] = {"c": [color], "marker": MARKERS[k]}
        ax.scatter(
            *places[own].T, s=size, alpha=0.6, linewidths=0.3, edgecolors="0.3", zorder=2, **look
        )
        given = labels.nodes[labels.indices == k]
        ax.scatter(
            *places[given].T, s=1.5 * size + 40, linewidths=1.5, zorder=4, label=shorten(name),
            edgecolors=ax.xaxis.label.get_color(), **look,
        )  # fmt: skip
        ax.annotate(shorten(name), CORNERS[k] + OFFSETS[k], ha=ALIGNMENTS[k], va="center")
    which = "predicted class" if truth is None else "true class"
    # Beside axes of equal aspect a legend can lie outside the figure; this corner is empty.
    add_legend(ax, f"{which};\nframed: labeled", loc="upper right")
    ax.set(xticks=[], yticks=[], aspect="equal", xlim=(-0.14, 1.14), ylim=(-0.1, 1.0))
    ax.spines[:].set_visible(False)
    return ax
