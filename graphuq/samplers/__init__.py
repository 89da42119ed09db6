"""Samplers of the posterior at the nodes that the likelihood reads."""

from graphuq.samplers.elliptical_slice import EllipticalSlice
from graphuq.samplers.harmonic import Harmonic
from graphuq.samplers.hilbert_hmc import HilbertHMC
from graphuq.samplers.pcn import PCN
from graphuq.samplers.preconditioned_hmc import PreconditionedHMC
from graphuq.samplers.protocol import Sampler
from graphuq.samplers.tempered import Tempered

__all__ = [
    "PCN",
    "EllipticalSlice",
    "Harmonic",
    "HilbertHMC",
    "PreconditionedHMC",
    "Sampler",
    "Tempered",
]
