"""The prior that a posterior is of: the one kept, or the same one given."""

from __future__ import annotations

from typing import Any

from graphuq.prior import Prior
from graphuq.solved_prior import SolvedPrior


def own_prior(kept: Any, given: Any, summary: Any) -> Prior:
    """Return the prior that was kept, or the one given if it is the same.

    Parameters
    ----------
    kept : Prior, SolvedPrior or None
    given : Prior, optional
    summary : dict
        Of the one that was sampled with, as settings have it.

    Raises
    ------
    TypeError, ValueError
        No prior, or another.
    """
    if isinstance(kept, SolvedPrior) or isinstance(given, SolvedPrior):
        raise TypeError(
            "this needs eigenvectors, and a gq.SolvedPrior has none: take Prior.projected or "
            "Prior.approximated"
        )
    if given is None and kept is None:
        raise ValueError(
            "a posterior read from a file does not hold its prior: pass prior=, made from the "
            "same spectrum"
        )
    if given is None:
        return kept
    if not isinstance(given, Prior):
        raise TypeError(
            f"prior must be the Prior that the posterior is of, got {type(given).__name__}"
        )
    if not given.is_as(summary):
        raise ValueError(
            f"prior must be the one that was sampled with, {summary}, got {given.summary()}; modes "
            "of a spectrum computed anew may differ in sign or order: keep the spectrum"
        )
    return given
