"""A labeled node's class before flips, given the field at all other labeled nodes.

Under the prior u_j given u_-j is Gaussian, with mean m_j and variance v_j. The class is that of
probit with noise of variance v_j + gamma^2 at m_j.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from graphuq.likelihoods.sign_model import SignModel
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.utils.threads import one_blas_thread
from graphuq.utils.typing import Array

# Added to the variances at the labels, relative to their mean: modes fewer than labels leave the
# covariance singular.
JITTER = 1e-8


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
