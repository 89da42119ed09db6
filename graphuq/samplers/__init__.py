"""Samplers of the posterior, and the one runner that serves them all."""

from graphuq.samplers.elliptical_slice import EllipticalSlice
from graphuq.samplers.harmonic import Harmonic
from graphuq.samplers.hilbert_hmc import HilbertHMC
from graphuq.samplers.pcn import PCN
from graphuq.samplers.tempered import Tempered

__all__ = ["PCN", "EllipticalSlice", "Harmonic", "HilbertHMC", "Tempered"]
