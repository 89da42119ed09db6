"""Gaussian priors on the field at all nodes: what graphs, features and their sums share."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import linalg

from graphuq.priors.conditional import Conditional, GivenAll
from graphuq.priors.expansion import Expansion
from graphuq.priors.gaussian import Gaussian, law_of
from graphuq.priors.given_labeled import GivenLabeled, Rest
from graphuq.utils import validation
from graphuq.utils.fingerprint import same_fingerprint
from graphuq.utils.memory import require_memory
from graphuq.utils.typing import Array, Nodes

Ranges = dict[str, tuple[float, float]]


class GaussianPrior(ABC):
    """A centered Gaussian on the field at all nodes.

    `Prior` is one on a graph, `FeaturePrior` one on features, and `SumPrior` a sum of them.

    Examples
    --------
    >>> import numpy as np
    >>> import graphuq as gq
    >>> X, _ = gq.datasets.two_moons(50, seed=0)
    >>> graph = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), rank=10)
    >>> prior = gq.SumPrior.of([graph, gq.FeaturePrior(X, 1.0), gq.Level(0.5)], weights=[1, 1])

    Its parameters, which may be "auto" and then are open:

    >>> prior.n_nodes, prior.open, prior.weights.tolist(), prior.graph_part is graph
    (50, (), [0.5, 0.5], True)
    >>> prior.component     # the graph is connected
    >>> prior.parameters["level"], prior.ranges["level"]
    (0.5, (0.0, 3.0))
    >>> prior.with_parameters(level=0.0).level
    0.0
    >>> prior.with_parameters(weight=1.0).idle
    ('length_scale',)
    >>> prior.matches(prior.fingerprint())
    True

    Its covariance, its law at all and at some nodes, and draws of the field:

    >>> C = prior.covariance([0, 2], [0, 2])
    >>> F = prior.root(np.array([0, 2]))
    >>> np.allclose(F @ F.T, C), np.allclose(prior.at([0, 2]).covariance(), C)
    (True, True)
    >>> np.allclose(prior.law.variance(), prior.variance())
    True
    >>> np.allclose(prior.expansion.variance(), prior.variance())
    True
    >>> prior.draw(2, seed=0).shape
    (2, 50)
    >>> prior.with_labeled(np.array([0, 2])).conditional(np.array([0, 2]), np.array([1])).n_traced
    1

    The modes are the level and those of the graph; the field of features is beyond them:

    >>> prior.mode_loadings([0, 2]).shape, prior.modes_from_field().shape
    ((2, 11), (50, 11))
    >>> graph.has_exact_root, prior.has_exact_root
    (True, False)
    >>> prior.modes_determine_field, prior.rest(np.array([0, 2])) is None
    (False, False)
    >>> prior.require_here("a plot")     # raises for eigenvectors in a Dask array
    """

    @property
    @abstractmethod
    def n_nodes(self) -> int:
        """Number of nodes N."""

    @property
    @abstractmethod
    def open(self) -> tuple[str, ...]:
        """Names of the parameters that are chosen from the labels."""

    @property
    @abstractmethod
    def ranges(self) -> Ranges:
        """The range in which each parameter is searched."""

    @property
    @abstractmethod
    def parameters(self) -> dict[str, float | str]:
        """The value of each parameter but ranks."""

    @property
    def idle(self) -> tuple[str, ...]:
        """Names of parameters that change nothing: in a sum those of parts of weight 0."""
        return ()

    @abstractmethod
    def with_parameters(self, **values: Any) -> GaussianPrior:
        """Return the prior with these parameters, and the others as they are."""

    @property
    @abstractmethod
    def expansion(self) -> Expansion:
        """The covariance of all nodes."""

    @property
    @abstractmethod
    def law(self) -> Gaussian:
        """The law of the whole field, with an orthonormal basis."""

    @property
    def has_exact_root(self) -> bool:
        """Whether `root` comes from modes, and not from covariances."""
        return True

    @abstractmethod
    def root(self, nodes: Nodes) -> Array:
        """Return F, at most as wide as there are ``nodes``, with F F' = C_JJ."""

    def at(self, nodes: Any) -> Gaussian:
        """Return the law of the field at ``nodes`` alone, in the order given.

        Parameters
        ----------
        nodes : array_like of int, shape (J,)
        """
        nodes = validation.node_ids("nodes", nodes, self.n_nodes)
        if not self.has_exact_root:
            return law_of(self.covariance(nodes, nodes))
        U, S, _ = linalg.svd(self.root(nodes), full_matrices=False)
        return Gaussian(np.ascontiguousarray(U), S**2, 0.0)

    @abstractmethod
    def covariance(self, rows: Any, columns: Any) -> Array:
        """Return the covariance block between two lists of nodes."""

    @property
    @abstractmethod
    def modes_determine_field(self) -> bool:
        """Whether the modes leave nothing of the field open."""

    @abstractmethod
    def mode_loadings(self, nodes: Any) -> Array:
        """Return A (nodes, p): the modes z ~ N(0, I) contribute A z to the field at ``nodes``."""

    @abstractmethod
    def rest(self, nodes: Nodes) -> Rest | None:
        """Return what the modes leave open of the field at ``nodes``; None if nothing."""

    def modes_from_field(self) -> Array:
        """Return M (N, p): the modes expected at a field u at all nodes are u' M."""
        loadings = self.mode_loadings(np.arange(self.n_nodes))
        return self.law.solve(loadings.T).T

    @abstractmethod
    def fingerprint(self) -> dict[str, Any]:
        """Return plain values that identify this prior, as settings and files hold them."""

    def require_here(self, what: str) -> None:
        """Refuse eigenvectors on a cluster for work that needs all of them here.

        Parameters
        ----------
        what : str
            The work, named in the message.
        """
        del what

    @property
    def graph_part(self) -> GaussianPrior | None:
        """The prior on a graph, which has modes; of a sum the first such part, or None."""
        return None

    @property
    def component(self) -> Nodes | None:
        """The component of each node, if a disconnected graph is all that relates nodes."""
        return None

    def with_labeled(self, nodes: Nodes) -> GaussianPrior:
        """Return the prior whose law at labeled nodes is exact, not approximated."""
        del nodes
        return self

    def conditional(self, read: Nodes | None, traced: Nodes, noise: float = 0.0) -> Conditional:
        """Return the law of the field at all nodes, given the field at those that are read.

        Parameters
        ----------
        read : ndarray of int or None
            Sorted; None for all nodes.
        traced : ndarray of int
            Nodes whose field is drawn.
        noise : float
            Deviation of independent noise on the field read.

        Returns
        -------
        Conditional
        """
        if read is None:
            return GivenAll(self, traced)
        return GivenLabeled(self, read, traced, noise)

    def variance(self) -> Array:
        """Return the prior variance of every node, shape (N,)."""
        return self.expansion.variance()

    def draw(self, size: int = 1, seed: validation.Seed = None) -> Array:
        """Return ``size`` independent fields, shape (size, N).

        Parameters
        ----------
        size : int
        seed : int, SeedSequence or Generator, optional
        """
        rng = self._begin_draw(size, seed)
        nodes = np.arange(self.n_nodes)
        loadings, rest = self.mode_loadings(nodes), self.rest(nodes)
        fields = rng.standard_normal((size, loadings.shape[1])) @ loadings.T
        return fields if rest is None else fields + rest.draw(size, rng)

    def _begin_draw(self, size: int, seed: validation.Seed) -> np.random.Generator:
        """Return the generator of ``size`` fields, for which there must be memory."""
        validation.integer("size", size, 1)
        fields = f"{size} fields on {self.n_nodes} nodes"
        require_memory(2 * 8.0 * size * self.n_nodes, fields, "draw fewer at a time")
        return np.random.default_rng(validation.seed_sequence(seed))

    def matches(self, fingerprint: dict[str, Any]) -> bool:
        """Whether ``fingerprint`` is that of this prior, up to rounding.

        Parameters
        ----------
        fingerprint : dict
        """
        return same_fingerprint(self.fingerprint(), fingerprint)


def require_chosen(names: Sequence[str]) -> None:
    """Refuse a prior whose parameters of these names are still "auto"."""
    if names:
        raise ValueError(
            f"expected a prior with all parameters chosen, got 'auto' for {' and '.join(names)}: "
            "take gq.tune(prior, labels, likelihood).prior"
        )


def base_name(parameter: str) -> str:
    """Return a parameter's name without the number of its part.

    Examples
    --------
    >>> base_name("alpha_2"), base_name("flip_rate")
    ('alpha', 'flip_rate')
    """
    return re.sub(r"_\d+$", "", parameter)


def narrow(F: Array) -> Array:
    """Return a root of F F' with at most as many columns as rows."""
    if F.shape[0] >= F.shape[1]:
        return F
    return np.ascontiguousarray(linalg.qr(F.T, mode="r", check_finite=False)[0][: F.shape[0]].T)
