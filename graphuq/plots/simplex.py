"""Three classes: nodes in the triangle of their probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphuq.node_posterior import NodePosterior
from graphuq.plots.canvas import new_axes
from graphuq.plots.classes import colours, legend, short
from graphuq.plots.nodes import SURE

# Of the three classes, from left to right: the third is on top.
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
MARKERS = "os^"

# Where the corners' names stand.
BESIDE = np.array([[-0.06, -0.07], [0.06, -0.07], [0.0, 0.08]])
ALIGNED = ("left", "right", "center")


def simplex(posterior: NodePosterior, truth: Any = None, *, ax: Any = None) -> Any:
    """Show each node where its probabilities of three classes put it.

    At a corner a node is surely of that class, on a side surely not of the one opposite, in the
    middle anything. Colours and shapes are the true classes, or the predicted ones without them;
    given labels are larger and framed. Full lines are where the prediction changes; beyond a
    dashed one its probability is above 85%.

    Parameters
    ----------
    posterior : Posterior
        Of three classes.
    truth : array_like, shape (N,), optional
        True classes; nodes of others than the three are left out.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        More classes than three, or two; a truth that does not fit the posterior.

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
    labels, n = posterior.labels, posterior.n_nodes
    classes = labels.classes
    if classes.size != 3:
        raise ValueError(
            f"a triangle has three corners, and the labels are of {classes.size} classes: see "
            "gq.plots.confusion(posterior), or keep those of three, labels.of_classes(a, b, c)"
        )
    if truth is not None:
        labels.unlabelled_truth(truth, n)
    shown = posterior.prediction if truth is None else np.asarray(truth)
    ax = new_axes(ax)
    places = posterior.by_class @ CORNERS
    ax.plot(*CORNERS[[0, 1, 2, 0]].T, color="0.3", linewidth=1, zorder=1)
    for k in range(3):
        ends = np.full((2, 3), 1 - SURE)  # where class k has the probability SURE
        ends[:, k] = SURE
        ends[[0, 1], [(k + 1) % 3, (k + 2) % 3]] = 0
        ax.plot(*(ends @ CORNERS).T, "--", color="0.6", linewidth=0.8, zorder=1)
        middle = np.array([1 / 3] * 3), np.array([0.5 * (i != k) for i in range(3)])
        ax.plot(*(np.array(middle) @ CORNERS).T, "-", color="0.6", linewidth=0.8, zorder=1)
    size = float(np.clip(6000 / n, 8, 40))
    for k, (name, colour) in enumerate(zip(classes, colours(3), strict=True)):
        own = shown == name
        own[labels.nodes] = False
        look: dict[str, Any] = {"c": [colour], "marker": MARKERS[k]}
        ax.scatter(
            *places[own].T, s=size, alpha=0.6, linewidths=0.3, edgecolors="0.3", zorder=2, **look
        )
        given = labels.nodes[labels.indices == k]
        ax.scatter(
            *places[given].T, s=1.5 * size + 40, linewidths=1.5, zorder=4, label=short(name),
            edgecolors=ax.xaxis.label.get_color(), **look,
        )  # fmt: skip
        ax.annotate(short(name), CORNERS[k] + BESIDE[k], ha=ALIGNED[k], va="center")
    said = "predicted class" if truth is None else "true class"
    legend(ax, f"{said};\nframed: labelled")
    ax.set(xticks=[], yticks=[], aspect="equal", xlim=(-0.14, 1.14), ylim=(-0.1, 1.0))
    ax.spines[:].set_visible(False)
    return ax
