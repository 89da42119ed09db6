"""The full prior at the labeled nodes, without all eigenvectors of a large graph.

A sign model needs C_JJ and C_.J of the labeled nodes J, and the variance of every node. With a few
of the eigenpairs, C = c (Q diag(1/lambda) Q' + R), where R is the inverse of L on their orthogonal
complement. R is well conditioned, so conjugate gradients give its columns in a few products with L.
Its trace, which c needs, and its diagonal come from random signs z, E[z (R z)]. A polynomial of L
near R, whose diagonal is known exactly, serves as a control variate and removes most of the noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import cg

from graphuq.graphs import Graph
from graphuq.graphs.spectrum import Spectrum
from graphuq.priors.field import Field
from graphuq.priors.gaussian import MIN_RELATIVE_DEVIATION, law_of
from graphuq.priors.sum_prior import Summable
from graphuq.utils import validation
from graphuq.utils.memory import require_memory
from graphuq.utils.progress import Pace, progress_bar
from graphuq.utils.threads import cpu_count, one_blas_thread
from graphuq.utils.typing import Array, Nodes

# Residual of the solves relative to the whole right-hand side, and the most iterations of each.
TOLERANCE, MAX_ITERATIONS = 1e-8, 2000

# A smaller share of a variance is rounding, or an error of the solves.
MIN_REST = 1e-7


@dataclass(frozen=True, eq=False)
class SolvedPrior(Summable):
    """`Prior.full`, at some nodes and from them to all others.

    Make one with `SolvedPrior.of`. Covariances with these nodes are those of `Prior.full`, and so
    are all variances; covariances between other nodes go through these nodes. There are no modes,
    so a posterior has no traces of them. It has no parameters of its own. It supports sign models,
    and a `Level` can be added.

    Attributes
    ----------
    nodes : ndarray of int, shape (m,)
        The nodes at which the prior is known, sorted.
    columns : ndarray, shape (n, m)
        C_.nodes, the covariances of all nodes with them.
    variances : ndarray, shape (n,)
        C_ii, estimated.
    scale : float
        c, eq. (6), estimated.
    scale_error : float
        Relative standard error of c.
    variance_error : float
        Root mean square over nodes of the relative standard error of C_ii.
    names : ndarray, shape (N,), optional
        Names of the nodes, if the graph has some.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(400, seed=0)
    >>> graph, labels = gq.knn_graph(X, 10, connect=True), gq.reveal(y, counts=5, seed=0)
    >>> prior = gq.SolvedPrior.of(graph, labels.nodes, rank=20)
    >>> exact = gq.Prior.full(graph)
    >>> bool(abs(prior.columns - exact.covariance(range(400), labels.nodes)).max() < 0.05)
    True
    >>> prior.at(labels.nodes).size, prior.n_nodes
    (10, 400)
    >>> prior.fingerprint()["kind"]
    'solved'
    >>> prior.open, prior.ranges, prior.parameters, prior.with_parameters() is prior
    ((), {}, {}, True)
    >>> prior.with_labeled(labels.nodes[:2]) is prior     # raises at other nodes
    True
    >>> post = gq.sample(prior, gq.Probit(0.1), labels, seed=0, progress=False)
    >>> bool(post.accuracy(y) > 0.9)
    True
    >>> bool(gq.evidence(prior + gq.Level(0.5), gq.Probit(0.1), labels) < -2)
    True
    """

    nodes: NDArray[np.int64]
    columns: Array
    variances: Array
    scale: float
    scale_error: float
    variance_error: float
    names: NDArray[Any] | None = None

    @classmethod
    def of(
        cls,
        graph: Any,
        nodes: Any,
        *,
        rank: int = 200,
        probes: int = 200,
        seed: validation.Seed = 0,
        threads: int | None = None,
        progress: bool = False,
    ) -> SolvedPrior:
        """Solve for the covariances with some nodes, and estimate all variances.

        Parameters
        ----------
        graph : Graph or adjacency
            Connected.
        nodes : array_like of int
            The labeled nodes, and those whose field is traced.
        rank : int
            Number of eigenpairs; with more of them each solve takes fewer iterations.
        probes : int
            Number of random vectors for variances and scale: errors fall with its square root.
        seed : int, SeedSequence or Generator
            Seed of the random vectors.
        threads : int, optional
            Solves at a time; by default one on each core.
        progress : bool
            Show a progress bar.

        Returns
        -------
        SolvedPrior

        Raises
        ------
        ValueError
            A disconnected graph, parameters out of range.
        MemoryError
            The columns do not fit.
        RuntimeError
            A solve did not converge; the message has its residual.
        """
        graph = Graph.of(graph)
        n = graph.n_nodes
        nodes = np.sort(validation.node_ids("nodes", nodes, n))
        if not nodes.size:
            raise ValueError("nodes must name at least one node: the labeled ones, labels.nodes")
        validation.integer("probes", probes, 2)
        validation.n_threads(threads)
        rank = min(validation.integer("rank", rank, 1), n - 2)
        require_memory(
            8.0 * n * (2.0 * nodes.size + 2.0 * probes + rank + 1),
            f"{nodes.size} columns of the covariance of {n} nodes, and {probes} probes,",
            "name fewer nodes, or take fewer probes, or Prior.projected",
        )
        graph.require_connected()
        spectrum = Spectrum.of(graph, rank, progress=progress)
        solver = _Solver(sparse.csr_array(graph.laplacian()), spectrum)
        rng = np.random.default_rng(validation.seed_sequence(seed))
        signs = [2.0 * rng.integers(2, size=n) - 1 for _ in range(probes)]
        pace = Pace(
            nodes.size + probes,
            f"solving for {nodes.size} nodes and {probes} probes",
            "take fewer probes, or a larger rank, or Prior.projected",
        )
        with progress_bar(nodes.size + probes, progress, "solve") as bar, one_blas_thread():
            units = [np.eye(1, n, node)[0] for node in nodes]
            rest = np.column_stack(solver.solve(units, threads, bar, pace))
            polynomial = solver.polynomial()
            known = solver.diagonal_of(polynomial)
            left = np.stack([
                z * (x - solver.times(polynomial, z))
                for z, x in zip(signs, solver.solve(signs, threads, bar, pace), strict=True)
            ])  # fmt: skip
        trace = known.sum() + left.sum(axis=1)
        weights = 1 / spectrum.values
        whole = weights.sum() + trace.mean()
        c = n / whole
        modes = np.asarray(spectrum.vectors, dtype=np.float64)
        columns = (modes * (c * weights)) @ modes[nodes].T + c * rest
        diagonal = (modes**2) @ weights + known + left.mean(axis=0)
        error = left.std(axis=0, ddof=1) / np.sqrt(probes)
        # C_ii is known at the nodes themselves
        variances = c * np.maximum(diagonal, 0.0)
        variances[nodes] = columns[nodes, np.arange(nodes.size)]
        return cls(
            nodes,
            columns,
            variances,
            float(c),
            float(trace.std(ddof=1) / np.sqrt(probes) / whole),
            float(np.sqrt(((error / diagonal) ** 2).mean())),
            graph.names,
        )

    @property
    def n_nodes(self) -> int:
        """Number of nodes N."""
        return self.columns.shape[0]

    def with_labeled(self, nodes: Nodes) -> SolvedPrior:
        """Return the prior itself, if it is known at these nodes.

        Parameters
        ----------
        nodes : ndarray of int
        """
        unknown = np.setdiff1d(nodes, self.nodes)
        if unknown.size:
            raise ValueError(
                f"the prior was solved for other nodes, and not for node {unknown[0]}: name all "
                "labeled and traced ones in gq.SolvedPrior.of(graph, nodes)"
            )
        return self

    @cached_property
    def field(self) -> Field:
        """The field at all nodes, C_.J C_JJ^(-1/2) z, and what that leaves of each variance."""
        at_nodes = self.columns[self.nodes]
        known = law_of((at_nodes + at_nodes.T) / 2)
        shared = self.columns @ (known.basis * np.sqrt(known.inverse_variances))
        left = self.variances - np.einsum("ij,ij->i", shared, shared)
        left[left < MIN_REST * self.variances] = 0.0
        basis, own = np.column_stack([shared, np.sqrt(left)]), np.ones(shared.shape[1] + 1)
        return Field(basis, np.append(own[:-1], 0.0), own, rounding=MIN_RELATIVE_DEVIATION)

    def require_here(self, what: str) -> NoReturn:
        """Refuse what needs the field at all nodes, as `Prior.require_here` does.

        Parameters
        ----------
        what : str
            Named in the message.

        Examples
        --------
        >>> import graphuq as gq
        >>> graph, _ = gq.datasets.karate()
        >>> prior = gq.SolvedPrior.of(graph, [0, 33], rank=10)
        >>> prior.require_here("a MAP estimate")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        TypeError: a MAP estimate needs the field at all nodes, and a gq.SolvedPrior ...
        """
        raise TypeError(
            f"{what} needs the field at all nodes, and a gq.SolvedPrior is known at some: take "
            "Prior.projected or Prior.approximated"
        )

    def fingerprint(self) -> dict[str, Any]:
        """Return plain values that identify this prior; see `Prior.fingerprint`."""
        return {
            "kind": "solved",
            "nodes": self.n_nodes,
            "rank": 0,
            "alpha": 1.0,
            "tau": 0.0,
            "null_mode": False,
            "log_scale": float(np.log(self.scale)),
            "tail": 0.0,
            "mark": float(np.random.default_rng(0).standard_normal(self.n_nodes) @ self.variances),
        }

    def __repr__(self) -> str:
        return (
            f"SolvedPrior({self.n_nodes} nodes, known at {self.nodes.size}, variances to "
            f"{self.variance_error:.1%})"
        )


class _Solver:
    """R, the inverse of L on the orthogonal complement of q_0 and the known modes."""

    def __init__(self, L: Any, spectrum: Spectrum) -> None:
        self._L, self._values = L, spectrum.values
        self._basis = np.asarray(spectrum.basis, dtype=np.float64)

    def project(self, x: Array) -> Array:
        return np.asarray(x - self._basis @ (self._basis.T @ x))

    def solve(
        self, right: Sequence[Array], threads: int | None, bar: Any, pace: Pace
    ) -> list[Array]:
        """Return R times each of the vectors ``right``."""
        with ThreadPoolExecutor(threads or cpu_count()) as pool:
            found = []
            for x in pool.map(self._one, right):
                found.append(x)
                bar.update()
                pace.step()
        return found

    def _one(self, b: Array) -> Array:
        # Where the modes span b, projection leaves rounding, which is not to be solved for.
        size, b = np.linalg.norm(b), self.project(b)
        x, info = cg(self._L, b, rtol=0.0, atol=TOLERANCE * size, maxiter=MAX_ITERATIONS)
        if info:
            residual = np.linalg.norm(b - self._L @ x) / size
            raise RuntimeError(
                f"the residual is {residual:.2g} after {MAX_ITERATIONS} iterations, above the "
                f"tolerance of {TOLERANCE:g}: raise rank, so that fewer modes remain to solve for"
            )
        return self.project(x)

    def polynomial(self) -> Polynomial:
        """Return a quadratic near 1/lambda on the rest of the spectrum."""
        ends = [self._values[-1], 2.0]
        fitted = Chebyshev.interpolate(lambda x: 1 / x, 2, domain=ends)
        return fitted.convert(kind=Polynomial)

    def times(self, polynomial: Polynomial, z: Array) -> Array:
        """Return the polynomial of L times the part of z that is orthogonal to the modes."""
        x = self.project(z)
        result = np.zeros_like(x)
        for coefficient in polynomial.coef[::-1]:  # Horner
            result = self._L @ result + coefficient * x
        return self.project(result)

    def diagonal_of(self, polynomial: Polynomial) -> Array:
        """Return the diagonal of `times`, exactly."""
        squares = self._L.multiply(self._L).sum(axis=1)
        powers = [np.ones(self._L.shape[0]), self._L.diagonal(), np.asarray(squares).ravel()]
        whole = sum(c * power for c, power in zip(polynomial.coef, powers, strict=True))
        at_modes = np.append(polynomial(0.0), polynomial(self._values))
        return np.asarray(whole - (self._basis**2) @ at_modes)
