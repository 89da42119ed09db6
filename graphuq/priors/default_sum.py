"""The prior that a graph with features has by default."""

from __future__ import annotations

from typing import Any

from graphuq.priors.feature_prior import FeaturePrior
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.priors.level import Level
from graphuq.priors.sum_prior import SumPrior
from graphuq.utils import validation


def default_sum(
    graph: GaussianPrior,
    X: Any = None,
    weights: Any = validation.AUTO,
    level: float | str = validation.AUTO,
) -> SumPrior:
    """Return a prior on a graph beside one on features, unless these are constant, and a level.

    Parameters
    ----------
    graph : Prior
    X : ndarray, shape (N, d), optional
        Features.
    weights
        Of the graph and the features, as in `SumPrior.of`.
    level : float or "auto"
        Deviation of the level.
    """
    if X is None or not (X[0] != X).any():
        return SumPrior.of([graph, Level(level)])
    return SumPrior.of([graph, FeaturePrior(X), Level(level)], weights)
