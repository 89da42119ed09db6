"""What to label next: the most informative unlabeled nodes.

With two classes let l_i = S(u_i), and let y_j = +-1 be the answer of an annotator for node j,

    E[y_j | u] = m_j = (1 - 2 f) (2 Psi(u_j; noise) - 1),

where noise and flip rate f are those of the likelihood's sign model (both 0 if it has none). The
methods score an unlabeled node j by

``bald``
    H(E p_j) - E H(p_j), p_j = (1 + m_j) / 2, H the entropy: the mutual information of y_j and u
    (Houlsby, Huszar, Ghahramani and Lengyel 2011, Bayesian active learning by disagreement);
``variance_reduction``
    sum_i Cov(l_i, m_j)^2 / Var y_j. It is exact: y_j takes two values, so E[l_i | y_j] is linear
    in it, and E Var(l_i | y_j) = Var l_i - Cov(l_i, y_j)^2 / Var y_j;
``variance``
    Var l_j;
``v_opt``
    sum_i C_ij^2 / (C_jj + noise^2), C the covariance of u under the prior and a free level, given
    u + noise at the labeled nodes (Ji and Han 2012, A variance minimization criterion to active
    learning on graphs);
``sigma_opt``
    (sum_i C_ij)^2 / (C_jj + noise^2) (Ma, Garnett and Schneider 2013, Sigma-optimality for active
    learning on Gaussian random fields).

Sums are over the unlabeled nodes i. The first three come from draws of u (`Answers`). After
each pick the labels and answers of all nodes are regressed on its answer: the best linear predictor
replaces the posterior that the answer would give. BALD's score decreases as the rest of Var m_j
does. The last two condition the Gaussian exactly (`Conditioned`).

With K > 2 classes l_i and y_j are indicators of a class, and p_jc = P(y_j = c | u) is the
probability that argmax_k (u_jk + noise eta_k) is c
(`graphuq.likelihoods.argmax_probability`), or another class before a flip. The entropies
are those of K classes, and with matrices Cov(l_i, y_j) and Var y_j

    sum_i tr(Var l_i - E Var(l_i | y_j)) = sum_i tr(Cov(l_i, y_j) (Var y_j)^+ Cov(y_j, l_i)),

as exact as for two: it is the sum of Cov(l_ia, y_jc)^2 / P(y_j = c) over classes a and c. It is
multiplied by K / (K - 1), as `Posterior.variance` is.

Labels and answers of `Answers` have a column for each of K > 2 classes. For two classes the column
of the second class is enough, since the first is one minus it: all covariances are a quarter of
those of signs, and a trace over both columns is twice that over one.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from graphuq.likelihoods.label_rule import label_rule
from graphuq.likelihoods.sign_model import SignModel
from graphuq.priors.gaussian import Gaussian
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.priors.sum_prior import Level, SumPrior
from graphuq.utils import validation
from graphuq.utils.memory import require_memory
from graphuq.utils.threads import one_blas_thread
from graphuq.utils.typing import Array

BY_DRAWS, BY_PRIOR = ("bald", "variance_reduction", "variance"), ("v_opt", "sigma_opt")

# Scores this near, relative to the best, are ties: single precision does not tell them apart.
TIE = 1e-5

# The Gaussian methods take at least this much noise, a tenth of a node's prior deviation: without
# noise r labeled nodes would determine all r modes, and all others would score alike.
MIN_NOISE = 0.1

# Less probable answers are left out, and so is the direction in which K probabilities, which sum to
# 1, vary only by rounding.
MIN_ANSWER_VARIANCE = 1e-5

# Smaller variances of probabilities are rounding errors.
MIN_VARIANCE = 1e-9

# Squares of smaller probabilities are denormal numbers, which make products fifty times as slow.
MIN_PROBABILITY = np.sqrt(np.finfo(np.float32).tiny)


def suggest(
    posterior: Any,
    prior: GaussianPrior,
    k: int,
    method: str,
    candidates: int,
    seed: validation.Seed,
) -> tuple[NDArray[np.int64], Array]:
    """Return k unlabeled nodes, best first, and their scores; see `Posterior.suggest`."""
    validation.one_of("method", method, BY_DRAWS + BY_PRIOR)
    validation.integer("candidates", candidates, 1)
    labeled = posterior.labels.nodes
    n_hidden = posterior.n_nodes - labeled.size
    if n_hidden == 0:
        raise ValueError("every node is labeled: there is nothing left to suggest")
    validation.integer("k", k, 1, n_hidden, f"{n_hidden} nodes are unlabeled")
    model = posterior.settings["sign_model"] or {"noise": 0.0, "flip_rate": 0.0}
    with one_blas_thread():  # the last digits decide between nodes that score alike
        if method in BY_PRIOR:
            gaussian = Conditioned(prior, max(model["noise"], MIN_NOISE))
            for node in labeled:
                gaussian.observe(node)
            return gaussian.greedy(k, method)
        ranking = posterior.ranking(by="variance" if method == "variance" else "epistemic")
        uncertain = ranking[~np.isin(ranking, labeled)][: max(candidates, k)]
        if method == "variance" and k == 1:
            return uncertain[:1], posterior.variance[uncertain[:1]]
        uncertain.sort()  # the first node wins a tie
        sign_model = model["noise"], model["flip_rate"]
        answers = Answers(posterior, prior, uncertain, method, sign_model, seed)
        picked, scores = greedy(answers, k)
        return uncertain[picked], scores


class Scores(Protocol):
    """Scores of candidates, given those that were picked."""

    def scores(self) -> Array:
        """Return the score of each candidate."""

    def observe(self, at: int) -> None:
        """Count a candidate as answered."""


def greedy(answers: Scores, k: int) -> tuple[NDArray[np.int64], Array]:
    """Observe and return k of the candidates, by position, and the score of each when picked."""
    picked, scores = np.empty(k, dtype=np.int64), np.empty(k)
    for turn in range(k):
        score = answers.scores()
        score[picked[:turn]] = -np.inf
        picked[turn] = np.argmax(score >= (1 - TIE) * score.max())  # the first of those that tie
        scores[turn] = score[picked[turn]]
        answers.observe(picked[turn])
    return picked, scores


def add_level(prior: GaussianPrior) -> Gaussian:
    """Return the prior's law with a level at least as large as a node's mean deviation.

    Without a level, all nodes' fields sum to 0 (for the combinatorial Laplacian). The sum over the
    unlabeled nodes then depends only on the labeled ones, and Sigma-opt would ask for nodes next to
    those. The fields of Ji and Han, and of Ma et al., have a free level.
    """
    if isinstance(prior, SumPrior):
        return prior.with_parameters(level=max(1.0, float(prior.level))).law
    return SumPrior.of([prior, Level(1.0)]).law


class Conditioned:
    """The prior given noisy observations of the field, and its Gaussian scores.

    Between nodes not observed, C_ij = U_i S U_j' + rho^2 [i = j] at all times, with the basis U of
    the law; S is diag(kappa - rho^2) at first, and every observation subtracts a matrix of rank
    one.

    Parameters
    ----------
    prior : Prior
    noise : float
        The deviation of the noise.
    candidates : ndarray of int, optional
        The nodes that `greedy` may pick, all by default. Scores are sums over all nodes in any
        case, and take O(N r^2) once and O(M r^2) for each of M candidates' picks.
    """

    def __init__(
        self, prior: GaussianPrior, noise: float, candidates: NDArray[np.int64] | None = None
    ) -> None:
        law = add_level(prior)
        self._U, self._rest, self._noise = law.basis, law.tail**2, noise
        self._candidates = np.arange(prior.n_nodes) if candidates is None else candidates
        self._rows = self._U if candidates is None else self._U[candidates]
        self._S = np.diag(law.variances - self._rest)
        # sums over the nodes that are not observed
        self._gram, self._sum = self._U.T @ self._U, self._U.sum(axis=0)
        self._observed = np.zeros(prior.n_nodes, dtype=bool)

    def observe(self, node: int) -> None:
        """Condition on u + noise at a node."""
        row = self._U[node]
        loads = self._S @ row
        self._S -= np.outer(loads, loads / (row @ loads + self._rest + self._noise**2))
        self._gram -= np.outer(row, row)
        self._sum -= row
        self._observed[node] = True

    def scores(self, method: str) -> Array:
        """Return the V-opt or Sigma-opt scores of the candidates."""
        loads = self._rows @ self._S
        shared = np.einsum("ij,ij->i", loads, self._rows)
        if method == "v_opt":
            score = np.einsum("ij,ij->i", loads @ self._gram, loads)
            score += self._rest * (2 * shared + self._rest)
        else:
            score = (loads @ self._sum + self._rest) ** 2
        score /= shared + self._rest + self._noise**2
        score[self._observed[self._candidates]] = -np.inf
        return score

    def greedy(self, k: int, method: str) -> tuple[NDArray[np.int64], Array]:
        """Observe and return k nodes, and the score of each when picked."""
        picked, scores = np.empty(k, dtype=np.int64), np.empty(k)
        for at in range(k):
            score = self.scores(method)
            best = np.argmax(score)
            picked[at], scores[at] = self._candidates[best], score[best]
            self.observe(picked[at])
        return picked, scores


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
