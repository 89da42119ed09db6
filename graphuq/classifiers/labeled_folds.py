"""Cross-validation of partly labeled data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq.labels.class_values import as_given
from graphuq.labels.labels import Labels
from graphuq.utils import validation
from graphuq.utils.words import count


class LabelledKFold:
    """Folds that hold out labeled items only, and train on all others.

    scikit-learn's splitters would also hold out unlabeled items, and compare their predictions
    with -1. Here the labeled items are distributed over the folds at random, each class evenly.
    Every labeled item is held out once, and is then a new item for the classifier.

    Parameters
    ----------
    n_splits : int
        At least 2, and at most the number of labels of the rarest class.
    seed : int, SeedSequence or Generator, optional

    Examples
    --------
    >>> import numpy as np
    >>> import graphuq as gq
    >>> folds = gq.LabelledKFold(2)
    >>> folds.get_n_splits()
    2
    >>> for train, test in folds.split(None, [4, -1, 9, 4, -1, 9]):
    ...     print(train, test)
    [0 1 4 5] [2 3]
    [1 2 3 4] [0 5]
    >>> from sklearn.model_selection import GridSearchCV
    >>> X, y = gq.datasets.two_moons(200, seed=0)
    >>> known = np.where(np.arange(200) % 10 == 0, y, -1)
    >>> search = GridSearchCV(
    ...     gq.BayesianGraphClassifier(n_neighbors=8, method="approximate"),
    ...     {"rank": [1, 50]},
    ...     cv=gq.LabelledKFold(5),
    ... ).fit(X, known)
    >>> bool(search.best_score_ > 0.9)
    True
    """

    def __init__(self, n_splits: int = 5, *, seed: validation.Seed = 0) -> None:
        self.n_splits = validation.integer("n_splits", n_splits, 2)
        self.seed = seed

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return ``n_splits``."""
        return self.n_splits

    def split(
        self, X: Any, y: Any, groups: Any = None
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Yield the rows of the training set, and the labeled rows held out.

        Parameters
        ----------
        X, groups
            Ignored.
        y : array_like, shape (n,)
            Classes, and -1, None or NaN for unlabeled items.

        Raises
        ------
        ValueError
            A class with fewer labels than ``n_splits``.
        """
        y = as_given(y)
        n = y.size
        labels = Labels.of(y, n)
        counts = np.bincount(labels.indices)
        rare = int(counts.argmin())
        if counts[rare] < self.n_splits:
            raise ValueError(
                f"class {labels.classes.tolist()[rare]!r} has {count(counts[rare], 'label')}, "
                f"too few for n_splits={self.n_splits}: label more items, or take fewer splits"
            )
        # shuffle, sort by class, and deal out in turn: every fold gets its share of each class
        rng = np.random.default_rng(validation.seed_sequence(self.seed))
        order = rng.permutation(len(labels))
        order = order[np.argsort(labels.indices[order], kind="stable")]
        fold = np.full(n, -1)
        fold[labels.nodes[order]] = np.arange(len(labels)) % self.n_splits
        for held_out in range(self.n_splits):
            yield np.flatnonzero(fold != held_out), np.flatnonzero(fold == held_out)

    def __repr__(self) -> str:
        return f"LabelledKFold(n_splits={self.n_splits}, seed={self.seed!r})"
