"""Which of the given labels are likely to be wrong."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphuq.labels import Labels

Array = NDArray[np.float64]


def suspects(
    labels: Labels, probabilities: Array, latent_mean: Array
) -> tuple[NDArray[np.int64], Array]:
    """Return the order of labels, likely wrong ones first, and how probably each is wrong.

    Where probabilities tie, fields that speak more against the label come first: by how little its
    own is ahead of the largest of the others.

    Parameters
    ----------
    labels : Labels
    probabilities : ndarray, shape (N, K)
    latent_mean : ndarray, shape (N,) or (N, K)

    Examples
    --------
    >>> labels = Labels([0, 1, 2], ["cat", "cow", "dog"])
    >>> p = np.array([[0.25, 0.75, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> order, wrong = suspects(labels, p, latent_mean=np.array([[0, 2, 1], [0, 5, 0], [0, 0, 1]]))
    >>> order, wrong
    (array([0, 2, 1]), array([0.75, 0.  , 0.  ]))
    """
    labelled, own = np.arange(len(labels)), labels.indices
    others = np.array(probabilities[labels.nodes])
    others[labelled, own] = 0.0
    wrong = others.sum(axis=1)
    fields = np.array(latent_mean[labels.nodes], dtype=np.float64)
    if fields.ndim == 1:  # a positive field speaks for the second of two classes
        fields = np.column_stack([-fields, fields]) / 2
    ahead = fields[labelled, own].copy()
    fields[labelled, own] = -np.inf
    ahead -= fields.max(axis=1)
    return np.lexsort((ahead, -wrong)), wrong
