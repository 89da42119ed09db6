"""From the field at the nodes that a likelihood reads to the field at all nodes.

A sign model reads the field at the labelled nodes alone, so a chain lives there; given the field
there, the rest of the graph is Gaussian, with a mean and a variance that are known.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from graphuq import validation
from graphuq.gaussian import Gaussian, cosines
from graphuq.noise import white_noise
from graphuq.prior import Prior

Array = NDArray[np.float64]

# Rows of the N x draws product held at a time.
ROWS = 2048


class Rows(NamedTuple):
    """Moments of the field at some nodes, for a block of draws."""

    nodes: slice
    mean: Array
    """E[u_i | field read], shape (rows, draws)."""
    deviation: Array
    """sqrt(Var[u_i | field read]), shape (rows,); the same for every draw."""


class Extension(Protocol):
    """How the field read determines all nodes, modes and traced nodes."""

    n_nodes: int

    def energy(self, fields: Array) -> Array:
        """Return minus the log prior density of each field read (draws, m), up to a constant."""

    def rows(self, fields: Array) -> Iterator[Rows]:
        """Yield the moments of all nodes, some rows at a time, given fields (draws, m).

        The arrays are overwritten by the next rows.
        """

    def trace(self, fields: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return modes z (draws, r) and the field at the traced nodes (draws, traced)."""


def require_room(n_labelled: int, n_wanted: int, n_modes: int) -> None:
    """Refuse to draw the field at more nodes than memory holds the gain of, `FromLabelled`."""
    validation.memory(
        3 * 8.0 * n_labelled * (n_wanted + n_modes),
        f"the gain from {n_labelled} labelled to {n_wanted} nodes",
        "name fewer nodes at a time",
    )


def draws_at_a_time(n_nodes: int) -> int:
    """Return how many draws of the field at so many nodes make a block."""
    return int(np.clip(2**22 // max(n_nodes, 1), 1, 256))


class FromLabelled:
    """All nodes given x = u_J + noise at the labelled nodes, with noise ~ N(0, noise^2) or none.

    With G = C_JJ + noise^2 I, E[u_i | x] = C_iJ G^+ x and Var[u_i | x] = C_ii - C_iJ G^+ C_Ji.
    With G's basis U and variances kappa, both come from one N x min(J, r + 1) matrix,
    C_.J U kappa^(-1/2), and the whitened kappa^(-1/2) U' x: [q_0, Q]_J lies in the span of U.
    ``nodes`` must be sorted, as those of `Labels` are.
    """

    def __init__(
        self,
        prior: Prior,
        nodes: NDArray[np.int64],
        traced: NDArray[np.int64],
        noise: float = 0.0,
    ) -> None:
        self.law, self.n_nodes = prior.at(nodes).with_noise(noise), prior.n_nodes
        self._nodes, self._noise = nodes, noise
        whole = prior.law
        excess = whole.variances - whole.tail**2
        self._whiten = np.sqrt(self.law.inverse_variances)[:, None] * self.law.basis.T
        loads = excess[:, None] * (whole.rows(nodes).T @ self._whiten.T)
        self._loadings = whole.basis @ loads
        total = whole.variance()
        left = total - np.einsum("ij,ij->i", self._loadings, self._loadings)
        # at the labelled nodes C_JJ = G - noise^2 I, so C_JJ - C_JJ G^+ C_JJ is what follows
        left[nodes] = noise**2 - noise**4 * self.law.precision_diagonal()
        left[left < 1e-12 * total] = 0.0  # rounding
        self._deviation = np.sqrt(left)
        self._matheron = _Matheron(prior, nodes, traced, self.law, noise)

    def energy(self, fields: Array) -> Array:
        """Return that of N(0, G)."""
        return self.law.energy(fields)

    def rows(self, fields: Array) -> Iterator[Rows]:
        """Yield the conditional moments of all nodes."""
        whitened = self._whiten @ fields.T
        at_labelled = fields.T
        if self._noise:
            at_labelled = at_labelled - self._noise**2 * self.law.solve(fields).T
        n = self.n_nodes
        buffer = np.empty((min(ROWS, n), fields.shape[0]))
        for start in range(0, n, ROWS):
            nodes = slice(start, min(start + ROWS, n))
            mean = np.matmul(self._loadings[nodes], whitened, out=buffer[: nodes.stop - start])
            low, high = np.searchsorted(self._nodes, [nodes.start, nodes.stop])
            mean[self._nodes[low:high] - start] = at_labelled[low:high]
            yield Rows(nodes, mean, self._deviation[nodes])

    def trace(self, fields: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draw modes and traced nodes from their joint law given the field read."""
        return self._matheron.draw(fields, rng)


class _Matheron:
    """Joint draws of modes z and traced nodes given x, by Matheron's rule.

    Draw (z, u, x) from the prior, then add Cov((z, u), x) G^+ (given x - drawn x).
    """

    def __init__(
        self,
        prior: Prior,
        nodes: NDArray[np.int64],
        traced: NDArray[np.int64],
        law: Gaussian,
        noise: float,
    ) -> None:
        self._n_labelled, self._rank = nodes.size, prior.sigma.size
        self._tail, self._noise = prior.tail, noise
        hidden = np.setdiff1d(traced, nodes)
        both = np.concatenate([nodes, hidden])
        self._position = np.argsort(both)[np.searchsorted(np.sort(both), traced)]
        self._modes_to_field = prior.sigma[:, None] * prior.modes_at(both).T
        if self._tail:
            # N(0, I - B B') with B = [q_0, Q] at these nodes: white noise times I - U (1 - c) U',
            # where B = U S V' and c = (1 - S^2)^(1/2).
            self._basis, S, _ = linalg.svd(prior.law.rows(both), full_matrices=False)
            self._shrink = 1 - cosines(S)
        cross = np.vstack(
            [self._modes_to_field[:, : nodes.size], prior.law.covariance(traced, nodes)]
        )
        self._gain = law.solve(cross)

    def draw(self, fields: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        z = white_noise(rng, fields.shape[0], self._rank)
        u = z @ self._modes_to_field
        if self._tail:
            white = white_noise(rng, *u.shape)
            u += self._tail * (white - ((white @ self._basis) * self._shrink) @ self._basis.T)
        x = u[:, : self._n_labelled]
        if self._noise:
            x = x + self._noise * white_noise(rng, *x.shape)
        shift = (fields - x) @ self._gain.T
        return z + shift[:, : self._rank], u[:, self._position] + shift[:, self._rank :]


class FromAll:
    """All nodes when the likelihood reads all of them: nothing is left to infer."""

    def __init__(self, prior: Prior, traced: NDArray[np.int64]) -> None:
        self.law, self.n_nodes = prior.law, prior.n_nodes
        self._to_modes = prior.vectors / prior.sigma
        self._traced = traced

    def energy(self, fields: Array) -> Array:
        """Return that of the prior."""
        return self.law.energy(fields)

    def rows(self, fields: Array) -> Iterator[Rows]:
        """Yield the field itself, with no spread."""
        n = self.n_nodes
        for start in range(0, n, ROWS):
            nodes = slice(start, min(start + ROWS, n))
            mean = np.ascontiguousarray(fields[:, nodes].T)
            yield Rows(nodes, mean, np.zeros(mean.shape[0]))

    def trace(self, fields: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return the modes z = diag(1/sigma) Q' u and the field at the traced nodes."""
        return fields @ self._to_modes, fields[:, self._traced]


class FromModes:
    """All nodes given the modes z and the prior's parameters, which vary from draw to draw.

    A row of what is read is z followed by ``names``, some of alpha and tau: the field is
    Q diag(sigma) z, with the draw's own sigma, and nothing is left to infer.
    """

    def __init__(self, prior: Prior, traced: NDArray[np.int64], names: tuple[str, ...]) -> None:
        self.n_nodes = prior.n_nodes
        self._prior, self._traced, self._names = prior, traced, names
        self._rank = prior.vectors.shape[1]

    def energy(self, fields: Array) -> Array:
        """Return that of z: the parameters' density is constant over their ranges."""
        return np.asarray(0.5 * (fields[:, : self._rank] ** 2).sum(axis=1))

    def coefficients(self, fields: Array) -> Array:
        """Return diag(sigma) z of each draw, shape (draws, r)."""
        if not self._names:
            return fields * self._prior.sigma
        settled: Any = self._prior.settled
        sigma = [
            settled(**dict(zip(self._names, row, strict=True))).sigma
            for row in fields[:, self._rank :].tolist()
        ]
        return fields[:, : self._rank] * np.stack(sigma)

    def rows(self, fields: Array) -> Iterator[Rows]:
        """Yield the field itself, with no spread."""
        coefficients = self.coefficients(fields).T
        for start in range(0, self.n_nodes, ROWS):
            nodes = slice(start, min(start + ROWS, self.n_nodes))
            mean = self._prior.modes_at(nodes) @ coefficients
            yield Rows(nodes, mean, np.zeros(mean.shape[0]))

    def trace(self, fields: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return the modes z and the field at the traced nodes."""
        at_traced = self.coefficients(fields) @ self._prior.modes_at(self._traced).T
        return fields[:, : self._rank], at_traced
