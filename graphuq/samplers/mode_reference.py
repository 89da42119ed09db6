"""The Gaussian about which `graphuq.samplers.preconditioned_hmc` moves: close to the posterior.

Without a tail the field at the m labeled nodes is u = A a, where a ~ N(0, I) are the p modes and A
has shape (m, p). With the sites of expectation propagation a has the precision
H = I + A' diag(tau) A and the mean H^-1 A' nu. Sites need not converge: any Gaussian leaves the
posterior as it is, and a close one allows long steps.
"""

from __future__ import annotations

import weakref
from threading import Lock

import numpy as np
from scipy import linalg

from graphuq.likelihoods.bound import Bound
from graphuq.priors.gaussian import Gaussian
from graphuq.propagation.gaussian_sites import whitened
from graphuq.propagation.sign_propagation import settle_signs
from graphuq.samplers.leapfrog import Reference
from graphuq.samplers.protocol import Target
from graphuq.utils.typing import Array

# The sites have settled when nodes move by this share of their deviations.
MOVED = 0.01


def reference_of(loadings: Array, bound: Bound) -> Reference:
    """Return the Gaussian of expectation propagation.

    Parameters
    ----------
    loadings : ndarray, shape (m, p)
        A.
    bound : Bound
        A sign model with one field at each node.
    """
    sites, given = settle_signs(loadings, bound, None, MOVED, must_converge=False)
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
