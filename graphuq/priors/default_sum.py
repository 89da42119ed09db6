"""The prior that a graph, or a graph with features, has by default."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any

import numpy as np

from graphuq.graphs.spectrum import GAP_SHARE
from graphuq.labels.labels import Labels
from graphuq.priors.component_level import ComponentLevel
from graphuq.priors.feature_prior import FeaturePrior
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.priors.linear_prior import LinearPrior
from graphuq.priors.prior import Prior
from graphuq.priors.sum_prior import Level, SumPrior, check_level
from graphuq.utils import validation


def default_graph_prior(
    source: Any, rank: int, alpha: float | str = validation.AUTO, labels: Labels | None = None
) -> GaussianPrior:
    """Return `Prior.projected` on a Graph or Spectrum; tau is open if ``alpha`` is.

    Without tau a large alpha gives the first few modes nearly all variance, and classes may differ
    in more than these. If alpha is a number, tau is 0, as in the paper.

    On a disconnected graph only modes that agree with their neighbors are kept: those of normalized
    eigenvalue below 1, since D^(-1/2) A D^(-1/2) q = (1 - lambda) q. A pair of nodes has none. If
    all ``labels`` are in one component all modes are kept, as on a connected graph.
    """
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
    on_features = FeaturePrior(X), LinearPrior(X)
    return SumPrior((graph, *on_features), (graph_weight, validation.AUTO), level)


def _are_constant(X: Any, graph_weight: float | str) -> bool:
    """Whether features are the same for all items; refuse a weight that leaves them a share."""
    if (X[0] != X).any():
        return False
    if not validation.is_auto(graph_weight):
        raise ValueError(
            f"graph_weight={graph_weight:g} leaves a share to features, and all features are "
            "constant: give graph_weight=1, or features that differ"
        )
    warnings.warn(
        "all features are constant and carry no information: the prior uses the graph alone, as "
        "with graph_weight=1",
        RuntimeWarning,
        stacklevel=4,
    )
    return True


def check_terms(graph_weight: float | str, level: float | str) -> None:
    """Refuse a weight of the graph or a level out of range."""
    if not validation.is_auto(graph_weight):
        validation.between("graph_weight", graph_weight, 0, 1)
    check_level("level", level)
