"""Centered Gaussians on nodes: a few directions, and one variance for all others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy import linalg

from graphuq.utils.row_blocks import map_rows
from graphuq.utils.typing import Array
from graphuq.utils.white_noise import white_noise

# Share of the largest deviation below which a direction is rounding.
ROUNDING = 1e-11

# Share of the largest deviation below which a direction of a covariance that is computed entry by
# entry is left out.
MIN_RELATIVE_DEVIATION = 1e-5


@dataclass(frozen=True, eq=False)
class Gaussian:
    """The centered Gaussian N(0, U diag(kappa) U' + rho^2 (I - U U')) on m nodes.

    Every covariance here has this form: a few directions with their own variances, and one variance
    for all directions orthogonal to them.

    Attributes
    ----------
    basis : ndarray, shape (m, p)
        U, orthonormal columns.
    variances : ndarray, shape (p,)
        kappa, zero in directions that the field does not have.
    tail : float
        rho.
    """

    basis: Array
    variances: Array
    tail: float

    @property
    def size(self) -> int:
        """Number of nodes m."""
        return self.basis.shape[0]

    @property
    def has_tail(self) -> bool:
        """Whether there is variance outside the basis."""
        return self.tail > 0 and self.size > self.basis.shape[1]

    @cached_property
    def deviations(self) -> Array:
        """Return kappa^(1/2)."""
        return np.sqrt(self.variances)

    @property
    def inverse_variances(self) -> Array:
        """1/kappa, and 0 where kappa is 0 to rounding: the pseudo-inverse."""
        floor = ROUNDING**2 * self.variances.max()
        kept = self.variances > floor
        return np.where(kept, 1 / np.where(kept, self.variances, 1.0), 0.0)

    def rows(self, nodes: Any) -> Array:
        """Return the basis at some nodes, in float64."""
        return np.asarray(self.basis[nodes], dtype=np.float64)

    def with_noise(self, deviation: float) -> Gaussian:
        """Return the law of the field plus independent noise on every node."""
        return Gaussian(
            self.basis, self.variances + deviation**2, float(np.hypot(self.tail, deviation))
        )

    def covariance(self, rows: Any = slice(None), columns: Any = slice(None)) -> Array:
        """Return the block C[rows, columns] for index arrays or slices."""
        excess = self.variances - self.tail**2
        block = (self.rows(rows) * excess) @ self.rows(columns).T
        if self.tail:
            ids = np.arange(self.size)
            block[np.equal.outer(ids[rows], ids[columns])] += self.tail**2
        return block

    def variance(self) -> Array:
        """Return the diagonal of C."""
        excess = self.variances - self.tail**2
        found = np.empty(self.size)
        for nodes, part in map_rows(partial(_squares, excess), self.basis, excess.size):
            found[nodes] = part
        return self.tail**2 + found

    def root(self) -> Array:
        """Return F with F F' = C, as wide as the basis, or square if there is a tail."""
        if not self.has_tail:
            return self.basis * self.deviations
        F = (self.basis * (self.deviations - self.tail)) @ self.basis.T
        F[np.diag_indices(self.size)] += self.tail
        return F

    def draw(self, size: int, rng: np.random.Generator) -> Array:
        """Return ``size`` draws, one a row: C^(1/2) applied to white noise."""
        if not self.has_tail:
            inside = white_noise(rng, size, self.variances.size)
            inside *= self.deviations
            return inside @ self.basis.T
        white = white_noise(rng, size, self.size)
        inside = white @ self.basis
        inside *= self.deviations - self.tail
        white *= self.tail
        white += inside @ self.basis.T
        return white

    def solve(self, fields: Array) -> Array:
        """Return C^+ applied to each row of ``fields``."""
        inside = fields @ self.basis
        if not self.has_tail:
            return (inside * self.inverse_variances) @ self.basis.T
        return (inside * (self.inverse_variances - self.tail**-2)) @ self.basis.T + (
            fields * self.tail**-2
        )

    def energy(self, fields: Array) -> Array:
        """Return <u, C^+ u> / 2 for each row u of ``fields``."""
        inside = fields @ self.basis
        outside = self.tail**-2 if self.has_tail else 0.0
        twice = inside**2 @ (self.inverse_variances - outside)
        if self.has_tail:
            twice += outside * np.einsum("ij,ij->i", fields, fields)
        return np.asarray(0.5 * twice)


def law_of(C: Array) -> Gaussian:
    """Return the law of covariance C, without directions whose variance may be rounding.

    Covariances are known to some 1e-15 of the largest, and those with other nodes, through inducing
    items, to 1e-10. Divided by a tiny deviation, such an error would be taken for knowledge. Labels
    say nothing about directions in which the field hardly varies.
    """
    variances, basis = linalg.eigh(C, check_finite=False)
    kept = variances > MIN_RELATIVE_DEVIATION**2 * variances[-1]
    return Gaussian(np.ascontiguousarray(basis[:, kept]), variances[kept], 0.0)


def _squares(weights: Array, rows: Array) -> Array:
    return np.asarray(np.einsum("ij,ij,j->i", rows, rows, weights))
