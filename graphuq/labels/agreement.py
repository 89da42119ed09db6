"""How far annotators agree: Krippendorff's alpha for classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphuq.labels.annotators import read_votes


def krippendorff_alpha(frame: Any, classes: Any = None) -> float:
    """Return Krippendorff's alpha of the labels that several annotators gave.

    alpha = 1 - D_o / D_e, where D_o is the share of pairs of labels of an item that differ, and D_e
    that of pairs of all labels. It is 1 if annotators always agree, and 0 if they agree as often as
    by chance (Krippendorff 2004, Content Analysis, chapter 11, nominal data). Items with one label
    do not count.

    Parameters
    ----------
    frame : pandas.DataFrame or array_like, shape (items, annotators)
        As `Labels.from_annotators`.
    classes : array_like, optional
        All classes, as there.

    Returns
    -------
    float
        NaN if no item has two labels, or all labels of such items are of one class.

    Raises
    ------
    ValueError
        -1 where ``classes`` does not list it, fewer than two classes, annotators who labeled
        nothing.

    Examples
    --------
    >>> import graphuq as gq
    >>> votes = [["cat", "cat"], ["dog", "dog"], ["cat", "dog"], ["dog", None]]
    >>> round(gq.krippendorff_alpha(votes), 3)
    0.444
    """
    votes = read_votes(frame, classes)
    counts = np.zeros((votes.n_items, votes.classes.size), dtype=np.int64)
    np.add.at(counts, (votes.item, votes.vote), 1)
    counts = counts[counts.sum(axis=1) > 1]
    size, total = counts.sum(axis=1), counts.sum(axis=0)
    n = int(total.sum())
    by_chance = float(n**2 - (total**2).sum())
    if not by_chance:
        return float("nan")
    observed = ((size**2 - (counts**2).sum(axis=1)) / (size - 1)).sum()
    return float(1 - (n - 1) * observed / by_chance)
