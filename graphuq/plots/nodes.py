"""Nodes in the plane: coloured by posterior mean, the unsure ringed, the labelled marked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq.node_posterior import NodePosterior
from graphuq.plots.canvas import COLOURS, colour_bar, plain
from graphuq.plots.classes import draw_classes

# A node is unsure if no class is this probable: of two, its label's variance 4 p (1 - p) is then
# above 1/2, and p from 15% to 85%.
SURE = (1 + np.sqrt(0.5)) / 2


def unsure(posterior: NodePosterior) -> NDArray[np.bool_]:
    """Return which nodes' classes are unsure, shape (N,)."""
    return np.asarray(posterior.by_class.max(axis=1) < SURE)


def draw_nodes(
    ax: Any, posterior: NodePosterior, places: NDArray[np.float64], size: float | None = None
) -> None:
    """Draw every node at its place, with ``size`` points squared."""
    n, labels = posterior.n_nodes, posterior.labels
    many = labels.classes.size > 2
    if size is None:  # hues take more room than shades
        size = float(np.clip((15000 if many else 6000) / n, 4, 40))
    if many:
        draw_classes(ax, posterior, places, size)
        return
    colours: dict[str, Any] = {"cmap": COLOURS, "vmin": -1, "vmax": 1}
    dots = ax.scatter(
        *places.T, c=posterior.mean, s=size, linewidths=0.3, edgecolors="0.4", zorder=2, **colours
    )  # bright dots need edges on white
    ringed = unsure(posterior)
    ax.scatter(
        *places[ringed].T, s=2.5 * size + 20, facecolors="none", edgecolors="black", linewidths=0.8,
        zorder=3, label=f"unsure, 15% to 85%: {ringed.sum()} of {n}",
    )  # fmt: skip
    for value, code, marker in zip(labels.classes, (-1, 1), "v^", strict=True):
        at = labels.nodes[labels.codes == code]
        ax.scatter(
            *places[at].T, c=np.full(at.size, code), s=1.5 * size + 40, marker=marker,
            edgecolors="black", zorder=4, label=f"labelled {plain(value)}", **colours,
        )  # fmt: skip
    colour_bar(dots, ax, posterior)
    ax.legend(loc="best", fontsize=8)
