"""Gaussian priors on the field at all nodes: what graphs, features and their sums share."""

from __future__ import annotations

import dataclasses
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from graphuq.priors.field import Field
from graphuq.priors.gaussian import Gaussian
from graphuq.priors.given import Conditional, Given, GivenAll
from graphuq.utils import validation
from graphuq.utils.fingerprint import same_fingerprint
from graphuq.utils.memory import require_memory
from graphuq.utils.typing import Array, Nodes

Ranges = dict[str, tuple[float, float]]


class GaussianPrior(ABC):
    """A centered Gaussian on the field at all nodes: parameters that make a `Field`.

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
    >>> prior.component, prior.names     # the graph is connected, and its nodes have no names
    (None, None)
    >>> prior.parameters["level"], prior.ranges["level"]
    (0.5, (0.0, 3.0))
    >>> {name: round(x, 2) for name, x in prior.typical.items()}    # the median distance of items
    {'length_scale': 1.46}
    >>> prior.with_parameters(level=0.0).level
    0.0
    >>> prior.with_parameters(weight=1.0).idle
    ('length_scale',)
    >>> prior.matches(prior.fingerprint())
    True

    Its field, at all and at some nodes, and draws of it:

    >>> C = prior.covariance([0, 2], [0, 2])
    >>> F = prior.root(np.array([0, 2]))
    >>> np.allclose(F @ F.T, C), np.allclose(prior.at([0, 2]).covariance(), C)
    (True, True)
    >>> np.allclose(prior.law.variance(), prior.variance())
    True
    >>> prior.field.weights.shape, prior.field_at(np.array([0, 2])).variance().shape
    ((61,), (2,))
    >>> prior.deviations().shape      # of the level and of the columns of the basis
    (62,)
    >>> no_edges = np.zeros((1, 50))
    >>> rows, own = prior.rows_of_new(np.ones(50), no_edges, X[:1])    # of a new item
    >>> rows.shape, own
    ((1, 61), array([0.5]))
    >>> prior.draw(2, seed=0).shape
    (2, 50)
    >>> prior.with_labeled(np.array([0, 2])).conditional(np.array([0, 2]), np.array([1])).n_traced
    1

    The modes are the level and those of the graph; the field of features is beyond them:

    >>> prior.mode_loadings([0, 2]).shape, prior.modes_determine_field
    ((2, 11), False)
    >>> prior.require_here("a plot")     # raises for eigenvectors in a Dask array
    """

    @property
    @abstractmethod
    def n_nodes(self) -> int:
        """Number of nodes N."""

    @property
    def names(self) -> NDArray[Any] | None:
        """Names of the nodes, if a graph has some."""
        return None

    @property
    def ranges(self) -> Ranges:
        """The range in which each parameter is searched; by default there are no parameters."""
        return {}

    @property
    def typical(self) -> dict[str, float]:
        """A typical value of parameters that have one, about which they are log-normal."""
        return {}

    @property
    def parameters(self) -> dict[str, float | str]:
        """The value of each parameter but ranks; by default the attributes that have ranges."""
        return {name: getattr(self, name) for name in self.ranges}

    @property
    def open(self) -> tuple[str, ...]:
        """Names of the parameters that are chosen from the labels: those that are "auto"."""
        return tuple(name for name, value in self.parameters.items() if validation.is_auto(value))

    @property
    def idle(self) -> tuple[str, ...]:
        """Names of parameters that change nothing: in a sum those of parts of weight 0."""
        return ()

    def with_parameters(self, **values: Any) -> GaussianPrior:
        """Return the prior with these parameters, and the others as they are."""
        if not values:
            return self
        if not self.ranges:
            name = type(self).__name__
            raise TypeError(f"a {name} has no parameters, got {', '.join(values)}")
        return dataclasses.replace(self, **values)  # type: ignore[type-var]

    @property
    @abstractmethod
    def field(self) -> Field:
        """The field at all nodes."""

    def field_at(self, nodes: Nodes) -> Field:
        """Return the field at some nodes alone, which are numbered anew, exactly."""
        return self._checked_field().some(nodes)

    def deviations(self) -> Array:
        """Return the deviations of the level and of the columns of the field's basis, (1 + P,).

        Unlike the field, that of a sum, they take no new basis for each value of the parameters.
        """
        return np.append(self.field.level, np.sqrt(self.field.weights))

    def _checked_field(self) -> Field:
        if (rows := self.field.basis.shape[0]) != self.n_nodes:
            raise ValueError(
                f"{type(self).__name__}.field has a basis of {rows} rows, and there are "
                f"{self.n_nodes} nodes: give it one row for each"
            )
        return self.field

    def at(self, nodes: Any) -> Gaussian:
        """Return the distribution of the field at ``nodes`` alone, in the order given.

        Parameters
        ----------
        nodes : array_like of int, shape (J,)
            At least one.

        Raises
        ------
        TypeError, ValueError
            What is not distinct nodes, or none of them.
        """
        nodes = validation.node_ids("nodes", nodes, self.n_nodes)
        if not nodes.size:
            raise ValueError("nodes must name at least one node, got none")
        return self.field_at(nodes).at(np.arange(nodes.size))

    def root(self, nodes: Nodes) -> Array:
        """Return F, at most as wide as there are ``nodes``, with F F' = C_JJ."""
        return self.field_at(nodes).root(np.arange(len(nodes)))

    @property
    def law(self) -> Gaussian:
        """The distribution of the whole field; see `graphuq.priors.field.Field.whole`."""
        return self.field.whole

    def covariance(self, rows: Any, columns: Any) -> Array:
        """Return the covariance block between two lists of nodes.

        Parameters
        ----------
        rows, columns : array_like of int
        """
        return self.field.covariance(
            validation.node_ids("rows", rows, self.n_nodes),
            validation.node_ids("columns", columns, self.n_nodes),
        )

    def mode_loadings(self, nodes: Any) -> Array:
        """Return A (nodes, p): the modes z ~ N(0, I) contribute A z to the field at ``nodes``.

        A level is the first mode.

        Parameters
        ----------
        nodes : array_like of int
        """
        return self.field.loadings(self.field.rows(nodes))[:, self.field.modes]

    @property
    def modes_determine_field(self) -> bool:
        """Whether the modes leave nothing of the field open."""
        return self.field.modes_determine_field

    def rows_of_new(self, degrees: Array, weights: Any, X: Any) -> tuple[Array, Array]:
        """Return rows of the field's basis for new items, and variance of their own.

        See `graphuq.posterior.new_items`.

        Parameters
        ----------
        degrees : ndarray, shape (N,)
            Degrees of the graph.
        weights : csr_array, shape (m, N)
            Those of new items.
        X : array_like, shape (m, d), or None
            Features of new items.
        """
        del degrees, weights, X
        raise ValueError(
            f"{type(self).__name__} has no rows_of_new, which new items need, and neither has a "
            "disconnected graph: take graph.largest_component()"
        )

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

    # Whether the basis of the field is the same for all parameters.
    has_fixed_basis: ClassVar[bool] = True

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
        """Return the field at all nodes, given the field at those that are read.

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
            return GivenAll(self._checked_field(), traced)
        return Given(self._checked_field(), read, traced, noise)

    def variance(self) -> Array:
        """Return the prior variance of every node, shape (N,)."""
        return self.field.variance()

    def draw(self, size: int = 1, seed: validation.Seed = None) -> Array:
        """Return ``size`` independent fields, shape (size, N).

        Parameters
        ----------
        size : int
        seed : int, SeedSequence or Generator, optional
        """
        validation.integer("size", size, 1)
        fields = f"{size} fields on {self.n_nodes} nodes"
        require_memory(2 * 8.0 * size * self.n_nodes, fields, "draw fewer at a time")
        return self.field.draw(size, np.random.default_rng(validation.seed_sequence(seed)))

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


@cache
def base_name(parameter: str) -> str:
    """Return a parameter's name without the number of its part.

    Examples
    --------
    >>> base_name("alpha_2"), base_name("flip_rate")
    ('alpha', 'flip_rate')
    """
    return re.sub(r"_\d+$", "", parameter)
