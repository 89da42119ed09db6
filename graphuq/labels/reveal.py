"""Reveal a few of the true labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphuq.labels.class_values import as_given, refuse_text_of_nan, require_all, to_one_type
from graphuq.labels.labels import BY_CLASS, RANDOM, Labels
from graphuq.utils import validation


def reveal(
    y: Any,
    fraction: float | None = None,
    *,
    counts: int | Mapping[Any, int] | None = None,
    seed: validation.Seed = None,
) -> Labels:
    """Reveal a few of the true labels, drawn at random within each class.

    A fraction keeps the shares of the classes, so that ``sampling`` of the labels is "random". With
    counts it is "by class".

    Parameters
    ----------
    y : array_like, shape (n,)
        True class of every node.
    fraction : float in (0, 1], optional
        Share of each class to reveal; the number of nodes is rounded and at least one.
    counts : int or mapping from class to int, optional
        Number of nodes of each class, instead of ``fraction``.
    seed : int, SeedSequence or Generator, optional

    Returns
    -------
    Labels

    Raises
    ------
    ValueError
        Neither or both of ``fraction`` and ``counts``; a fraction outside (0, 1]; a count above
        the size of its class.

    Examples
    --------
    >>> import graphuq as gq
    >>> gq.reveal([4, 4, 4, 9, 9, 9], counts={4: 2, 9: 1}, seed=0)
    Labels(3 nodes: 2 x 4, 1 x 9)
    """
    y = as_given(y)
    if y.ndim != 1:
        raise ValueError(f"y must be one-dimensional, got shape {y.shape}")
    require_all("y", y)
    refuse_text_of_nan(y)
    y = to_one_type(y)
    if (fraction is None) == (counts is None):
        raise ValueError("give either fraction or counts, and not both")
    # the number of nodes to reveal of each class
    classes, sizes = np.unique(y, return_counts=True)
    if fraction is not None:
        if not 0 < validation.real("fraction", fraction) <= 1:
            raise ValueError(f"fraction must lie in (0, 1], got {fraction}")
        wanted = {
            c: max(1, round(fraction * n)) for c, n in zip(classes.tolist(), sizes, strict=True)
        }
    elif isinstance(counts, Mapping):
        wanted = dict(counts)
    else:
        wanted = dict.fromkeys(classes.tolist(), validation.integer("counts", counts, 1))
    rng = np.random.default_rng(validation.seed_sequence(seed))
    # draw them within each class
    revealed = []
    for value, count in wanted.items():
        members = np.flatnonzero(y == value)
        if members.size == 0:
            raise ValueError(f"y has no class {value!r}; it has {classes.tolist()[:10]}")
        validation.integer(f"the count of class {value!r}", count, 0, members.size)
        revealed.append(rng.choice(members, size=count, replace=False))
    nodes = np.sort(np.concatenate([np.empty(0, dtype=np.int64), *revealed]))
    values = y[nodes].tolist() if y.dtype.kind == "U" else y[nodes]
    return Labels(nodes, values, sampling=RANDOM if counts is None else BY_CLASS)
