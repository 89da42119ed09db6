"""How many mistakes an answer saves at all other items, for two classes.

Let u_i have mean m_i, variance v_i and covariances c_ij given the labels. With the overlap gamma of
the classes the predictions of unlabeled items i make

    sum_i Phi(-|m_i| / (v_i + gamma^2)^(1/2))

mistakes in expectation. An answer y = +-1 for item j has the probability Z = f + (1 - 2 f) Phi(z),
z = y m_j / s, s^2 = v_j + noise^2, with noise and flip rate f of the sign model. After it the
Gaussian with the same moments as the posterior has

    m_i + c_ij a,    v_i - c_ij^2 (a^2 + b),    a = (1 - 2 f) y phi(z) / (s Z),    b = z y a / s

(Rasmussen and Williams 2006, Gaussian processes for machine learning, section 3.9). The score of j
is the fall of the mistakes, averaged over both answers (Roy and McCallum 2001, Toward optimal
active learning through sampling estimation of error reduction).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from graphuq.posterior.approximate import ApproximatePosterior
from graphuq.utils import validation
from graphuq.utils.typing import Array

# Random items that stand for all.
ITEMS = 500

# Less probable answers are left out.
MIN_PROBABILITY = 1e-12


class ExpectedMistakes:
    """Scores of candidates by the mistakes that their answers save.

    `graphuq.posterior.assessment.suggestion.greedy` picks by them. An answer that was picked counts
    as a measurement that is as expected: variances fall, and means stay.

    Parameters
    ----------
    posterior : ApproximatePosterior
        A posterior of two classes.
    candidates : ndarray of int
    seed : int, SeedSequence or Generator
        Seed of the draw of the random items.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(200, seed=0)
    >>> graph = gq.knn_graph(X, n_neighbors=8, connect=True)
    >>> quick = gq.approximate(graph, gq.Probit(0.1), gq.reveal(y, counts=3, seed=0))
    >>> hidden = np.setdiff1d(np.arange(200), quick.labels.nodes)
    >>> mistakes = ExpectedMistakes(quick, hidden, seed=0)
    >>> scores = mistakes.scores()
    >>> mistakes.observe(scores.argmax())
    >>> bool(mistakes.scores().max() < scores.max())
    True
    """

    def __init__(
        self,
        posterior: ApproximatePosterior,
        candidates: NDArray[np.int64],
        seed: validation.Seed,
    ) -> None:
        model = posterior.settings["sign_model"]
        self._noise, self._flip_rate = model["noise"], model["flip_rate"]
        self._overlap = posterior.overlap
        hidden = np.setdiff1d(np.arange(posterior.n_nodes), posterior.labels.nodes)
        rng = np.random.default_rng(validation.seed_sequence(seed))
        some = np.sort(rng.permutation(hidden)[:ITEMS])
        nodes = np.union1d(candidates, some)
        self._at, self._some = np.searchsorted(nodes, candidates), np.searchsorted(nodes, some)
        self._mean, self._variance = posterior.latent_mean[nodes], posterior.latent_variance[nodes]
        self._covariance = _covariance(posterior, candidates, nodes)

    def scores(self) -> Array:
        """Return how many mistakes each candidate's answer saves, among the random items."""
        mean, variance = self._mean[self._some], self._variance[self._some]
        c = self._covariance[:, self._some]
        s = np.sqrt(self._variance[self._at] + self._noise**2)
        saved = np.full(s.size, self._mistakes(mean, variance).sum())
        for y in (-1, 1):
            z = y * self._mean[self._at] / s
            right = 1 - 2 * self._flip_rate
            p = np.maximum(self._flip_rate + right * ndtr(z), MIN_PROBABILITY)
            a = right * y * np.exp(-(z**2) / 2) / (math.sqrt(2 * math.pi) * s * p)
            fall = c**2 * (a**2 + z * y * a / s)[:, None]
            saved -= p * self._mistakes(mean + c * a[:, None], variance - fall).sum(axis=1)
        return np.clip(saved, 0, None)

    def observe(self, at: int) -> None:
        """Regress the fields of all items on the answer of candidate ``at``."""
        c, its = self._covariance, self._at[at]
        total = self._variance[its] + self._noise**2
        self._variance = self._variance - c[at] ** 2 / total
        self._covariance = c - np.outer(c[:, its] / total, c[at])

    def _mistakes(self, mean: Array, variance: Array) -> Array:
        """Return the probability of a mistake at each item."""
        spread = np.sqrt(np.maximum(variance, 0) + self._overlap**2)
        return np.asarray(ndtr(-abs(mean) / np.maximum(spread, np.finfo(float).tiny)))


def _covariance(
    posterior: ApproximatePosterior, rows: NDArray[np.int64], columns: NDArray[np.int64]
) -> Array:
    """Return covariances given the labels: C - C_.J (I + T C_JJ)^-1 T C_J. with the sites' T."""
    prior, labeled = posterior._own_prior(), posterior.labels.nodes
    sites = posterior.site_precision[:, None]
    inner = np.eye(labeled.size) + sites * prior.covariance(labeled, labeled)
    told = np.linalg.solve(inner, sites * prior.covariance(labeled, columns))
    return np.asarray(prior.covariance(rows, columns) - prior.covariance(rows, labeled) @ told)
