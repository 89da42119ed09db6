"""Hilbert HMC of the modes, about a Gaussian close to the posterior: for many labels.

Without a tail the field at the m labeled nodes is u = A a, where a ~ N(0, I) are the p modes and A
has shape (m, p). With the sites of expectation propagation a has the precision
H = I + A' diag(tau) A and the mean H^-1 A' nu. Sites need not converge: any Gaussian leaves the
posterior as it is, and a close one allows long steps.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from threading import Lock
from typing import ClassVar

import numpy as np
from scipy import linalg

from graphuq.likelihoods.bound import Bound
from graphuq.priors.gaussian import Gaussian
from graphuq.propagation.gaussian_sites import whitened
from graphuq.propagation.sign_propagation import settle_signs
from graphuq.samplers.hilbert_hmc import HilbertHMC, HMCState
from graphuq.samplers.leapfrog import Reference
from graphuq.samplers.protocol import Chunk, Kept, Target
from graphuq.utils.memory import require_memory
from graphuq.utils.typing import Array

# The sites have settled when nodes move by this share of their deviations.
MOVED = 0.01

# A forecast of the steps of a trajectory; labels that agree need more.
STEPS = 4


def reference_of(loadings: Array, bound: Bound) -> Reference:
    """Return the Gaussian of expectation propagation.

    Parameters
    ----------
    loadings : ndarray, shape (m, p)
        A.
    bound : Bound
        A sign model with one field at each node.
    """
    sites, given = settle_signs([loadings], bound, None, MOVED, must_converge=False)
    factor, _ = whitened(loadings, *sites)
    inverse, axes = linalg.eigh(factor @ factor.T, check_finite=False)
    mean = axes @ (axes.T @ (loadings.T @ sites[1]) / inverse)
    root = axes / np.sqrt(inverse)
    turned = loadings.astype(np.float32) @ root.astype(np.float32)
    return Reference(mean, axes, 1 / inverse, given.mean, turned, 0.0)


_found: weakref.WeakKeyDictionary[Gaussian, tuple[Bound, Reference]] = weakref.WeakKeyDictionary()
_lock = Lock()


def mode_reference(target: Target) -> Reference:
    """Return the reference of a target; chains share it."""
    assert target.loadings is not None
    with _lock:
        bound, reference = _found.get(target.law, (None, None))
        if reference is None or bound is not target.likelihood:
            reference = reference_of(target.loadings, target.likelihood)
            _found[target.law] = target.likelihood, reference
        return reference


def is_supported(likelihood: Bound) -> bool:
    """Whether a likelihood is a sign model of two classes with a gradient."""
    signs = likelihood.sign_model is not None and likelihood.n_fields == 1
    return signs and likelihood.gradient is not None


@dataclass(frozen=True)
class PreconditionedHMC(HilbertHMC):
    """Hilbert HMC of the p modes of the field, about a Gaussian close to the posterior.

    For many labels: J several times the rank. Without a tail the field at the labeled nodes is
    u_J = A a, where a ~ N(0, I) are the modes. A Gaussian close to the posterior of a turns
    exactly, as in `HilbertHMC`. What is left of the potential is small where labels are many, and a
    few steps of a large angle give a nearly independent draw. A step reads A once, O(J p);
    `Harmonic` needs J x J numbers. It supports probit and noisy probit of two classes,
    under priors whose modes determine the field, such as `Prior.projected`.

    Parameters
    ----------
    step_size : float in (0, pi/2], optional
        Largest angle of a step. By default it is adapted during warm-up.
    target_acceptance : float in (0, 1)
        The acceptance rate that adaptation aims at.
    path : float
        Mean angle of a trajectory. A quarter turn, 1.57, forgets the start; a little more makes
        successive draws anticorrelated and their means more accurate.
    thin : int
        Trajectories from one kept draw to the next, if `sample` gets no ``thin``.

    Raises
    ------
    ValueError
        A parameter outside its range; a likelihood or a prior that it does not support.

    Examples
    --------
    >>> import graphuq as gq
    >>> gq.PreconditionedHMC(step_size=0.5)
    PreconditionedHMC(step_size=0.5, target_acceptance=0.9, path=1.8, thin=1)
    """

    path: float = 1.8
    first_step: ClassVar[float] = 0.5
    jitter: ClassVar[float] = 0.3
    samples_modes: ClassVar[bool] = True

    def warmup(self, draws: int) -> int:
        """Return 100: the step size needs no more, and a few trajectories forget the start."""
        del draws
        return 100

    def noise(self, likelihood: Bound) -> float:
        """Return 0 if the likelihood is supported."""
        if not is_supported(likelihood):
            raise ValueError(
                "gq.PreconditionedHMC needs a sign model of two classes with a gradient, Probit or "
                "NoisyProbit: use gq.Harmonic for other sign models, else gq.HilbertHMC or "
                "gq.EllipticalSlice"
            )
        return 0.0

    def check(self, target: Target) -> None:
        """Refuse modes at so many nodes that there is too little memory."""
        assert target.loadings is not None
        m, p = target.loadings.shape
        require_memory(4.0 * m * p, f"{p} modes at {m} labeled nodes", "take fewer modes")

    def draw_seconds(
        self, target: Target, thin: int, stats: dict[str, Array] | None = None
    ) -> float:
        """Return about how long a kept draw takes: most of it reads the loadings."""
        assert target.loadings is not None
        steps = STEPS if stats is None else float(stats["n_steps"].mean()) / thin
        return thin * (1e-6 + steps * 4e-10 * target.loadings.size)

    def start(self, target: Target, rng: np.random.Generator) -> HMCState:
        """Return a draw from a Gaussian twice as wide as the reference."""
        z = 2.0 * rng.standard_normal((target.law.size, 1))
        a = mode_reference(target).coefficients(z)
        nothing = np.empty(0)
        return HMCState(a, self._first_averages(), nothing, 0, nothing)

    def _reference(self, target: Target, state: HMCState) -> Reference:
        """Return the Gaussian of expectation propagation, which warm-up leaves as it is."""
        del state
        return mode_reference(target)

    def _chunk(self, target: Target, kept: Kept, draws: int | None = None) -> Chunk:
        """Return the modes of the first draws."""
        del target
        np.minimum(kept.stats["diverging"], 1.0, out=kept.stats["diverging"])
        return Chunk(kept.fields[:draws].swapaxes(1, 2), kept.stats)
