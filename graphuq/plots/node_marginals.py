"""Marginal posteriors of the latent field at some nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq.plots.canvas import escape, new_axes
from graphuq.plots.class_colors import shorten
from graphuq.plots.results import require_posterior
from graphuq.posterior.posterior import Posterior
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.utils import validation

# Number of bins on either side of 0.
BINS = 40

# Colors and line styles of the most probable classes, for K > 2.
LIKELIEST = (("#0072b2", "-"), ("#e69f00", "--"), ("#009e73", ":"))
ORDER = ("most probable", "second", "third")


def node_marginals(
    posterior: Posterior,
    prior: GaussianPrior,
    nodes: Any,
    *,
    seed: validation.Seed = 0,
    ax: Any = None,
) -> Any:
    """Show the marginal posterior of the latent field at some nodes, one above the other.

    Each row is a histogram of draws of u_i, and all rows have the same height. It is hatched below
    0, where the label is ``classes[0]``, and plain above, where it is ``classes[1]``. The
    probability of the latter is written on the right. (At the labeled nodes of an
    approximation, this probability is more accurate than the Gaussian of the histogram.)

    For K > 2 classes, a row shows the fields of the three most probable classes of the node, with
    their probabilities on the right, in the same order. The probability of a class is that of its
    field being the largest.

    Parameters
    ----------
    posterior : Posterior
    prior : Prior
        The prior of the posterior.
    nodes : array_like of int or of str
        Nodes, from top to bottom.
    seed : int, SeedSequence or Generator
        See `Posterior.latent_draws`.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TypeError
        A result that is not a posterior, such as `MapEstimate`.
    ValueError
        There are no nodes or unknown nodes, or the prior is another one.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(200, seed=0)
    >>> prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), rank=20)
    >>> quick = gq.approximate(prior, gq.Probit(0.1), gq.reveal(y, counts=4, seed=0))
    >>> ax = gq.plots.node_marginals(quick, prior, quick.ranking()[:5])
    """
    require_posterior(posterior)
    wanted = posterior.node_numbers(nodes)
    if not wanted.size:
        raise ValueError("nodes must name at least one node, such as posterior.ranking()[:5]")
    draws = np.concatenate(list(posterior.latent_draws(prior, wanted, seed=seed)))
    if draws.ndim == 3:
        return _draw_likeliest(posterior, wanted, draws, new_axes(ax))
    reach = 1.05 * abs(draws).max() or 1.0
    edges = reach * np.arange(-BINS, BINS + 1) / BINS
    low, high = map(escape, posterior.labels.classes)
    ax = new_axes(ax)
    # Draw one histogram per node, in two parts that meet at 0.
    for row, node in enumerate(wanted):
        counts = np.histogram(draws[:, row], edges)[0]
        heights, base = 0.85 * counts / counts.max(), -float(row)
        for part, color, hatch in (
            (slice(0, BINS), "#56b4e9", "////"),
            (slice(BINS, 2 * BINS), "#e69f00", None),
        ):
            ends = edges[part.start : part.stop + 1]
            ax.stairs(
                base + heights[part], ends, baseline=base, fill=True, facecolor=color,
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
    return _name_rows(ax, posterior, wanted, f"latent field u: {low} below 0, {high} above")


def _draw_likeliest(
    posterior: Posterior, wanted: NDArray[np.int64], draws: NDArray[np.float64], ax: Any
) -> Any:
    """Draw the fields of the most probable classes of each node, from draws (n, nodes, K)."""
    p, classes = posterior.by_class[wanted], posterior.labels.classes
    likeliest = np.argsort(-p, axis=1, kind="stable")[:, : len(LIKELIEST)]
    low, high = draws.min(), draws.max()
    edges = np.linspace(low, high if high > low else low + 1, 2 * BINS + 1)
    # Draw the histograms of the likeliest classes over each other, scaled to the same height.
    for row, shown in enumerate(likeliest):
        counts = [np.histogram(draws[:, row, k], edges)[0] for k in shown]
        base = -float(row)
        for place, (k, count, (color, dashes)) in enumerate(
            zip(shown, counts, LIKELIEST, strict=True)
        ):
            heights = base + 0.85 * count / np.max(counts)
            if not place:
                ax.stairs(heights, edges, baseline=base, fill=True, facecolor=color, alpha=0.2)
            ax.stairs(heights, edges, baseline=base, edgecolor=color, linestyle=dashes, lw=1.5)
            ax.plot([], [], color=color, linestyle=dashes, label=ORDER[place] if not row else None)
            ax.annotate(
                f"P({shorten(classes[k], 12)}) = {p[row, k]:.2f}",
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
    words = "latent fields u: the label is the class with the largest field"
    return _name_rows(ax, posterior, wanted, words)


def _name_rows(ax: Any, posterior: Posterior, wanted: NDArray[np.int64], xlabel: str) -> Any:
    names = posterior.names
    called = [f"node {k}" if names is None else shorten(names[k]) for k in wanted]
    ax.set(
        ylim=(0.1 - wanted.size, 1),
        yticks=-np.arange(wanted.size) + 0.3,
        yticklabels=called,
        xlabel=xlabel,
    )
    ax.tick_params(axis="y", length=0)
    ax.spines[["left", "right", "top"]].set_visible(False)
    return ax
