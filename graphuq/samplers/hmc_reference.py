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

    @classmethod
    def narrowed(cls, prior: Gaussian, leading: NDArray[np.intp], shares: Array) -> Reference:
        """Return the reference with these shares of the prior's variance in ``leading``."""
        variances = prior.variances.copy()
        variances[leading] *= shares
        law = Gaussian(np.ascontiguousarray(prior.rows(...)), variances, prior.tail)
        narrow = shares < 1
        dense = law.size <= min(MAX_DENSE, 2 * variances.size)
        return cls(
            law,
            np.ascontiguousarray(law.basis[:, leading[narrow]].T),
            (1 / shares[narrow] - 1) / prior.variances[leading[narrow]],
            law.covariance() if dense else np.empty((0, 0)),
        )

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
