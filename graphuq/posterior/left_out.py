"""The probability of every class of a labeled node, given the labels of all other nodes.

It is found from the class before flips, given the field at all other labeled nodes. Under the prior
u_j given u_-j is Gaussian, with mean m_j and variance v_j. The class is that of probit with noise
of variance v_j + gamma^2 at m_j.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from graphuq.labels.labels import Labels
from graphuq.likelihoods.label_rule import label_rule
from graphuq.likelihoods.sign_model import SignModel
from graphuq.posterior.draws import Draws
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.utils.threads import one_blas_thread
from graphuq.utils.typing import Array

# Added to the variances at the labels, relative to their mean: modes fewer than labels leave the
# covariance singular.
JITTER = 1e-8

# Draws that are weighed: more of them change little and take longer. Fewer are where draws x labels
# x classes would exceed the second number.
MOST_DRAWS, MOST_TERMS = 4000, 2**25

# Probabilities of labels are at least this, so that weights are finite.
LEAST = 1e-12


class GivenOthers(NamedTuple):
    """The law of each labeled node's field given the others'."""

    precision: Array
    """The inverse of the covariance of the field at the labeled nodes, shape (J, J)."""
    variance: Array
    """v_j, shape (J,)."""

    @classmethod
    def of(cls, prior: GaussianPrior, nodes: Any) -> GivenOthers:
        """Return it for labeled nodes."""
        with one_blas_thread():
            root = prior.root(nodes)
            covariance = root @ root.T
            mean = np.trace(covariance) / len(covariance)
            covariance[np.diag_indices_from(covariance)] += JITTER * mean
            precision = linalg.inv(covariance, check_finite=False)
        return cls(precision, 1 / np.diag(precision))

    def by_class(self, u: Array, noise: Any) -> Array:
        """Return P(class before flips | u_-j) for draws u of shape (draws, J, C): (draws, J, K)."""
        pull = np.einsum("ij,djc->dic", self.precision, u) * self.variance[:, None]
        z = (u - pull) / np.sqrt(self.variance + noise**2)[:, None]
        return SignModel(1.0).wins(z)


def left_out_from_draws(
    draws: Draws, labels: Labels, settings: dict[str, Any], prior: GaussianPrior, seed: Any
) -> Array:
    """Return P(label j is each class | all other labels), shape (J, K), flips included.

    It is that of a label of confidence 1, so that all labels are compared with the same.

    Let u_-j be the field at the other labels. Under the prior u_j given u_-j is Gaussian, with mean
    m_j and variance v_j, which give P(y_j = c | u_-j): that of probit with noise of variance
    v_j + gamma^2, and flips. The posterior of u_-j without label j is the posterior times a weight
    1 / P(y_j | u_-j), so that

        P(y_j = c | y_-j) = E[w P(y_j = c | u_-j)] / E[w],  w = 1 / P(y_j | u_-j),

    where means are over draws given all labels. Weights by u_j itself, 1 / P(y_j | u_j), would have
    the same mean, and an infinite variance where gamma is small. If labels outnumber modes, the
    other labels' field nearly determines u_j, and errors of a few percent are left at labels that
    contradict all others.

    Parameters
    ----------
    draws : Draws
        Without sampled hyperparameters.
    labels : Labels
    settings : dict
        Those of the posterior, with a sign model.
    prior : GaussianPrior
        That of the posterior.
    seed : SeedSequence
    """
    n_labels, n_classes = len(labels), labels.classes.size
    model = SignModel.flipping(**settings["sign_model"], n_classes=n_classes)
    given = model.with_confidence(labels.confidence, n_classes)
    total, weights = np.zeros((n_labels, n_classes)), np.zeros(n_labels)
    most = min(MOST_DRAWS, max(MOST_TERMS // (n_labels * n_classes), 1))
    draws = draws.thinned(math.ceil(math.prod(draws.shape) / most))
    rule, others_say = label_rule(labels), GivenOthers.of(prior, labels.nodes)
    for block in draws.latent(prior, labels, labels.nodes, settings["noise"], seed):
        u = block.reshape(-1, n_labels, rule.n_fields)
        with one_blas_thread():
            p = others_say.by_class(u, model.noise)
        own = p[:, np.arange(n_labels), labels.indices]
        own = given.of_label(own, n_classes).clip(LEAST)
        p = model.of_label(p, n_classes)
        total += (p / own[:, :, None]).sum(axis=0)
        weights += (1 / own).sum(axis=0)
    found = total / weights[:, None]
    return np.asarray(found / found.sum(axis=1, keepdims=True))
