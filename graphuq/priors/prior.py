"""The Gaussian prior N(0, C) on the latent field: full, spectral projection, approximation.

The spectral weights are those of the Whittle-Matern family, (lambda + tau^2)^-alpha.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from graphuq.graphs import Graph
from graphuq.graphs.graph import require_modes
from graphuq.graphs.spectrum import Spectrum, compute_eigenspaces, warn_of_split, whole_eigenspaces
from graphuq.priors.field import Field
from graphuq.priors.gaussian_prior import Ranges, require_chosen
from graphuq.priors.sum_prior import Summable
from graphuq.utils import validation
from graphuq.utils.memory import require_memory
from graphuq.utils.row_blocks import is_dask, product
from graphuq.utils.typing import Array, Nodes

# The ranges in which parameters are searched. A handful of labels does not distinguish a rough
# field from noise, which predicts nothing, so alpha is at least 1. On development sets alpha from
# 0.5 has worse log scores, and alpha up to 20 the same as up to 10, which is never reached.
RANGES = {"alpha": (1.0, 10.0), "tau": (0.01, 1.0)}

KINDS = ("full", "projected", "approximated")

# Modes that are computed by default, and for rank "auto".
DEFAULT_MAX_MODES = 300


def log_spectral_weight(values: Array, alpha: float, tau: float) -> Array:
    """Return the log prior variance of a mode, log (lambda + tau^2)^-alpha, up to the scale c.

    This is the Whittle-Matern family; alpha = 1, tau = 0 is the paper's 1 / lambda. Logarithms
    avoid the overflow of powers of small eigenvalues.
    """
    return -alpha * np.log(values + tau**2)


def check_parameters(alpha: Any, tau: Any, null_mode: Any) -> tuple[float | str, float | str]:
    """Return alpha and tau, each as a float in its domain or "auto"."""
    if not isinstance(null_mode, bool):
        raise TypeError(f"null_mode must be True or False, got {null_mode!r}")
    if not validation.is_auto(alpha):
        alpha = validation.between("alpha", alpha, 0.01, 100)
    if not validation.is_auto(tau):
        tau = validation.between("tau", tau, 0, 100)
    if null_mode and tau == 0:
        raise ValueError("null_mode needs a positive tau: at tau = 0 q_0 has infinite variance")
    return alpha, tau


@dataclass(frozen=True, eq=False)
class Prior(Summable):
    """The graph-Laplacian Gaussian, mean node variance 1, supported on q_0-perp.

    With kept modes Q = [q_1 .. q_r],

        u = Q diag(sigma) z + rho (I - Q Q') e,    z ~ N(0, I_r), e ~ N(0, I_N),
        sigma_k^2 = c (lambda_k + tau^2)^-alpha,

    which for alpha = 1, tau = 0 is eq. (11) for r = N - 1, eq. (12) for rho = 0, and eq. (14), as
    printed, with q_0 in the tail. The covariance of the field at nodes i and j is

        C_ij = sum_k (sigma_k^2 - rho^2) q_ki q_kj, plus rho^2 if i = j,

    as its `Field` has it. Make one with `full`, `projected` or `approximated`. On a
    disconnected graph the field is orthogonal to all vectors of eigenvalue 0; a `ComponentLevel`
    adds what is missing.

    Attributes
    ----------
    spectrum : Spectrum
        The kept modes.
    kind : {"full", "projected", "approximated"}
    alpha, tau : float or "auto"
        Smoothness and inverse length scale of the Whittle-Matern family. A larger alpha gives
        smoother fields and more confident probabilities.
    null_mode : bool
        Whether q_0 is a mode too, the first, with variance c tau^(-2 alpha): the classes then need
        not balance. A `Level` serves this better, since it shifts all nodes alike by a deviation of
        its own.
    lambda_bar : float, optional
        The eigenvalue of all modes beyond the rank, if not the largest kept one.
    auto_rank : bool
        Whether the rank is chosen from the labels, up to that of ``spectrum``.

    Examples
    --------
    >>> import numpy as np
    >>> import graphuq as gq
    >>> graph = gq.Graph([[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 1], [0, 0, 1, 0]])
    >>> prior = gq.Prior.approximated(graph, rank=1)
    >>> prior
    Prior.approximated(4 nodes, rank 1, 75% of the variance beyond)
    >>> float(prior.variance().mean().round(12))
    1.0
    >>> prior.draw(2, seed=0).shape
    (2, 4)
    >>> gq.Prior.projected(graph, rank=2, alpha=3.0, tau=0.1)
    Prior.projected(4 nodes, rank 2, alpha 3, tau 0.1)

    Its numbers, and its law at some nodes alone:

    >>> full = gq.Prior.full(graph)
    >>> full.n_nodes, full.rank, full.vectors.shape, full.tail
    (4, 3, (4, 3), 0.0)
    >>> np.allclose(full.sigma**2, full.scale / full.spectrum.values)
    True
    >>> C, F = full.covariance([0, 2], [0, 2]), full.root(np.array([0, 2]))
    >>> np.allclose(F @ F.T, C), np.allclose(full.at([0, 2]).covariance(), C)
    (True, True)
    >>> np.allclose(full.law.variance(), full.variance())
    True
    >>> full.require_here("a plot")     # raises for eigenvectors in a Dask array

    Parameters that are chosen from the labels, and the fingerprint of a prior:

    >>> free = gq.Prior.projected(graph, rank=2, alpha="auto")
    >>> free.open, free.with_parameters(alpha=2.0)
    (('alpha',), Prior.projected(4 nodes, rank 2, alpha 2))
    >>> full.matches(full.fingerprint()), full.matches(prior.fingerprint())
    (True, False)
    """

    spectrum: Spectrum
    kind: str
    alpha: float | str = 1.0
    tau: float | str = 0.0
    null_mode: bool = False
    lambda_bar: float | None = None
    auto_rank: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.spectrum, Spectrum) or self.kind not in KINDS:
            raise TypeError(
                f"Prior takes a Spectrum and one of {', '.join(map(repr, KINDS))}, got "
                f"{type(self.spectrum).__name__} and {self.kind!r}: take Prior.full(graph), "
                "Prior.projected(graph, rank) or Prior.approximated(graph, rank)"
            )
        if self.null_mode and self.spectrum.laplacian == "signless":
            raise ValueError(
                "null_mode has no use with modes of the signless Laplacian, of which q_0 has the "
                "largest eigenvalue: add gq.Level(), which lets classes differ in size"
            )
        if self.spectrum.component is not None and (self.null_mode or self.kind == "approximated"):
            what = "null_mode" if self.null_mode else "Prior.approximated"
            raise ValueError(
                f"{what} needs a connected graph, and this one has {self.spectrum.n_components} "
                "components: take Prior.projected(...) + gq.ComponentLevel(graph), or "
                "graph.largest_component()"
            )

    @classmethod
    def full(
        cls,
        graph: Any,
        *,
        alpha: float | str = 1.0,
        tau: float | str = 0.0,
        null_mode: bool = False,
    ) -> Prior:
        """Return the prior with all N - 1 modes, eq. (11).

        Parameters
        ----------
        graph : Graph, adjacency or Spectrum
        alpha : positive float or "auto"
            With "auto", here and below, it is chosen from the labels by `graphuq.tune`.
        tau : float from 0 or "auto"
        null_mode : bool
            Include q_0, which needs a positive ``tau``.

        Raises
        ------
        ValueError
            A spectrum that does not hold all modes, ``null_mode`` on a disconnected graph,
            parameters out of range.
        MemoryError
            All eigenvectors do not fit: the remedy is `approximated`.
        """
        alpha, tau = check_parameters(alpha, tau, null_mode)
        if isinstance(graph, Spectrum):
            spectrum = graph
            n_modes = graph.n_nodes - graph.n_components
            if graph.rank < n_modes:
                raise ValueError(
                    f"the full prior needs all {n_modes} modes, and this spectrum holds "
                    f"{graph.rank}: use Prior.approximated, or Spectrum.of(graph)"
                )
        else:
            graph = Graph.of(graph)
            n = graph.n_nodes
            require_memory(
                3 * 8.0 * n * n,
                f"the full prior on {n} nodes",
                "use Prior.approximated(graph, rank), which keeps only rank modes",
            )
            spectrum = Spectrum.of(graph)
        return cls(spectrum, "full", alpha, tau, null_mode)

    @classmethod
    def projected(
        cls,
        graph: Any,
        rank: int | str,
        *,
        alpha: float | str = 1.0,
        tau: float | str = 0.0,
        null_mode: bool = False,
    ) -> Prior:
        """Return the prior restricted to its first modes, eq. (12).

        Parameters
        ----------
        graph : Graph, adjacency or Spectrum
        rank : int or "auto"
            r, below the number of nodes; with "auto" up to that of a spectrum, or up to 300. A rank
            inside a repeated eigenvalue moves up to its end, or down to the end of the eigenvalue
            before if that is too far: ``repr`` says so. Otherwise the prior would depend on the
            order of the nodes.
        alpha, tau, null_mode
            See `full`.

        Raises
        ------
        ValueError
            ``null_mode`` on a disconnected graph, parameters out of range.

        Warns
        -----
        RuntimeWarning
            A rank inside a repeated eigenvalue moved down, or could not move.
        """
        alpha, tau = check_parameters(alpha, tau, null_mode)
        return cls(
            modes_of(graph, rank, whole=needs_whole_eigenspaces("projected", None)),
            "projected",
            alpha,
            tau,
            null_mode,
            auto_rank=validation.is_auto(rank),
        )

    @classmethod
    def approximated(
        cls,
        graph: Any,
        rank: int | str,
        lambda_bar: float | None = None,
        *,
        alpha: float | str = 1.0,
        tau: float | str = 0.0,
        null_mode: bool = False,
    ) -> Prior:
        """Return the prior whose modes beyond ``rank`` all have eigenvalue ``lambda_bar``.

        That is eq. (14).

        Parameters
        ----------
        graph : Graph, adjacency or Spectrum
        rank : int or "auto"
            As in `projected`; it moves only if ``lambda_bar`` is given.
        lambda_bar : float, optional
            At least the largest kept eigenvalue, which it is by default.
        alpha, tau, null_mode
            See `full`.

        Raises
        ------
        ValueError
            A disconnected graph, parameters out of range, ``lambda_bar`` below the largest kept
            eigenvalue.
        """
        if lambda_bar is not None:
            validation.positive("lambda_bar", lambda_bar)
        alpha, tau = check_parameters(alpha, tau, null_mode)
        whole = needs_whole_eigenspaces("approximated", lambda_bar)
        spectrum = modes_of(graph, rank, whole=whole)
        largest = float(spectrum.values[-1])
        if lambda_bar is not None and lambda_bar < largest:
            raise ValueError(
                f"lambda_bar must be at least the largest kept eigenvalue, {largest:.6g}, got "
                f"{lambda_bar:g}: the modes beyond the rank are the rougher ones"
            )
        return cls(
            spectrum, "approximated", alpha, tau, null_mode, lambda_bar, validation.is_auto(rank)
        )

    @property
    def open(self) -> tuple[str, ...]:
        """Names of the parameters that are chosen from the labels."""
        values = {"alpha": self.alpha, "tau": self.tau}
        names = tuple(name for name, value in values.items() if validation.is_auto(value))
        return (*names, "rank") if self.auto_rank else names

    @property
    def graph_part(self) -> Prior:
        """The prior itself, which is on a graph."""
        return self

    @property
    def component(self) -> Nodes | None:
        """The component of each node of a disconnected graph."""
        return self.spectrum.component

    @property
    def names(self) -> NDArray[Any] | None:
        """Names of the nodes, if the graph has some."""
        return self.spectrum.names

    @property
    def ranges(self) -> Ranges:
        """The range in which each parameter is searched."""
        rank = {} if self.kind == "full" else {"rank": (min(10, self.rank), self.rank)}
        return {**RANGES, **rank}

    @property
    def parameters(self) -> dict[str, float | str]:
        """The value of each parameter but the rank."""
        return {"alpha": self.alpha, "tau": self.tau}

    def with_parameters(  # type: ignore[override]
        self,
        *,
        alpha: float | str | None = None,
        tau: float | str | None = None,
        rank: int | str | None = None,
    ) -> Prior:
        """Return the prior with these parameters, and the others as they are."""
        new_alpha, new_tau = check_parameters(
            self.alpha if alpha is None else alpha,
            self.tau if tau is None else tau,
            self.null_mode,
        )
        spectrum = self.spectrum
        if rank is not None and not validation.is_auto(rank):
            r = validation.integer("rank", rank, 1)
            whole = needs_whole_eigenspaces(self.kind, self.lambda_bar)
            spectrum = whole_eigenspaces(spectrum, r) if whole else spectrum.truncated(r)
        return dataclasses.replace(
            self,
            alpha=new_alpha,
            tau=new_tau,
            spectrum=spectrum,
            auto_rank=self.auto_rank if rank is None else validation.is_auto(rank),
        )

    @cached_property
    def _scaled(self) -> tuple[float, Array, float]:
        """Log c of eq. (6), sigma of all modes, and rho."""
        require_chosen(self.open)
        alpha, tau = float(self.alpha), float(self.tau)
        kept = np.append([0.0] * self.null_mode, self.spectrum.values)
        logs = log_spectral_weight(kept, alpha, tau)
        left_out = self.n_nodes - kept.size
        tail_log = -np.inf
        if self.kind == "approximated" and self.rank < self.n_nodes - 1:
            lambda_bar = self.spectrum.values[-1] if self.lambda_bar is None else self.lambda_bar
            tail_log = float(log_spectral_weight(np.array(lambda_bar), alpha, tau))
        top = max(logs.max(), tail_log)
        weights, tail_weight = np.exp(logs - top), np.exp(tail_log - top)
        c = self.n_nodes / (weights.sum() + left_out * tail_weight)
        return float(np.log(c) - top), np.sqrt(c * weights), float(np.sqrt(c * tail_weight))

    @property
    def scale(self) -> float:
        """c, eq. (6)."""
        return float(np.exp(self._scaled[0]))

    @property
    def sigma(self) -> Array:
        """sqrt(c (lambda_k + tau^2)^-alpha), prior standard deviations of the modes, shape (p,)."""
        return self._scaled[1]

    @property
    def tail(self) -> float:
        """rho, the standard deviation of all modes beyond the rank, or 0."""
        return self._scaled[2]

    @property
    def vectors(self) -> Array:
        """The modes: Q, and q_0 before it if that is one, shape (N, p)."""
        return self.spectrum.basis if self.null_mode else self.spectrum.vectors

    def require_here(self, what: str) -> None:
        """Refuse eigenvectors on a cluster for work that needs all of them here.

        Parameters
        ----------
        what : str
            The work, named in the message.
        """
        if is_dask(self.spectrum.basis):
            raise TypeError(
                f"{what} needs all eigenvectors here, and they are a Dask array: take gq.Spectrum("
                "s.values, np.asarray(s.vectors), np.asarray(s.null)) for the spectrum s"
            )

    @property
    def n_nodes(self) -> int:
        """Number of nodes N."""
        return self.spectrum.n_nodes

    @property
    def rank(self) -> int:
        """Number of kept modes r."""
        return self.spectrum.rank

    @cached_property
    def field(self) -> Field:
        """The field at all nodes, by the rows of Q."""
        excess = np.maximum(self.sigma**2 - self.tail**2, 0.0)
        modes = np.ones(excess.size, dtype=bool)
        return Field(self.vectors, excess, excess, 0.0, self.tail, modes, orthonormal=True)

    def rows_of_new(self, degrees: Array, weights: Any, X: Any) -> tuple[Array, Array]:
        """Return rows of the field's basis for new items, and variance of their own."""
        if self.tail:
            raise ValueError("new items need a prior without a tail: take gq.Prior.projected")
        d = np.asarray(weights.sum(axis=1), dtype=np.float64)
        shares = sparse.diags_array(1 / np.where(d > 0, d, 1.0)) @ weights
        departure = self.vectors**2 @ (self.spectrum.values * self.sigma) ** 2
        roots = np.sqrt(np.where(degrees > 0, degrees, 1.0))
        to_field = sparse.diags_array(np.sqrt(d)) @ shares @ sparse.diags_array(1 / roots)
        own = shares @ departure
        rows = np.asarray(to_field @ self.field.basis, dtype=np.float64)
        if self.spectrum.laplacian == "signless":
            rows = -rows
        # every item's field has the prior variance 1, also where its ties are weak
        variance = self.field.variances_of(rows) + own
        # edges to nodes that no mode reaches, such as nodes without edges, count as none
        alone = variance == 0
        own[alone], variance[alone] = 1.0, 1.0
        return rows / np.sqrt(variance)[:, None], own / variance

    def fingerprint(self) -> dict[str, Any]:
        """Return plain values that identify this prior, as settings and files hold them.

        ``laplacian`` is there if it is not the normalized one.

        ``mark`` changes with the order of the nodes and with the signs of the eigenvectors, which
        are arbitrary.
        """
        kind = self.spectrum.laplacian
        return {
            "kind": self.kind,
            "nodes": self.n_nodes,
            "rank": self.rank,
            "alpha": self.alpha,
            "tau": self.tau,
            "null_mode": self.null_mode,
            "log_scale": self._scaled[0],
            "tail": self.tail,
            "mark": self._mark,
            **({} if kind == "normalized" else {"laplacian": kind}),
        }

    @cached_property
    def _mark(self) -> float:
        rng = np.random.default_rng(0)
        left, right = rng.standard_normal(self.n_nodes), rng.standard_normal(self.rank)
        return float(left @ product(self.spectrum.vectors, right))

    def __repr__(self) -> str:
        rank: Any = f"up to {self.rank}" if self.auto_rank else self.rank
        asked = self.spectrum.asked
        if asked is not None and not self.auto_rank:
            rank = f"{rank}, since {asked} lies inside a repeated eigenvalue"
        parts = [f"{self.n_nodes} nodes", f"rank {rank}"]
        parts += [
            f"{name} {value if validation.is_auto(value) else format(value, '.3g')}"
            for name, value, papers in (("alpha", self.alpha, 1.0), ("tau", self.tau, 0.0))
            if value != papers
        ]
        if self.null_mode:
            parts.append("with q_0")
        if self.spectrum.laplacian != "normalized":
            parts.append(self.spectrum.laplacian)
        if not self.open and self.tail:
            share = (self.n_nodes - self.sigma.size) * self.tail**2 / self.n_nodes
            parts.append(f"{share:.0%} of the variance beyond")
        return f"Prior.{self.kind}({', '.join(parts)})"


def needs_whole_eigenspaces(kind: str, lambda_bar: float | None) -> bool:
    """Whether the prior depends on which eigenvectors of a repeated eigenvalue are kept.

    The modes beyond the rank have the eigenvalue of the last mode by default. It then does not
    matter which eigenvectors of this eigenvalue are among them.
    """
    return kind == "projected" or lambda_bar is not None


def modes_of(graph: Any, rank: Any, whole: bool) -> Spectrum:
    """Return the modes of a graph or of a larger spectrum that ``rank`` asks for.

    With ``whole``, a rank inside a repeated eigenvalue moves to one of its ends.
    """
    if rank is None:
        raise TypeError("rank must be an integer or 'auto', got None; Prior.full keeps all modes")
    if validation.is_auto(rank):
        rank = graph.rank if isinstance(graph, Spectrum) else default_rank(Graph.of(graph))
    if isinstance(graph, Spectrum):
        spectrum = whole_eigenspaces(graph, rank) if whole else graph.truncated(rank)
    else:
        spectrum = compute_eigenspaces(graph, rank) if whole else Spectrum.of(graph, rank)
    warn_of_split(spectrum)
    return spectrum


def default_rank(graph: Graph) -> int:
    """Return how many modes of a graph are computed by default."""
    return min(DEFAULT_MAX_MODES, require_modes(graph))
