"""Nodes in a plane, colored by posterior; unsure nodes are ringed and labeled nodes marked."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphuq.plots.canvas import COLORMAP, add_color_bar, add_entropy_bar, escape
from graphuq.plots.class_colors import draw_classes
from graphuq.posterior.posterior import Posterior
from graphuq.posterior.predictions import SURE
from graphuq.utils.typing import Array


def draw_nodes(
    ax: Any,
    posterior: Posterior,
    places: Array,
    size: float | None = None,
    color: str = "class",
) -> None:
    """Draw every node at its place; ``size`` is in points squared."""
    n, labels = posterior.n_nodes, posterior.labels
    many = labels.classes.size > 2
    if size is None:  # hues need larger dots than shades
        size = float(np.clip((15000 if many else 6000) / n, 4, 40))
    if color != "class":
        _draw_entropy(ax, posterior, places, size, color)
        return
    if many:
        draw_classes(ax, posterior, places, size)
        return
    colors: dict[str, Any] = {"cmap": COLORMAP, "vmin": -1, "vmax": 1}
    dots = ax.scatter(
        *places.T, c=posterior.mean, s=size, linewidths=0.3, edgecolors="0.4", zorder=2, **colors
    )  # bright dots need edges on white
    # Ring the unsure nodes, and mark the labeled ones by triangles.
    unsure = posterior.unsure
    ax.scatter(
        *places[unsure].T, s=2.5 * size + 20, facecolors="none", edgecolors="black", linewidths=0.8,
        zorder=3, label=f"unsure, {1 - SURE:.0%} to {SURE:.0%}: {unsure.sum()} of {n}",
    )  # fmt: skip
    for value, code, marker in zip(labels.classes, (-1, 1), "v^", strict=True):
        at = labels.nodes[labels.codes == code]
        ax.scatter(
            *places[at].T, c=np.full(at.size, code), s=1.5 * size + 40, marker=marker,
            edgecolors="black", zorder=4, label=f"labeled {escape(value)}", **colors,
        )  # fmt: skip
    add_color_bar(dots, ax, posterior)
    ax.legend(loc="best", fontsize=8)


def _draw_entropy(ax: Any, posterior: Posterior, places: Array, size: float, part: str) -> None:
    """Draw every node in the shade of a part of its entropy, and mark the labeled ones."""
    values = posterior.uncertainty()[part].to_numpy()
    dots = ax.scatter(
        *places.T, c=values, s=size, linewidths=0.3, edgecolors="0.4", zorder=2, cmap="gray_r",
        vmin=0, vmax=np.log(posterior.labels.classes.size),
    )  # fmt: skip
    given = places[posterior.labels.nodes]
    ax.scatter(*given.T, s=1.5 * size + 40, marker="^", c="C0", zorder=4, label="labeled")
    add_entropy_bar(dots, ax, part)
    ax.legend(loc="best", fontsize=8)
