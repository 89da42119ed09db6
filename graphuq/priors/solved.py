"""The full prior at the labeled nodes, without all eigenvectors of a large graph.

A sign model needs C_JJ and C_.J of the labeled nodes J, and the variance of every node. With a few
of the eigenpairs, C = c (Q diag(1/lambda) Q' + R), where R is the inverse of L on their orthogonal
complement. R is well conditioned, so conjugate gradients give its columns in a few products with L.
Its trace, which c needs, and its diagonal come from random signs z, E[z (R z)]. A polynomial of L
near R, whose diagonal is known exactly, serves as a control variate and removes most of the noise.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import cg

from graphuq.graphs import Graph
from graphuq.graphs.spectrum import Spectrum
from graphuq.priors.conditional import Conditional
from graphuq.priors.gaussian import Gaussian
from graphuq.priors.given_labeled import GivenColumns
from graphuq.priors.level import Level
from graphuq.utils import validation
from graphuq.utils.forecast import Pace
from graphuq.utils.memory import require_memory
from graphuq.utils.progress import progress_bar
from graphuq.utils.threads import cpu_count, one_blas_thread
from graphuq.utils.typing import Array, Nodes

# Residual of the solves relative to the whole right-hand side, and the most iterations of each.
TOLERANCE, MAX_ITERATIONS = 1e-8, 2000


@dataclass(frozen=True, eq=False)
class SolvedPrior:
    """`Prior.full`, at some nodes and from them to all others.

    Make one with `SolvedPrior.of`. `graphuq.sample` takes it in place of a prior, for sign models.
    There are no modes, so a posterior has no traces of them. Work that needs eigenvectors is
    refused: parameters that are "auto", `Posterior.latent_draws` and `Posterior.suggest`. A `Level`
    of a given scale s can be added, which adds s^2 to all covariances.

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
        Root mean square over nodes of the relative standard error of C_ii, without the level.
    level : float
        s, the deviation of the level; 0 without one.

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
    >>> prior.conditional(labels.nodes, traced=labels.nodes[:1]).n_traced
    1
    >>> prior.places(labels.nodes[:2])
    array([0, 1])
    >>> post = gq.sample(prior, gq.Probit(0.1), labels, seed=0, progress=False)
    >>> bool(post.accuracy(y) > 0.9)
    True
    >>> (prior + gq.Level(0.5)).level
    0.5
    """

    nodes: NDArray[np.int64]
    columns: Array
    variances: Array
    scale: float
    scale_error: float
    variance_error: float
    level: float = 0.0

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
        )

    def __add__(self, other: Any) -> SolvedPrior:
        if not isinstance(other, Level):
            return NotImplemented
        if validation.is_auto(other.scale):
            raise TypeError(
                "a level is chosen by the evidence, which needs eigenvectors, and a "
                "gq.SolvedPrior has none: give a number, such as gq.Level(0.5)"
            )
        if self.level:
            raise ValueError("a sum has one level, and two were added: leave one out")
        require_memory(
            8.0 * self.columns.size, "a level on all columns", "name fewer nodes, or leave it out"
        )
        level = float(other.scale)
        return dataclasses.replace(
            self,
            columns=self.columns + level**2,
            variances=self.variances + level**2,
            level=level,
        )

    __radd__ = __add__

    @property
    def n_nodes(self) -> int:
        """Number of nodes N."""
        return self.columns.shape[0]

    def at(self, nodes: Any) -> Gaussian:
        """Return the law of the field at some of the nodes alone.

        Parameters
        ----------
        nodes : array_like of int
            Among ``self.nodes``.

        Returns
        -------
        Gaussian
        """
        place = self.places(nodes)
        C = self.columns[self.nodes[place]][:, place]
        values, vectors = np.linalg.eigh((C + C.T) / 2)
        return Gaussian(vectors, np.maximum(values, 0.0), 0.0)

    def conditional(self, read: Nodes | None, traced: Nodes, noise: float = 0.0) -> Conditional:
        """Return the law of the field at all nodes, given the field at those that are read.

        Parameters
        ----------
        read, traced, noise
            As in `Prior.conditional`, all nodes among ``self.nodes``.

        Returns
        -------
        Conditional

        Raises
        ------
        TypeError
            All nodes are read.
        ValueError
            A node at which the prior is not known.
        """
        if read is None:
            self.require_here("a likelihood that reads all nodes")
        self.places(np.concatenate([read, traced]))
        return GivenColumns(self, read, traced, noise)

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

    def places(self, nodes: Any) -> NDArray[np.intp]:
        """Return the positions of some nodes in ``self.nodes``.

        Parameters
        ----------
        nodes : array_like of int

        Returns
        -------
        ndarray of int

        Raises
        ------
        ValueError
            A node at which the prior is not known.
        """
        place = np.searchsorted(self.nodes, nodes)
        place[place == self.nodes.size] = 0
        unknown = np.setdiff1d(nodes, self.nodes)
        if unknown.size:
            raise ValueError(
                f"the prior was solved for other nodes, and not for node {unknown[0]}: name all "
                "labeled and traced ones in gq.SolvedPrior.of(graph, nodes)"
            )
        return place

    def fingerprint(self) -> dict[str, Any]:
        """Return plain values that identify this prior; see `Prior.fingerprint`.

        Those of a level stand beside the others, as in a sum of priors.
        """
        level = {"parts": [], "weights": [1.0], "level": self.level} if self.level else {}
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
            **level,
        }

    def __repr__(self) -> str:
        level = f" + Level({self.level:.3g})" if self.level else ""
        return (
            f"SolvedPrior({self.n_nodes} nodes, known at {self.nodes.size}, variances to "
            f"{self.variance_error:.1%}){level}"
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
