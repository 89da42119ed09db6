"""Parameters that are "auto", chosen from the labels."""

from __future__ import annotations

from typing import Any

from graphuq.inference.checks import require_prior_and_labels
from graphuq.inference.parameter_ranges import fix_idle
from graphuq.likelihoods.bound import open_parameters
from graphuq.priors.gaussian_prior import GaussianPrior


def choose_parameters(prior: Any, likelihood: Any, labels: Any) -> tuple[Any, Any]:
    """Return prior and likelihood with the parameters that are "auto" chosen from the labels.

    A Spectrum or Graph stands for `Prior.projected` with alpha and tau open, and a level.
    """
    require_prior_and_labels(prior, labels)
    if isinstance(prior, GaussianPrior):
        prior = fix_idle(prior)
        if not prior.open and not open_parameters(likelihood):
            return prior, likelihood
    from graphuq.inference.tune import tune  # a dozen files, of which numbers need none

    found = tune(prior, labels, likelihood)
    return found.prior, found.likelihood
