"""What stands for the evidence of more than two classes: their labels, two classes at a time.

A label of class a says of its node that x_a is the largest of K, and so of each other class b that
x_a > x_b. Among the labels of a and b alone that is the model of two classes, with the same prior,
noise and odds of flips, and its evidence p_ab: x_a - x_b has twice the covariance, and its sign
does not see the factor. With each class in d pairs,

    log2(K) / d  sum over pairs of log p_ab

is a pairwise composite likelihood (Lindsay 1988; Cox and Reid 2004; Varin, Reid and Firth 2011).
Its weight is such that labels that say nothing have probability K^-J, as they have: each counts
log(1/2) in d pairs. A weight matters to the prior on alpha, and to nothing else.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from graphuq.expectation_propagation import NotConvergedError, Sites, propagate
from graphuq.labels import Labels
from graphuq.likelihoods.contract import bind_under
from graphuq.model_evidence import LogEvidence, at_most_half, not_converged
from graphuq.prior import Prior
from graphuq.threads import cores, one_blas_thread

Array = NDArray[np.float64]

# Each class meets all others, or so many of them, an even number: ten digits' labels, five of each,
# chose settings by four that by all nine were within 0.04 of the largest value.
OPPONENTS = 4

# The evidence is stationary in the sites: where means move by no more of their deviations, its
# error is of the order of the square.
TOLERANCE = 1e-4


class _Pair(NamedTuple):
    """The labels of two classes."""

    rows: NDArray[np.intp]
    """Theirs among all labelled nodes."""
    y: Array


class PairwiseEvidence:
    """Computes it for one setting after another, each from where the one before came to rest.

    Parameters
    ----------
    labels : Labels

    Raises
    ------
    ValueError
        Labels of one class alone.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.digits()
    >>> prior = gq.Prior.projected(gq.knn_graph(X[:300], n_neighbors=8, connect=True), rank=50)
    >>> pairs = PairwiseEvidence(gq.reveal(y[:300], counts=3, seed=0))
    >>> value = pairs(prior, gq.Probit(0.1))
    >>> value.method, bool(30 * np.log(1 / 10) < value < 0)
    ('pairwise composite', True)
    """

    def __init__(self, labels: Labels) -> None:
        shown = np.unique(labels.indices)
        if shown.size < 2:
            only = labels.classes[shown].tolist()[0]
            raise ValueError(
                f"all labels are {only!r}, and parameters cannot be chosen by labels of one class: "
                "label a node of another class too, or give numbers, such as gq.Probit(gamma=0.1)"
            )
        self.labels = labels
        self._pairs = [_pair(labels.indices, a, b) for a, b in _meetings(shown)]
        self._weight = np.log2(labels.classes.size) * shown.size / (2 * len(self._pairs))
        self._starts: list[tuple[Array, Array] | None] = [None] * len(self._pairs)

    def __call__(self, prior: Prior, likelihood: Any) -> LogEvidence:
        """Return it for one setting.

        Raises
        ------
        RuntimeError
            Expectation propagation does not converge.
        """
        bound = bind_under(prior, likelihood, self.labels)
        with one_blas_thread(), ThreadPoolExecutor(cores()) as pool:
            root = prior.root(self.labels.nodes)

            def settled(pair: _Pair, start: tuple[Array, Array] | None) -> Sites:
                theirs = bound._replace(observed=bound.observed._replace(y=pair.y))
                F = _narrow(root[pair.rows])
                return propagate(F, theirs, start, TOLERANCE)

            try:
                found = list(pool.map(settled, self._pairs, self._starts))
            except NotConvergedError as error:
                raise not_converged(prior, likelihood, len(self.labels), error) from error
        self._starts = [(sites.precision, sites.shift) for sites in found]
        total = sum(at_most_half(prior, sites.log_evidence) for sites in found)
        correction = sum(sites.correction for sites in found)
        return LogEvidence(self._weight * total, "pairwise composite", self._weight * correction)


def _meetings(classes: NDArray[np.intp]) -> list[tuple[int, int]]:
    """Return pairs such that each class is in as many: all, or a round dance's neighbours."""
    if classes.size <= OPPONENTS + 1:
        return list(combinations(classes.tolist(), 2))
    ring = np.random.default_rng(0).permutation(classes)
    steps = range(1, OPPONENTS // 2 + 1)
    return [
        (int(a), int(b)) for step in steps for a, b in zip(ring, np.roll(ring, step), strict=True)
    ]


def _pair(indices: NDArray[np.int64], a: int, b: int) -> _Pair:
    rows = np.flatnonzero((indices == a) | (indices == b))
    return _Pair(rows, np.where(indices[rows] == b, 1.0, -1.0))


def _narrow(F: Array) -> Array:
    """Return a root of F F' that is no wider than high."""
    if F.shape[0] >= F.shape[1]:
        return F
    return np.ascontiguousarray(linalg.qr(F.T, mode="r")[0][: F.shape[0]].T)
