"""A substitute for the evidence of K > 2 classes: their labels, two classes at a time.

A label of class a means that x_a is the largest of K, and so x_a > x_b for each other class b. For
the labels of a and b alone this is the model of two classes, with the same prior, noise and odds of
flips, and evidence p_ab: x_a - x_b has twice the covariance, and its sign does not depend on the
factor. With each class in d pairs,

    log2(K) / d  sum over pairs of log p_ab

is a pairwise composite likelihood (Lindsay 1988; Cox and Reid 2004; Varin, Reid and Firth 2011).
Its weight gives labels without information their probability K^-J: each counts log(1/2) in d
pairs. The weight only matters relative to the prior on alpha.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphuq.inference.checks import BindOnce
from graphuq.inference.evidence.evidence import at_most_half, evidence_of_shares, not_converged
from graphuq.inference.evidence.tangent import (
    LabeledCovariance,
    Near,
    Tangent,
    TangentPart,
    root_of,
)
from graphuq.labels.labels import Labels
from graphuq.likelihoods.bound import Bound
from graphuq.posterior.log_evidence import LogEvidence
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.propagation.gaussian_sites import NotConvergedError
from graphuq.propagation.sign_propagation import (
    COARSE,
    Sites,
    propagate_apart,
)
from graphuq.utils.threads import cpu_count, one_blas_thread
from graphuq.utils.typing import Array

# Each class is paired with all others, or with this even number of them. For ten digits with five
# labels each, four chose settings whose value by all nine pairs was within 0.04 of the largest.
MAX_PAIRS_PER_CLASS = 4

# Largest move of the means in deviations. The evidence is stationary in the sites, so its error is
# of the order of the square.
TOLERANCE = 1e-4

# Pairs settle together up to so many labels, and groups of pairs in threads. Together they take
# half as many visits again, which costs more than it saves if a pair has a hundred labels.
GROUP = 200


class _Pair(NamedTuple):
    """The labels of two classes."""

    rows: NDArray[np.intp]
    """Their positions among all labeled nodes."""
    y: Array


PairSites = list[tuple[Array, Array]]
"""Tau and nu of each pair."""


class PairwiseEvidence:
    """Compute it for one setting after another.

    Parameters
    ----------
    labels : Labels

    Raises
    ------
    ValueError
        Labels of one class only.

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
        self.labels, self._bind = labels, BindOnce(labels)
        self._covariance = LabeledCovariance(labels.nodes)
        self._pairs = [_pair(labels.indices, a, b) for a, b in _choose_pairs(shown)]
        count = max(1, GROUP // max(pair.y.size for pair in self._pairs))
        starts = range(0, len(self._pairs), count)
        self._groups = [slice(start, start + count) for start in starts]
        self._weight = np.log2(labels.classes.size) * shown.size / (2 * len(self._pairs))
        counts = [np.array([np.sum(pair.y < 0), np.sum(pair.y > 0)]) for pair in self._pairs]
        self.of_shares = float(self._weight * sum(map(evidence_of_shares, counts)))

    def __call__(self, prior: GaussianPrior, likelihood: Any) -> LogEvidence:
        """Return it for one setting.

        Raises
        ------
        RuntimeError
            Expectation propagation does not converge.
        """
        return self._converge(prior, likelihood, None, TOLERANCE).log_evidence

    def near(self, prior: GaussianPrior, likelihood: Any, start: PairSites | None) -> Near:
        """Return it to a coarse tolerance, from the sites of another setting."""
        return self._converge(prior, likelihood, start, COARSE)

    def _converge(
        self, prior: GaussianPrior, likelihood: Any, start: PairSites | None, tolerance: float
    ) -> Near:
        bound = self._bind(prior, likelihood)
        with one_blas_thread(), ThreadPoolExecutor(cpu_count()) as pool:
            terms = self._covariance.terms(prior)

            def converge(group: slice) -> list[Sites]:
                pairs = self._pairs[group]
                rows, y = (np.concatenate(part) for part in zip(*pairs, strict=True))
                theirs = bound._replace(
                    observed=bound.observed._replace(y=y), confidence=_own(bound, rows)
                )
                roots = [root_of(terms, pair.rows) for pair in pairs]
                own = None
                if start is not None:
                    precision, shift = zip(*start[group], strict=True)
                    own = np.concatenate(precision), np.concatenate(shift)
                try:
                    return propagate_apart(roots, theirs, own, tolerance)
                except NotConvergedError:
                    if len(pairs) == 1:
                        raise
                places = range(len(self._pairs))[group]
                return [sites for at in places for sites in converge(slice(at, at + 1))]

            try:
                found = [sites for some in pool.map(converge, self._groups) for sites in some]
            except NotConvergedError as error:
                raise not_converged(prior, likelihood, len(self.labels), error) from error
        total = sum(at_most_half(sites.log_evidence) for sites in found)
        correction = sum(sites.correction for sites in found)
        value = LogEvidence(self._weight * total, "pairwise composite", self._weight * correction)
        parts = [
            TangentPart(*pair, sites, _own(bound, pair.rows))
            for pair, sites in zip(self._pairs, found, strict=True)
        ]
        tangent = Tangent(self._covariance, parts, bound.rule.n_classes, self._weight)
        return Near(value, [(sites.precision, sites.shift) for sites in found], tangent)


def _choose_pairs(classes: NDArray[np.intp]) -> list[tuple[int, int]]:
    """Return pairs with each class in equally many: all, or neighbors in a random ring."""
    if classes.size <= MAX_PAIRS_PER_CLASS + 1:
        return list(combinations(classes.tolist(), 2))
    ring = np.random.default_rng(0).permutation(classes)
    steps = range(1, MAX_PAIRS_PER_CLASS // 2 + 1)
    return [
        (int(a), int(b)) for step in steps for a, b in zip(ring, np.roll(ring, step), strict=True)
    ]


def _own(bound: Bound, rows: NDArray[np.intp]) -> Array | None:
    """Return the confidence of some labels."""
    return None if bound.confidence is None else bound.confidence[rows]


def _pair(indices: NDArray[np.int64], a: int, b: int) -> _Pair:
    """Return the labels of classes a and b, b coded +1."""
    rows = np.flatnonzero((indices == a) | (indices == b))
    return _Pair(rows, np.where(indices[rows] == b, 1.0, -1.0))
