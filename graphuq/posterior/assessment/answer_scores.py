"""Scores of nodes to label next from draws of the field; see `suggestion` for the formulas.

Labels and answers are indicators of a class, with a column for each of K > 2 classes. For two
classes the column of the second class is enough, since the first is one minus it: all covariances
are a quarter of those of signs, and a trace over both columns is twice that over one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from graphuq.likelihoods.label_rule import label_rule
from graphuq.likelihoods.sign_model import SignModel
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.utils import validation
from graphuq.utils.memory import require_memory
from graphuq.utils.typing import Array

# Less probable answers are left out, and so is the direction in which K probabilities, which sum to
# 1, vary only by rounding.
MIN_ANSWER_VARIANCE = 1e-5

# Smaller variances of probabilities are rounding errors.
MIN_VARIANCE = 1e-9

# Squares of smaller probabilities are denormal numbers, which make products fifty times as slow.
MIN_PROBABILITY = np.sqrt(np.finfo(np.float32).tiny)


class Answers:
    """Joint moments of labels and possible answers, from draws of the field, and their scores.

    With A the draws of all candidates' p_j, centered, one in a row, the covariance of p_i and p_j
    is A_i' A_j / T. To condition on answer j subtracts multiples of A_j from a second A, so that
    the remaining covariances are A' (second A) / T, and only those asked for are computed.

    Attributes
    ----------
    cross : ndarray, shape (n C, M C), or None
        For ``variance_reduction``: Cov(l_i, p_j) of all n unlabeled nodes and M candidates, with C
        columns each: 1 for two classes, else K.
    """

    def __init__(
        self,
        posterior: Any,
        prior: GaussianPrior,
        candidates: NDArray[np.int64],
        method: str,
        sign_model: tuple[float, float],
        seed: validation.Seed,
    ) -> None:
        rule, draws = label_rule(posterior.labels), posterior.n_latent_draws
        K, C = rule.n_classes, rule.n_fields
        nodes = candidates
        if method == "variance_reduction":
            nodes = np.setdiff1d(np.arange(posterior.n_nodes), posterior.labels.nodes)
        n, m = nodes.size * C, candidates.size * C
        require_memory(
            8.0 * n * m * (nodes is not candidates) + 20.0 * draws * m + 8.0 * m * C + 2e8,
            f"covariances of {nodes.size} nodes with {candidates.size} candidates in {K} classes",
            "take fewer candidates" + ("" if nodes is candidates else ', or method="bald"'),
        )
        at = np.searchsorted(nodes, candidates)
        shown_classes = np.arange(K - C, K)
        p = np.empty((draws, candidates.size, C), dtype=np.float32)
        shown, doubt, done = np.zeros((nodes.size, C)), np.zeros(candidates.size), 0
        cross = None if nodes is candidates else np.zeros((n, m), dtype=np.float32)
        own_labels = np.empty((draws, m) if method == "variance" else (draws, 0), dtype=np.float32)
        for block in posterior.latent_draws(prior, nodes, seed=seed):
            u = block.reshape(len(block), nodes.size, C)
            answer = answer_probability(u[:, at], *sign_model)
            part = p[done : done + len(u)]
            part[:] = answer
            part[part < MIN_PROBABILITY] = 0
            doubt += _entropy(answer).sum(axis=0)
            label = rule.index(u, axis=2)[:, :, None] == shown_classes
            shown += np.count_nonzero(label, axis=0)
            label = label.astype(np.float32)
            if method == "variance":
                own_labels[done : done + len(u)] = label.reshape(-1, m)
            if cross is not None:
                cross += label.reshape(-1, n).T @ part.reshape(-1, m)
            done += len(u)
        shown /= draws
        mean = p.mean(axis=0, dtype=np.float64)
        self._method, self._draws, self._C, self._at = method, draws, C, at
        self._scale = K / (K - 1) * (K / C)  # scale of a trace over C columns
        self._information = np.clip(_entropy(mean) - doubt / draws, 0, None)
        self._own = mean[:, :, None] * np.eye(C) - self._moments(p, p)  # E Var(y_j | u)
        p -= mean.astype(np.float32)
        self._first = p.reshape(draws, m)
        self._left = self._first.copy()
        self._told = self._explained()  # before the picks
        self._spread = (shown * (1 - shown)).sum(axis=1)
        self.cross, self._own_labels = cross, own_labels
        if cross is not None:
            cross /= draws
            cross -= np.outer(shown.astype(np.float32), mean.astype(np.float32))

    def _moments(self, a: NDArray[np.float32], b: NDArray[np.float32]) -> Array:
        """Return a_j' b_j / T of each candidate, shape (M, C, C)."""
        first, second = (x.reshape(self._draws, -1, self._C).transpose(1, 2, 0) for x in (a, b))
        return np.asarray(first @ second.transpose(0, 2, 1), dtype=np.float64) / self._draws

    def _explained(self) -> Array:
        """Return trace Var p_j of each candidate given the picks so far, shape (M,)."""
        each = np.einsum("tm,tm->m", self._first, self._left).reshape(-1, self._C)
        return np.clip(each.sum(axis=1, dtype=np.float64) / self._draws, 0, None)

    def scores(self) -> Array:
        """Return the candidates' scores given the picks so far."""
        if self._method == "variance":
            return self._spread[self._at] * self._scale
        if self._method == "bald":
            # the share of it that the picks leave
            return self._information * _ratio(self._explained(), self._told)
        assert self.cross is not None
        signal = self._moments(self._first, self._left)
        columns = self.cross.reshape(len(self.cross), -1, self._C).transpose(1, 2, 0)
        square = np.asarray(columns @ columns.transpose(0, 2, 1), dtype=np.float64)
        # a small squared covariance from T draws is too large by Var l_i Var p_j / T
        square -= signal * (self._spread.sum() / self._draws)
        fall = np.einsum("jab,jab->j", inverse(signal + self._own), square)
        return np.clip(fall, 0, None) * self._scale

    def observe(self, at: int) -> None:
        """Regress labels and answers on the answer of candidate ``at``."""
        its = slice(at * self._C, (at + 1) * self._C)
        covariance = self._first[:, its].T @ self._left / self._draws
        total = covariance[:, its].astype(np.float64) + self._own[at]
        weights = inverse((total + total.T) / 2).astype(np.float32)
        gain = weights @ covariance
        asked = self._left[:, its].copy()
        self._left -= asked @ gain
        column: NDArray[Any] = self._own_labels.T @ asked / self._draws
        if self.cross is not None:
            column = self.cross[:, its].copy()
            self.cross -= column @ gain
        fall = ((column @ weights) * column).sum(axis=1, dtype=np.float64)
        if fall.size:
            self._spread = np.clip(self._spread - fall.reshape(-1, self._C).sum(axis=1), 0, None)


def _ratio(above: Array, below: Array) -> Array:
    """Return above / below, and 0 where nothing is below."""
    return np.where(below > MIN_VARIANCE, above / np.maximum(below, MIN_VARIANCE), 0.0)


def _entropy(p: Array) -> Array:
    """Return entropies in nats; a single column is that of one of two classes."""
    entropy: Array = entr(p).sum(axis=-1)
    return entropy + entr(1 - p[..., 0]) if p.shape[-1] == 1 else entropy


def answer_probability(u: Array, noise: float, flip_rate: float) -> Array:
    """Return P(y = c | u) of an annotator with noise before the label rule, and flips after it.

    A flip makes any of the other classes, all equally likely.

    Parameters
    ----------
    u : ndarray, shape (..., C)
        The field of two classes, C = 1, or the fields of K > 2.
    noise, flip_rate : float

    Returns
    -------
    ndarray, shape (..., C)
        For the second of two classes, or for each of K > 2.
    """
    model = SignModel.flipping(noise, flip_rate, max(2, u.shape[-1]))
    p = model.probability(u)
    return p if u.shape[-1] > 1 else p[..., 1:]


def inverse(covariance: Array) -> Array:
    """Return the pseudoinverses of covariances of indicators, shape (..., C, C)."""
    values, vectors = np.linalg.eigh(covariance)
    used = values > MIN_ANSWER_VARIANCE
    shares = vectors * np.where(used, 1 / np.where(used, values, 1.0), 0.0)[..., None, :]
    return np.asarray(shares @ np.swapaxes(vectors, -1, -2))
