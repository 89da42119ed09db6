"""The evidence of the settings that were tried."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from graphuq.inference.tune import Tuning
from graphuq.plots.canvas import RIGHT, WRONG, new_figure
from graphuq.priors.hyperprior import LINEAR

# Settings whose log evidence is lower than the best by more than this are not shown.
MAX_NATS = 30


def tuning(found: Tuning, *, figure: Any = None) -> NDArray[Any]:
    """Show the evidence of all settings that `graphuq.tune` tried, one panel per parameter.

    The upper edge of the points is the largest evidence found at each value. The circle is the
    chosen setting, which maximizes the evidence times a weak prior. Settings more than 30 nats
    below it, and settings without convergence, are left out.

    Parameters
    ----------
    found : Tuning
    figure : matplotlib Figure or SubFigure, optional

    Returns
    -------
    ndarray of matplotlib.axes.Axes, shape (parameters,)

    Raises
    ------
    TypeError
        ``found`` is not a `Tuning`.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(200, seed=0)
    >>> graph = gq.knn_graph(X, n_neighbors=8, connect=True)
    >>> found = gq.tune(gq.Spectrum.of(graph, rank=50), gq.reveal(y, counts=10, seed=0))
    >>> axes = gq.plots.tuning(found)
    """
    if not isinstance(found, Tuning):
        raise TypeError(f"tuning must come from gq.tune, got {type(found).__name__}: call gq.tune")
    best = float(found.log_evidence)
    seen = found.table[found.table["log_evidence"] > best - MAX_NATS]
    names = list(found.ranges)
    figure = new_figure(figure, 1.2 + 3.2 * len(names), 3.6)
    axes = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    for ax, name in zip(axes, names, strict=True):
        ax.plot(seen[name], seen["log_evidence"], "o", color=RIGHT, ms=4, alpha=0.5)
        value = found.chosen[name]
        ax.plot([value], [best], "o", mfc="none", mec=WRONG, mew=2, ms=11)
        ax.set(
            title=f"{name} = {value:.3g}", xlabel=name, xlim=found.ranges[name],
            xscale="linear" if name in LINEAR else "log",
        )  # fmt: skip
    axes[0].set_ylabel("log evidence: log probability of the labels")
    shown = f"{len(seen)} of {len(found.table)} settings"
    figure.suptitle(f"{shown}; circled: chosen, log evidence {best:.2f}", fontsize=11)
    return axes
