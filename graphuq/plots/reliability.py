"""Reliability diagram: accuracy against confidence."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from graphuq.plots.canvas import RIGHT, WRONG, new_figure
from graphuq.posterior.assessment.calibration import Calibration


def reliability(calibration: Calibration, *, figure: Any = None) -> NDArray[Any]:
    """Show the accuracy of predictions against their confidence: a reliability diagram.

    Each point is a bin: the mean confidence of its items, and their accuracy with a 95% interval.
    The lower panel shows the number of items in each bin.

    Parameters
    ----------
    calibration : Calibration
    figure : matplotlib Figure or SubFigure, optional

    Returns
    -------
    ndarray of matplotlib.axes.Axes, shape (2,)
        The diagram and the counts.

    Raises
    ------
    TypeError
        ``calibration`` is not a `Calibration`.

    Examples
    --------
    >>> import numpy as np
    >>> import graphuq as gq
    >>> p = np.random.default_rng(0).random(500)
    >>> truth = np.random.default_rng(1).random(500) < p
    >>> result = gq.calibrate(np.column_stack([1 - p, p]), truth, classes=[False, True])
    >>> diagram, counts = gq.plots.reliability(result)
    """
    if not isinstance(calibration, Calibration):
        raise TypeError(
            "calibration must come from post.calibration(truth) or gq.calibrate, got "
            f"{type(calibration).__name__}"
        )
    # Leave out empty bins; begin at the smallest confidence that K classes allow.
    curve = calibration.curve
    bins = curve[curve["count"] > 0]
    start = curve["low"].iloc[0]
    bottom = min(start, bins["accuracy_low"].min())
    figure = new_figure(figure, 6, 6.5)
    axes = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    top, below = axes

    # Draw the accuracy of each bin, on or off the diagonal of perfect calibration.
    top.plot([start, 1], [start, 1], "--", color="0.4", label="perfect calibration")
    for side, color, marker, name in (
        (bins["accuracy"] >= bins["confidence"], RIGHT, "^", "underconfident"),
        (bins["accuracy"] < bins["confidence"], WRONG, "v", "overconfident"),
    ):
        some = {name: column.to_numpy() for name, column in bins[side].items()}
        top.vlines(some["confidence"], some["confidence"], some["accuracy"], color, lw=9, alpha=0.3)
        reach = [some["accuracy"] - some["accuracy_low"], some["accuracy_high"] - some["accuracy"]]
        top.errorbar(
            some["confidence"],
            some["accuracy"],
            reach,
            fmt=marker,
            color=color,
            capsize=3,
            label=name,
        )
    top.set(
        xlim=(start - 0.02, 1.02),
        ylim=(bottom - 0.03, 1.03),
        ylabel="accuracy: fraction of correct predictions",
    )
    top.legend(loc="best", fontsize=9)
    # Draw the number of items in each bin.
    below.bar(
        curve["low"], curve["count"], curve["high"] - curve["low"], align="edge", color="0.75",
        edgecolor="white",
    )  # fmt: skip
    below.set(
        xlabel="confidence: probability of the predicted class",
        ylabel=f"items ({curve['count'].sum()} in total)",
    )
    low, high = calibration.intervals["expected_calibration_error"]
    figure.suptitle(
        f"{calibration.accuracy:.1%} of predictions correct\nexpected calibration error "
        f"{calibration.expected_calibration_error:.3f} ({low:.3f} to {high:.3f})",
        fontsize=11,
    )
    return axes
