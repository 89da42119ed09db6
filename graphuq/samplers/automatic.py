"""Which sampler serves a likelihood best."""

from __future__ import annotations

from graphuq.likelihoods.contract import Bound
from graphuq.samplers.elliptical_slice import EllipticalSlice
from graphuq.samplers.family import Sampler
from graphuq.samplers.harmonic import Harmonic
from graphuq.samplers.hilbert_hmc import HilbertHMC


def automatic(likelihood: Bound) -> Sampler:
    """Return the best sampler for a likelihood."""
    if likelihood.sign_model is not None:
        return Harmonic()
    return EllipticalSlice() if likelihood.gradient is None else HilbertHMC()
