"""The product of Gaussian priors and Gaussian sites at the labeled nodes.

A site exp(nu_j u_j - tau_j u_j^2 / 2) stands for the likelihood of the label of node j. With a root
F of the prior covariance at the labeled nodes, C_JJ = F F', u_J = F z and z is Gaussian.

A label of K > 2 classes depends on differences of the K fields u at its node alone. So its site is

    exp(b' u - u' (diag(pi) - pi pi' / s) u / 2),    s = sum_k pi_k,    sum_k b_k = 0,

with pi and b of shape (K,). Its quadratic part is, up to a factor, an integral over a hub w, which
is tied to each field:

    exp(-u' (diag(pi) - pi pi' / s) u / 2) ~ int exp(-sum_k pi_k (w - u_k)^2 / 2) dw.

Given the hubs of all labeled nodes the K fields are independent, and each has sites of one field.
The hubs have a Gaussian of J dimensions, so that K fields cost K times as much as one, and the hubs
(Riihimaki, Jylanki and Vehtari 2013, section 4.2).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg
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
    return spread @ (inverse @ nu), spread, 2 * float(np.log(factor.diagonal()).sum())


class ClassGaussian(NamedTuple):
    """The Gaussian of K fields at the labeled nodes given the sites.

    Cov(u_k, u_l) = coupling_k coupling_l' + spread_k spread_k', the second for k = l alone.
    """

    mean: Array
    """Shape (K, J)."""
    spread: Array
    """The part of each field alone, shape (K, J, p)."""
    coupling: Array
    """The part that the hubs share, shape (K, J, J)."""
    hubs: Array
    """The root of the hubs' covariance to which ``coupling`` belongs, shape (J, J)."""
    log_shrunk: float
    """Log of the determinant of prior covariance times precision."""

    def moments(self) -> tuple[Array, Array]:
        """Return means (J, K) and covariances (J, K, K) of the fields at each node."""
        covariance = np.einsum("kij,lij->ikl", self.coupling, self.coupling, optimize=True)
        own = np.einsum("kij,kij->ik", self.spread, self.spread)
        classes = np.arange(len(self.mean))
        covariance[:, classes, classes] += own
        return np.ascontiguousarray(self.mean.T), covariance

    def draw(self, size: int, rng: np.random.Generator) -> Array:
        """Return draws of the fields at the labeled nodes, shape (size, K, J)."""
        K, J, p = self.spread.shape
        own = rng.standard_normal((K, size, p)) @ self.spread.transpose(0, 2, 1)
        shared = rng.standard_normal((size, J)) @ self.coupling.transpose(0, 2, 1)
        return np.ascontiguousarray((self.mean[:, None] + own + shared).transpose(1, 0, 2))


def classes_at_labeled(
    root: Array, precision: Array, shift: Array, others: Array | None = None
) -> ClassGaussian:
    """Return the Gaussian of the K fields at the labeled nodes given the sites.

    Parameters
    ----------
    root : ndarray, shape (J, p)
        F, with F F' the prior covariance of each field.
    precision, shift : ndarray, shape (J, K)
        pi and b of each label.
    others : ndarray, shape (m, p), optional
        Rows of F of other places, whose Gaussian is returned instead.
    """
    J, K = precision.shape
    rows = root if others is None else others
    total = precision.sum(axis=1)
    if not (total > 0).all():
        raise NotConvergedError("the total precision of a node is not positive")
    # 1. each field by itself, as if the hubs were 0
    mean, spread = np.empty((K, len(rows))), np.empty((K, *rows.shape))
    pull, log_shrunk = np.zeros(J), -float(np.log(total).sum())
    tied = np.empty((K, len(rows), J))
    hubs = np.diag(total)
    for k in range(K):
        factor, inverse = whitened(root, precision[:, k], shift[:, k])
        log_shrunk += 2 * float(np.log(factor.diagonal()).sum())
        labeled = elsewhere = inverse.T
        if others is not None:
            elsewhere = linalg.solve_triangular(factor, rows.T, lower=True, check_finite=False).T
        h = inverse @ shift[:, k]
        mean[k], spread[k] = elsewhere @ h, elsewhere
        pulled = labeled * precision[:, k, None]
        tied[k] = elsewhere @ pulled.T
        # 2. the hubs: their precision s - sum_k pi_k S_k pi_k
        hubs -= pulled @ pulled.T
        pull += precision[:, k] * (labeled @ h)
    try:
        factor = linalg.cholesky(hubs, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError as error:
        raise NotConvergedError("the total precision is not positive definite") from error
    log_shrunk += 2 * float(np.log(factor.diagonal()).sum())
    # 3. what they add to each field
    inverse = linalg.solve_triangular(factor, np.eye(J), lower=True, check_finite=False)
    coupling = tied @ inverse.T
    return ClassGaussian(
        mean + coupling @ (inverse @ pull), spread, coupling, inverse.T, log_shrunk
    )
