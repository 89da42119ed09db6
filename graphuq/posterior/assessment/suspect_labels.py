"""The given labels that are likely to be wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from graphuq.labels.labels import Labels
from graphuq.posterior.predictions import most_probable
from graphuq.utils.typing import Array

if TYPE_CHECKING:
    import pandas as pd


def probability_wrong(labels: Labels, probabilities: Array) -> Array:
    """Return the probability that the class of each labeled node is not its label, shape (J,)."""
    others = np.array(probabilities[labels.nodes])
    others[np.arange(len(labels)), labels.indices] = 0.0
    return np.asarray(others.sum(axis=1))


def rank_suspects(
    labels: Labels, probabilities: Array, latent_mean: Array, mistake: Array | None = None
) -> tuple[NDArray[np.int64], Array]:
    """Return the order of labels, the likely wrong ones first, and how probably each is wrong.

    Where mistakes can be, their probability comes first. Where probabilities tie, fields that
    contradict the label more come first: those where its own field is least ahead of the largest of
    the others.

    Parameters
    ----------
    labels : Labels
    probabilities : ndarray, shape (N, K)
    latent_mean : ndarray, shape (N,) or (N, K)
    mistake : ndarray, shape (J,), optional
        Probability that a label is a mistake.

    Examples
    --------
    >>> labels = Labels([0, 1, 2], ["cat", "cow", "dog"])
    >>> p = np.array([[0.25, 0.75, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> fields = np.array([[0, 2, 1], [0, 5, 0], [0, 0, 1]])
    >>> order, wrong = rank_suspects(labels, p, latent_mean=fields)
    >>> order, wrong
    (array([0, 2, 1]), array([0.75, 0.  , 0.  ]))
    """
    labeled, own = np.arange(len(labels)), labels.indices
    wrong = probability_wrong(labels, probabilities)
    fields = np.array(latent_mean[labels.nodes], dtype=np.float64)
    if fields.ndim == 1:  # a positive field is evidence for the second of two classes
        fields = np.column_stack([-fields, fields]) / 2
    ahead = fields[labeled, own].copy()
    fields[labeled, own] = -np.inf
    ahead -= fields.max(axis=1)
    first = np.zeros(wrong.size) if mistake is None else -mistake
    return np.lexsort((ahead, -wrong, first)), wrong


def tabulate_suspects(
    labels: Labels, probabilities: Array, latent_mean: Array, mistake: Array, overlap: Array
) -> pd.DataFrame:
    """Return the table of `Posterior.suspect_labels`.

    The probabilities ``mistake`` and ``overlap`` are NaN where they are not known.
    """
    import pandas as pd

    known = mistake if np.isfinite(mistake).all() else None
    order, wrong = rank_suspects(labels, probabilities, latent_mean, known)
    likelier = labels.classes[most_probable(probabilities[labels.nodes])]
    return pd.DataFrame(
        {
            "node": labels.nodes[order],
            "label": labels.values[order],
            "likelier": likelier[order],
            "probability_wrong": wrong[order],
            "probability_mistake": mistake[order],
            "probability_overlap": overlap[order],
            "suspect": (likelier != labels.values)[order],
        }
    )
