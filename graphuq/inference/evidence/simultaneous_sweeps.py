"""Sweeps of expectation propagation that update all sites at once, for probit without flips.

Each sweep is three products of matrices, which take far less time than visits to one node after
another. Likelihoods without flips are log-concave, so that all sites have positive precisions.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import blas, lapack
from scipy.special import erfcx

from graphuq.priors.gaussian_sites import MAX_SITE, NotConvergedError
from graphuq.utils.typing import Array

# The step shrinks by SHRINK, to no less than SMALLEST_STEP, where sites overshoot, so that the mean
# moves back. It grows again where the mean moves on.
SMALLEST_STEP, SHRINK = 0.1, 0.75

MAX_SWEEPS = 300


def sweep_at_once(
    root: Array, y: Array, noise: float, start: tuple[Array, Array] | None, tolerance: float
) -> tuple[Array, Array]:
    """Return tau and nu of the sites of t_j(u_j) = Psi(y_j u_j; noise).

    Parameters
    ----------
    root : ndarray, shape (J, p)
        F, with F F' the prior covariance at the labeled nodes.
    y : ndarray, shape (J,)
        -1 and +1.
    noise : float
    start : (ndarray, ndarray) or None
        tau and nu to start from.
    tolerance : float
        Largest move of means in deviations, and of variances as a share of them, if the last step
        had been whole.

    Raises
    ------
    NotConvergedError
    """
    F = np.asfortranarray(root)
    diagonal = np.arange(F.shape[1])
    tau, nu = (np.zeros(y.size), np.zeros(y.size)) if start is None else start
    tau = np.maximum(tau, 0.0)  # where the start is from a likelihood with flips
    step, before, last = 1.0, None, None
    for _ in range(MAX_SWEEPS):
        # 1. mean and variance of the Gaussian of all sites, from (I + F' diag(tau) F)^-1
        if not max(tau.max(), abs(nu).max()) < MAX_SITE:
            raise NotConvergedError("sites grow without bound")
        precision = blas.dsyrk(1.0, F * np.sqrt(tau)[:, None], trans=1, lower=1)
        precision[diagonal, diagonal] += 1.0
        factor, failed = lapack.dpotrf(precision, lower=1, overwrite_a=1)
        if failed:
            raise NotConvergedError("the total precision is not positive definite")
        half = blas.dtrsm(1.0, factor, F, side=1, lower=1, trans_a=1)
        m, v = half @ (half.T @ nu), np.einsum("ij,ij->i", half, half)
        safe = np.where(v > 0, v, 1.0)  # where the field is 0, its label changes nothing
        # 2. stop when nothing moves, and take smaller steps where sites overshoot
        if before is not None:
            move = (m - before[0]) / np.sqrt(safe)
            if max(abs(move).max(), abs(safe / before[1] - 1).max()) < step * tolerance:
                return tau, nu
            if last is not None:
                onward = float(move @ last) > 0
                step = min(1.0, step / SHRINK) if onward else max(SMALLEST_STEP, step * SHRINK)
            last = move
        before = m, safe
        # 3. the cavities, and the sites that give the same means and variances
        cavity_variance = 1 / (1 / safe - tau)
        cavity_mean = (m / safe - nu) * cavity_variance
        spread = np.sqrt(cavity_variance + noise**2)
        z = y * cavity_mean / spread
        slope = math.sqrt(2 / math.pi) / erfcx(-math.sqrt(0.5) * z)
        first, second = y * slope / spread, -slope * (z + slope) / spread**2
        left = 1 + cavity_variance * second
        if not (np.isfinite(left) & (left > 0)).all():
            raise NotConvergedError("a site is more precise than the whole Gaussian")
        gain = np.where(v > 0, step / left, 0.0)
        tau = np.maximum((1 - step) * tau - gain * second, 0.0)
        nu = (1 - step) * nu + gain * (first - cavity_mean * second)
    raise NotConvergedError("sites that are updated at once do not settle")
