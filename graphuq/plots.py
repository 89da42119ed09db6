"""Pictures; the only place that imports matplotlib."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq import validation
from graphuq.calibration import Calibration
from graphuq.posterior import Posterior
from graphuq.tuning import LINEAR, Tuning

# Settings whose labels are exp(-30) times as probable as under the one chosen are not shown.
NATS = 30


def hard_and_easy(
    posterior: Posterior,
    images: Any,
    truth: Any = None,
    *,
    count: int = 10,
    shape: tuple[int, int] | None = None,
) -> Any:
    """Show the most uncertain and the most certain images of each class, as the paper's Figure 4.

    Each picture carries its posterior mean s (-1 and +1 are certain, 0 is a coin's toss); a
    frame marks predictions that are wrong. Labelled nodes are left out.

    Parameters
    ----------
    posterior : Posterior
    images : array_like, shape (N, height * width)
        Grey levels.
    truth : array_like, shape (N,), optional
        True classes; rows are then the true classes, and wrong predictions are framed. Without
        it rows are the predicted classes.
    count : int
        Images a row.
    shape : (int, int), optional
        Height and width; square by default.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        Images or truth that do not fit the posterior.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.digit_pair(4, 9)
    >>> prior = gq.Prior.approximated(gq.knn_graph(X, n_neighbors=10), rank=30)
    >>> labels = gq.reveal(y, fraction=0.04, seed=0)
    >>> post = gq.sample(prior, gq.Probit(0.1), labels, draws=200, seed=0, progress=False)
    >>> figure = gq.plots.hard_and_easy(post, X, y, count=5)
    """
    from matplotlib.figure import Figure

    images = validation.features(images)
    validation.integer("count", count, 1)
    n = posterior.n_nodes
    if images.shape[0] != n:
        raise ValueError(f"images must have one row for each of {n} nodes, got {images.shape[0]}")
    if shape is None:
        side = round(images.shape[1] ** 0.5)
        shape = (side, side)
    if shape[0] * shape[1] != images.shape[1]:
        raise ValueError(
            f"images of {images.shape[1]} pixels do not have shape {shape}: give shape=(height, "
            "width)"
        )
    grouped_by = posterior.prediction if truth is None else np.asarray(truth)
    if grouped_by.shape != (n,):
        raise ValueError(f"truth must have shape ({n},), got {grouped_by.shape}")

    hidden = np.ones(n, dtype=bool)
    hidden[posterior.labels.nodes] = False
    rows: list[tuple[str, NDArray[np.int64]]] = []
    for value in posterior.labels.classes:
        order = posterior.ranking()
        order = order[hidden[order] & (grouped_by[order] == value)]
        rows += [(f"hard {value}", order[:count]), (f"easy {value}", order[::-1][:count])]

    figure = Figure(figsize=(0.9 * count + 1.2, 1.25 * len(rows) + 0.9), layout="constrained")
    grid = figure.subplots(len(rows), count, squeeze=False)
    for axes, (name, members) in zip(grid, rows, strict=True):
        for ax in axes:
            ax.set(xticks=[], yticks=[])
            ax.spines[:].set_visible(False)
        axes[0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize=11)
        for ax, node in zip(axes, members, strict=False):  # a class may have fewer
            ax.imshow(images[node].reshape(shape), cmap="gray_r", interpolation="nearest")
            ax.set_title(f"{posterior.mean[node]:+.2f}", fontsize=9, pad=3)
            if truth is not None and posterior.prediction[node] != grouped_by[node]:
                ax.spines[:].set(visible=True, linewidth=2.5, color="#d55e00")
    low, high = posterior.labels.classes
    figure.suptitle(
        f"Posterior mean label s: -1 is surely {low}, +1 surely {high}, 0 undecided"
        + ("" if truth is None else "; framed: predicted wrongly"),
        fontsize=11,
    )
    return figure


def reliability(calibration: Calibration) -> Any:
    """Show how often predictions of some confidence are right: a reliability diagram.

    Each point is a bin: the mean confidence of its items, and their accuracy with its 95%
    interval. Below stands how many items a bin has.

    Parameters
    ----------
    calibration : Calibration

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    TypeError
        What is no `Calibration`.

    Examples
    --------
    >>> import numpy as np
    >>> import graphuq as gq
    >>> p = np.random.default_rng(0).random(500)
    >>> truth = np.random.default_rng(1).random(500) < p
    >>> result = gq.calibrate(np.column_stack([1 - p, p]), truth, classes=[False, True])
    >>> figure = gq.plots.reliability(result)
    """
    from matplotlib.figure import Figure

    if not isinstance(calibration, Calibration):
        raise TypeError(
            "calibration must come from post.calibration(truth) or gq.calibrate, got "
            f"{type(calibration).__name__}"
        )
    curve = calibration.curve
    bins = curve[curve["count"] > 0]
    start = curve["low"].iloc[0]
    bottom = min(start, bins["accuracy_low"].min())
    figure = Figure(figsize=(6, 6.5), layout="constrained")
    top, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])

    top.plot([start, 1], [start, 1], "--", color="0.4", label="right as often as claimed")
    for side, colour, name in (
        (bins["accuracy"] >= bins["confidence"], "#0072b2", "more often: underconfident"),
        (bins["accuracy"] < bins["confidence"], "#d55e00", "less often: overconfident"),
    ):
        some = bins[side]
        top.vlines(
            some["confidence"], some["confidence"], some["accuracy"], colour, lw=9, alpha=0.3
        )
        reach = [some["accuracy"] - some["accuracy_low"], some["accuracy_high"] - some["accuracy"]]
        top.errorbar(
            some["confidence"],
            some["accuracy"],
            reach,
            fmt="o",
            color=colour,
            capsize=3,
            label=name,
        )
    top.set(
        xlim=(start - 0.02, 1.02),
        ylim=(bottom - 0.03, 1.03),
        ylabel="accuracy: share of predictions that are right",
    )
    top.legend(loc="best", fontsize=9)
    below.bar(
        curve["low"], curve["count"], curve["high"] - curve["low"], align="edge", color="0.75",
        edgecolor="white",
    )  # fmt: skip
    below.set(
        xlabel="confidence: probability of the predicted class", ylabel="items, of "
        f"{curve['count'].sum()}",
    )  # fmt: skip
    low, high = calibration.intervals["expected_calibration_error"]
    figure.suptitle(
        f"{calibration.accuracy:.1%} of predictions right; expected calibration error "
        f"{calibration.expected_calibration_error:.3f} ({low:.3f} to {high:.3f})",
        fontsize=11,
    )
    return figure


def tuning(found: Tuning) -> Any:
    """Show the evidence of all settings that `graphuq.tune` looked at, a panel a parameter.

    The upper edge of the points is the largest evidence that was seen with each value; the ring is
    what was chosen, by the evidence and a weak prior on alpha. Settings more than 30 nats below,
    or without convergence, are left out.

    Parameters
    ----------
    found : Tuning

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    TypeError
        What is no `Tuning`.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(200, seed=0)
    >>> graph = gq.knn_graph(X, n_neighbors=8, connect=True)
    >>> found = gq.tune(gq.Spectrum.of(graph, rank=50), gq.reveal(y, counts=10, seed=0))
    >>> figure = gq.plots.tuning(found)
    """
    from matplotlib.figure import Figure

    if not isinstance(found, Tuning):
        raise TypeError(f"tuning must come from gq.tune, got {type(found).__name__}")
    best = float(found.log_evidence)
    seen = found.table[found.table["log_evidence"] > best - NATS]
    names = list(found.ranges)
    figure = Figure(figsize=(1.2 + 3.2 * len(names), 3.6), layout="constrained")
    axes = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    for ax, name in zip(axes, names, strict=True):
        ax.plot(seen[name], seen["log_evidence"], "o", color="#0072b2", ms=4, alpha=0.5)
        value = found.chosen[name]
        ax.plot([value], [best], "o", mfc="none", mec="#d55e00", mew=2, ms=11)
        ax.set(
            title=f"{name} = {value:.3g}", xlabel=name, xlim=found.ranges[name],
            xscale="linear" if name in LINEAR else "log",
        )  # fmt: skip
    axes[0].set_ylabel("log evidence: log probability of the labels")
    shown = f"{len(seen)} of {len(found.table)} settings"
    figure.suptitle(f"{shown}; ringed: what was chosen, with {best:.2f}", fontsize=11)
    return figure
