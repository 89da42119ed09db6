"""Refusals of results that lack what a plot shows."""

from __future__ import annotations

from graphuq.posterior.posterior import Posterior
from graphuq.posterior.predictions import PredictionMixin, Predictions
from graphuq.utils.typing import Array


def require_posterior(posterior: object) -> None:
    """Refuse results without a posterior of the field, such as those of ``with_class_shares``."""
    if not isinstance(posterior, Posterior):
        raise TypeError(
            "posterior must be what gq.sample or gq.approximate return, or posterior_ of a "
            f"BayesianGraphClassifier, got {type(posterior).__name__}: show other probabilities "
            "by gq.plots.confusion or, of three classes, by gq.plots.simplex"
        )


def require_probabilities(result: Predictions) -> Array:
    """Return the class probabilities of a result; refuse classifiers of signed scores, say."""
    by_class = result.by_class if isinstance(result, PredictionMixin) else None
    if by_class is None:
        raise TypeError(
            "posterior must have class probabilities, such as what gq.sample, gq.approximate and "
            "with_class_shares return, or predictions_ of a BayesianGraphClassifier, got "
            f"{type(result).__name__} without any"
        )
    return by_class
