"""From the field at the nodes that a likelihood reads to the field at all nodes.

A sign model reads the field at the labelled nodes alone, so a chain lives there; given the field
there, the rest of the graph is Gaussian, with a mean and a variance that are known.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from graphuq import validation
from graphuq.gaussian import Gaussian, cosines
from graphuq.noise import white_noise
from graphuq.prior import Prior
from graphuq.solved_prior import SolvedPrior

Array = NDArray[np.float64]


class Rows(NamedTuple):
    """How what was kept of draws determines the field at some nodes.

    With kept draws [w, x], one a row, E[u | field read] is ``loadings`` w, and one of x itself at
    nodes whose field was read.
    """

    loadings: Array
    """Shape (rows, of w)."""
    deviation: Array
    """sqrt(Var[u_i | field read]), shape (rows,); the same for every draw."""
    known: NDArray[np.intp]
    """Rows that x holds."""
    columns: NDArray[np.intp]
    """Where x holds them."""

    def mean(self, kept: Array) -> Array:
        """Return E[u_i | field read], shape (rows, draws)."""
        width = self.loadings.shape[1]
        if not width:
            return np.ascontiguousarray(kept[:, self.columns].T)
        mean = self.loadings @ kept[:, :width].T
        if self.known.size:
            mean[self.known] = kept[:, width + self.columns].T
        return mean


MakeRows = Callable[[Array, NDArray[np.int32]], Rows]
"""A function, and no method, so that other processes can be sent it without the basis."""


class Extension(Protocol):
    """How the field read determines all nodes, modes and traced nodes."""

    @property
    def basis(self) -> Array:
        """A matrix with a row for each node, from which `rows` are made, shape (N, p)."""

    @property
    def which(self) -> NDArray[np.int32]:
        """Which of the nodes that are read each node is, or -1, shape (N,)."""

    @property
    def keeps(self) -> int:
        """How many numbers `keep` returns for a draw, or 0 if too many to store them."""

    def energy(self, fields: Array) -> Array:
        """Return minus the log prior density of each field read (draws, m), up to a constant."""

    def keep(self, fields: Array) -> Array:
        """Return what of the fields read (draws, m) determines all nodes, one draw a row."""

    @property
    def rows(self) -> MakeRows:
        """What belongs to some nodes, given their rows of `basis` and `which`."""

    def trace(self, fields: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return modes z (draws, r) and the field at the traced nodes (draws, traced)."""


_NONE = np.empty(0, dtype=np.intp)


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


class _GivenRead:
    """What is alike for all fields that are known through some nodes' x."""

    law: Gaussian
    _noise: float
    _keeps_read: bool

    def _read(self, law: Gaussian, noise: float, keeps_read: bool) -> None:
        self.law, self._noise, self._keeps_read = law, noise, keeps_read
        self._whiten = np.sqrt(law.inverse_variances)[:, None] * law.basis.T
        self.keeps = self._whiten.shape[0] + keeps_read * law.size

    def energy(self, fields: Array) -> Array:
        """Return that of N(0, G)."""
        return self.law.energy(fields)

    def keep(self, fields: Array) -> Array:
        """Return the whitened field, and E[u_J | x] where that does not hold it."""
        whitened = fields @ self._whiten.T
        if not self._keeps_read:
            return whitened
        at_labelled = fields
        if self._noise:
            at_labelled = fields - self._noise**2 * self.law.solve(fields)
        return np.hstack([whitened, at_labelled])


class FromLabelled(_GivenRead):
    """All nodes given x = u_J + noise at the labelled nodes, with noise ~ N(0, noise^2) or none.

    With G = C_JJ + noise^2 I, E[u_i | x] = C_iJ G^+ x and Var[u_i | x] = C_ii - C_iJ G^+ C_Ji.
    With G's basis U and variances kappa, both come from the rows of [q_0, Q], through
    C_.J U kappa^(-1/2), and from the whitened kappa^(-1/2) U' x: [q_0, Q]_J lies in the span of U.
    ``nodes`` must be sorted, as those of `Labels` are.
    """

    def __init__(
        self,
        prior: Prior,
        nodes: NDArray[np.int64],
        traced: NDArray[np.int64],
        noise: float = 0.0,
    ) -> None:
        whole = prior.law
        # without a tail, and through noise, x adds nothing to what is whitened
        self._read(prior.at(nodes).with_noise(noise), noise, whole.has_tail or noise == 0)
        self.basis = whole.basis
        self.which = np.full(prior.n_nodes, -1, dtype=np.int32)
        self.which[nodes] = np.arange(nodes.size)
        excess = whole.variances - whole.tail**2
        loads = excess[:, None] * (whole.rows(nodes).T @ self._whiten.T)
        # at the labelled nodes C_JJ = G - noise^2 I, so C_JJ - C_JJ G^+ C_JJ is what follows
        left = noise**2 - noise**4 * self.law.precision_diagonal()
        self.rows = partial(_given_labelled, loads, excess, whole.tail**2, left, self._keeps_read)
        self._matheron = _Matheron(prior, nodes, traced, self.law, noise)

    def trace(self, fields: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draw modes and traced nodes from their joint law given the field read."""
        return self._matheron.draw(fields, rng)


class FromColumns(_GivenRead):
    """All nodes given x = u_J + noise, where C_.J is known and no eigenvectors are."""

    def __init__(
        self,
        prior: SolvedPrior,
        nodes: NDArray[np.int64],
        traced: NDArray[np.int64],
        noise: float = 0.0,
    ) -> None:
        self._read(prior.at(nodes).with_noise(noise), noise, noise == 0)
        self.basis = np.column_stack([prior.columns, prior.variances])
        self.which = np.full(prior.n_nodes, -1, dtype=np.int32)
        self.which[nodes] = np.arange(nodes.size)
        loads = np.zeros((prior.nodes.size + 1, self._whiten.shape[0]))
        place = prior.places(nodes)
        loads[place] = self._whiten.T
        left = noise**2 - noise**4 * self.law.precision_diagonal()
        self.rows = partial(_given_columns, loads, left, self._keeps_read)
        both = np.concatenate([nodes, traced])
        at_both, first = np.unique(both, return_inverse=True)
        self._joint, self._order = prior.at(at_both), first
        cross = prior.columns[traced][:, place]
        self._gain = self.law.solve(cross)

    def trace(self, fields: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draw traced nodes given the field read, by Matheron's rule; there are no modes."""
        drawn = self._joint.draw(fields.shape[0], rng)[:, self._order]
        x, u = drawn[:, : self.law.size], drawn[:, self.law.size :]
        if self._noise:
            x = x + self._noise * white_noise(rng, *x.shape)
        return np.empty((fields.shape[0], 0)), u + (fields - x) @ self._gain.T


def _given_columns(
    loads: Array,
    left_at_labelled: Array,
    keeps_read: bool,
    basis: Array,
    which: NDArray[np.int32],
) -> Rows:
    """Return the conditional moments of some nodes."""
    return _moments(basis @ loads, basis[:, -1], left_at_labelled, keeps_read, which)


def _given_labelled(
    loads: Array,
    excess: Array,
    tail_variance: float,
    left_at_labelled: Array,
    keeps_read: bool,
    basis: Array,
    which: NDArray[np.int32],
) -> Rows:
    """Return the conditional moments of some nodes."""
    total = tail_variance + np.einsum("ij,ij,j->i", basis, basis, excess)
    return _moments(basis @ loads, total, left_at_labelled, keeps_read, which)


def _moments(
    loadings: Array,
    total: Array,
    left_at_labelled: Array,
    keeps_read: bool,
    which: NDArray[np.int32],
) -> Rows:
    left = total - np.einsum("ij,ij->i", loadings, loadings)
    known = np.flatnonzero(which >= 0)
    columns = which[known].astype(np.intp)
    left[known] = left_at_labelled[columns]
    left[left < 1e-12 * total] = 0.0  # rounding
    if not keeps_read:
        known = columns = _NONE
    return Rows(loadings, np.sqrt(left), known, columns)


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

    keeps = 0

    def __init__(self, prior: Prior, traced: NDArray[np.int64]) -> None:
        self.law = prior.law
        self.basis = prior.law.basis
        self.which = np.arange(prior.n_nodes, dtype=np.int32)
        self._to_modes = prior.vectors / prior.sigma
        self._traced = traced

    def energy(self, fields: Array) -> Array:
        """Return that of the prior."""
        return self.law.energy(fields)

    def keep(self, fields: Array) -> Array:
        """Return the field itself."""
        return fields

    @staticmethod
    def rows(basis: Array, which: NDArray[np.int32]) -> Rows:
        """Return the field itself, with no spread."""
        n = which.size
        return Rows(np.empty((n, 0)), np.zeros(n), np.arange(n), which.astype(np.intp))

    def trace(self, fields: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return the modes z = diag(1/sigma) Q' u and the field at the traced nodes."""
        return fields @ self._to_modes, fields[:, self._traced]


class FromModes:
    """All nodes given the modes z and the prior's parameters, which vary from draw to draw.

    A row of what is read is z followed by ``names``, some of alpha and tau: the field is
    Q diag(sigma) z, with the draw's own sigma, and nothing is left to infer.
    """

    def __init__(self, prior: Prior, traced: NDArray[np.int64], names: tuple[str, ...]) -> None:
        self.basis = prior.vectors
        self.which = np.full(prior.n_nodes, -1, dtype=np.int32)
        self._prior, self._traced, self._names = prior, traced, names
        self._rank = self.keeps = prior.vectors.shape[1]

    def energy(self, fields: Array) -> Array:
        """Return that of z: the parameters' density is constant over their ranges."""
        return np.asarray(0.5 * (fields[:, : self._rank] ** 2).sum(axis=1))

    def keep(self, fields: Array) -> Array:
        """Return diag(sigma) z of each draw, shape (draws, r)."""
        if not self._names:
            return fields * self._prior.sigma
        settled: Any = self._prior.settled
        sigma = [
            settled(**dict(zip(self._names, row, strict=True))).sigma
            for row in fields[:, self._rank :].tolist()
        ]
        return fields[:, : self._rank] * np.stack(sigma)

    @staticmethod
    def rows(basis: Array, which: NDArray[np.int32]) -> Rows:
        """Return the field itself, with no spread."""
        return Rows(basis, np.zeros(which.size), _NONE, _NONE)

    def trace(self, fields: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return the modes z and the field at the traced nodes."""
        at_traced = self.keep(fields) @ self._prior.modes_at(self._traced).T
        return fields[:, : self._rank], at_traced
