"""Colors for more than two classes: one for each class, paler for less certain nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq.plots.canvas import escape
from graphuq.posterior.posterior import Posterior
from graphuq.utils import words
from graphuq.utils.typing import Array
from graphuq.utils.words import count

# Ten colors that are safe for color blindness (Tol 2021, SRON/EPS/TN/09-002, "muted" and an
# orange). None of them is gray, which is for uncertain nodes.
COLORS = (
    "#332288", "#cc6677", "#117733", "#ddcc77", "#88ccee",
    "#882255", "#44aa99", "#999933", "#aa4499", "#ee7733",
)  # fmt: skip
MARKERS = "os^DvP*hX<>p"

# The color of all rare classes where markers cannot tell them apart.
OTHER_COLOR = "0.8"

# Two names in a plot must be this fraction of its width or height apart; else one is left out.
NAME_DISTANCE = (0.12, 0.045)

# Names in a legend have at most this many letters, and a column at most this many names.
MAX_LETTERS, MAX_LINES = 18, 20


def predicted_indices(posterior: Posterior) -> NDArray[np.int64]:
    """Return the index of the predicted class of each node, shape (N,)."""
    return np.searchsorted(posterior.labels.classes, posterior.prediction)


def certainty(posterior: Posterior) -> Array:
    """Return 1 - entropy / log K of each node, shape (N,): 0 if all classes are equally likely."""
    return np.clip(1 - posterior.entropy / np.log(posterior.labels.classes.size), 0, 1)


def class_colors(n_classes: int) -> Array:
    """Return a color for each class, shape (K, 3); the ten colors repeat."""
    from matplotlib.colors import to_rgb

    return np.array([to_rgb(COLORS[k % len(COLORS)]) for k in range(n_classes)])


def marker(k: int) -> str:
    """Return the marker of class ``k``, which changes after every ten classes."""
    return MARKERS[k // len(COLORS) % len(MARKERS)]


def shorten(name: Any, letters: int = MAX_LETTERS) -> str:
    """Return the name of a class, cut to at most ``letters``."""
    return escape(words.shorten(str(name), letters))


def draw_classes(ax: Any, posterior: Posterior, places: Array, size: float) -> None:
    """Draw every node in the color of its predicted class, paler if it is less certain.

    The name of a class is written at the median of the nodes that are predicted to be in it,
    unless the name of another class is too close.
    """
    labels, predicted = posterior.labels, predicted_indices(posterior)
    K, opacity, colors = (
        labels.classes.size,
        certainty(posterior),
        class_colors(labels.classes.size),
    )
    # Cover the edges of the graph, which would show through pale nodes.
    ax.scatter(*places.T, s=size, color=[ax.get_facecolor()], linewidths=0, zorder=1.5)
    for k in range(K):
        own = np.flatnonzero(predicted == k)
        rgba = np.column_stack([np.tile(colors[k], (own.size, 1)), opacity[own]])
        ax.scatter(
            *places[own].T, c=rgba, s=size, marker=marker(k), edgecolors="0.4", linewidths=0.3,
            zorder=2,
        )  # fmt: skip
    for k in range(K):
        given = labels.nodes[labels.indices == k]
        ax.scatter(
            *places[given].T, c=[colors[k]], s=1.5 * size + 40, marker=marker(k),
            edgecolors=ax.xaxis.label.get_color(), linewidths=1.5, zorder=4,
            label=shorten(labels.classes[k]),
        )  # fmt: skip
    _add_names(ax, posterior, predicted, places)
    add_legend(ax, "most probable class;\npale: uncertain;\nframed: labeled")


def _add_names(ax: Any, posterior: Posterior, predicted: NDArray[np.int64], places: Array) -> None:
    """Write the name of each class at the median of its nodes, if there is room."""
    from matplotlib.patheffects import withStroke

    spread = np.ptp(places, axis=0)
    outline = [withStroke(linewidth=2.5, foreground=ax.get_facecolor())]
    named: list[Array] = []
    for k in np.unique(predicted):
        middle = np.median(places[predicted == k], axis=0)
        distances = abs(middle - np.array(named).reshape(-1, 2))
        if (distances < NAME_DISTANCE * spread).all(axis=1).any():
            continue
        named.append(middle)
        ax.annotate(
            shorten(posterior.labels.classes[k]), middle, ha="center", va="center", weight="bold",
            fontsize=9, zorder=6, path_effects=outline,
        )  # fmt: skip


def add_legend(ax: Any, title: str, **place: Any) -> None:
    """Add a legend that explains the colors, beside ``ax`` unless ``place`` says where."""
    handles, names = ax.get_legend_handles_labels()
    beside = {"loc": "upper left", "bbox_to_anchor": (1.01, 1), "borderaxespad": 0}
    ax.legend(
        handles, names, title=title, fontsize=8, title_fontsize=8,
        ncols=-(-len(names) // MAX_LINES), **(place or beside),
    )  # fmt: skip


def node_colors(posterior: Posterior) -> tuple[Array, list[tuple[str, Any]]]:
    """Return the color of each node, shape (N, 4), and the entries of the legend.

    There are no markers to tell classes with the same color apart. For more than ten classes, the
    nine classes with the most nodes therefore have colors, and the others share a gray.
    """
    from matplotlib.colors import to_rgb

    classes, predicted = posterior.labels.classes, predicted_indices(posterior)
    colors = class_colors(classes.size)
    shown = list(range(classes.size))
    others = []
    if classes.size > len(COLORS):
        n_nodes = np.bincount(predicted, minlength=classes.size)
        shown = sorted(np.argsort(-n_nodes, kind="stable")[: len(COLORS) - 1].tolist())
        colors[:] = to_rgb(OTHER_COLOR)
        colors[shown] = class_colors(len(shown))
        others = [(count(classes.size - len(shown), "other"), to_rgb(OTHER_COLOR))]
    names = [(shorten(classes[k]), tuple(colors[k])) for k in shown]
    return np.column_stack([colors[predicted], certainty(posterior)]), names + others
