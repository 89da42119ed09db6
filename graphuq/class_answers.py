"""What to label next among K > 2 classes; see `graphuq.suggestion`.

There labels are signs and answers scalars; here both are indicators of a class, and what was a
product or a quotient of two numbers is one of K x K matrices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from graphuq import validation
from graphuq.largest import largest
from graphuq.prior import Prior

if TYPE_CHECKING:
    from graphuq.posterior import Posterior

Array = NDArray[np.float64]

# Answers that are less probable are left out, and so is the direction in which K probabilities,
# which sum to 1, do not vary but for rounding.
RARE = 1e-5

# Variances of probabilities below this are rounding.
TINY = 1e-9


class ClassAnswers:
    """Joint moments of labels and would-be answers, from draws of K fields, and their scores.

    With A the draws of all candidates' p_j, centred, one in a row, the covariance of p_i and p_j is
    A_i' A_j / T. To condition on answer j takes multiples of A_j from a second A, so that the
    covariances left are A' (second A) / T, of which only those asked for are computed.

    Attributes
    ----------
    cross : ndarray, shape (n K, M K), or None
        For ``variance_reduction``: Cov(l_i, p_j) of all n unlabelled nodes and M candidates.
    """

    def __init__(
        self,
        posterior: Posterior,
        prior: Prior,
        candidates: NDArray[np.int64],
        method: str,
        sign_model: tuple[float, float],
        seed: validation.Seed,
    ) -> None:
        nodes, K = candidates, posterior.labels.classes.size
        if method == "variance_reduction":
            nodes = np.setdiff1d(np.arange(posterior.n_nodes), posterior.labels.nodes)
        n, m = nodes.size * K, candidates.size * K
        draws = posterior.modes.shape[0] * posterior.modes.shape[1]
        validation.memory(
            8.0 * n * m * (nodes is not candidates) + 20.0 * draws * m + 8.0 * m * K + 2e8,
            f"covariances of {nodes.size} nodes with {candidates.size} candidates in {K} classes",
            "take fewer candidates" + ("" if nodes is candidates else ', or method="bald"'),
        )
        at = np.searchsorted(nodes, candidates)
        p = np.empty((draws, candidates.size, K), dtype=np.float32)
        shown, doubt, done = np.zeros((nodes.size, K)), np.zeros(candidates.size), 0
        cross = None if nodes is candidates else np.zeros((n, m), dtype=np.float32)
        own_labels = np.empty((draws, m) if method == "variance" else (draws, 0), dtype=np.float32)
        for u in posterior.latent_draws(prior, nodes, seed=seed):
            answer = expected_answers(u[:, at], *sign_model)
            part = p[done : done + len(u)]
            part[:] = answer
            doubt += entr(answer).sum(axis=(0, 2))
            label = np.eye(K, dtype=np.float32)[u.argmax(axis=2)]
            shown += label.sum(axis=0, dtype=np.float64)
            if method == "variance":
                own_labels[done : done + len(u)] = label.reshape(-1, m)
            if cross is not None:
                cross += label.reshape(-1, n).T @ part.reshape(-1, m)
            done += len(u)
        shown /= draws
        mean = p.mean(axis=0, dtype=np.float64)
        self._method, self._draws, self._K, self._at = method, draws, K, at
        self._information = np.clip(entr(mean).sum(axis=1) - doubt / draws, 0, None)
        self._own = mean[:, :, None] * np.eye(K) - self._moments(p, p)  # E Var(y_j | u)
        p -= mean.astype(np.float32)
        self._first = p.reshape(draws, m)
        self._left = self._first.copy()
        self._told = self._explained()  # before the picks
        self._spread = 1 - (shown**2).sum(axis=1)
        self.cross, self._own_labels = cross, own_labels
        if cross is not None:
            cross /= draws
            cross -= np.outer(shown.astype(np.float32), mean.astype(np.float32))

    def _moments(self, a: NDArray[np.float32], b: NDArray[np.float32]) -> Array:
        """Return a_j' b_j / T of each candidate, shape (M, K, K)."""
        first, second = (x.reshape(self._draws, -1, self._K).transpose(1, 2, 0) for x in (a, b))
        return np.asarray(first @ second.transpose(0, 2, 1), dtype=np.float64) / self._draws

    def _explained(self) -> Array:
        """Return trace Var p_j of each candidate given the picks so far, shape (M,)."""
        each = np.einsum("tm,tm->m", self._first, self._left).reshape(-1, self._K)
        return np.clip(each.sum(axis=1, dtype=np.float64) / self._draws, 0, None)

    def scores(self) -> Array:
        """Return the candidates' scores given the picks so far."""
        K = self._K
        if self._method == "variance":
            return self._spread[self._at] * (K / (K - 1))
        if self._method == "bald":
            # the share of it that the picks leave
            return self._information * _ratio(self._explained(), self._told)
        assert self.cross is not None
        signal = self._moments(self._first, self._left)
        columns = self.cross.reshape(len(self.cross), -1, K).transpose(1, 2, 0)
        square = np.asarray(columns @ columns.transpose(0, 2, 1), dtype=np.float64)
        # T draws put Var l_i Var p_j / T too much into a squared covariance, if it is small
        square -= signal * (self._spread.sum() / self._draws)
        fall = np.einsum("jab,jab->j", inverse(signal + self._own), square)
        return np.clip(fall, 0, None) * (K / (K - 1))

    def observe(self, at: int) -> None:
        """Regress labels and answers on the answer of candidate ``at``."""
        its = slice(at * self._K, (at + 1) * self._K)
        covariance = self._first[:, its].T @ self._left / self._draws
        total = covariance[:, its].astype(np.float64) + self._own[at]
        weights = inverse((total + total.T) / 2).astype(np.float32)
        gain = weights @ covariance
        asked = self._left[:, its].copy()
        self._left -= asked @ gain
        column: NDArray[np.float32] = self._own_labels.T @ asked / self._draws
        if self.cross is not None:
            column = self.cross[:, its].copy()
            self.cross -= column @ gain
        fall = ((column @ weights) * column).sum(axis=1, dtype=np.float64)
        if fall.size:
            self._spread = np.clip(self._spread - fall.reshape(-1, self._K).sum(axis=1), 0, None)


def _ratio(above: Array, below: Array) -> Array:
    """Return above / below, and 0 where nothing is below."""
    return np.where(below > TINY, above / np.maximum(below, TINY), 0.0)


def expected_answers(u: Array, noise: float, flip_rate: float) -> Array:
    """Return P(y = c | u) of an annotator with noise before the argmax, and flips after it.

    A flip makes any of the other classes, all alike.
    """
    p = largest(u, noise)
    return (1 - flip_rate) * p + flip_rate / (u.shape[-1] - 1) * (1 - p)


def inverse(covariance: Array) -> Array:
    """Return the pseudoinverses of K x K covariances of indicators."""
    values, vectors = np.linalg.eigh(covariance)
    kept = values > RARE
    shares = vectors * np.where(kept, 1 / np.where(kept, values, 1.0), 0.0)[..., None, :]
    return np.asarray(shares @ np.swapaxes(vectors, -1, -2))
