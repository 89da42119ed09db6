"""The posterior of the pixels of an image, as an image."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphuq.plots.canvas import COLORMAP, add_color_bar, add_entropy_bar, new_axes
from graphuq.plots.class_colors import add_legend, node_colors
from graphuq.plots.results import require_posterior
from graphuq.posterior.assessment.uncertainty import PARTS
from graphuq.posterior.posterior import Posterior
from graphuq.utils import validation


def pixel_map(
    posterior: Posterior,
    shape: tuple[int, int],
    *,
    statistic: str = "mean",
    pixels: Any = None,
    ax: Any = None,
) -> Any:
    """Show a statistic of nodes that are the pixels of one image.

    Parameters
    ----------
    posterior : Posterior
    shape : (int, int)
        Height and width of the image.
    statistic : {"mean", "variance", "total", "aleatoric", "epistemic"}
        The colors show the posterior mean s (certainly ``classes[0]`` is dark, certainly
        ``classes[1]`` is bright), the variance of the label (0 is white, 1 is black), or the
        entropy and its parts (`Posterior.uncertainty`; log K is black). For K > 2
        classes, the mean is shown as the color of the most probable class, with the opacity
        1 - entropy / log K. For more than ten classes, the nine most frequent predictions have
        colors, and the others share a gray.
    pixels : array_like of int, shape (N,), optional
        The pixel of each node, counted along the rows, if some pixels are not nodes (as in
        `Graph.nodes` of a largest component). Those pixels stay blank.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TypeError
        A result that is not a posterior, such as `MapEstimate`.
    ValueError
        The shape or the pixels do not fit the posterior, or the statistic is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> import graphuq as gq
    >>> row, column = np.divmod(np.arange(96), 12)
    >>> graph = gq.knn_graph(np.column_stack([row, column]), n_neighbors=4, connect=True)
    >>> quick = gq.approximate(graph, gq.Probit(0.1), gq.Labels([0, 95], ["land", "water"]))
    >>> ax = gq.plots.pixel_map(quick, (8, 12))
    >>> ax = gq.plots.pixel_map(quick, (8, 12), statistic="variance")
    """
    require_posterior(posterior)
    validation.one_of("statistic", statistic, ("mean", "variance", *PARTS))
    if np.shape(shape) != (2,):
        raise ValueError(f"shape must be (height, width), got {shape!r}")
    height, width = (validation.integer("shape", side, 1) for side in shape)
    n = posterior.n_nodes
    if pixels is None:
        if height * width != n:
            raise ValueError(
                f"an image of shape ({height}, {width}) has {height * width} pixels, the posterior "
                f"{n} nodes: give the pixel of each node with pixels=..."
            )
        pixels = np.arange(n)
    where = validation.node_ids("pixels", pixels, height * width)
    if where.size != n:
        raise ValueError(
            f"pixels must name one for each of {n} nodes, got {where.size}: give one pixel per node"
        )
    ax = new_axes(ax)
    many = posterior.labels.classes.size > 2
    if many and statistic == "mean":
        colors, names = node_colors(posterior)
        rgba = np.zeros((height * width, 4))  # transparent where there is no node
        rgba[where] = colors
        ax.imshow(rgba.reshape(height, width, 4), interpolation="nearest")
        for name, color in names:
            ax.scatter([], [], color=[color], marker="s", label=name)
        add_legend(ax, "most probable class;\npale: uncertain")
        ax.set(xticks=[], yticks=[])
        return ax
    values = np.full(height * width, np.nan)
    entropy = statistic in PARTS
    values[where] = (posterior.uncertainty() if entropy else vars(posterior))[statistic]
    if statistic == "mean":
        image = ax.imshow(
            values.reshape(height, width), cmap=COLORMAP, vmin=-1, vmax=1, interpolation="nearest"
        )
        add_color_bar(image, ax, posterior)
    else:
        most = np.log(posterior.labels.classes.size) if entropy else 1
        image = ax.imshow(
            values.reshape(height, width), cmap="gray_r", vmin=0, vmax=most, interpolation="nearest"
        )
        one = "all classes equally likely" if many else "50/50"
        if entropy:
            add_entropy_bar(image, ax, statistic)
        else:
            said = f"variance of the label: 0 is certain, 1 is {one}"
            ax.figure.colorbar(image, ax=ax, label=said)
    ax.set(xticks=[], yticks=[])
    return ax
