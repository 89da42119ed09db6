"""Densities of the latent field at some nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphuq import validation
from graphuq.node_posterior import NodePosterior
from graphuq.plots.canvas import new_axes, plain
from graphuq.prior import Prior

# On either side of 0.
BINS = 40


def node_marginals(
    posterior: NodePosterior,
    prior: Prior,
    nodes: Any,
    *,
    seed: validation.Seed = 0,
    ax: Any = None,
) -> Any:
    """Show the marginal posterior of the latent field at some nodes, one above the other.

    Each row is a histogram of draws of u_i, scaled to the same height: hatched below 0, where the
    label is ``classes[0]``, plain above, where it is ``classes[1]``. Beside it stands the
    probability of the latter. (At labelled nodes of an `ApproximatePosterior` that is nearer to the
    truth than its Gaussian, which is drawn from.)

    Parameters
    ----------
    posterior : Posterior or ApproximatePosterior
    prior : Prior
        The one that the posterior is of.
    nodes : array_like of int
        Drawn from top to bottom.
    seed : int, SeedSequence or Generator
        See `Posterior.latent_draws`.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        No nodes, unknown ones, another prior.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(200, seed=0)
    >>> prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), rank=20)
    >>> quick = gq.approximate(prior, gq.Probit(0.1), gq.reveal(y, counts=4, seed=0))
    >>> ax = gq.plots.node_marginals(quick, prior, quick.ranking()[:5])
    """
    wanted = validation.node_ids("nodes", nodes, posterior.n_nodes)
    if not wanted.size:
        raise ValueError("nodes must name at least one node, such as posterior.ranking()[:5]")
    draws = np.concatenate(list(posterior.latent_draws(prior, wanted, seed=seed)))
    reach = 1.05 * abs(draws).max() or 1.0
    edges = reach * np.arange(-BINS, BINS + 1) / BINS
    low, high = map(plain, posterior.labels.classes)
    ax = new_axes(ax)
    for row, node in enumerate(wanted):
        counts = np.histogram(draws[:, row], edges)[0]
        heights, base = 0.85 * counts / counts.max(), -float(row)
        for part, colour, hatch in (
            (slice(0, BINS), "#56b4e9", "////"),
            (slice(BINS, 2 * BINS), "#e69f00", None),
        ):
            ends = edges[part.start : part.stop + 1]
            ax.stairs(
                base + heights[part], ends, baseline=base, fill=True, facecolor=colour,
                edgecolor="0.2", hatch=hatch, linewidth=0.5,
            )  # fmt: skip
        ax.annotate(
            f"P({high}) = {posterior.probability[node]:.2f}",
            (1, base + 0.3),
            (-4, 0),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            ha="right",
            fontsize=9,
        )
    ax.axvline(0, color="black", linewidth=1)
    ax.set(
        xlim=(-reach, 1.5 * reach),  # room for the probabilities
        ylim=(0.1 - wanted.size, 1),
        yticks=-np.arange(wanted.size) + 0.3,
        yticklabels=[f"node {node}" for node in wanted],
        xlabel=f"latent field u: below 0 is {low}, above {high}",
    )
    ax.tick_params(axis="y", length=0)
    ax.spines[["left", "right", "top"]].set_visible(False)
    return ax
