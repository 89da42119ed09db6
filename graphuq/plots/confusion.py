"""Which classes are taken for which, and how surely."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq.node_posterior import NodePosterior
from graphuq.plots.canvas import new_figure
from graphuq.plots.classes import short

Array = NDArray[np.float64]

# Up to so many classes shares stand in the cells, in per cent.
MOST_NUMBERS = 12

# Shares below this, in per cent, leave their cell blank.
LEAST = 0.05


def confusion(posterior: NodePosterior, truth: Any = None, *, figure: Any = None) -> NDArray[Any]:
    """Show how probable each class is at nodes of each class, and which were predicted.

    With the truth, on the left, the expected confusion: in row a and column b the mean posterior
    probability of class b over the unlabelled nodes whose true class is a; on the right the counted
    one, the share of these nodes that is predicted to be of b. Where the left has more off its
    diagonal than the right, the posterior doubts more than it errs. Without the truth rows are the
    predicted classes: how probable each other class is where a is predicted.

    Rows sum to 1; where a class has no nodes, its row is blank and says so. Colours are of what
    lies off the diagonal, on one scale from 0 to the largest; the diagonal is grey. Up to 12
    classes the shares stand there in per cent.

    Parameters
    ----------
    posterior : Posterior or ApproximatePosterior
    truth : array_like, shape (N,), optional
        True classes. Those that the labels do not have come last, as rows alone.
    figure : matplotlib Figure or SubFigure, optional

    Returns
    -------
    ndarray of matplotlib.axes.Axes, shape (2,), or (1,) without the truth

    Raises
    ------
    ValueError
        A truth that does not fit the posterior; every node labelled.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(200, seed=0)
    >>> graph = gq.knn_graph(X, n_neighbors=8, connect=True)
    >>> quick = gq.approximate(graph, gq.Probit(0.1), gq.reveal(y, counts=4, seed=0))
    >>> expected, counted = gq.plots.confusion(quick, y)
    >>> (predicted,) = gq.plots.confusion(quick)
    """
    labels = posterior.labels
    classes = labels.classes
    if truth is None:
        hidden = np.setdiff1d(np.arange(posterior.n_nodes), labels.nodes)
        if hidden.size == 0:
            raise ValueError("every node is labelled: there is nothing to confuse")
        rows, of = classes, posterior.prediction[hidden]
    else:
        hidden, of = labels.unlabelled_truth(truth, posterior.n_nodes)
        rows = np.concatenate([classes, np.setdiff1d(of, classes)])
    expected = shares(posterior.by_class[hidden], of, rows)
    panels = [("expected: mean posterior probability, %", expected)]
    if truth is not None:
        hits = (posterior.prediction[hidden][:, None] == classes).astype(np.float64)
        panels.append(("counted: share of predictions, %", shares(hits, of, rows)))

    K = classes.size
    side = 1.8 + 0.42 * np.clip(K, 4, MOST_NUMBERS) if K <= 40 else 1.8 + 0.13 * K
    from matplotlib.ticker import PercentFormatter

    figure = new_figure(figure, 1 + side * len(panels), side + 0.7)
    axes = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    top = max(float(np.nan_to_num(m)[~_diagonal(m)].max()) for _, m in panels)
    for ax, (title, matrix) in zip(axes, panels, strict=True):
        drawn = _draw(ax, matrix, max(top, 1e-3))
        counted = title.startswith("counted")
        ax.set(title=title, xlabel="predicted class" if counted else "class")
        ax.set_xticks(range(classes.size))
        ax.title.set_fontsize(10)
        told = [
            short(name, 12) + " (none)" * bool(np.isnan(row).all())
            for name, row in zip(rows, matrix, strict=True)
        ]
        ax.set_yticks(range(rows.size), told, fontsize=_font(rows))
        ax.set_xticklabels([short(name, 12) for name in classes], fontsize=_font(rows))
        if max(len(str(name)) for name in classes) > 2:
            ax.tick_params(axis="x", rotation=90)
    axes[0].set_ylabel("predicted class" if truth is None else "true class")
    percent = PercentFormatter(1.0)
    figure.colorbar(drawn, ax=axes, label="off the diagonal", shrink=0.8, format=percent)
    return axes


def shares(each: Array, of: NDArray[Any], rows: NDArray[Any]) -> Array:
    """Return the mean of ``each`` (n, K) over the nodes ``of`` each row's class, else NaN."""
    matrix = np.full((rows.size, each.shape[1]), np.nan)
    for k, name in enumerate(rows):
        if (of == name).any():
            matrix[k] = each[of == name].mean(axis=0)
    return matrix


def _diagonal(matrix: Array) -> NDArray[np.bool_]:
    return np.equal.outer(np.arange(len(matrix)), np.arange(matrix.shape[1]))


def _draw(ax: Any, matrix: Array, top: float) -> Any:
    """Draw a matrix, coloured off its diagonal; return what was coloured."""
    diagonal = _diagonal(matrix)
    blank = np.isnan(matrix)
    ax.imshow(np.ma.array(matrix, mask=~diagonal | blank), cmap="Greys", vmin=0, vmax=2.5)
    drawn = ax.imshow(np.ma.array(matrix, mask=diagonal | blank), cmap="Oranges", vmin=0, vmax=top)
    if matrix.shape[1] <= MOST_NUMBERS:
        for (row, column), share in np.ndenumerate(100 * np.nan_to_num(matrix)):
            if share >= LEAST:
                bright = diagonal[row, column] or share < 60 * top
                ax.text(
                    column, row, f"{share:.1f}" if share < 9.95 else f"{share:.0f}", ha="center",
                    va="center", fontsize=8, color="black" if bright else "white",
                )  # fmt: skip
    return drawn


def _font(names: NDArray[Any]) -> float:
    """Return the size in which so many names can stand side by side."""
    return float(np.clip(3 + 200 / names.size, 5, 9))
