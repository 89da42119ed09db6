"""The Gaussian prior N(0, C) on the latent field: full, spectral projection, approximation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from graphuq import validation
from graphuq.graphs import Graph
from graphuq.noise import white_noise
from graphuq.spectrum import Spectrum

Array = NDArray[np.float64]


def spectral_weight(values: Array) -> Array:
    """Prior variance of a mode, up to the scale c, as a function of its eigenvalue: 1/lambda."""
    return 1 / values


def cosines(S: Array) -> Array:
    """Return (1 - S^2)^(1/2) for singular values of rows of an orthonormal basis, 0 to rounding."""
    left = 1 - S**2
    return np.sqrt(np.where(left < 1e-13, 0.0, left))


@dataclass(frozen=True, eq=False)
class Gaussian:
    """The centred Gaussian N(0, U diag(kappa) U' + rho^2 (I - U U')) on m nodes.

    Every covariance here has this form: a few directions with variances of their own, and one
    variance for all that is orthogonal to them.

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
        """Whether anything is left outside the basis."""
        return self.tail > 0 and self.size > self.basis.shape[1]

    @cached_property
    def deviations(self) -> Array:
        """Return kappa^(1/2)."""
        return np.sqrt(self.variances)

    @property
    def inverse_variances(self) -> Array:
        """1/kappa, and 0 where kappa is 0 to rounding: the pseudo-inverse."""
        floor = 1e-22 * self.variances.max()  # a standard deviation of 1e-11
        kept = self.variances > floor
        return np.where(kept, 1 / np.where(kept, self.variances, 1.0), 0.0)

    def with_noise(self, deviation: float) -> Gaussian:
        """Return the law of the field plus independent noise on every node."""
        return Gaussian(
            self.basis, self.variances + deviation**2, float(np.hypot(self.tail, deviation))
        )

    def covariance(self, rows: Any = slice(None), columns: Any = slice(None)) -> Array:
        """Return the block C[rows, columns] for index arrays or slices."""
        excess = self.variances - self.tail**2
        block = (self.basis[rows] * excess) @ self.basis[columns].T
        if self.tail:
            ids = np.arange(self.size)
            block[np.equal.outer(ids[rows], ids[columns])] += self.tail**2
        return block

    def variance(self) -> Array:
        """Return the diagonal of C."""
        excess = self.variances - self.tail**2
        return np.asarray(self.tail**2 + (self.basis**2) @ excess)

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

    def precision_diagonal(self) -> Array:
        """Return the diagonal of C^+."""
        outside = self.tail**-2 if self.has_tail else 0.0
        return np.asarray(outside + self.basis**2 @ (self.inverse_variances - outside))

    def energy(self, fields: Array) -> Array:
        """Return <u, C^+ u> / 2 for each row u of ``fields``."""
        return np.asarray(0.5 * np.einsum("ij,ij->i", fields, self.solve(fields)))


@dataclass(frozen=True, eq=False)
class Prior:
    """The graph-Laplacian Gaussian, mean node variance 1, supported on q_0-perp.

    With kept modes Q = [q_1 .. q_r],

        u = Q diag(sigma) z + rho (I - q_0 q_0' - Q Q') e,    z ~ N(0, I_r), e ~ N(0, I_N),

    which is eq. (11) for r = N - 1, eq. (12) for rho = 0, and eq. (14) with q_0 projected out of
    the tail too. Make one with `full`, `projected` or `approximated`.

    Attributes
    ----------
    spectrum : Spectrum
        The kept modes.
    kind : {"full", "projected", "approximated"}
    scale : float
        c, eq. (6).
    sigma : ndarray, shape (r,)
        sqrt(c / lambda_k): prior standard deviations of the modes.
    tail : float
        rho = sqrt(c / lambda_bar), or 0.

    Examples
    --------
    >>> graph = Graph([[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 1], [0, 0, 1, 0]])
    >>> prior = Prior.approximated(graph, rank=1)
    >>> prior
    Prior.approximated(4 nodes, rank 1, 67% of the variance beyond)
    >>> float(prior.variance().mean().round(12))
    1.0
    >>> prior.draw(2, seed=0).shape
    (2, 4)
    """

    spectrum: Spectrum
    kind: str
    scale: float
    sigma: Array
    tail: float

    @classmethod
    def full(cls, graph: Any) -> Prior:
        """Return the prior with all N - 1 modes, eq. (11).

        Parameters
        ----------
        graph : Graph, adjacency or Spectrum

        Raises
        ------
        ValueError
            A disconnected graph, or a spectrum that does not hold all modes.
        MemoryError
            All eigenvectors do not fit: the remedy is `approximated`.
        """
        if isinstance(graph, Spectrum):
            if graph.rank < graph.n_nodes - 1:
                raise ValueError(
                    f"the full prior needs all {graph.n_nodes - 1} modes, and this spectrum holds "
                    f"{graph.rank}: use Prior.approximated, or Spectrum.of(graph)"
                )
        else:
            graph = Graph.of(graph)
            n = graph.n_nodes
            validation.memory(
                3 * 8.0 * n * n,
                f"the full prior on {n} nodes",
                "use Prior.approximated(graph, rank), which keeps only rank modes",
            )
        return cls._of_kind("full", graph, None, 0.0)

    @classmethod
    def projected(cls, graph: Any, rank: int) -> Prior:
        """Return the prior restricted to its first modes, eq. (12).

        Parameters
        ----------
        graph : Graph, adjacency or Spectrum
        rank : int
            r, below the number of nodes.

        Raises
        ------
        ValueError
            A disconnected graph, or a rank out of range.
        """
        return cls._of_kind("projected", graph, rank, 0.0)

    @classmethod
    def approximated(cls, graph: Any, rank: int, lambda_bar: float | None = None) -> Prior:
        """Return the prior whose modes beyond ``rank`` all have eigenvalue ``lambda_bar``.

        That is eq. (14), with q_0 projected out of the tail too.

        Parameters
        ----------
        graph : Graph, adjacency or Spectrum
        rank : int
            r, below the number of nodes.
        lambda_bar : float, optional
            The largest kept eigenvalue by default.

        Raises
        ------
        ValueError
            A disconnected graph, a rank out of range, ``lambda_bar`` not positive.
        """
        if lambda_bar is not None:
            validation.positive("lambda_bar", lambda_bar)
        return cls._of_kind("approximated", graph, rank, lambda_bar)

    @classmethod
    def _of_kind(cls, kind: str, graph: Any, rank: int | None, lambda_bar: float | None) -> Prior:
        """``lambda_bar``: 0 for no tail, None for the largest kept eigenvalue."""
        if kind != "full" and rank is None:
            raise TypeError("rank must be an integer, got None; Prior.full keeps all modes")
        if isinstance(graph, Spectrum):
            spectrum = graph if rank is None else graph.truncated(rank)
        else:
            spectrum = Spectrum.of(graph, rank)
        weights = spectral_weight(spectrum.values)
        left_out = spectrum.n_nodes - 1 - spectrum.rank
        tail_weight = 0.0
        if lambda_bar is None:
            lambda_bar = float(spectrum.values[-1])
        if lambda_bar > 0 and left_out > 0:
            tail_weight = float(spectral_weight(np.array([lambda_bar]))[0])
        c = spectrum.n_nodes / (weights.sum() + left_out * tail_weight)  # eq. (6)
        return cls(spectrum, kind, float(c), np.sqrt(c * weights), float(np.sqrt(c * tail_weight)))

    @property
    def n_nodes(self) -> int:
        """Number of nodes N."""
        return self.spectrum.n_nodes

    @property
    def rank(self) -> int:
        """Number of kept modes r."""
        return self.spectrum.rank

    @cached_property
    def law(self) -> Gaussian:
        """The law of the whole field; its basis is [q_0, Q]."""
        basis = np.column_stack([self.spectrum.null, self.spectrum.vectors])
        return Gaussian(basis, np.concatenate([[0.0], self.sigma**2]), self.tail)

    def at(self, nodes: Any) -> Gaussian:
        """Return the law of the field at ``nodes`` alone, exactly, in O(J r min(J, r)).

        With the rows B = U S V' of [q_0, Q] at the nodes, C_JJ = rho^2 I + B diag(kappa - rho^2) B'
        differs from rho^2 I only inside span(U).

        Parameters
        ----------
        nodes : array_like of int, shape (J,)

        Returns
        -------
        Gaussian
            On J nodes, in the order given.
        """
        nodes = validation.node_ids("nodes", nodes, self.n_nodes)
        U, S, Vt = linalg.svd(self.law.basis[nodes], full_matrices=False)
        # Inside it is M M', M = [S V' kappa^(1/2), rho (I - S^2)^(1/2)]. Singular values of M, not
        # eigenvalues of M M', tell a variance of zero from rounding.
        modes = (S[:, None] * Vt) * np.sqrt(self.law.variances)
        rest = np.diag(self.tail * cosines(S))
        E, deviations, _ = linalg.svd(np.hstack([modes, rest]), full_matrices=False)
        return Gaussian(np.ascontiguousarray(U @ E), deviations**2, self.tail)

    def variance(self) -> Array:
        """Return the prior variance of every node, shape (N,)."""
        return self.law.variance()

    def covariance(self, rows: Any, columns: Any) -> Array:
        """Return the covariance block between two lists of nodes."""
        return self.law.covariance(
            validation.node_ids("rows", rows, self.n_nodes),
            validation.node_ids("columns", columns, self.n_nodes),
        )

    def draw(self, size: int = 1, seed: validation.Seed = None) -> Array:
        """Return ``size`` independent fields, shape (size, N)."""
        validation.integer("size", size, 1)
        return self.law.draw(size, np.random.default_rng(validation.seed_sequence(seed)))

    def summary(self) -> dict[str, Any]:
        """Return what tells this prior from others, in plain values.

        ``mark`` changes with the nodes' order and with the eigenvectors' signs, which solvers
        choose as they like.
        """
        rng = np.random.default_rng(0)
        left, right = rng.standard_normal(self.n_nodes), rng.standard_normal(self.rank)
        return {
            "kind": self.kind,
            "nodes": self.n_nodes,
            "rank": self.rank,
            "scale": self.scale,
            "mark": float(left @ (self.spectrum.vectors @ right)),
        }

    def is_as(self, summary: dict[str, Any]) -> bool:
        """Whether ``summary`` is this prior's, but for rounding."""
        own = self.summary()
        return own.keys() == summary.keys() and all(
            np.isclose(value, summary[name], rtol=1e-6, atol=1e-8)
            if isinstance(value, float)
            else value == summary[name]
            for name, value in own.items()
        )

    def __repr__(self) -> str:
        share = (self.n_nodes - 1 - self.rank) * self.tail**2 / self.n_nodes
        tail = f", {share:.0%} of the variance beyond" if self.tail else ""
        return f"Prior.{self.kind}({self.n_nodes} nodes, rank {self.rank}{tail})"
