"""Labels of new items, each treated as an additional node of the graph.

For f = D^(-1/2) u the paper's prior is exp(-<f, (D - A) f> / (2 c)), eqs. (1) and (11). Connect a
new node x by weights a_j, with d = sum_j a_j and p_j = a_j / d. Its law given all other nodes is
that of a node of a Gaussian Markov random field (Rue and Held 2005, theorem 2.3),

    f_x | f ~ N(sum_j p_j f_j, c / d),

so that fewer or smaller weights mean a larger variance. The mean is also that of the harmonic
extension (Delalleau, Bengio and Le Roux 2005, Efficient non-parametric function induction in
semi-supervised learning).

Here c is the variance of (L u)_j = u_j - sum_i a_ij u_i / (d_i d_j)^(1/2), the difference between a
node and its neighbors. Under other priors this variance is not c and differs between nodes. A new
node is assumed to differ from its neighbors as they differ from theirs: c is replaced by

    v = sum_j p_j Var (L u)_j,    Var (L u)_j = sum_k lambda_k^2 sigma_k^2 q_kj^2.

Under smooth priors v is small, and an item inside the data is as certain as its neighbors. The
field of the item is scaled to the mean prior variance of a node, 1: as its weights vanish it tends
to that of an item without edges, of which labels say nothing. The true class is that of this field
after noise of the likelihood's overlap.

The level of a sum of priors is that of all nodes, and the field of features is known wherever there
are features. So the covariances of a new item with the labeled nodes add up as those of nodes do,
and its field given the field there is Gaussian. For K > 2 classes each of K fields has this law.
The differences from the means are integrated out as in `graphuq.posterior.node_statistics`, one
exactly and the others by draws: K for each draw of the posterior, the same for all new items.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from graphuq.likelihoods.label_rule import both_classes, probability_positive
from graphuq.posterior.node_kernels import class_probability
from graphuq.posterior.sites import GaussianSites
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.priors.given import Conditional, Rows
from graphuq.propagation.gaussian_sites import at_labeled, classes_at_labeled
from graphuq.utils.threads import one_blas_thread
from graphuq.utils.typing import Array

# Products of new items and draws held at a time.
MAX_PRODUCTS = 2**22

# Smaller deviations of a new item's field are rounding.
MIN_DEVIATION = 1e-9


class NewItems:
    """The field at new items given the field at the labeled nodes.

    Parameters
    ----------
    given : Conditional
        The law of the field at all nodes, given the field at the labeled ones.
    rows : Rows
        That law for the new items.
    overlap : float
        Deviation of the noise before the threshold.
    """

    def __init__(self, given: Conditional, rows: Rows, overlap: float) -> None:
        self.n = rows.deviation.size
        self._given, self._rows = given, rows
        self._deviation = np.hypot(rows.deviation, overlap)

    def by_class_from_sites(self, root: Array, precision: Array, shift: Array) -> Array:
        """Return class probabilities, shape (m, K), under Gaussian sites at the labeled nodes.

        Parameters
        ----------
        root : ndarray, shape (J, p)
            F, with F F' the prior covariance of a field at the labeled nodes.
        precision, shift : ndarray, shape (J,), or (J, K) for K > 2 classes
        """
        if precision.ndim == 1:
            mean, spread, _ = at_labeled(root, precision, shift)
            extended = self._extend(np.vstack([mean, spread.T]))
            deviation = np.sqrt(self._deviation**2 + (extended[:, 1:] ** 2).sum(axis=1))
            return both_classes(probability_positive(extended[:, 0], deviation))
        from graphuq.likelihoods.argmax_probability import argmax_probability_of_gaussian

        # rows of F for the new items, in units of their own deviation
        rows = self._extend(root.T) / np.maximum(self._deviation, MIN_DEVIATION)[:, None]
        step = max(1, MAX_PRODUCTS // (precision.shape[1] * sum(root.shape)))
        blocks = []
        for start in range(0, self.n, step):
            part = rows[start : start + step]
            mean, covariance = classes_at_labeled(root, precision, shift, part).moments()
            blocks.append(argmax_probability_of_gaussian(mean, covariance, 1.0))
        return np.concatenate(blocks)

    def _extend(self, fields: Array) -> Array:
        """Return the field expected at the new items, shape (m, fields), given (fields, J)."""
        return self._rows.mean(self._given.summarize(fields[:, None])[:, 0])

    def by_class_from_draws(self, fields: Array, rng: np.random.Generator) -> Array:
        """Return class probabilities summed over draws, shape (m, K).

        Parameters
        ----------
        fields : ndarray, shape (draws, J) or (draws, J, K)
            The field at the labeled nodes.
        rng : Generator
        """
        draws, n_labeled = fields.shape[:2]
        each = np.swapaxes(fields.reshape(draws, n_labeled, -1), 1, 2)
        n_fields = each.shape[1]
        # the draws of a field side by side
        summarized = np.swapaxes(self._given.summarize(each), 0, 1)
        summaries = summarized.reshape(n_fields * draws, -1)
        step = max(1, MAX_PRODUCTS // summaries.shape[0])
        noise = rng.standard_normal((draws, n_fields))
        blocks = []
        for start in range(0, self.n, step):
            part = slice(start, start + step)
            loadings, deviation = self._rows.loadings[part], self._deviation[part]
            mean = self._rows._replace(loadings=loadings).mean(summaries)
            if n_fields == 1:
                found = both_classes(probability_positive(mean, deviation[:, None]))
                blocks.append(found.sum(axis=1))
            else:
                means = mean.T.reshape(n_fields, draws, -1)
                found = class_probability(means, deviation, noise)
                found[~loadings.any(axis=1)] = 1 / n_fields  # labels say nothing of these
                blocks.append(draws * found)
        return np.concatenate(blocks)

    def draw(self, fields: Array, rng: np.random.Generator) -> Array:
        """Return draws of the fields at the new items, shape (draws, m, C), each on its own.

        Parameters
        ----------
        fields : ndarray, shape (draws, J, C)
            The fields at the labeled nodes.
        rng : Generator
        """
        summarized = self._given.summarize(np.swapaxes(fields, 1, 2))
        found = np.empty((len(fields), self.n, fields.shape[2]))
        for k, summaries in enumerate(np.swapaxes(summarized, 0, 1)):
            found[:, :, k] = self._rows.mean(summaries).T
        return found + self._rows.deviation[:, None] * rng.standard_normal(found.shape)


def new_probability(
    posterior: Any, prior: GaussianPrior, degrees: Array, weights: Any, X: Any = None
) -> Array:
    """Return the posterior class probabilities of new items, shape (m, K).

    Parameters
    ----------
    posterior : Posterior
    prior : Prior, FeaturePrior or SumPrior
        The prior of the posterior, whose graphs have a `Prior.projected` or `Prior.full`.
    degrees : ndarray, shape (n,)
        Degrees of the nodes of the graph.
    weights : array_like or sparse array, shape (m, n)
        a_j >= 0 of each new item in its row.
    X : array_like, shape (m, d), optional
        Features of the new items, if the prior has any.

    Raises
    ------
    ValueError
        A prior with a tail, or without the features that it needs.

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
    array([[0.88, 0.12],
           [0.5 , 0.5 ],
           [0.5 , 0.5 ]])
    """
    labeled = posterior.labels.nodes
    with one_blas_thread():
        items = join(posterior, prior, degrees, weights, X)
        if isinstance(posterior.source, GaussianSites):
            sites = posterior.source
            return items.by_class_from_sites(prior.root(labeled), sites.precision, sites.shift)
        rng = np.random.default_rng(posterior._own_seed())
        total = np.zeros((items.n, posterior.labels.classes.size))
        for block in posterior.latent_draws(prior, labeled, seed=rng):
            total += items.by_class_from_draws(block, rng)
        return total / posterior.n_latent_draws


def join(
    posterior: Any, prior: GaussianPrior, degrees: Array, weights: Any, X: Any = None
) -> NewItems:
    """Return the new items of `new_probability`, joined to the graph."""
    given = prior.conditional(posterior.labels.nodes, np.empty(0, dtype=np.int64))
    basis, extra = prior.rows_of_new(degrees, sparse.csr_array(weights), X)
    rows = given.rows(basis, np.full(len(basis), -1, dtype=np.int32))
    rows = rows._replace(deviation=np.sqrt(rows.deviation**2 + extra))
    return NewItems(given, rows, posterior.overlap)
