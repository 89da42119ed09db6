"""The Gaussian about which `graphuq.samplers.preconditioned_hmc` moves: close to the posterior.

Without a tail the field at the m labeled nodes is u = A a, where a ~ N(0, I) are the p modes and A
has shape (m, p). Expectation propagation puts a site exp(nu_j u_j - tau_j u_j^2 / 2) in place of
the likelihood of each label, so that a has the precision H = I + A' diag(tau) A and the mean
H^-1 A' nu. All sites are updated together, in O(m p^2). Sites need not converge: any Gaussian
leaves the posterior as it is, and a close one allows long steps.
"""

from __future__ import annotations

import math
import weakref
from threading import Lock

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.special import log_ndtr, ndtr

from graphuq.likelihoods.bound import Bound
from graphuq.priors.gaussian import Gaussian
from graphuq.samplers.leapfrog import Reference
from graphuq.samplers.protocol import Target
from graphuq.utils.row_blocks import row_slices
from graphuq.utils.typing import Array, Nodes

# Each iteration moves the sites by this share of the way; full steps swing between a wide and a
# narrow Gaussian. Where that does not converge, as with labels that may be flipped, smaller steps
# start again.
DAMPINGS = (0.6, 0.3, 0.1)

# The iterations stop when full steps would move the mean by this share of a deviation in each
# coordinate, or after so many full ones. A mean that is ten times as far off halves the steps of
# chains. If none converge, chains take the last Gaussian, and more steps.
MOVED, MAX_ITERATIONS = 0.01, 12


def reference_of(loadings: Array, bound: Bound) -> Reference:
    """Return the Gaussian of expectation propagation.

    Parameters
    ----------
    loadings : ndarray, shape (m, p)
        A.
    bound : Bound
        A sign model with one field at each node.
    """
    for damping in DAMPINGS:
        reference, converged = _propagate(loadings, bound, damping)
        if converged:
            break
    return reference


def _propagate(loadings: Array, bound: Bound, damping: float) -> tuple[Reference, bool]:
    """Return the Gaussian after iterations that move the sites, and whether it converged."""
    m, p = loadings.shape
    tau, nu, mean = np.zeros(m), np.zeros(m), np.zeros(p)
    center, variance = np.zeros(m), np.einsum("ij,ij->i", loadings, loadings)
    converged = False
    for _ in range(round(MAX_ITERATIONS / damping)):
        # 1. the sites, as the Gaussian so far suggests them
        found = _sites(bound, center, variance, tau, nu)
        tau, nu = tau + damping * (found[0] - tau), nu + damping * (found[1] - nu)
        # 2. the Gaussian with these sites, which are negative where a label may be flipped
        inverse, axes = linalg.eigh(_precision(loadings, tau), check_finite=False)
        if not (defined := bool(inverse[0] > 0)):
            above = _precision(loadings, np.maximum(tau, 0.0))
            inverse, axes = linalg.eigh(above, check_finite=False)
        before, shares = mean, 1 / inverse
        mean = axes @ (shares * (axes.T @ (loadings.T @ nu)))
        # 3. its marginals at the nodes
        center, turned = loadings @ mean, _turned(loadings, axes * np.sqrt(shares))
        variance = np.einsum("ij,ij->i", turned, turned, dtype=np.float64)
        moved = float(inverse @ np.square(axes.T @ (mean - before)))
        converged = defined and moved < p * (MOVED * damping) ** 2
        if converged or (not defined and damping > DAMPINGS[-1]):
            break
    return Reference(mean, axes, shares, center, turned, 0.0), converged


def _sites(
    bound: Bound, mean: Array, variance: Array, tau: Array, nu: Array
) -> tuple[Array, Array]:
    """Return tau and nu that give each node the mean and variance that its label gives it.

    The label's likelihood is f + (1 - 2 f) Psi(y u; noise) with the odds f / (1 - f) = exp(-cost),
    and its mass under the Gaussian without its own site has derivatives in closed form. A node
    keeps its site where that Gaussian does not exist.
    """
    model, y = bound.label_model, bound.observed.y
    noise, flip = model.noise, model.flip_rate(2)
    margin = model.right(2) - flip
    alive = variance > 0
    precision = 1 / np.where(alive, variance, 1.0) - tau
    alive &= precision > 0
    precision = np.where(alive, precision, 1.0)
    at = (mean * (precision + tau) - nu) / precision
    spread = np.sqrt(1 / precision + noise**2)
    z = y * at / spread
    log_density = -0.5 * z**2 - 0.5 * math.log(2 * math.pi)
    if (flip > 0).all():
        slope = margin * np.exp(log_density) / (flip + margin * ndtr(z))
    else:
        slope = np.exp(log_density - log_ndtr(z))
        if (flip > 0).any():
            mass = np.where(flip > 0, flip + margin * ndtr(z), 1.0)
            noisy = margin * np.exp(log_density) / mass
            slope = np.where(flip > 0, noisy, slope)
    bend = slope * (z + slope) / spread**2
    left = 1 - bend / precision
    alive &= left > 0  # but for rounding
    left = np.where(alive, left, 1.0)
    return (
        np.where(alive, bend / left, tau),
        np.where(alive, (y * slope / spread + at * bend) / left, nu),
    )


def _precision(loadings: Array, tau: Array) -> Array:
    """Return I + A' diag(tau) A."""
    above, below = np.flatnonzero(tau > 0), np.flatnonzero(tau < 0)
    total = _gram(loadings, above, tau) - _gram(loadings, below, -tau)
    total[np.diag_indices_from(total)] += 1.0
    return total


def _gram(loadings: Array, nodes: Nodes, weights: Array) -> Array:
    """Return sum_j w_j A_j A_j' over some nodes; the product of a matrix with itself is cheap."""
    p = loadings.shape[1]
    total = np.zeros((p, p))
    for rows in row_slices(nodes.size, p):
        some = loadings[nodes[rows]] * np.sqrt(weights[nodes[rows]])[:, None]
        total += some.T @ some
    return total


def _turned(loadings: Array, root: Array) -> NDArray[np.float32]:
    """Return A R in single precision."""
    out = np.empty(loadings.shape, dtype=np.float32)
    for rows in row_slices(*loadings.shape):
        out[rows] = loadings[rows] @ root
    return out


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
