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
from typing import Any

import numpy as np
from numpy.polynomial.polynomial import polyval
from numpy.typing import NDArray
from scipy.linalg import blas
from scipy.special import erfcx, ndtr

from graphuq.posterior.posterior import Posterior
from graphuq.utils import validation
from graphuq.utils.polynomials import interpolate
from graphuq.utils.typing import Array

# Random items that stand for all.
ITEMS = 500

# Candidates that are scored at a time: what is computed of them and of the items stays in a cache.
BLOCK = 100

# Phi(-t) is exp(-t^2 / 2) times a polynomial in 1 / (1 + t / SCALE), up to 3e-8 for t <= REACH, and
# below 1e-11 beyond. In single precision that takes a sixth of the time of `ndtr`.
REACH, SCALE, DEGREE = 7.0, 3.0, 7
TAIL = np.array(
    interpolate(
        lambda x: erfcx(math.sqrt(0.5) * SCALE * (1 / x - 1)) / 2,
        DEGREE,
        (1 / (1 + REACH / SCALE), 1.0),
    ),
    dtype=np.float32,
)

# Below all variances but 0 in single precision.
TINY = np.finfo(np.float32).tiny

# Less probable answers are left out.
MIN_PROBABILITY = 1e-12


class ExpectedMistakes:
    """Scores of candidates by the mistakes that their answers save.

    `graphuq.posterior.assessment.suggestion.greedy` picks by them. An answer that was picked counts
    as a measurement that is as expected: variances fall, and means stay.

    Parameters
    ----------
    posterior : Posterior
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
        posterior: Posterior,
        candidates: NDArray[np.int64],
        seed: validation.Seed,
    ) -> None:
        model = posterior.settings["sign_model"]
        self._noise, self._flip_rate = model["noise"], model["flip_rate"]
        self._overlap = posterior.overlap
        hidden = np.setdiff1d(np.arange(posterior.n_nodes), posterior.labels.nodes)
        rng = np.random.default_rng(validation.seed_sequence(seed))
        some = np.sort(rng.permutation(hidden)[:ITEMS])
        # the items and then the candidates, of which some may be among the items
        both = np.concatenate([some, candidates])
        self._n_items, (nodes, at) = some.size, np.unique(both, return_inverse=True)
        self._mean, self._variance = posterior.latent_mean[both], posterior.latent_variance[both]
        self._covariance = _covariance(posterior, candidates, nodes)[:, at]

    def scores(self) -> Array:
        """Return how many mistakes each candidate's answer saves, among the random items."""
        n = self._n_items
        mean = self._mean[:n].astype(np.float32)
        variance = (self._variance[:n] + self._overlap**2).astype(np.float32)
        s = np.sqrt(self._variance[n:] + self._noise**2)
        saved = np.full(s.size, _mistakes(mean, variance))
        for y in (-1, 1):
            z = y * self._mean[n:] / s
            right = 1 - 2 * self._flip_rate
            p = np.maximum(self._flip_rate + right * ndtr(z), MIN_PROBABILITY)
            a = right * y * np.exp(-(z**2) / 2) / (math.sqrt(2 * math.pi) * s * p)
            rise, fall = (f[:, None].astype(np.float32) for f in (a, a**2 + z * y * a / s))
            for first in range(0, s.size, BLOCK):
                some = slice(first, first + BLOCK)
                c = self._covariance[some, :n].astype(np.float32)
                left = _mistakes(mean + c * rise[some], variance - c**2 * fall[some])
                saved[some] -= p[some] * left
        return np.clip(saved, 0, None)

    def observe(self, at: int) -> None:
        """Regress the fields of all items on the answer of candidate ``at``."""
        its = self._n_items + at
        row, column = self._covariance[at].copy(), self._covariance[:, its].copy()
        total = self._variance[its] + self._noise**2
        self._variance = self._variance - row**2 / total
        left = blas.dger(-1 / total, row, column, a=self._covariance.T, overwrite_a=1)
        self._covariance = left.T


def _mistakes(mean: NDArray[np.float32], variance: NDArray[np.float32]) -> Any:
    """Return the sum over items, along the last axis, of the probability of a mistake."""
    t = abs(mean) / np.sqrt(np.maximum(variance, TINY))
    t = np.minimum(t, REACH)
    each = np.exp(-(t**2) / 2) * polyval(1 / (1 + t / SCALE), TAIL)
    return each.sum(axis=-1, dtype=np.float64)


def _covariance(posterior: Posterior, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Array:
    """Return covariances given the labels: C - C_.J (I + T C_JJ)^-1 T C_J. with the sites' T."""
    prior, labeled = posterior._own_prior(), posterior.labels.nodes
    sites = posterior.sites.precision[:, None]
    inner = np.eye(labeled.size) + sites * prior.covariance(labeled, labeled)
    weights = np.linalg.solve(inner, sites * prior.covariance(labeled, rows))
    told = weights.T @ prior.covariance(labeled, columns)
    return np.asarray(prior.covariance(rows, columns) - told)
