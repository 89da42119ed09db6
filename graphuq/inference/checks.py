"""Checks of the prior and the labels, before any computation."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphuq.graphs import Graph
from graphuq.graphs.foreign import is_foreign
from graphuq.graphs.spectrum import Spectrum
from graphuq.labels.labels import Labels
from graphuq.likelihoods.bound import Bound, bind
from graphuq.likelihoods.contract import Likelihood, adopt
from graphuq.priors.gaussian_prior import GaussianPrior, require_chosen
from graphuq.priors.prior import Prior
from graphuq.priors.sum_prior import SumPrior
from graphuq.utils.warnings import warn
from graphuq.utils.words import choose_form, count

# A share of the largest variance that is rounding.
CERTAIN = 1e-12


def require_prior_and_labels(prior: Any, labels: Any, *, needs_prior: bool = False) -> None:
    """Refuse what is not a prior or labels, and labels on nodes that the prior does not have.

    A Spectrum or Graph stands for a prior, unless ``needs_prior``. A prior of modes alone of a
    disconnected graph is refused, too.

    Raises
    ------
    TypeError, ValueError
    """
    served: Any = GaussianPrior
    if not needs_prior:
        served |= Spectrum | Graph
    if not isinstance(prior, served):
        others = "" if needs_prior else ", or a Spectrum or Graph"
        if isinstance(prior, Spectrum | Graph):
            others = ", or gq.tune(graph, labels).prior, which the labels choose"
        is_array = isinstance(prior, np.ndarray)
        hint = "; build a graph of features by gq.knn_graph(X)" if is_array else ""
        raise TypeError(
            "prior must be a Prior, such as gq.Prior.projected(graph, rank), a FeaturePrior, a "
            f"GaussianPrior of your own, or a sum of them, gq.SumPrior.of([...]){others}, got "
            f"{type(prior).__name__}{hint}"
        )
    require_labels(labels, prior.n_nodes)
    if isinstance(prior, GaussianPrior):
        _require_component_levels(prior)


def _require_component_levels(prior: GaussianPrior) -> None:
    """Refuse modes of a disconnected graph without anything that gives its components a level."""
    component = prior.component
    parts = prior.used if isinstance(prior, SumPrior) else (prior,)
    if component is not None and all(isinstance(part, Prior) for part in parts):
        raise ValueError(
            f"the graph has {component.max() + 1} components, and its modes have mean 0 on each, "
            "so that labels of one class in a component would not make this class likely there: "
            "add gq.ComponentLevel(graph) to the prior, give the graph in its place, or take "
            "graph.largest_component()"
        )


def require_labels(labels: Any, n_nodes: int) -> None:
    """Refuse what is not labels, and labels on other nodes.

    Raises
    ------
    TypeError, ValueError
    """
    if not isinstance(labels, Labels):
        by_name = ", or gq.Labels({name: class, ...}, graph)" if isinstance(labels, dict) else ""
        raise TypeError(
            f"labels must be gq.Labels(nodes, values) or gq.reveal(...){by_name}, got "
            f"{type(labels).__name__}"
        )
    labels.require_within(n_nodes)


def check_components(prior: GaussianPrior, labels: Labels) -> None:
    """Refuse nodes without any variance, and say which components have no label.

    Warns
    -----
    RuntimeWarning
        Components without labels, whose probabilities are the base rate.
    """
    component = prior.component
    if component is None:
        return
    variance = prior.variance()
    certain = np.flatnonzero(variance <= CERTAIN * variance.max())
    if certain.size:
        raise ValueError(
            f"{count(certain.size, 'node')} of the disconnected graph, first node {certain[0]}, "
            f"{choose_form(certain.size, 'has', 'have')} no prior variance: add "
            "gq.ComponentLevel(graph) to the prior, or take graph.largest_component()"
        )
    bare = np.flatnonzero(~np.isin(component, component[labels.nodes]))
    if bare.size:
        n_bare = np.unique(component[bare]).size
        warn(
            f"{n_bare} of {component.max() + 1} components {choose_form(n_bare, 'has', 'have')} no "
            f"label ({count(bare.size, 'node')}, first node {bare[0]}), and "
            f"{choose_form(n_bare, 'gets', 'get')} the base rate of the classes: label a node of "
            "each, or add features, gq.FeaturePrior(X)"
        )


def prior_or_graph(prior: Any) -> Any:
    """Return a prior or a spectrum itself, and otherwise a graph, also of an adjacency matrix."""
    if isinstance(prior, GaussianPrior | Spectrum | Graph):
        return prior
    listed = isinstance(prior, list | tuple)
    if not listed and not is_foreign(prior) and getattr(prior, "ndim", 0) != 2:
        raise TypeError(
            "prior must be a Prior, a Spectrum or a Graph, such as gq.Spectrum.of(graph, rank), "
            f"got {type(prior).__name__}"
        )
    return Graph.of(prior)


class BindOnce:
    """Bind labels to a likelihood whose parameters change from call to call.

    The likelihood is checked and compiled in the first call; later ones replace its parameters.
    """

    def __init__(self, labels: Labels) -> None:
        self.labels = labels
        self._bound: Bound | None = None

    def __call__(self, prior: Any, likelihood: Likelihood) -> Bound:
        """Return the likelihood bound to the labels."""
        if self._bound is None:
            self._bound = bind_checked(prior, likelihood, self.labels)
        else:
            self._bound = self._bound.with_parameters(adopt(likelihood))
        return self._bound


def bind_checked(prior: Any, likelihood: Likelihood, labels: Labels) -> Bound:
    """Return the likelihood bound to the labels, once prior, likelihood and labels are checked."""
    require_prior_and_labels(prior, labels, needs_prior=True)
    require_chosen(prior.open)
    prior.with_labeled(labels.nodes)  # a SolvedPrior refuses other nodes than its own
    return bind(likelihood, labels, prior.n_nodes)
