"""Reduce K classes to two: one against the rest."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.preprocessing import label_binarize

from graphuq.labels.labels import Labels
from graphuq.utils.typing import Array


def require_labels_of_each(labels: Labels, method: str) -> None:
    """Raise ValueError if a class has no labels: it cannot be fitted against the rest."""
    bare = np.setdiff1d(labels.classes, labels.values)
    if bare.size:
        raise ValueError(
            f"{method} needs labels of each class, and class {bare.tolist()[0]!r} has none: label "
            "a node of this class, or leave it out of the list classes=[...]"
        )


def one_vs_rest(labels: Labels, regress: Callable[[Array], Array]) -> Array:
    """Return the scores of each class against all others.

    Parameters
    ----------
    labels : Labels
    regress : callable
        Takes targets c, shape (J, m): +1 for labeled nodes of the class, -1 for others. Returns f,
        shape (n, m). For two classes m = 1.

    Returns
    -------
    ndarray, shape (n, K)
    """
    K = labels.classes.size
    c = label_binarize(labels.indices, classes=np.arange(K), neg_label=-1)
    f = regress(c.astype(np.float64))
    return np.hstack([-f, f]) if K == 2 else f
