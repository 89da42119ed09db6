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

Sums are over the unlabeled nodes i. The first three come from draws of u (`answer_scores`). After
each pick the labels and answers of all nodes are regressed on its answer: the best linear predictor
replaces the posterior that the answer would give. BALD's score decreases as the rest of Var m_j
does. The last two condition the Gaussian exactly (`gaussian_scores`).

With K > 2 classes l_i and y_j are indicators of a class, and p_jc = P(y_j = c | u) is the
probability that argmax_k (u_jk + noise eta_k) is c
(`graphuq.likelihoods.argmax_probability`), or another class before a flip. The entropies
are those of K classes, and with matrices Cov(l_i, y_j) and Var y_j

    sum_i tr(Var l_i - E Var(l_i | y_j)) = sum_i tr(Cov(l_i, y_j) (Var y_j)^+ Cov(y_j, l_i)),

as exact as for two: it is the sum of Cov(l_ia, y_jc)^2 / P(y_j = c) over classes a and c. It is
multiplied by K / (K - 1), as `Posterior.variance` is.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from graphuq.posterior.assessment.answer_scores import Answers
from graphuq.posterior.assessment.gaussian_scores import Conditioned
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.utils import validation
from graphuq.utils.threads import one_blas_thread
from graphuq.utils.typing import Array

BY_DRAWS, BY_PRIOR = ("bald", "variance_reduction", "variance"), ("v_opt", "sigma_opt")

# Scores this near, relative to the best, are ties: single precision does not tell them apart.
TIE = 1e-5

# The Gaussian methods take at least this much noise, a tenth of a node's prior deviation: without
# noise r labeled nodes would determine all r modes, and all others would score alike.
MIN_NOISE = 0.1


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
