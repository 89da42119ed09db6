"""The default sampler of a likelihood."""

from __future__ import annotations

from graphuq.likelihoods.bound import Bound
from graphuq.samplers.elliptical_slice import EllipticalSlice
from graphuq.samplers.harmonic import Harmonic
from graphuq.samplers.hilbert_hmc import HilbertHMC
from graphuq.samplers.protocol import Sampler


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


def choose_sampler(sampler: Sampler | str, likelihood: Bound) -> Sampler:
    """Return the sampler, and for "auto" the best one for a likelihood."""
    if not isinstance(sampler, str):
        return sampler
    if likelihood.sign_model is not None:
        return Harmonic()
    return EllipticalSlice() if likelihood.gradient is None else HilbertHMC()
