"""Labels of new items, each as if it were one more node of the graph.

For f = D^(-1/2) u the paper's prior is exp(-<f, (D - A) f> / (2 c)), eqs. (1) and (11). Hang one
more node x on it, with weights a_j, d = sum_j a_j and p_j = a_j / d. Given all others its law is
that of any node of a Gaussian Markov random field (Rue and Held 2005, theorem 2.3),

    f_x | f ~ N(sum_j p_j f_j, c / d),

so that fewer or weaker ties to the data leave more doubt. The mean is that of the harmonic
extension too (Delalleau, Bengio and Le Roux 2005, Efficient non-parametric function induction in
semi-supervised learning).

There c is the variance of (L u)_j = u_j - sum_i a_ij u_i / (d_i d_j)^(1/2), by which a node departs
from its neighbours. Under other priors that variance is not c, and not the same at all nodes. A new
node is taken to depart from its neighbours as they do from theirs: in the place of c comes

    v = sum_j p_j Var (L u)_j,    Var (L u)_j = sum_k lambda_k^2 sigma_k^2 q_kj^2.

Smooth priors make it small, and an item amid the data as certain as the nodes about it. Its label
is the sign of f_x: P(l_x = 1 | labels) = E Psi(sum_j p_j f_j (d / v)^(1/2); 1) over the posterior,
1/2 for an item that is tied to nothing.

Of K > 2 fields, each with this law, the label is the largest. Their departures are integrated out
as in `graphuq.moments`, one exactly and the others by draws: K for each draw of the posterior, the
same for all new items.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.special import ndtr

from graphuq.approximation import ApproximatePosterior
from graphuq.moments import class_probability
from graphuq.posterior import Posterior
from graphuq.prior import Prior
from graphuq.threads import one_blas_thread

Array = NDArray[np.float64]

# Products of new items and draws held at a time.
BLOCK = 2**22


def new_probability(
    posterior: Posterior | ApproximatePosterior, prior: Prior, degrees: Array, weights: Any
) -> Array:
    """Return the posterior probability that new items are of ``labels.classes[1]``, or of each.

    Parameters
    ----------
    posterior : Posterior or ApproximatePosterior
    prior : Prior
        The one that it is of, a `Prior.projected`.
    degrees : ndarray, shape (n,)
        Of the graph's nodes.
    weights : array_like or sparse array, shape (m, n)
        a_j >= 0 of each new item in its row.

    Returns
    -------
    ndarray, shape (m,), or (m, K) of K > 2 classes

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(100, seed=0)
    >>> graph = gq.knn_graph(X, n_neighbors=8, connect=True)
    >>> prior = gq.Prior.projected(graph, rank=20)
    >>> quick = gq.approximate(prior, gq.Probit(gamma=0.1), gq.reveal(y, counts=3, seed=0))
    >>> beside_node_0 = np.eye(1, 100)
    >>> far, away = 1e-6 * beside_node_0, 0 * beside_node_0
    >>> new_probability(quick, prior, graph.degrees, np.vstack([beside_node_0, far, away])).round(2)
    array([0.12, 0.5 , 0.5 ])
    """
    weights = sparse.csr_array(weights)
    d = np.asarray(weights.sum(axis=1), dtype=np.float64)
    tied = d > 0
    shares = sparse.diags_array(1 / np.where(tied, d, 1.0)) @ weights
    departure = prior.vectors**2 @ (prior.spectrum.values * prior.sigma) ** 2
    with np.errstate(over="ignore", divide="ignore"):
        precision = np.where(tied, d / np.where(tied, shares @ departure, 1.0), 0.0)
    with one_blas_thread():
        loads = shares @ (prior.vectors / np.sqrt(degrees)[:, None]) * prior.sigma
        loads *= np.sqrt(precision)[:, None]
        if isinstance(posterior, ApproximatePosterior):
            mean, spread = _modes(posterior, prior)
            return ndtr(loads @ mean / np.sqrt(1 + ((loads @ spread) ** 2).sum(axis=1)))
        if posterior.modes.ndim == 4:
            return _by_class(posterior, loads, tied)
        draws = posterior.modes.reshape(-1, prior.rank).T
        probability = np.empty(d.size)
        rows = max(1, BLOCK // draws.shape[1])
        for start in range(0, d.size, rows):
            part = slice(start, start + rows)
            probability[part] = ndtr(loads[part] @ draws).mean(axis=1)
    return probability


def _by_class(posterior: Posterior, loads: Array, tied: NDArray[np.bool_]) -> Array:
    """Return the probabilities of K classes, shape (m, K); the departures' deviation is 1."""
    rank, K = posterior.modes.shape[2:]
    draws = posterior.modes.reshape(-1, rank, K)
    side_by_side = np.swapaxes(draws, 0, 1).reshape(rank, -1)
    own = posterior.settings
    seed = np.random.SeedSequence(own["seed_entropy"], spawn_key=own["seed_spawn_key"])
    noise = np.random.default_rng(seed).standard_normal((len(draws), K))
    probability = np.full((tied.size, K), 1 / K)
    rows = max(1, BLOCK // side_by_side.shape[1])
    for start in range(0, tied.size, rows):
        part = slice(start, start + rows)
        found = class_probability(loads[part] @ side_by_side, noise)
        probability[part] = np.where(tied[part, None], found, 1 / K)
    return probability


def _modes(posterior: ApproximatePosterior, prior: Prior) -> tuple[Array, Array]:
    """Return mean and a root of the covariance of the modes z, given the sites."""
    G = prior.modes_at(posterior.labels.nodes) * prior.sigma
    factor = linalg.cholesky(np.eye(prior.rank) + (G.T * posterior.site_precision) @ G, lower=True)
    spread = linalg.solve_triangular(factor, np.eye(prior.rank), lower=True).T
    return spread @ (spread.T @ (G.T @ posterior.site_shift)), spread
