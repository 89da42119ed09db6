"""What to label next: the unlabelled nodes whose labels are expected to tell most.

With l_i = S(u_i), and y_j = +-1 the answer an annotator would give for node j,

    E[y_j | u] = m_j = (1 - 2 f) (2 Psi(u_j; noise) - 1),

noise and flip rate f being those of the likelihood's sign model (both 0 if it has none), the
methods score an unlabelled node j by

``bald``
    H(E p_j) - E H(p_j), p_j = (1 + m_j) / 2, H the entropy: the mutual information of y_j and u
    (Houlsby, Huszar, Ghahramani and Lengyel 2011, Bayesian active learning by disagreement);
``variance_reduction``
    sum_i Cov(l_i, m_j)^2 / Var y_j. It is exact: y_j takes two values, so that E[l_i | y_j] is
    linear in it, and E Var(l_i | y_j) = Var l_i - Cov(l_i, y_j)^2 / Var y_j;
``variance``
    Var l_j;
``v_opt``
    sum_i C_ij^2 / (C_jj + noise^2), C the covariance of u under the prior and a free level, given
    u + noise at the labelled nodes (Ji and Han 2012, A variance minimization criterion to active
    learning on graphs);
``sigma_opt``
    (sum_i C_ij)^2 / (C_jj + noise^2) (Ma, Garnett and Schneider 2013, Sigma-optimality for active
    learning on Gaussian random fields);

sums being over the unlabelled nodes i. The first three come from draws of u. After each pick l and
m of all nodes are regressed on its answer, the best linear guess standing for the posterior that
the answer would bring; BALD's score falls as what is left of Var m_j does. The last two condition
the Gaussian, exactly.

With K > 2 classes l_i and y_j are indicators of a class, and p_jc = P(y_j = c | u) is what it takes
for argmax_k (u_jk + noise eta_k) to be c (`graphuq.largest`), or another class and then a flip. The
entropies are those of K classes, and with Cov(l_i, y_j) and Var y_j matrices

    sum_i tr(Var l_i - E Var(l_i | y_j)) = sum_i tr(Cov(l_i, y_j) (Var y_j)^+ Cov(y_j, l_i)),

as exact as for two: it is the sum of Cov(l_ia, y_jc)^2 / P(y_j = c) over classes a and c. It is
taken K / (K - 1) times, as `NodePosterior.variance` is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, erf

from graphuq import validation
from graphuq.class_answers import ClassAnswers
from graphuq.gaussian import Gaussian
from graphuq.prior import Prior
from graphuq.threads import one_blas_thread

if TYPE_CHECKING:
    from graphuq.node_posterior import NodePosterior

Array = NDArray[np.float64]

BY_DRAWS, BY_PRIOR = ("bald", "variance_reduction", "variance"), ("v_opt", "sigma_opt")

# The Gaussian methods take at least this much noise, a tenth of a node's prior deviation: without
# noise r labelled nodes would leave nothing of r modes to learn, and all others would score alike.
LEAST_NOISE = 0.1

# Variances of labels below this are rounding.
TINY = 1e-9


def suggest(
    posterior: NodePosterior,
    prior: Prior,
    k: int,
    method: str,
    candidates: int,
    seed: validation.Seed,
) -> NDArray[np.int64]:
    """Return k unlabelled nodes, best first; see `NodePosterior.suggest`."""
    validation.one_of("method", method, BY_DRAWS + BY_PRIOR)
    validation.integer("candidates", candidates, 1)
    labelled = posterior.labels.nodes
    n_hidden = posterior.n_nodes - labelled.size
    if n_hidden == 0:
        raise ValueError("every node is labelled: there is nothing left to suggest")
    validation.integer("k", k, 1, n_hidden, f"{n_hidden} nodes are unlabelled")
    noise, flip_rate = 0.0, 0.0
    if posterior.settings["sign_model"] is not None:
        noise = posterior.settings["sign_model"]["noise"]
        flip_rate = posterior.settings["sign_model"]["flip_rate"]
    with one_blas_thread():  # last digits decide between nodes that score alike
        if method in BY_PRIOR:
            gaussian = Conditioned(prior, max(noise, LEAST_NOISE))
            for node in labelled:
                gaussian.observe(node)
            return gaussian.greedy(k, method)
        ranking = posterior.ranking(by="variance" if method == "variance" else "entropy")
        uncertain = ranking[~np.isin(ranking, labelled)][: max(candidates, k)]
        if method == "variance" and k == 1:
            return uncertain[:1]
        uncertain.sort()  # ties go to the first node
        kind: Any = Answers if posterior.probability.ndim == 1 else ClassAnswers
        answers = kind(posterior, prior, uncertain, method, (noise, flip_rate), seed)
        return uncertain[greedy(answers, k)]


def greedy(answers: Answers | ClassAnswers, k: int) -> NDArray[np.int64]:
    """Observe and return k of the candidates, by position."""
    picked = np.empty(k, dtype=np.int64)
    for turn in range(k):
        score = answers.scores()
        score[picked[:turn]] = -np.inf
        picked[turn] = np.argmax(score)
        answers.observe(picked[turn])
    return picked


def with_level(prior: Prior) -> Gaussian:
    """Return the prior's law with a level along q_0, a node's deviation on average.

    Without one, all nodes' fields sum to 0 (for the combinatorial Laplacian), and the unlabelled
    ones' sum tells of nothing but the labelled: Sigma-opt would ask next to what is labelled. The
    fields of Ji and Han, and of Ma et al., have a free level.
    """
    variances = prior.law.variances.copy()
    variances[0] = max(variances[0], prior.n_nodes)
    return Gaussian(prior.law.basis, variances, prior.law.tail)


class Conditioned:
    """The prior given noisy observations of the field, and the Gaussian scores of what is left.

    Between nodes not observed, C_ij = U_i S U_j' + rho^2 [i = j] at all times, with U = [q_0, Q];
    S is diag(kappa - rho^2) at first, and every observation takes a rank one from it.
    """

    def __init__(self, prior: Prior, noise: float) -> None:
        law = with_level(prior)
        self._U, self._rest, self._noise = law.basis, law.tail**2, noise
        self._S = np.diag(law.variances - self._rest)
        self._gram, self._sum = self._U.T @ self._U, self._U.sum(axis=0)  # of nodes not observed
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
        """Return V-opt's or Sigma-opt's scores of all nodes, in O(N r^2)."""
        loads = self._U @ self._S
        shared = np.einsum("ij,ij->i", loads, self._U)
        if method == "v_opt":
            score = np.einsum("ij,ij->i", loads @ self._gram, loads)
            score += self._rest * (2 * shared + self._rest)
        else:
            score = (loads @ self._sum + self._rest) ** 2
        score /= shared + self._rest + self._noise**2
        score[self._observed] = -np.inf
        return score

    def greedy(self, k: int, method: str) -> NDArray[np.int64]:
        """Observe and return k nodes."""
        picked = np.empty(k, dtype=np.int64)
        for at in range(k):
            picked[at] = np.argmax(self.scores(method))
            self.observe(picked[at])
        return picked


class Answers:
    """Joint moments of labels and would-be answers, from draws of the field, and their scores.

    Attributes
    ----------
    cross : ndarray, shape (n, M)
        Cov(l_i, m_j) of n nodes, all unlabelled ones for ``variance_reduction``, and M candidates.
    inner : ndarray, shape (M, M)
        Cov(y_j, y_k); on the diagonal what m_j varies by, and the spread of y_j about it.
    """

    def __init__(
        self,
        posterior: NodePosterior,
        prior: Prior,
        candidates: NDArray[np.int64],
        method: str,
        sign_model: tuple[float, float],
        seed: validation.Seed,
    ) -> None:
        nodes = candidates
        if method == "variance_reduction":
            nodes = np.setdiff1d(np.arange(posterior.n_nodes), posterior.labels.nodes)
        n, m = nodes.size, candidates.size
        validation.memory(
            12.0 * n * m + 16.0 * m * m + 2e8,
            f"covariances of {n} nodes with {m} candidates",
            "take fewer candidates, and a smaller k",
        )
        at = np.searchsorted(nodes, candidates)
        cross, inner = np.zeros((n, m), dtype=np.float32), np.zeros((m, m))
        labels, answers, squares, doubt = np.zeros(n), np.zeros(m), np.zeros(m), np.zeros(m)
        draws = 0
        for u in posterior.latent_draws(prior, nodes, seed=seed):
            label = np.where(u >= 0, np.float32(1), np.float32(-1))
            answer = expected_answer(u[:, at], *sign_model)
            cross += label.T @ answer.astype(np.float32)
            inner += answer.T @ answer
            labels += label.sum(axis=0, dtype=np.float64)
            answers += answer.sum(axis=0)
            squares += (answer**2).sum(axis=0)
            doubt += entropy(answer).sum(axis=0)
            draws += u.shape[0]
        labels /= draws
        answers /= draws
        self._method, self._draws = method, draws
        self.cross = cross / np.float32(draws)
        self.cross -= np.outer(labels.astype(np.float32), answers.astype(np.float32))
        self.inner = inner / draws - np.outer(answers, answers)
        self._own = np.clip(1 - squares / draws, 0, None)  # Var(y_j | u)
        np.fill_diagonal(self.inner, 1 - answers**2)
        self._told = np.diag(self.inner) - self._own  # Var m_j, before the picks
        self._information = np.clip(entropy(answers) - doubt / draws, 0, None)
        self._spread = 1 - labels**2
        self._at = at

    def scores(self) -> Array:
        """Return the candidates' scores given the picks so far."""
        total = np.diag(self.inner)
        signal = np.clip(total - self._own, 0, None)
        if self._method == "variance":
            return self._spread[self._at]
        if self._method == "bald":
            # the share of it that the picks leave
            return self._information * _ratio(signal, self._told)
        square = np.einsum("ij,ij->j", self.cross, self.cross).astype(np.float64)
        # T draws put Var l_i Var m_j / T too much into a squared covariance, if it is small
        square -= signal * (self._spread.sum() / self._draws)
        return _ratio(np.clip(square, 0, None), total)

    def observe(self, at: int) -> None:
        """Regress labels and answers on the answer of candidate ``at``."""
        variance = self.inner[at, at]
        if not variance > TINY:
            return
        gain, column = self.inner[at] / variance, self.cross[:, at].copy()
        self._spread = np.clip(self._spread - column.astype(np.float64) ** 2 / variance, 0, None)
        self.cross -= np.outer(column, gain.astype(np.float32))
        self.inner -= np.outer(self.inner[:, at].copy(), gain)


def expected_answer(u: Array, noise: float, flip_rate: float) -> Array:
    """Return E[y | u] of an annotator with noise before the threshold and flips after it."""
    sign = np.where(u >= 0, 1.0, -1.0) if noise == 0 else erf(u / (noise * np.sqrt(2)))
    return (1 - 2 * flip_rate) * sign


def entropy(expected: Array) -> Array:
    """Return the entropy, in nats, of signs with these expectations."""
    return entr((1 + expected) / 2) + entr((1 - expected) / 2)


def _ratio(above: Array, below: Array) -> Array:
    """Return above / below, and 0 where nothing is below."""
    positive = below > TINY
    return np.where(positive, above / np.where(positive, below, 1.0), 0.0)
