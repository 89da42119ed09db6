"""The Gaussian whose part of the motion is exact in `graphuq.samplers.hilbert_hmc`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphuq.priors.gaussian import Gaussian
from graphuq.utils.typing import Array

# This many leading directions get a variance of their own, from warm-up's draws; the prior's
# variance counts as much as SHRINKAGE draws.
LEADING, SHRINKAGE = 32, 5
# A direction keeps the prior's variance unless the posterior's is below this share of it.
NARROW = 0.5
# Up to this many nodes, K is stored as one matrix if that is less to read than its factors.
MAX_DENSE = 1500
# Up to this ratio of its variances it is in single precision, which takes less than half the time.
# A kick by (h/2) K g is then off by e, 6e-8 of its size, and the energy's change by <v, K^-1 e>, at
# most 3e-6 h |K^(1/2) g|: steps that are accepted have h |K^(1/2) g| below some 30.
MAX_RATIO = 1e4


class Reference(NamedTuple):
    """The Gaussian N(0, K) whose part of the motion is exact: the prior, narrowed where Phi is.

    exp(-Phi(u)) N(u; 0, C) is exp(-Phi_K(u)) N(u; 0, K) with

        Phi_K(u) = Phi(u) - <u, (K^-1 - C^-1) u> / 2,

    and K differs from C only in some directions b of its basis, where K^-1 - C^-1 is ``pull``.
    Any K leaves the posterior as it is; one as narrow as the posterior allows long steps.
    """

    law: Gaussian
    directions: Array
    """b, shape (d, m): those in which K is narrower than C."""
    pull: Array
    matrix: Array
    """K, shape (m, m), or empty."""
    single: NDArray[np.float32]
    """K in single precision, or empty."""

    @classmethod
    def narrowed(cls, prior: Gaussian, leading: NDArray[np.intp], shares: Array) -> Reference:
        """Return the reference with these shares of the prior's variance in ``leading``."""
        variances = prior.variances.copy()
        variances[leading] *= shares
        law = Gaussian(np.ascontiguousarray(prior.rows(...)), variances, prior.tail)
        narrow = shares < 1
        dense = law.size <= min(MAX_DENSE, 2 * variances.size)
        matrix = law.covariance() if dense else np.empty((0, 0))
        single = np.empty((0, 0), dtype=np.float32)
        if dense and _ratio(law) <= MAX_RATIO:
            matrix, single = np.empty((0, 0)), matrix.astype(np.float32)
        return cls(
            law,
            np.ascontiguousarray(law.basis[:, leading[narrow]].T),
            (1 / shares[narrow] - 1) / prior.variances[leading[narrow]],
            matrix,
            single,
        )

    def inside(self, field: Array) -> Array:
        """Return a field without what rounding of single precision added outside the law's span."""
        law, alive = self.law, self.law.inverse_variances > 0
        if not self.single.size or (alive.all() and (law.has_tail or alive.size == law.size)):
            return field
        if law.has_tail:
            dead = law.basis[:, ~alive]
            return np.asarray(field - dead @ (dead.T @ field))
        return np.asarray(law.basis[:, alive] @ (law.basis[:, alive].T @ field))

    @classmethod
    def learned(cls, prior: Gaussian, seen: Array) -> Reference:
        """Return the reference that warm-up's draws suggest.

        Parameters
        ----------
        prior : Gaussian
        seen : ndarray, shape (draws, C, d)
            Coordinates of the draws in the leading directions.
        """
        leading, count = leading_directions(prior), len(seen)
        shares = seen.var(axis=0).mean(axis=0) / prior.variances[leading]  # one K for all classes
        shares = np.maximum((count * shares + SHRINKAGE) / (count + SHRINKAGE), 1e-6)
        shares[shares > NARROW] = 1.0
        return cls.narrowed(prior, leading, shares)


def leading_directions(prior: Gaussian) -> NDArray[np.intp]:
    """Return the positions of the basis's directions with the largest variances, none zero."""
    order = np.argsort(-prior.variances)[:LEADING]
    return order[prior.inverse_variances[order] > 0]


def _ratio(law: Gaussian) -> float:
    """Return the largest variance of a law over its smallest that is not zero."""
    variances = law.variances[law.inverse_variances > 0]
    if law.has_tail:
        variances = np.append(variances, law.tail**2)
    return float(variances.max() / variances.min())
