"""The product of a Gaussian prior and Gaussian sites at the labeled nodes.

A site exp(nu_j u_j - tau_j u_j^2 / 2) stands for the likelihood of the label of node j. With a root
F of the prior covariance at the labeled nodes, C_JJ = F F', u_J = F z and z is Gaussian.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from graphuq.utils.typing import Array

# A larger site determines a field of deviation 1 up to rounding.
MAX_SITE = 1e15


class NotConvergedError(ArithmeticError):
    """The sites do not converge."""


def whitened(root: Array, tau: Array, nu: Array) -> tuple[Array, Array]:
    """Return the lower factor of I + F' diag(tau) F, and the mean of the whitened field."""
    if not max(abs(tau).max(), abs(nu).max()) < MAX_SITE:
        raise NotConvergedError("sites grow without bound")
    precision = (root.T * tau) @ root
    precision[np.diag_indices_from(precision)] += 1.0
    try:
        factor = linalg.cholesky(precision, lower=True, check_finite=False)
    except linalg.LinAlgError as error:
        raise NotConvergedError("the total precision is not positive definite") from error
    return factor, linalg.cho_solve((factor, True), root.T @ nu, check_finite=False)


def at_labeled(root: Array, tau: Array, nu: Array) -> tuple[Array, Array, float]:
    """Return the Gaussian of u_J given the sites: its mean and a root of its covariance.

    The third value is log |I + F' diag(tau) F|, by which the whitened field's determinant shrinks.
    """
    factor, h = whitened(root, tau, nu)
    spread = linalg.solve_triangular(factor, root.T, lower=True, check_finite=False).T
    return root @ h, spread, 2 * float(np.log(np.diag(factor)).sum())
