"""The posterior of a picture's pixels, as a picture."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphuq import validation
from graphuq.node_posterior import NodePosterior
from graphuq.plots.canvas import COLOURS, colour_bar, new_axes
from graphuq.plots.classes import legend, painted


def pixel_map(
    posterior: NodePosterior,
    shape: tuple[int, int],
    *,
    statistic: str = "mean",
    pixels: Any = None,
    ax: Any = None,
) -> Any:
    """Show a statistic of nodes that are the pixels of one picture, in their places.

    Parameters
    ----------
    posterior : Posterior or ApproximatePosterior
    shape : (int, int)
        Height and width of the picture.
    statistic : {"mean", "variance"}
        What colours show: s, with surely ``classes[0]`` dark and surely ``classes[1]`` bright; or
        the label's variance, with certain pixels white and coin's tosses black. With more than two
        classes the mean is the colour of the likeliest, with the opacity 1 - entropy / log K; of
        more than ten the nine that most pixels are predicted to be of have colours, the others
        share a grey.
    pixels : array_like of int, shape (N,), optional
        The pixel of each node, counted along the rows, where not all are nodes (`Graph.nodes` of a
        largest component); the others stay blank.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        A shape or pixels that do not fit the posterior; an unknown statistic.

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
    validation.one_of("statistic", statistic, ("mean", "variance"))
    height, width = (validation.integer("shape", side, 1) for side in shape)
    n = posterior.n_nodes
    if pixels is None:
        if height * width != n:
            raise ValueError(
                f"a picture of {height} x {width} has {height * width} pixels, the posterior {n} "
                "nodes: say with pixels=... which pixel each node is"
            )
        pixels = np.arange(n)
    where = validation.node_ids("pixels", pixels, height * width)
    if where.size != n:
        raise ValueError(f"pixels must name one for each of {n} nodes, got {where.size}")
    ax = new_axes(ax)
    many = posterior.labels.classes.size > 2
    if many and statistic == "mean":
        colours, names = painted(posterior)
        painting = np.zeros((height * width, 4))  # transparent where there is no node
        painting[where] = colours
        ax.imshow(painting.reshape(height, width, 4), interpolation="nearest")
        for name, colour in names:
            ax.scatter([], [], color=[colour], marker="s", label=name)
        legend(ax, "likeliest class,\npale if unsure")
        ax.set(xticks=[], yticks=[])
        return ax
    picture = np.full(height * width, np.nan)
    picture[where] = getattr(posterior, statistic)
    if statistic == "mean":
        drawn = ax.imshow(
            picture.reshape(height, width), cmap=COLOURS, vmin=-1, vmax=1, interpolation="nearest"
        )
        colour_bar(drawn, ax, posterior)
    else:
        drawn = ax.imshow(
            picture.reshape(height, width), cmap="gray_r", vmin=0, vmax=1, interpolation="nearest"
        )
        most = "all classes alike" if many else "a coin's toss"
        ax.figure.colorbar(drawn, ax=ax, label=f"variance of the label: 0 certain, 1 {most}")
    ax.set(xticks=[], yticks=[])
    return ax
