"""The prior that a graph, or a graph with features, has by default."""

from __future__ import annotations

from typing import Any

from graphuq.priors.feature_prior import FeaturePrior
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.priors.level import LEVELS, Level
from graphuq.priors.prior import Prior
from graphuq.priors.sum_prior import SumPrior
from graphuq.utils import validation


def default_graph_prior(source: Any, rank: int, alpha: float | str = validation.AUTO) -> Prior:
    """Return `Prior.projected` on a Graph or Spectrum; tau is open if ``alpha`` is.

    Without tau a large alpha gives the first few modes nearly all variance, and classes may differ
    in more than these. If alpha is a number, tau is 0, as in the paper.
    """
    tau = alpha if validation.is_auto(alpha) else 0.0
    return Prior.projected(source, rank, alpha=alpha, tau=tau)


def default_sum(
    graph: GaussianPrior,
    X: Any = None,
    graph_weight: float | str = validation.AUTO,
    level: float | str = validation.AUTO,
) -> GaussianPrior:
    """Return a prior on a graph beside one on features, unless these are constant, and a level.

    Without features and level that is ``graph`` itself, and draws of a seed are the same.

    Parameters
    ----------
    graph : Prior
    X : ndarray, shape (N, d), optional
        Features.
    graph_weight : float from 0 to 1, or "auto"
        Share of the graph; the rest is that of the features. With 1 these are left out.
    level : float from 0 or "auto"
        Deviation of the level.
    """
    check_terms(graph_weight, level)
    if X is None or graph_weight == 1 or not (X[0] != X).any():
        return graph if level == 0 else SumPrior.of([graph, Level(level)])
    weights = graph_weight if isinstance(graph_weight, str) else (graph_weight, 1 - graph_weight)
    return SumPrior.of([graph, FeaturePrior(X), Level(level)], weights)


def check_terms(graph_weight: float | str, level: float | str) -> None:
    """Refuse a weight of the graph or a level out of range."""
    if not validation.is_auto(graph_weight):
        validation.between("graph_weight", graph_weight, 0, 1)
    if not validation.is_auto(level):
        validation.between("level", level, *LEVELS)
