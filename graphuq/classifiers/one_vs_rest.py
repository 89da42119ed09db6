"""Many classes by a method for two."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import label_binarize

from graphuq.labels import Labels

Array = NDArray[np.float64]


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
