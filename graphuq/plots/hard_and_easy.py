"""The hard and easy images of each class: Figure 4 of the paper."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq.plots.canvas import WRONG, escape, new_figure
from graphuq.plots.class_colors import shorten
from graphuq.plots.results import require_posterior
from graphuq.posterior.posterior import Posterior
from graphuq.utils import validation
from graphuq.utils.features import check_images


def hard_and_easy(
    posterior: Posterior,
    images: Any,
    truth: Any = None,
    *,
    count: int = 10,
    shape: tuple[int, int] | None = None,
    figure: Any = None,
) -> NDArray[Any]:
    """Show the most uncertain and the most certain images of each class, as Figure 4 of the paper.

    Images are ordered by their entropy. The paper orders those of a true class by s, so that its
    hardest may be wrong and certain.

    The title of an image is its posterior mean s: -1 and +1 are certain, 0 is 50/50. A frame marks
    a wrong prediction. Labeled nodes are left out.

    For K > 2 classes, each class has one row, with hard images on the left and easy ones on the
    right. The title of an image is its two most probable classes and their probabilities in
    percent.

    Parameters
    ----------
    posterior : Posterior
    images : array_like, shape (N, height * width)
        Gray levels.
    truth : array_like, shape (N,), optional
        True classes: the rows are the true classes, and wrong predictions are framed. Without
        them, the rows are the predicted classes.
    count : int
        Number of hard images, and of easy images, per class.
    shape : (int, int), optional
        Height and width; square by default.
    figure : matplotlib Figure or SubFigure, optional

    Returns
    -------
    ndarray of matplotlib.axes.Axes, shape (4, count), or (K, 2 count) for K > 2 classes
        Rows are hard and easy images of the first class, then of the second.

    Raises
    ------
    TypeError
        A result that is not a posterior, such as `MapEstimate`.
    ValueError
        The images or the truth do not fit the posterior.

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
    require_posterior(posterior)
    n = posterior.n_nodes
    images = check_images(images, n, shape)
    validation.integer("count", count, 1)
    grouped_by = posterior.prediction if truth is None else np.asarray(truth)
    if grouped_by.shape != (n,):
        raise ValueError(
            f"truth must have shape ({n},), got {grouped_by.shape}: give one class per node"
        )

    # Choose the nodes of each row: the first and the last unlabeled ones of the ranking.
    hidden = np.ones(n, dtype=bool)
    hidden[posterior.labels.nodes] = False
    classes, ranking = posterior.labels.classes, posterior.ranking()
    many = classes.size > 2
    titles = _two_likeliest(posterior) if many else [f"{s:+.2f}" for s in posterior.mean]
    rows: list[tuple[str, list[NDArray[np.int64]]]] = []
    for value in classes:
        order = ranking[hidden[ranking] & (grouped_by[ranking] == value)]
        hard, easy, name = order[:count], order[::-1][:count], escape(value)
        rows += (
            [(name, [hard, easy])] if many else [(f"hard {name}", [hard]), (f"easy {name}", [easy])]
        )

    # Draw the images, titled by their probabilities, and frame wrong predictions.
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
        title = "Two most probable classes, in percent\nHard images on the left, easy on the right"
    else:
        low, high = map(escape, classes)
        title = f"Posterior mean s: -1 certainly {low}, +1 certainly {high}, 0 is 50/50"
    figure.suptitle(title + ("" if truth is None else "\nFramed: wrong prediction"), fontsize=11)
    return grid


def _two_likeliest(posterior: Posterior) -> list[str]:
    """Return a title for each node: its two most probable classes, one per line."""
    p, classes = posterior.by_class, posterior.labels.classes
    likeliest = np.argsort(-p, axis=1, kind="stable")[:, :2]
    return [
        "\n".join(f"{shorten(classes[k], 9)} {100 * p[node, k]:.0f}" for k in two)
        for node, two in enumerate(likeliest)
    ]
