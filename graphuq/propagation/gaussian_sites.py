"""The product of a Gaussian prior and Gaussian sites at the labeled nodes.

A site exp(nu_j u_j - tau_j u_j^2 / 2) stands for the likelihood of the label of node j. With a root
F of the prior covariance at the labeled nodes, C_JJ = F F', u_J = F z and z is Gaussian.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from graphuq.utils.typing import Array

# A larger site determines a field of deviation 1 up to rounding.
MAX_SITE = 1e15


class NotConvergedError(ArithmeticError):
    """The sites do not converge."""


def whitened(root: Array, tau: Array, nu: Array) -> tuple[Array, Array]:
    """Return the lower factor of I + F' diag(tau) F, and L^-1 F' with it."""
    if not (abs(tau).max() < MAX_SITE and abs(nu).max() < MAX_SITE):
        raise NotConvergedError("sites grow without bound")
    if tau.min() >= 0:  # the product of a matrix with itself takes half the time
        scaled = root * np.sqrt(tau)[:, None]
        precision = scaled.T @ scaled
    else:
        precision = (root.T * tau) @ root
    precision.flat[:: len(precision) + 1] += 1.0
    # LAPACK itself: the checks of scipy.linalg take longer than the work for a few labels
    factor, failed = lapack.dpotrf(precision.T, lower=1, overwrite_a=1)
    if failed:
        raise NotConvergedError("the total precision is not positive definite")
    return factor, lapack.dtrtrs(factor, root.T, lower=1)[0]


def at_labeled(root: Array, tau: Array, nu: Array) -> tuple[Array, Array, float]:
    """Return the Gaussian of u_J given the sites: its mean and a root of its covariance.

    The third value is log |I + F' diag(tau) F|, by which the whitened field's determinant shrinks.
    """
    factor, inverse = whitened(root, tau, nu)
    spread = inverse.T
    return spread @ (inverse @ nu), spread, 2 * float(np.log(np.diag(factor)).sum())
