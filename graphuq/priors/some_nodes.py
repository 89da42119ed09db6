"""A prior at some of its nodes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from graphuq.priors.field import Field
from graphuq.priors.gaussian_prior import GaussianPrior, Ranges
from graphuq.utils.typing import Array, Nodes


@dataclass(frozen=True, eq=False)
class SomeNodes(GaussianPrior):
    """A prior's field at some nodes, which are numbered anew.

    What is computed for every node then takes less time. Nothing else changes: labels among these
    nodes say of them what they say under the whole prior.

    Attributes
    ----------
    whole : Prior
        With all parameters chosen.
    kept : ndarray of int, shape (m,)
        Sorted nodes of it.

    Examples
    --------
    >>> import graphuq as gq, numpy as np
    >>> X, y = gq.datasets.two_moons(100, seed=0)
    >>> whole = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), rank=20)
    >>> some = SomeNodes(whole, np.array([1, 3, 8, 90]))
    >>> some.n_nodes, np.allclose(some.covariance([0], [3]), whole.covariance([1], [90]))
    (4, True)
    >>> labels = gq.Labels([3, 90], ["upper", "lower"])
    >>> quick = gq.approximate(whole, gq.Probit(0.5), labels)
    >>> quicker = gq.approximate(some, gq.Probit(0.5), gq.Labels([1, 3], labels.values))
    >>> np.allclose(quicker.by_class, quick.by_class[some.kept])
    True
    """

    whole: GaussianPrior
    kept: Nodes

    @property
    def n_nodes(self) -> int:
        """Number of nodes kept."""
        return self.kept.size

    @property
    def open(self) -> tuple[str, ...]:
        """Names of the parameters that are chosen from the labels."""
        return self.whole.open

    @property
    def idle(self) -> tuple[str, ...]:
        """Names of the parameters that change nothing."""
        return self.whole.idle

    @property
    def ranges(self) -> Ranges:
        """The range in which each parameter is searched."""
        return self.whole.ranges

    @property
    def parameters(self) -> dict[str, float | str]:
        """The value of each parameter but ranks."""
        return self.whole.parameters

    def with_parameters(self, **values: Any) -> SomeNodes:
        """Return the prior with these parameters, and the others as they are."""
        return SomeNodes(self.whole.with_parameters(**values), self.kept)

    @cached_property
    def field(self) -> Field:
        """The field at the nodes kept."""
        return self.whole.field.some(self.kept)

    def field_at(self, nodes: Nodes) -> Field:
        """Return the field at some nodes alone, which are numbered anew, exactly."""
        return self.whole.field_at(self.kept[nodes])

    def covariance(self, rows: Any, columns: Any) -> Array:
        """Return the covariance block between two lists of nodes."""
        return self.whole.covariance(self.kept[rows], self.kept[columns])

    @property
    def component(self) -> Nodes | None:
        """The component of each node, if a disconnected graph is all that relates nodes."""
        component = self.whole.component
        return None if component is None else component[self.kept]

    def with_labeled(self, nodes: Nodes) -> SomeNodes:
        """Return the prior whose field at labeled nodes is exact, not approximated."""
        return SomeNodes(self.whole.with_labeled(self.kept[nodes]), self.kept)

    def fingerprint(self) -> dict[str, Any]:
        """Return plain values that identify this prior, as settings and files hold them."""
        return {"whole": self.whole.fingerprint(), "kept": self.kept.tolist()}
