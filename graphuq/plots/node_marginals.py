"""Densities of the latent field at some nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq import validation
from graphuq.node_posterior import NodePosterior
from graphuq.plots.canvas import new_axes, plain
from graphuq.plots.classes import short
from graphuq.prior import Prior

# On either side of 0.
BINS = 40

# Of more than two classes: how many are shown, and how.
LIKELIEST = (("#0072b2", "-"), ("#e69f00", "--"), ("#009e73", ":"))
ORDER = ("likeliest", "second", "third")


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

    With more than two classes a row has the fields of the node's three likeliest classes, scaled
    alike, and beside it their probabilities in the same order: that the field is the largest.

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
    if draws.ndim == 3:
        return _of_classes(posterior, wanted, draws, new_axes(ax))
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
    ax.set(xlim=(-reach, 1.5 * reach))  # room for the probabilities
    return _rows(ax, wanted, f"latent field u: below 0 is {low}, above {high}")


def _of_classes(
    posterior: NodePosterior, wanted: NDArray[np.int64], draws: NDArray[np.float64], ax: Any
) -> Any:
    """Draw the fields of each node's likeliest classes, from draws (n, nodes, K)."""
    p, classes = posterior.probability[wanted], posterior.labels.classes
    likeliest = np.argsort(-p, axis=1, kind="stable")[:, : len(LIKELIEST)]
    low, high = draws.min(), draws.max()
    edges = np.linspace(low, high if high > low else low + 1, 2 * BINS + 1)
    for row, shown in enumerate(likeliest):
        counts = [np.histogram(draws[:, row, k], edges)[0] for k in shown]
        base = -float(row)
        for place, (k, count, (colour, dashes)) in enumerate(
            zip(shown, counts, LIKELIEST, strict=True)
        ):
            heights = base + 0.85 * count / np.max(counts)
            if not place:
                ax.stairs(heights, edges, baseline=base, fill=True, facecolor=colour, alpha=0.2)
            ax.stairs(heights, edges, baseline=base, edgecolor=colour, linestyle=dashes, lw=1.5)
            ax.plot([], [], color=colour, linestyle=dashes, label=ORDER[place] if not row else None)
            ax.annotate(
                f"P({short(classes[k], 12)}) = {p[row, k]:.2f}",
                (1, base + 0.72 - 0.28 * place),
                (-4, 0),
                xycoords=("axes fraction", "data"),
                textcoords="offset points",
                ha="right",
                va="center",
                fontsize=8,
            )
    ax.set(xlim=(edges[0], edges[-1] + 0.4 * (edges[-1] - edges[0])))
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, fontsize=8, title="class")
    return _rows(ax, wanted, "latent fields u: the label is the class of the largest")


def _rows(ax: Any, wanted: NDArray[np.int64], said: str) -> Any:
    ax.set(
        ylim=(0.1 - wanted.size, 1),
        yticks=-np.arange(wanted.size) + 0.3,
        yticklabels=[f"node {node}" for node in wanted],
        xlabel=said,
    )
    ax.tick_params(axis="y", length=0)
    ax.spines[["left", "right", "top"]].set_visible(False)
    return ax
