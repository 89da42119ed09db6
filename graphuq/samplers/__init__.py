"""Samplers of the posterior, and the one runner that serves them all."""

from graphuq.samplers.harmonic import Harmonic
from graphuq.samplers.pcn import PCN

__all__ = ["PCN", "Harmonic"]
