"""The prior that a graph, or a graph with features, has by default."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from scipy import sparse

from graphuq.graphs import Graph
from graphuq.graphs.spectrum import GAP_SHARE, compute_eigenspaces
from graphuq.labels.labels import Labels
from graphuq.priors.component_level import ComponentLevel
from graphuq.priors.feature_prior import FeaturePrior
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.priors.linear_prior import LinearPrior
from graphuq.priors.prior import Prior, default_rank
from graphuq.priors.propagated_features import HOPS, PropagatedFeatures
from graphuq.priors.sum_prior import Level, SumPrior, check_level
from graphuq.utils import validation
from graphuq.utils.features import check_node_features, require_spread
from graphuq.utils.warnings import warn


def default_prior(graph: Any, X: Any = None, labels: Any = None) -> GaussianPrior:
    """Return the prior that a graph has by default, beside features if there are any.

    A graph alone has its smooth modes and a level. Features add a `FeaturePrior`, a `LinearPrior`,
    and a second `LinearPrior`, on the averages of `PropagatedFeatures`. More than 100 features are
    reduced to 100 principal components. `graphuq.tune` chooses the weights.

    Parameters
    ----------
    graph : Graph, or what makes one
        Links that are known beside X. For nearest neighbors in X see `BayesianGraphClassifier`.
    X : array_like or sparse matrix, shape (N, d), optional
        Features. Scale columns of different units first, and rows of word counts to length 1.
    labels : Labels or array_like, optional
        They say which components of a disconnected graph have labels; by default all count as
        labeled.

    Raises
    ------
    ValueError, TypeError
        Missing or infinite features, or another number of rows than of nodes.

    Warns
    -----
    RuntimeWarning
        Features that are constant.

    Examples
    --------
    >>> import graphuq as gq
    >>> graph, y = gq.datasets.planted_partition([100, 100], 0.05, 0.01, seed=0)
    >>> X = np.random.default_rng(0).normal(size=(200, 3)) + y[:, None]
    >>> labels = gq.reveal(y, counts=10, seed=0)
    >>> tuned = gq.tune(gq.default_prior(graph, X, labels), labels)
    >>> [type(part).__name__ for part in tuned.prior.parts]
    ['Prior', 'FeaturePrior', 'LinearPrior', 'LinearPrior']
    >>> post = gq.approximate(tuned.prior, tuned.likelihood, labels)
    >>> bool(post.accuracy(y) > 0.9)
    True
    """
    graph = Graph.of(graph)
    labels = None if labels is None else Labels.of(labels, graph.n_nodes)
    modes = default_graph_prior(graph, default_rank(graph), labels=labels)
    if X is not None:
        X = check_node_features(X, graph.n_nodes, accept_sparse=True)
    return default_sum(modes, X, labels=labels, links=graph)


def default_graph_prior(
    source: Any,
    rank: int,
    alpha: float | str = validation.AUTO,
    labels: Labels | None = None,
    laplacian: str = "normalized",
) -> GaussianPrior:
    """Return `Prior.projected` on a Graph or Spectrum; tau is open if ``alpha`` is.

    Without tau a large alpha gives the first few modes nearly all variance, and classes may differ
    in more than these. If alpha is a number, tau is 0, as in the paper.

    On a disconnected graph only modes that agree with their neighbors are kept: those of normalized
    eigenvalue below 1, since D^(-1/2) A D^(-1/2) q = (1 - lambda) q. A pair of nodes has none. If
    all ``labels`` are in one component all modes are kept, as on a connected graph.

    Modes of a Graph's signless Laplacian are for neighbors that tend to differ.
    """
    if laplacian != "normalized":
        source = compute_eigenspaces(source, rank, laplacian)
        rank = source.rank
    tau = alpha if validation.is_auto(alpha) else 0.0
    prior = Prior.projected(source, rank, alpha=alpha, tau=tau)
    spectrum = prior.spectrum
    component = spectrum.component
    if component is None or (labels is not None and np.ptp(component[labels.nodes]) == 0):
        return prior
    agreeing = int(np.count_nonzero(spectrum.values < spectrum.width / 2 - GAP_SHARE))
    if agreeing == 0:
        return ComponentLevel(spectrum)
    return dataclasses.replace(prior, spectrum=spectrum.truncated(agreeing))


def default_sum(
    graph: GaussianPrior,
    X: Any = None,
    graph_weight: float | str = validation.AUTO,
    level: float | str = validation.AUTO,
    labels: Labels | None = None,
    links: Graph | None = None,
) -> GaussianPrior:
    """Return a prior on a graph beside those on features, unless these are constant, and a level.

    Without features and level that is ``graph`` itself, and draws of a seed are the same. On a
    disconnected graph without features, components have levels of their own; see `ComponentLevel`.

    Parameters
    ----------
    graph : Prior
    X : ndarray, shape (N, d), optional
        Features.
    graph_weight : float from 0 to 1, or "auto"
        Share of the graph; the rest is that of the features, squared exponential and linear. With
        1 these are left out.
    level : float from 0 or "auto"
        Deviation of the level.
    labels : Labels, optional
        They say which components have labels; by default all count as labeled.
    links : Graph, optional
        A graph that was not made of X: features are also propagated along it.

    Raises
    ------
    ValueError
        Features that are constant, and a number below 1 as ``graph_weight``.

    Warns
    -----
    RuntimeWarning
        Features that are constant, and "auto".
    """
    check_terms(graph_weight, level)
    if X is None or graph_weight == 1 or _are_constant(X, graph_weight):
        if isinstance(graph, Prior) and graph.spectrum.component is not None:
            levels = ComponentLevel(graph.spectrum, None if labels is None else labels.nodes)
            return SumPrior((graph, levels), (1 - levels.share,), level)
        return graph if level == 0 else SumPrior.of([graph, Level(level)])
    if links is None:
        parts: list[GaussianPrior] = [graph, FeaturePrior(X), LinearPrior(X)]
    else:
        near = PropagatedFeatures(X, links, hops=0)  # the principal components, if X are words
        own: Any = near if near.is_reduced or sparse.issparse(X) else X
        parts = [graph, FeaturePrior(own), LinearPrior(own)]
        averages = near.with_hops(HOPS)
        if not averages.is_constant:
            parts.append(LinearPrior(averages))
    return SumPrior(tuple(parts), (graph_weight, *[validation.AUTO] * (len(parts) - 2)), level)


def _are_constant(X: Any, graph_weight: float | str) -> bool:
    """Whether features are the same for all items; refuse a weight that leaves them a share."""
    if require_spread(X):
        return False
    if not validation.is_auto(graph_weight):
        raise ValueError(
            f"graph_weight={graph_weight:g} leaves a share to features, and all features are "
            "constant: give graph_weight=1, or features that differ"
        )
    warn(
        "all features are constant and carry no information: the prior uses the graph alone, as "
        "with graph_weight=1"
    )
    return True


def check_terms(graph_weight: float | str, level: float | str) -> None:
    """Refuse a weight of the graph or a level out of range."""
    if not validation.is_auto(graph_weight):
        validation.between("graph_weight", graph_weight, 0, 1)
    check_level("level", level)
