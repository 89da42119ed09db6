from .elliptical_slice import EllipticalSlice as EllipticalSlice
from .harmonic import Harmonic as Harmonic
from .hilbert_hmc import HilbertHMC as HilbertHMC
from .pcn import PCN as PCN
from .preconditioned_hmc import PreconditionedHMC as PreconditionedHMC
from .protocol import Sampler as Sampler
from .tempered import Tempered as Tempered
