"""The given labels that are likely to be wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphuq.labels.labels import Labels
from graphuq.posterior.predictions import most_probable
from graphuq.utils import validation
from graphuq.utils.typing import Array

if TYPE_CHECKING:
    import pandas as pd

# The share of right labels that is expected among suspect ones, at most. On 13 public sets with
# none to 20% of labels flipped it was 0.11: `benchmarks.trust.suspects_beside_cleanlab`.
FALSE_DISCOVERY_RATE = 0.15


class Doubts(NamedTuple):
    """What a model that expects mistakes says of the labels; NaN where that is not known.

    Attributes
    ----------
    by_class : ndarray, shape (J, K)
        Probabilities of the class of the field.
    mistake : ndarray, shape (J,)
        Probability that the label is a mistake.
    overlap : ndarray, shape (J,)
        Probability that the label is no mistake although the class of the field is another.
    """

    by_class: Array
    mistake: Array
    overlap: Array


def probability_wrong(labels: Labels, by_class: Array) -> Array:
    """Return the probability that the class of each labeled node is not its label, shape (J,)."""
    others = np.array(by_class)
    others[np.arange(len(labels)), labels.indices] = 0.0
    return np.asarray(others.sum(axis=1))


def flag_mistakes(mistake: Array, rate: float) -> NDArray[np.bool_]:
    """Return the largest set of labels of which a share of at most ``rate`` is expected right.

    These are the labels of the largest probabilities of a mistake, as long as the mean of 1 less
    these is at most ``rate`` (Newton, Noueiry, Sarkar and Ahlquist 2004, Biostatistics 5). Labels
    of equal probability are flagged together or not at all, and those of probability 0 never.

    Parameters
    ----------
    mistake : ndarray, shape (J,)
    rate : float

    Examples
    --------
    >>> flag_mistakes(np.array([0.7, 0.1, 0.95, 0.6]), 0.2)
    array([ True, False,  True, False])
    >>> flag_mistakes(np.array([0.7, 0.7, 0.7, 1.0]), 0.2)
    array([False, False, False,  True])
    """
    mistake = np.nan_to_num(mistake)
    falling = -np.sort(-mistake)
    expected = np.cumsum(1 - falling) / np.arange(1, falling.size + 1)
    n = np.count_nonzero(expected <= rate)  # they rise
    return np.asarray(mistake > falling[n] if n < falling.size else mistake > 0)


def order_of_doubt(labels: Labels, doubts: Doubts, latent_mean: Array) -> NDArray[np.int64]:
    """Return the order of labels, the likely mistakes first.

    Where these tie, labels that are wrong more probably come first, and then those that the field
    contradicts more: its own field is least ahead of the largest of the others.

    Parameters
    ----------
    labels : Labels
    doubts : Doubts
    latent_mean : ndarray, shape (N,) or (N, K)

    Examples
    --------
    >>> labels = Labels([0, 1, 2], ["cat", "cow", "dog"])
    >>> p = np.array([[0.25, 0.75, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> fields = np.array([[0, 2, 1], [0, 5, 0], [0, 0, 1]])
    >>> order_of_doubt(labels, Doubts(p, np.zeros(3), np.zeros(3)), latent_mean=fields)
    array([0, 2, 1])
    """
    labeled, own = np.arange(len(labels)), labels.indices
    fields = np.array(latent_mean[labels.nodes], dtype=np.float64)
    if fields.ndim == 1:  # a positive field is evidence for the second of two classes
        fields = np.column_stack([-fields, fields]) / 2
    ahead = fields[labeled, own].copy()
    fields[labeled, own] = -np.inf
    ahead -= fields.max(axis=1)
    mistake = np.nan_to_num(doubts.mistake)
    return np.lexsort((ahead, -probability_wrong(labels, doubts.by_class), -mistake))


def tabulate_suspects(
    labels: Labels, doubts: Doubts, latent_mean: Array, false_discovery_rate: float
) -> pd.DataFrame:
    """Return the table of `Posterior.suspect_labels`."""
    import pandas as pd

    rate = validation.between("false_discovery_rate", false_discovery_rate, 0, 1)
    order = order_of_doubt(labels, doubts, latent_mean)
    return (
        pd.DataFrame(
            {
                "node": labels.nodes,
                "label": labels.values,
                "likelier": labels.classes[most_probable(doubts.by_class)],
                "probability_wrong": probability_wrong(labels, doubts.by_class),
                "probability_mistake": doubts.mistake,
                "probability_overlap": doubts.overlap,
                "suspect": flag_mistakes(doubts.mistake, rate),
            }
        )
        .iloc[order]
        .reset_index(drop=True)
    )
