"""A prior at some of its nodes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from graphuq.priors.expansion import Expansion
from graphuq.priors.gaussian import Gaussian
from graphuq.priors.gaussian_prior import GaussianPrior, Ranges
from graphuq.priors.given_labeled import Rest
from graphuq.utils.typing import Array, Nodes


@dataclass(frozen=True, eq=False)
class SomeNodes(GaussianPrior):
    """The law of a prior's field at some nodes, which are numbered anew.

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
    def expansion(self) -> Expansion:
        """The covariance of the nodes kept."""
        whole = self.whole.expansion
        return whole._replace(basis=whole.at(self.kept))

    @property
    def law(self) -> Gaussian:
        """The law of the field at the nodes kept."""
        return self.whole.at(self.kept)

    @property
    def has_exact_root(self) -> bool:
        """Whether `root` comes from modes, and not from covariances."""
        return self.whole.has_exact_root

    def root(self, nodes: Nodes) -> Array:
        """Return F, at most as wide as there are ``nodes``, with F F' = C_JJ."""
        return self.whole.root(self.kept[nodes])

    def covariance(self, rows: Any, columns: Any) -> Array:
        """Return the covariance block between two lists of nodes."""
        return self.whole.covariance(self.kept[rows], self.kept[columns])

    @property
    def modes_determine_field(self) -> bool:
        """Whether the modes leave nothing of the field open."""
        return self.whole.modes_determine_field

    def mode_loadings(self, nodes: Any) -> Array:
        """Return A (nodes, p): the modes z ~ N(0, I) contribute A z to the field at ``nodes``."""
        return self.whole.mode_loadings(self.kept[nodes])

    def rest(self, nodes: Nodes) -> Rest | None:
        """Return what the modes leave open of the field at ``nodes``; None if nothing."""
        return self.whole.rest(self.kept[nodes])

    @property
    def component(self) -> Nodes | None:
        """The component of each node, if a disconnected graph is all that relates nodes."""
        component = self.whole.component
        return None if component is None else component[self.kept]

    def with_labeled(self, nodes: Nodes) -> SomeNodes:
        """Return the prior whose law at labeled nodes is exact, not approximated."""
        return SomeNodes(self.whole.with_labeled(self.kept[nodes]), self.kept)

    def fingerprint(self) -> dict[str, Any]:
        """Return plain values that identify this prior, as settings and files hold them."""
        return {"whole": self.whole.fingerprint(), "kept": self.kept.tolist()}
