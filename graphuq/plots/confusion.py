"""The confusion matrix, expected and observed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq.plots.canvas import new_figure
from graphuq.plots.class_colors import shorten
from graphuq.plots.results import require_probabilities
from graphuq.posterior.predictions import Predictions
from graphuq.utils.typing import Array

# With more classes, the cells show no numbers.
MAX_NUMBERED = 12

# Smaller percentages leave their cell blank.
MIN_PERCENT = 0.05


def confusion(posterior: Predictions, truth: Any = None, *, figure: Any = None) -> NDArray[Any]:
    """Show the expected confusion matrix and, given the truth, the observed one beside it.

    Row a and column b of the expected matrix have the mean posterior probability of class b over
    the unlabeled nodes whose true class is a. The observed matrix has the fraction of these nodes
    that are predicted as b. If the expected matrix has more off its diagonal than the observed one,
    the posterior is underconfident. Without the truth, the rows are the predicted classes.

    Rows sum to 1. A class without nodes has a blank row, marked "(none)". Entries off the diagonal
    are colored on one scale from 0 to their maximum; the diagonal is gray. With at most 12 classes,
    the cells show percentages.

    Parameters
    ----------
    posterior : Posterior
        Or another result with probabilities: of ``with_class_shares``, of `map_estimate`, or a
        classifier with ``predict_proba``.
    truth : array_like, shape (N,), optional
        True classes. Classes that the labels do not have come last and have no column.
    figure : matplotlib Figure or SubFigure, optional

    Returns
    -------
    ndarray of matplotlib.axes.Axes, shape (2,), or (1,) without the truth

    Raises
    ------
    TypeError
        The result has no probabilities.
    ValueError
        The truth does not fit the posterior, or every node is labeled.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(200, seed=0)
    >>> graph = gq.knn_graph(X, n_neighbors=8, connect=True)
    >>> quick = gq.approximate(graph, gq.Probit(0.1), gq.reveal(y, counts=4, seed=0))
    >>> expected, observed = gq.plots.confusion(quick, y)
    >>> (predicted,) = gq.plots.confusion(quick)
    """
    by_class = require_probabilities(posterior)
    # Choose the rows, and the row of each unlabeled node.
    labels = posterior.labels
    classes = labels.classes
    if truth is None:
        hidden = np.setdiff1d(np.arange(posterior.n_nodes), labels.nodes)
        if hidden.size == 0:
            raise ValueError("every node is labeled: a confusion matrix needs some unlabeled nodes")
        rows, row_of = classes, posterior.prediction[hidden]
    else:
        hidden, row_of = labels.unlabelled_truth(truth, posterior.n_nodes, others=True)
        rows = np.concatenate([classes, np.setdiff1d(row_of, classes)])
    # Average probabilities, and predictions as 0 or 1, over the nodes of each row.
    expected = mean_by_class(by_class[hidden], row_of, rows)
    panels = [("expected: mean posterior probability, %", expected)]
    if truth is not None:
        hits = (posterior.prediction[hidden][:, None] == classes).astype(np.float64)
        panels.append(("observed: fraction of predictions, %", mean_by_class(hits, row_of, rows)))

    # Draw both matrices on one color scale.
    K = classes.size
    side = 1.8 + 0.42 * np.clip(K, 4, MAX_NUMBERED) if K <= 40 else 1.8 + 0.13 * K
    from matplotlib.ticker import PercentFormatter

    figure = new_figure(figure, 1 + side * len(panels), side + 0.7)
    axes = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    top = max(float(np.nan_to_num(m)[~_diagonal(m)].max()) for _, m in panels)
    for ax, (title, matrix) in zip(axes, panels, strict=True):
        image = _draw(ax, matrix, max(top, 1e-3))
        observed = title.startswith("observed")
        ax.set(title=title, xlabel="predicted class" if observed else "class")
        ax.set_xticks(range(classes.size))
        ax.title.set_fontsize(10)
        row_names = [
            shorten(name, 12) + " (none)" * bool(np.isnan(row).all())
            for name, row in zip(rows, matrix, strict=True)
        ]
        ax.set_yticks(range(rows.size), row_names, fontsize=_font(rows))
        ax.set_xticklabels([shorten(name, 12) for name in classes], fontsize=_font(rows))
        if max(len(str(name)) for name in classes) > 2:
            ax.tick_params(axis="x", rotation=90)
    axes[0].set_ylabel("predicted class" if truth is None else "true class")
    percent = PercentFormatter(1.0)
    figure.colorbar(image, ax=axes, label="off the diagonal", shrink=0.8, format=percent)
    return axes


def mean_by_class(values: Array, row_of: NDArray[Any], rows: NDArray[Any]) -> Array:
    """Return the mean of ``values`` (n, K) over the nodes of each row, NaN if it has none."""
    matrix = np.full((rows.size, values.shape[1]), np.nan)
    for k, name in enumerate(rows):
        if (row_of == name).any():
            matrix[k] = values[row_of == name].mean(axis=0)
    return matrix


def _diagonal(matrix: Array) -> NDArray[np.bool_]:
    return np.equal.outer(np.arange(len(matrix)), np.arange(matrix.shape[1]))


def _draw(ax: Any, matrix: Array, top: float) -> Any:
    """Draw a matrix; return the image of its entries off the diagonal."""
    diagonal = _diagonal(matrix)
    blank = np.isnan(matrix)
    ax.imshow(np.ma.array(matrix, mask=~diagonal | blank), cmap="Greys", vmin=0, vmax=2.5)
    image = ax.imshow(np.ma.array(matrix, mask=diagonal | blank), cmap="Oranges", vmin=0, vmax=top)
    if matrix.shape[1] <= MAX_NUMBERED:
        for (row, column), percent in np.ndenumerate(100 * np.nan_to_num(matrix)):
            if percent >= MIN_PERCENT:
                on_bright = diagonal[row, column] or percent < 60 * top
                ax.text(
                    column, row, f"{percent:.{int(percent < 9.95)}f}", ha="center",
                    va="center", fontsize=8, color="black" if on_bright else "white",
                )  # fmt: skip
    return image


def _font(names: NDArray[Any]) -> float:
    """Return the font size that lets all names fit side by side."""
    return float(np.clip(3 + 200 / names.size, 5, 9))
