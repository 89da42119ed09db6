"""The default sampler of a likelihood."""

from __future__ import annotations

import math
from typing import Any

from graphuq.likelihoods.bound import Bound
from graphuq.priors.given_modes import graph_of, is_latent_prior
from graphuq.samplers.elliptical_slice import EllipticalSlice
from graphuq.samplers.harmonic import HIT_SECONDS, Harmonic
from graphuq.samplers.hilbert_hmc import HilbertHMC
from graphuq.samplers.preconditioned_hmc import (
    PreconditionedHMC,
    independent_draw_seconds,
    is_supported,
)
from graphuq.samplers.protocol import Sampler

# A draw of `Harmonic` may take this long: a run of a thousand draws in four chains then takes some
# ten seconds on two cores.
MAX_HARMONIC_SECONDS = 0.005


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
    prior : GaussianPrior or SolvedPrior, optional
        Without it, the choice does not depend on the number of labels.
    """
    if not isinstance(sampler, str):
        return sampler
    if likelihood.sign_model is not None:
        return PreconditionedHMC() if _has_many_labels(likelihood, prior) else Harmonic()
    return EllipticalSlice() if likelihood.gradient is None else HilbertHMC()


def _has_many_labels(likelihood: Bound, prior: Any) -> bool:
    """Whether `Harmonic` is slow, and `PreconditionedHMC` serves the problem well and is faster."""
    if not is_supported(likelihood) or not is_latent_prior(prior):
        return False
    assert likelihood.sign_model is not None
    if likelihood.sign_model[1] < math.inf:  # where labels may be flipped there can be many modes
        return False
    # a flow between walls that agree hits about half as many as there are labels
    n_labels = likelihood.observed.y.size
    harmonic = HIT_SECONDS[type(likelihood.rule)] * 0.5 * n_labels**2
    n_modes = graph_of(prior).vectors.shape[1]
    return harmonic > max(MAX_HARMONIC_SECONDS, independent_draw_seconds(n_labels, n_modes))
