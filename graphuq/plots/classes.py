"""More than two classes: a colour for each, the paler the less certain."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq.node_posterior import NodePosterior
from graphuq.plots.canvas import plain

Array = NDArray[np.float64]

# Told apart by the colour-blind (Tol 2021, SRON/EPS/TN/09-002, "muted" and an orange), and none of
# them grey, which is for the unsure.
TEN = (
    "#332288", "#cc6677", "#117733", "#ddcc77", "#88ccee",
    "#882255", "#44aa99", "#999933", "#aa4499", "#ee7733",
)  # fmt: skip
SHAPES = "os^DvP*hX<>p"

# Of classes that share a colour, where shapes cannot tell.
OTHERS = "0.8"

# Names in a picture are this share of its width and height apart, or one of them is left out.
NAME = (0.12, 0.045)

# Names in a legend are cut to so many letters, and stand one below another up to so many.
LETTERS, LINES = 18, 20


def indices(posterior: NodePosterior) -> NDArray[np.int64]:
    """Return which class each node is predicted to be of, shape (N,)."""
    return np.searchsorted(posterior.labels.classes, posterior.prediction)


def certainty(posterior: NodePosterior) -> Array:
    """Return 1 - entropy / log K of each node, shape (N,): 0 if all classes are alike."""
    return np.clip(1 - posterior.entropy / np.log(posterior.labels.classes.size), 0, 1)


def colours(n_classes: int) -> Array:
    """Return a colour for each class, shape (K, 3): ten, again and again."""
    from matplotlib.colors import to_rgb

    return np.array([to_rgb(TEN[k % len(TEN)]) for k in range(n_classes)])


def shape(k: int) -> str:
    """Return the shape of a class's nodes, another after every ten."""
    return SHAPES[k // len(TEN) % len(SHAPES)]


def short(name: Any, letters: int = LETTERS) -> str:
    """Return a class's name, cut to what there is room for."""
    text = str(name)
    return plain(text if len(text) <= letters else f"{text[: letters - 1]}…")


def draw_classes(
    ax: Any, posterior: NodePosterior, places: Array, size: float, names: bool = True
) -> None:
    """Draw every node in the colour of its prediction, the paler the less certain.

    With ``names`` each class's stands at the median of the nodes that are predicted to be of it,
    unless another's is in its way.
    """
    from matplotlib.patheffects import withStroke

    labels, predicted = posterior.labels, indices(posterior)
    K, sure = labels.classes.size, certainty(posterior)
    palette, ground, ink = colours(K), ax.get_facecolor(), ax.xaxis.label.get_color()
    spread = np.ptp(places, axis=0)
    named: list[Array] = []
    ax.scatter(
        *places.T, s=size, color=[ground], linewidths=0, zorder=1.5
    )  # no edges shine through
    for k in range(K):
        look: dict[str, Any] = {"marker": shape(k), "zorder": 2}
        own = np.flatnonzero(predicted == k)
        rgba = np.column_stack([np.tile(palette[k], (own.size, 1)), sure[own]])
        ax.scatter(*places[own].T, c=rgba, s=size, edgecolors="0.4", linewidths=0.3, **look)
        middle = np.median(places[own], axis=0) if own.size else spread
        near = (abs(middle - np.array(named).reshape(-1, 2)) < NAME * spread).all(axis=1)
        if names and own.size and not near.any():
            named.append(middle)
            outline = [withStroke(linewidth=2.5, foreground=ground)]
            ax.annotate(
                short(labels.classes[k]), middle, ha="center", va="center", weight="bold",
                fontsize=9, zorder=6, path_effects=outline,
            )  # fmt: skip
    for k in range(K):
        given = labels.nodes[labels.indices == k]
        ax.scatter(
            *places[given].T, c=[palette[k]], s=1.5 * size + 40, marker=shape(k),
            edgecolors=ink, linewidths=1.5, zorder=4, label=short(labels.classes[k]),
        )  # fmt: skip
    legend(ax, "likeliest class, pale\nif unsure; framed:\nlabelled")


def legend(ax: Any, title: str) -> None:
    """Say beside ``ax`` what colours stand for."""
    handles, names = ax.get_legend_handles_labels()
    ax.legend(
        handles, names, title=title, loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0,
        fontsize=8, title_fontsize=8, ncols=-(-len(names) // LINES),
    )  # fmt: skip


def painted(posterior: NodePosterior) -> tuple[Array, list[tuple[str, Any]]]:
    """Return the colour of each node, shape (N, 4), and what colours stand for.

    Where there are more than ten classes and no shapes to tell them by, the nine that most nodes
    are predicted to be of have colours, and the others share a grey.
    """
    from matplotlib.colors import to_rgb

    classes, predicted = posterior.labels.classes, indices(posterior)
    palette = colours(classes.size)
    shown = list(range(classes.size))
    others = []
    if classes.size > len(TEN):
        counts = np.bincount(predicted, minlength=classes.size)
        shown = sorted(np.argsort(-counts, kind="stable")[: len(TEN) - 1].tolist())
        palette[:] = to_rgb(OTHERS)
        palette[shown] = colours(len(shown))
        others = [(f"{classes.size - len(shown)} others", to_rgb(OTHERS))]
    names = [(short(classes[k]), tuple(palette[k])) for k in shown]
    return np.column_stack([palette[predicted], certainty(posterior)]), names + others
