"""The Laplacian's eigenvalues, and where the prior cuts them off."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphuq.plots.canvas import RIGHT, WRONG, new_axes
from graphuq.prior import Prior
from graphuq.spectrum import Spectrum


def spectrum(prior: Prior, beyond: Spectrum | None = None, *, ax: Any = None) -> Any:
    """Show the eigenvalues that a prior keeps, and where it truncates them.

    A gap after the first few says how many clusters the graph has; a rank far beyond it lets the
    field vary within clusters. The dashed line is the truncation. Beyond it a projected prior has
    nothing; an approximated one gives all modes the same eigenvalue, the horizontal line.

    Parameters
    ----------
    prior : Prior
    beyond : Spectrum, optional
        Of more modes, to show those that are left out too.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TypeError
        What is no prior.
    ValueError
        A spectrum of other nodes, or of no more modes.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, _ = gq.datasets.two_moons(200, seed=0)
    >>> whole = gq.Spectrum.of(gq.knn_graph(X, n_neighbors=8, connect=True))
    >>> ax = gq.plots.spectrum(gq.Prior.approximated(whole, rank=30), whole)
    """
    if not isinstance(prior, Prior):
        raise TypeError(f"prior must be a gq.Prior, got {type(prior).__name__}")
    n, rank, values = prior.n_nodes, prior.rank, prior.spectrum.values
    if beyond is not None and (beyond.n_nodes != n or beyond.rank <= rank):
        raise ValueError(
            f"beyond must hold more than {rank} modes of {n} nodes, got {beyond.rank} of "
            f"{beyond.n_nodes}: compute more with gq.Spectrum.of(graph, rank)"
        )
    ax = new_axes(ax)
    ax.plot(np.arange(1, rank + 1), values, "o", ms=4, color=RIGHT, label=f"kept: {rank}")
    if prior.null_mode:
        ax.plot([0], [0], "s", ms=5, color=RIGHT, label="$q_0$, kept too")
    last = min(n - 1, max(rank + 2, round(1.25 * rank)))
    if beyond is not None:
        last = beyond.rank
        more = np.arange(rank + 1, last + 1)
        ax.plot(more, beyond.values[rank:], "o", ms=4, mfc="none", mec="0.5", label="left out")
    if rank < n - 1:
        ax.axvline(rank + 0.5, linestyle="--", color="black", label=f"truncated at {rank}")
        if prior.kind == "approximated":
            shared = values[-1] if prior.lambda_bar is None else prior.lambda_bar
            ax.plot(
                [rank + 0.5, last + 0.5], [shared, shared], color=WRONG, linewidth=3,
                label=f"taken for {n - 1 - rank} more",
            )  # fmt: skip
    ax.set(
        xlabel="mode k",
        ylabel=r"eigenvalue $\lambda_k$ of the Laplacian",
        ylim=(0, None),
        xlim=(None, last + 1.5),
    )
    ax.legend(loc="best", fontsize=9)
    return ax
