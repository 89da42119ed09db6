"""The eigenvalues of the Laplacian, and where the prior truncates them."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphuq.graphs.spectrum import Spectrum
from graphuq.plots.canvas import RIGHT, WRONG, new_axes
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.priors.prior import Prior


def spectrum(prior: Prior, beyond: Spectrum | None = None, *, ax: Any = None) -> Any:
    """Show the eigenvalues that a prior keeps, and where it truncates them.

    A gap after the first few eigenvalues shows the number of clusters of the graph. A rank far
    above this number lets the field vary within clusters. The dashed line is the truncation.
    Beyond it, a projected prior has no modes; an approximated prior gives all modes the same
    eigenvalue, the horizontal line.

    Parameters
    ----------
    prior : Prior
    beyond : Spectrum, optional
        A spectrum with more modes, to show the eigenvalues beyond the truncation.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TypeError
        ``prior`` is not a `Prior`.
    ValueError
        ``beyond`` has other nodes, or not more modes than the prior.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, _ = gq.datasets.two_moons(200, seed=0)
    >>> whole = gq.Spectrum.of(gq.knn_graph(X, n_neighbors=8, connect=True))
    >>> ax = gq.plots.spectrum(gq.Prior.approximated(whole, rank=30), whole)
    """
    if isinstance(prior, GaussianPrior):
        prior = prior.graph_part
    if not isinstance(prior, Prior):
        raise TypeError(
            f"prior must be a gq.Prior, got {type(prior).__name__}: make one, for example with "
            "gq.Prior.projected"
        )
    n, rank, values = prior.n_nodes, prior.rank, prior.spectrum.values
    if beyond is not None and (beyond.n_nodes != n or beyond.rank <= rank):
        raise ValueError(
            f"beyond must have more than {rank} modes of {n} nodes, got {beyond.rank} modes of "
            f"{beyond.n_nodes} nodes: compute more with gq.Spectrum.of(graph, rank)"
        )
    # Draw the eigenvalues that the prior keeps, and those beyond.
    ax = new_axes(ax)
    ax.plot(np.arange(1, rank + 1), values, "o", ms=4, color=RIGHT, label=f"kept: {rank}")
    if prior.null_mode:
        ax.plot([0], [0], "s", ms=5, color=RIGHT, label="$q_0$, also kept")
    last = min(n - 1, max(rank + 2, round(1.25 * rank)))
    if beyond is not None:
        last = beyond.rank
        more = np.arange(rank + 1, last + 1)
        ax.plot(more, beyond.values[rank:], "o", ms=4, mfc="none", mec="0.5", label="not kept")
    # Draw the truncation, and the eigenvalue that all other modes share.
    if rank < n - 1:
        ax.axvline(rank + 0.5, linestyle="--", color="black", label=f"truncated at {rank}")
        if prior.kind == "approximated":
            shared = values[-1] if prior.lambda_bar is None else prior.lambda_bar
            ax.plot(
                [rank + 0.5, last + 0.5], [shared, shared], color=WRONG, linewidth=3,
                label=f"shared by {n - 1 - rank} more",
            )  # fmt: skip
    ax.set(
        xlabel="mode k",
        ylabel=r"eigenvalue $\lambda_k$ of the Laplacian",
        ylim=(0, None),
        xlim=(None, last + 1.5),
    )
    ax.legend(loc="best", fontsize=9)
    return ax
