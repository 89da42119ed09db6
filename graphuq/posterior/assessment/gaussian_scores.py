"""Scores of nodes to label next by the Gaussian prior; see `suggestion` for the formulas."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphuq.priors.gaussian import Gaussian
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.priors.level import Level
from graphuq.priors.sum_prior import SumPrior
from graphuq.utils.typing import Array


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
