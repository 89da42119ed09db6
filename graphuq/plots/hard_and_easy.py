"""Which images are hard, and which easy: the paper's Figure 4."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq import validation
from graphuq.node_posterior import NodePosterior
from graphuq.plots.canvas import WRONG, new_figure, plain
from graphuq.plots.classes import short


def hard_and_easy(
    posterior: NodePosterior,
    images: Any,
    truth: Any = None,
    *,
    count: int = 10,
    shape: tuple[int, int] | None = None,
    figure: Any = None,
) -> NDArray[Any]:
    """Show the most uncertain and the most certain images of each class, as the paper's Figure 4.

    Each picture carries its posterior mean s (-1 and +1 are certain, 0 is a coin's toss); a
    frame marks predictions that are wrong. Labelled nodes are left out.

    With more than two classes there is a row for each, the hard ones on the left and the easy ones
    on the right, and pictures carry their two likeliest classes, with their probabilities in per
    cent.

    Parameters
    ----------
    posterior : Posterior or ApproximatePosterior
    images : array_like, shape (N, height * width)
        Grey levels.
    truth : array_like, shape (N,), optional
        True classes; rows are then the true classes, and wrong predictions are framed. Without
        it rows are the predicted classes.
    count : int
        How many hard ones, and easy ones, of each class.
    shape : (int, int), optional
        Height and width; square by default.
    figure : matplotlib Figure or SubFigure, optional

    Returns
    -------
    ndarray of matplotlib.axes.Axes, shape (4, count), or (K, 2 count) of K > 2 classes
        Rows are hard and easy items of the first class, then of the second.

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
    >>> axes = gq.plots.hard_and_easy(post, X, y, count=5)
    >>> axes.shape
    (4, 5)
    """
    n = posterior.n_nodes
    images = validation.images(images, n, shape)
    validation.integer("count", count, 1)
    grouped_by = posterior.prediction if truth is None else np.asarray(truth)
    if grouped_by.shape != (n,):
        raise ValueError(f"truth must have shape ({n},), got {grouped_by.shape}")

    hidden = np.ones(n, dtype=bool)
    hidden[posterior.labels.nodes] = False
    classes, ranking = posterior.labels.classes, posterior.ranking()
    many = classes.size > 2
    titles = _two_likeliest(posterior) if many else [f"{s:+.2f}" for s in posterior.mean]
    rows: list[tuple[str, list[NDArray[np.int64]]]] = []
    for value in classes:
        order = ranking[hidden[ranking] & (grouped_by[ranking] == value)]
        hard, easy, name = order[:count], order[::-1][:count], plain(value)
        rows += (
            [(name, [hard, easy])] if many else [(f"hard {name}", [hard]), (f"easy {name}", [easy])]
        )

    wide = count * (1 + many)
    figure = new_figure(figure, 0.9 * wide + 1.2, (1.25 + 0.15 * many) * len(rows) + 0.9)
    grid = figure.subplots(len(rows), wide, squeeze=False)
    for axes, (name, parts) in zip(grid, rows, strict=True):
        for ax in axes:
            ax.set(xticks=[], yticks=[])
            ax.spines[:].set_visible(False)
        axes[0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize=11)
        for start, members in zip((0, count), parts, strict=False):
            for ax, node in zip(axes[start:], members, strict=False):  # a class may have fewer
                ax.imshow(images[node], cmap="gray_r", interpolation="nearest")
                ax.set_title(titles[node], fontsize=8 if many else 9, pad=3)
                if truth is not None and posterior.prediction[node] != grouped_by[node]:
                    ax.spines[:].set(visible=True, linewidth=2.5, color=WRONG)
    if many:
        said = "The two likeliest classes, in per cent; hard items on the left, easy on the right"
    else:
        low, high = map(plain, classes)
        said = f"Posterior mean label s: -1 is surely {low}, +1 surely {high}, 0 undecided"
    figure.suptitle(said + ("" if truth is None else "; framed: predicted wrongly"), fontsize=11)
    return grid


def _two_likeliest(posterior: NodePosterior) -> list[str]:
    """Return a line for each of a node's two likeliest classes."""
    p, classes = posterior.by_class, posterior.labels.classes
    likeliest = np.argsort(-p, axis=1, kind="stable")[:, :2]
    return [
        "\n".join(f"{short(classes[k], 9)} {100 * p[node, k]:.0f}" for k in two)
        for node, two in enumerate(likeliest)
    ]
