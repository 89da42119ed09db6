"""A level of each component of a graph, by which a disconnected graph needs no remedy."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Any

import numpy as np

from graphuq.graphs import Graph
from graphuq.graphs.spectrum import Spectrum
from graphuq.priors.field import Field
from graphuq.priors.sum_prior import Summable
from graphuq.utils import validation
from graphuq.utils.memory import require_memory
from graphuq.utils.typing import Array, Nodes

# Variance of the level of a component with labels, where others have labels, too. Labels say little
# of it: most of them are in one component.
LABELED_VARIANCE = 0.5


class ComponentLevel(Summable):
    """A level b_c ~ N(0, 1) for each component c of a graph, to add to a `Prior` on it.

    C_ij = 1 for two nodes of one component, and 0 for two of different components. The modes of a
    disconnected graph vary inside its components only: their field has mean 0 on each, weighted by
    D^(1/2), and is 0 at a node without edges. This is the rest of the field, with a finite
    variance. Nodes in components without labels then have the base rate of the classes, which the
    `Level` gives; without one all classes are equally likely.

    Parameters
    ----------
    graph : Graph, adjacency, Spectrum, or array_like of int, shape (N,)
        An array has the component of each node, counted from 0.
    labeled : array_like of int, optional
        Labeled nodes. Components without any have levels of variance 1, up to the common factor
        1 / `share` that makes the mean node variance 1. Components with labels have levels of
        variance 1/2, or none if there is only one such component: its field is then that of its own
        graph. By default all components count as labeled.

    Attributes
    ----------
    share : float
        Share of the variance that levels have in the default prior; the rest is the graph's.

    Raises
    ------
    ValueError, TypeError
        Not a graph, and not components counted from 0; labeled nodes that do not exist.

    Examples
    --------
    >>> import graphuq as gq
    >>> graph = gq.Graph([[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    >>> prior = gq.SumPrior.of([gq.Prior.full(graph), gq.ComponentLevel(graph)], weights=[1, 1])
    >>> prior
    0.5 Prior.full(3 nodes, rank 1) + 0.5 ComponentLevel(2 components)
    >>> prior.covariance([0, 1, 2], [0, 1, 2])
    array([[ 1.25, -0.25,  0.  ],
           [-0.25,  1.25,  0.  ],
           [ 0.  ,  0.  ,  0.5 ]])

    >>> prior.component, gq.ComponentLevel(graph).n_components
    (array([0, 0, 1]), 2)

    If node 2 has no label, the others have no level of their own:

    >>> levels = gq.ComponentLevel(graph, labeled=[0, 1])
    >>> levels.share, levels.variance()
    (0.3333333333333333, array([0., 0., 3.]))

    A graph, in place of a prior, has these parts and a level, chosen from the labels:

    >>> graph = gq.Graph([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]])
    >>> labels = gq.Labels([0, 2], ["a", "b"])
    >>> gq.approximate(graph, gq.Probit(0.5), labels).prediction.tolist()
    ['a', 'a', 'b', 'b']
    """

    def __init__(self, graph: Any, labeled: Any = None) -> None:
        self._component = _components_of(graph)
        count = self.n_components
        self._labeled: list[int] | None = None
        variances = np.full(count, LABELED_VARIANCE)
        if labeled is not None:
            nodes = validation.node_ids("labeled", labeled, self.n_nodes)
            with_label, first = np.unique(self._component[nodes], return_index=True)
            if with_label.size < count:
                self._labeled = sorted(nodes[first].tolist())
                variances[:] = 1.0
                variances[with_label] = LABELED_VARIANCE if with_label.size > 1 else 0.0
        self.share = float(variances[self._component].mean())
        self._deviations = np.sqrt(variances / self.share)

    @property
    def n_nodes(self) -> int:
        """Number of nodes N."""
        return self._component.size

    @property
    def component(self) -> Nodes | None:
        """The component of each node; None if there is only one."""
        return self._component if self.n_components > 1 else None

    @property
    def n_components(self) -> int:
        """Number of components."""
        return int(self._component.max()) + 1

    @cached_property
    def field(self) -> Field:
        """The field at all nodes, by a column for each component."""
        n, count = self.n_nodes, self.n_components
        require_memory(8.0 * n * count, f"levels of {count} components", "drop nodes without edges")
        return Field(self._columns(np.arange(n)), np.ones(count), np.ones(count))

    def field_at(self, nodes: Nodes) -> Field:
        """Return the field at some nodes, by a column for each component that they are in.

        Parameters
        ----------
        nodes : ndarray of int
        """
        found = self._columns(nodes)
        found = np.ascontiguousarray(found[:, found.any(axis=0)])
        return Field(found, np.ones(found.shape[1]), np.ones(found.shape[1]))

    def _columns(self, nodes: Any) -> Array:
        found = np.zeros((len(nodes), self.n_components))
        own = self._component[nodes]
        found[np.arange(len(nodes)), own] = self._deviations[own]
        return found

    def fingerprint(self) -> dict[str, Any]:
        """Return plain values that identify this prior; see `Prior.fingerprint`."""
        digest = hashlib.blake2b(self._component.tobytes()).hexdigest()[:16]
        return {
            "kind": "components",
            "nodes": self.n_nodes,
            "rank": 0,
            "levels": self.n_components,
            "components": digest,
            **({} if self._labeled is None else {"labeled": self._labeled}),
        }

    def __repr__(self) -> str:
        some = "" if self._labeled is None else f", {len(self._labeled)} labeled"
        return f"ComponentLevel({self.n_components} components{some})"


def _components_of(graph: Any) -> Nodes:
    if isinstance(graph, Spectrum):
        return np.zeros(graph.n_nodes, np.int64) if graph.component is None else graph.component
    if isinstance(graph, list | tuple):
        graph = validation.array_of("graph", graph)
    if getattr(graph, "ndim", 0) != 1:
        return Graph.of(graph).component
    component = validation.unmasked("components", graph)
    if component.dtype.kind not in "iu" or component.size < 2:
        raise TypeError(
            f"components must be integers, one for each of at least two nodes, got "
            f"{component.dtype} of shape {component.shape}"
        )
    if component.min() != 0 or component.max() >= component.size:
        raise ValueError(
            f"components must be counted from 0, got {component.min()} to {component.max()}"
        )
    return component.astype(np.int64)
