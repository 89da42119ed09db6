"""Trace plots and rank plots of the chains, made by arviz.

arviz 0.x takes the axes to draw on; arviz 1.x takes a collection of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from graphuq.plots.canvas import new_figure
from graphuq.plots.class_colors import shorten
from graphuq.posterior.arviz_compat import arviz_module
from graphuq.posterior.assessment.diagnostics import split_rhat
from graphuq.posterior.posterior import Posterior
from graphuq.utils import validation

CHAIN_COLORS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7")
STYLES = ("-", "--", ":", "-.")


def traces(
    posterior: Posterior, *, modes: int = 3, nodes: int = 8, figure: Any = None
) -> NDArray[Any]:
    """Show the density and the trace of each chain.

    Chains that agree have the same density and cover the same range. Trends, and stretches where
    nothing moves, are signs of too few draws. The quantities are the log posterior density, the
    coefficients of the first modes, the sampled hyperparameters and the field at traced nodes. For
    K > 2 classes, with one field each, a mode or node is shown for the class whose chains agree
    least.

    Parameters
    ----------
    posterior : Posterior
    modes, nodes : int
        Maximum number of modes and of traced nodes.
    figure : matplotlib Figure or SubFigure, optional

    Returns
    -------
    ndarray of matplotlib.axes.Axes, shape (quantities, 2)
        Densities on the left, draws on the right.

    Raises
    ------
    TypeError
        The posterior has no draws, as that of `graphuq.approximate`.
    ValueError
        There are fewer than four draws.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(100, seed=0)
    >>> prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), rank=20)
    >>> labels = gq.reveal(y, counts=3, seed=0)
    >>> post = gq.sample(prior, gq.Probit(0.1), labels, nodes=[7], seed=0, progress=False)
    >>> gq.plots.traces(post).shape
    (5, 2)
    """
    data = _quantities(posterior, modes, nodes)
    names = [str(name) for name in data.data_vars]
    figure = new_figure(figure, 10, 1.6 * len(names) + 0.5)
    axes = figure.subplots(len(names), 2, squeeze=False)
    arviz = arviz_module()
    if arviz.__version__.startswith("0."):
        with _ignore_deprecations():
            arviz.plot_trace(data, axes=axes, compact=False, show=False)
    else:
        column = {"column": ["dist", "trace"]}
        panels = {
            name: xr.DataArray(row, column, ("column",))
            for name, row in zip(names, axes, strict=True)
        }
        arviz.plot_trace_dist(
            xr.DataTree.from_dict({"posterior": data}),
            compact=False,
            plot_collection=_plot_collection(arviz, figure, data.expand_dims(column), panels),
        )
    for (left, right), name in zip(axes, names, strict=True):
        _style_chains(left.lines)
        _style_chains(right.lines, linewidth=0.7, alpha=0.6, linestyle="-")
        left.set(title="", xlabel="", ylabel=name, yticks=[])
        right.set(title="", xlabel="", ylabel="")
    axes[-1, 0].set_xlabel("value")
    axes[-1, 1].set_xlabel("draw")
    return axes


def ranks(
    posterior: Posterior, *, modes: int = 3, nodes: int = 8, figure: Any = None
) -> NDArray[Any]:
    """Show the ranks of the draws of each chain among all draws (Vehtari et al. 2021).

    If the chains agree, all ranks are equally frequent in each chain. arviz 0.x shows bars, which
    are then about level; arviz 1.x shows the difference between the distribution of the ranks and
    the uniform one, which then stays near 0.

    Parameters
    ----------
    posterior, modes, nodes, figure
        See `traces`.

    Returns
    -------
    ndarray of matplotlib.axes.Axes, shape (quantities,)

    Raises
    ------
    TypeError, ValueError
        As for `traces`, or there is a single chain.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(100, seed=0)
    >>> prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), rank=20)
    >>> labels = gq.reveal(y, counts=3, seed=0)
    >>> post = gq.sample(prior, gq.Probit(0.1), labels, seed=0, progress=False)
    >>> gq.plots.ranks(post, modes=1).shape
    (2,)
    """
    data = _quantities(posterior, modes, nodes)
    if data.sizes["chain"] == 1:
        raise ValueError("ranks compare chains, but there is only one: sample with chains=4")
    names = [str(name) for name in data.data_vars]
    figure = new_figure(figure, 3.2 * len(names), 3)
    axes = figure.subplots(1, len(names), squeeze=False)[0]
    arviz = arviz_module()
    if arviz.__version__.startswith("0."):
        with _ignore_deprecations():
            arviz.plot_rank(data, kind="bars", ax=axes, colors="#56b4e9", show=False)
    else:
        panels = {name: xr.DataArray(ax) for name, ax in zip(names, axes, strict=True)}
        arviz.plot_rank(
            xr.DataTree.from_dict({"posterior": data}),
            plot_collection=_plot_collection(arviz, figure, data, panels),
        )
        for ax in axes:
            _style_chains(ax.lines)
            ax.axhline(0, color="0.5", linewidth=0.8)
    for ax, name in zip(axes, names, strict=True):
        ax.set(title=name, ylabel="")
        ax.set_xlabel("rank among all draws", fontsize="medium")
    return axes


def _quantities(posterior: Posterior, modes: int, nodes: int) -> xr.Dataset:
    """Return the quantities to show, one variable for each."""
    if not isinstance(posterior, Posterior) or not posterior.is_sampled:
        got = posterior if isinstance(posterior, Posterior) else type(posterior).__name__
        raise TypeError(f"posterior must have draws, got {got}: make them with gq.sample")
    found, (chains, draws) = posterior.draws, posterior.draws.shape
    validation.integer("modes", modes, 0)
    validation.integer("nodes", nodes, 0)
    if draws < 4:
        raise ValueError(
            f"expected at least 4 draws of each chain, got {draws}: sample with more draws"
        )
    first = posterior.settings["prior"]["rank"] + 1 - found.modes.shape[2]
    shown = {"log posterior": found.stats["lp"]}

    def add(name: str, traces: NDArray[np.float64]) -> None:
        if traces.ndim == 3:  # one field per class
            worst = int(np.argmax(split_rhat(traces)))
            name = f"{name}, {shorten(posterior.labels.classes[worst], 12)}"
            traces = traces[..., worst]
        shown[name] = traces

    for k in range(min(modes, found.modes.shape[2])):
        add(f"mode {first + k}", found.modes[:, :, k])
    shown |= found.hyperparameters
    for k, node in enumerate(found.traced[:nodes]):
        add(f"node {node}", found.field[:, :, k])
    return xr.Dataset(
        {name: (("chain", "draw"), values) for name, values in shown.items()},
        {"chain": np.arange(chains), "draw": np.arange(draws)},
    )


def _style_chains(lines: Any, **style: Any) -> None:
    """Give the line of each chain its own color and line style."""
    for line, color, dashes in zip(lines, cycle(CHAIN_COLORS), cycle(STYLES), strict=False):
        line.set(**{"color": color, "linestyle": dashes, **style})


@contextmanager
def _ignore_deprecations() -> Iterator[None]:
    """Ignore that arviz 0.x calls deprecated functions of matplotlib."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


def _plot_collection(arviz: Any, figure: Any, data: xr.Dataset, panels: dict[str, Any]) -> Any:
    """Return the collection through which arviz 1.x draws on existing axes."""
    viz = {"/": xr.Dataset({"figure": ((), figure)}), "plot": xr.Dataset(panels)}
    by_chain = {"color": ["chain"], "overlay": ["chain"]}
    return arviz.PlotCollection(
        data, xr.DataTree.from_dict(viz), aes=by_chain, backend="matplotlib"
    )
