"""Whether the chains tell the same story: trace and rank plots, through arviz.

arviz 0.x takes the axes to draw on, arviz 1.x a collection that holds them.
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

from graphuq import validation
from graphuq.diagnostics import split_rhat
from graphuq.export import arviz_module
from graphuq.plots.canvas import new_figure
from graphuq.plots.classes import short
from graphuq.posterior import Posterior

CHAIN_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7")
STYLES = ("-", "--", ":", "-.")


def traces(
    posterior: Posterior, *, modes: int = 3, nodes: int = 8, figure: Any = None
) -> NDArray[Any]:
    """Show the densities of each chain, and its draws in their order.

    Chains that agree have the same density and wander over the same range; trends, and stretches
    where nothing moves, are signs that draws are too few. Quantities are the log posterior
    density, the coefficients of the first modes, hyperparameters that were sampled and the field
    at traced nodes. With more than two classes, which have a field each, a mode or node is shown
    for the class whose chains agree least.

    Parameters
    ----------
    posterior : Posterior
    modes, nodes : int
        How many modes, and traced nodes, at most: the first.
    figure : matplotlib Figure or SubFigure, optional

    Returns
    -------
    ndarray of matplotlib.axes.Axes, shape (quantities, 2)
        Densities on the left, draws on the right.

    Raises
    ------
    TypeError
        An `ApproximatePosterior`, which has no draws.
    ValueError
        Fewer than four draws.

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
        with _old_habits():
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
            plot_collection=_collection(arviz, figure, data.expand_dims(column), panels),
        )
    for (left, right), name in zip(axes, names, strict=True):
        _tell_apart(left.lines)
        _tell_apart(right.lines, linewidth=0.7, alpha=0.6, linestyle="-")
        left.set(title="", xlabel="", ylabel=name, yticks=[])
        right.set(title="", xlabel="", ylabel="")
    axes[-1, 0].set_xlabel("value")
    axes[-1, 1].set_xlabel("draw")
    return axes


def ranks(
    posterior: Posterior, *, modes: int = 3, nodes: int = 8, figure: Any = None
) -> NDArray[Any]:
    """Show how the draws of each chain rank among those of all (Vehtari et al. 2021).

    Where chains agree, low and high ranks are equally frequent in each: with arviz 0.x its bars
    are about level; with arviz 1.x its line, the difference of its ranks' distribution from the
    uniform one, stays near 0.

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
        As `traces`; and a single chain.

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
        raise ValueError("ranks compare chains, and there is one only: sample with chains=4")
    names = [str(name) for name in data.data_vars]
    figure = new_figure(figure, 3.2 * len(names), 3)
    axes = figure.subplots(1, len(names), squeeze=False)[0]
    arviz = arviz_module()
    if arviz.__version__.startswith("0."):
        with _old_habits():
            arviz.plot_rank(data, kind="bars", ax=axes, colors="#56b4e9", show=False)
    else:
        panels = {name: xr.DataArray(ax) for name, ax in zip(names, axes, strict=True)}
        arviz.plot_rank(
            xr.DataTree.from_dict({"posterior": data}),
            plot_collection=_collection(arviz, figure, data, panels),
        )
        for ax in axes:
            _tell_apart(ax.lines)
            ax.axhline(0, color="0.5", linewidth=0.8)
    for ax, name in zip(axes, names, strict=True):
        ax.set(title=name, ylabel="")
        ax.set_xlabel("rank among all draws", fontsize="medium")
    return axes


def _quantities(posterior: Posterior, modes: int, nodes: int) -> xr.Dataset:
    """Return what is shown, each quantity a variable of its own."""
    if not isinstance(posterior, Posterior):
        raise TypeError(
            f"posterior must have draws, got {type(posterior).__name__}: make them with gq.sample"
        )
    validation.integer("modes", modes, 0)
    validation.integer("nodes", nodes, 0)
    if posterior.modes.shape[1] < 4:
        raise ValueError(
            f"{posterior.modes.shape[1]} draws are too few to show: sample with more draws"
        )
    first = posterior.settings["prior"]["rank"] + 1 - posterior.modes.shape[2]
    shown = {"log posterior": posterior.stats["lp"]}

    def add(name: str, traces: NDArray[np.float64]) -> None:
        if traces.ndim == 3:  # a field of each class
            worst = int(np.argmax(split_rhat(traces)))
            name, traces = (
                f"{name}, {short(posterior.labels.classes[worst], 12)}",
                traces[..., worst],
            )
        shown[name] = traces

    for k in range(min(modes, posterior.modes.shape[2])):
        add(f"mode {first + k}", posterior.modes[:, :, k])
    shown |= posterior.hyperparameters
    for k, node in enumerate(posterior.traced[:nodes]):
        add(f"node {node}", posterior.field[:, :, k])
    return xr.Dataset(
        {name: (("chain", "draw"), values) for name, values in shown.items()},
        {"chain": np.arange(posterior.modes.shape[0]), "draw": np.arange(posterior.modes.shape[1])},
    )


def _tell_apart(lines: Any, **style: Any) -> None:
    """Draw each chain's line in a colour and, where lines are few, a style of its own."""
    for line, colour, dashes in zip(lines, cycle(CHAIN_COLOURS), cycle(STYLES), strict=False):
        line.set(**{"color": colour, "linestyle": dashes, **style})


@contextmanager
def _old_habits() -> Iterator[None]:
    """Keep to ourselves that arviz 0.x calls what matplotlib is about to give up."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


def _collection(arviz: Any, figure: Any, data: xr.Dataset, panels: dict[str, Any]) -> Any:
    """Return arviz 1.x's view of axes that are there already."""
    viz = {"/": xr.Dataset({"figure": ((), figure)}), "plot": xr.Dataset(panels)}
    by_chain = {"color": ["chain"], "overlay": ["chain"]}
    return arviz.PlotCollection(
        data, xr.DataTree.from_dict(viz), aes=by_chain, backend="matplotlib"
    )
