"""The default sampler of a likelihood."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphuq import samplers
from graphuq.likelihoods.bound import Bound
from graphuq.priors.given_modes import graph_of, is_latent_prior
from graphuq.samplers.protocol import Sampler

# `Harmonic` may need this much memory for the covariance of all pairs of labels: some 16,000 of
# them. With fewer labels it is faster where they agree: it hits few walls then, while the steps of
# `PreconditionedHMC` are short.
MAX_WALLS_BYTES = 2 * 2**30

# With K > 2 classes and labels that may be mistakes, flows seldom cross the walls of labels in
# doubt: several make a draw, at most MAX_THIN, fewer where J labels x K fields make them slow.
MAX_THIN, FIELDS_PER_DRAW = 10, 10_000


def require_sampler(sampler: Sampler | str) -> None:
    """Refuse what is neither "auto" nor a sampler."""
    if isinstance(sampler, str):
        if sampler != "auto":
            raise ValueError(
                f"sampler must be 'auto' or a sampler such as gq.PCN(), got {sampler!r}"
            )
    elif not isinstance(sampler, Sampler):
        raise TypeError(
            f"sampler must be 'auto' or a sampler such as gq.PCN(), got {sampler!r}: derive your "
            "own from gq.samplers.Sampler"
        )


def choose_sampler(sampler: Sampler | str, likelihood: Bound, prior: Any = None) -> Sampler:
    """Return the sampler, and for "auto" the best one for a likelihood.

    Parameters
    ----------
    sampler : sampler or "auto"
    likelihood : Bound
    prior : GaussianPrior, optional
        Without it, the choice does not depend on the number of labels.
    """
    if not isinstance(sampler, str):
        return sampler
    if likelihood.sign_model is not None:
        many = _has_many_labels(likelihood, prior)
        return samplers.PreconditionedHMC() if many else samplers.Harmonic(_thin(likelihood))
    return samplers.EllipticalSlice() if likelihood.gradient is None else samplers.HilbertHMC()


def _thin(likelihood: Bound) -> int:
    """Return how many flows of `Harmonic` make a draw."""
    if likelihood.n_fields == 1 or np.min(likelihood.label_model.cost) == math.inf:
        return 1
    n_fields = likelihood.n_fields * likelihood.observed.y.size
    return int(np.clip(FIELDS_PER_DRAW // n_fields, 1, MAX_THIN))


def _has_many_labels(likelihood: Bound, prior: Any) -> bool:
    """Whether `Harmonic` needs much memory, and `PreconditionedHMC` serves the problem well."""
    if not is_latent_prior(prior):
        return False
    # where labels may be flipped there can be many modes
    if np.min(likelihood.label_model.cost) < math.inf:
        return False
    n_labels, n_modes = likelihood.observed.y.size, graph_of(prior).vectors.shape[1]
    if 8 * n_labels**2 <= MAX_WALLS_BYTES or n_modes >= n_labels:
        return False
    from graphuq.samplers.preconditioned_hmc import is_supported  # few runs need the sampler

    return is_supported(likelihood)
