"""Many classes by a method for two."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import label_binarize

from graphuq.labels import Labels

Array = NDArray[np.float64]


def require_labels_of_each(labels: Labels, method: str) -> None:
    """Refuse a class without labels, which has nothing to stand against the rest."""
    bare = np.setdiff1d(labels.classes, labels.values)
    if bare.size:
        raise ValueError(
            f"{method} sets each class against the rest, and no label is of {bare.tolist()[0]!r}: "
            "label a node of it, or do not list it, classes=[...]"
        )


def one_vs_rest(labels: Labels, regress: Callable[[Array], Array]) -> Array:
    """Return the scores of each class against all others.

    Parameters
    ----------
    labels : Labels
    regress : callable
        Takes targets c, shape (J, m): +1 where a labelled node is of the class and -1 where not;
        returns f, shape (n, m). It is asked for one column where there are two classes.

    Returns
    -------
    ndarray, shape (n, K)
    """
    K = labels.classes.size
    c = label_binarize(labels.indices, classes=np.arange(K), neg_label=-1)
    f = regress(c.astype(np.float64))
    return np.hstack([-f, f]) if K == 2 else f
