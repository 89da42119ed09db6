"""Phi of sign models, jitted: of `Probit`, of noise and flips, and of flips alone.

One file for all, since numba's cache does not see edits to another file.

For K > 2 classes, the label is the largest of u + gamma eta with K independent fields and noises.
Given the noise t = eta_c of class c, the others fall below it independently, so that

P(c | u) = E_t prod_{k != c} Psi((u_c - u_k) / gamma + t; 1),  t ~ N(0, 1).
"""

from __future__ import annotations

import math

import numpy as np

from graphuq.utils.jit import cached_njit

_SQRT_HALF = math.sqrt(0.5)
_LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)
_INVERSE_SQRT_2PI = 1 / math.sqrt(2 * math.pi)
# Below this many standard deviations the asymptotic series of the normal tail has relative error
# under 1e-17 with the terms kept here; erfc would underflow from -38 on.
_TAIL = -20.0
# Above this many the distribution function is 1 to 1e-19.
_SURE = 9.0
# Gauss-Hermite nodes, and the logs of their weights for the integral over z of a function that is
# not divided by the normal density.
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(24)
_LOG_WEIGHTS = np.log(_WEIGHTS) + 0.5 * _NODES**2
_SMALL = 1e-200  # times Psi(_TAIL; 1) this is still a normal number


@cached_njit
def _tail_series(x):  # type: ignore[no-untyped-def]
    """Return 1 - 1/x^2 + 3/x^4 - 15/x^6 ...: Psi(x; 1) = phi(x) / -x times this, x << 0."""
    term, total, inverse = 1.0, 1.0, 1.0 / (x * x)
    for k in range(1, 11):
        term *= -(2 * k - 1) * inverse
        total += term
    return total


@cached_njit
def log_cdf(x):  # type: ignore[no-untyped-def]
    """Return log Psi(x; 1), the log of the standard normal distribution function."""
    if x > 0.0:
        return math.log1p(-0.5 * math.erfc(x * _SQRT_HALF))
    if x > _TAIL:
        return math.log(0.5 * math.erfc(-x * _SQRT_HALF))
    return -0.5 * x * x - math.log(-x) - _LOG_SQRT_2PI + math.log(_tail_series(x))


@cached_njit
def log_cdf_slope(x):  # type: ignore[no-untyped-def]
    """Return the derivative of `log_cdf`, phi(x) / Psi(x; 1)."""
    if x > _TAIL:
        return math.exp(-0.5 * x * x - _LOG_SQRT_2PI) / (0.5 * math.erfc(-x * _SQRT_HALF))
    return -x / _tail_series(x)


@cached_njit
def _peak(gaps):  # type: ignore[no-untyped-def]
    """Return where phi(t) prod_k Psi(gaps_k + t; 1) is largest, and its width there.

    Newton's method on the derivative of its log, which is convex, since the normal hazard rate is
    (Sampford 1953), decreasing, and positive at 0: the steps from 0 never pass the root.
    """
    t, width = 0.0, 1.0
    for _ in range(100):
        slope, curvature = -t, 1.0
        for k in range(gaps.size):
            x = gaps[k] + t
            if x > _SURE:
                continue
            hazard = log_cdf_slope(x)
            slope += hazard
            # the product is 1 - 1/x^2 + O(1/x^4), and would lose all digits
            curvature += hazard * (hazard + x) if x > _TAIL else 1.0 - 1.0 / (x * x)
        step = slope / curvature
        t += step
        width = 1.0 / math.sqrt(curvature)
        if abs(step) < 0.01 * width:  # the next one would be of the order of its square
            break
    return t, width


@cached_njit
def log_probability(gaps, slopes):  # type: ignore[no-untyped-def]
    """Return log E prod_k Psi(gaps_k + t; 1), t ~ N(0, 1), and write its gradient in ``slopes``.

    Gauss-Hermite quadrature about the peak of the integrand, which is log-concave, scaled by its
    width; sums are kept relative to their largest term. Slopes of size 0 are not computed.
    """
    wanted = slopes.size > 0
    t, width = _peak(gaps)
    hazards = np.zeros(slopes.size)
    slopes[:] = 0.0
    top, total = -np.inf, 0.0
    for i in range(_NODES.size):
        at = t + width * _NODES[i]
        height, product = _LOG_WEIGHTS[i] - 0.5 * at * at, 1.0
        for k in range(gaps.size):
            x = gaps[k] + at
            if x > _SURE:
                if wanted:
                    hazards[k] = 0.0
            elif x > _TAIL:
                cdf = 0.5 * math.erfc(-x * _SQRT_HALF)
                product *= cdf
                if product < _SMALL:  # one logarithm for several classes
                    height += math.log(product)
                    product = 1.0
                if wanted:
                    hazards[k] = math.exp(-0.5 * x * x - _LOG_SQRT_2PI) / cdf
            else:
                height += log_cdf(x)
                if wanted:
                    hazards[k] = log_cdf_slope(x)
        height += math.log(product)
        if height == -np.inf:  # squares of more than 1e154 deviations
            continue
        if height > top:
            shrink = math.exp(top - height)
            total *= shrink
            slopes *= shrink
            top = height
        share = math.exp(height - top)
        total += share
        if wanted:
            slopes += share * hazards
    if total == 0.0:
        return -np.inf
    slopes /= total
    return top + math.log(width * total) - _LOG_SQRT_2PI


@cached_njit
def _set_gaps(u, c, gamma, gaps):  # type: ignore[no-untyped-def]
    """Write (u_c - u_k) / gamma of all k but c."""
    for k in range(gaps.size):
        gaps[k] = (u[c] - u[k + (k >= c)]) / gamma


@cached_njit
def class_log_probability(u, y, out):  # type: ignore[no-untyped-def]
    """Write log P(y(j) | u(j)) for gamma = 1 into ``out`` (draws, J); u has shape (draws, J, K)."""
    gaps, unwanted = np.empty(u.shape[2] - 1), np.empty(0)
    for t in range(u.shape[0]):
        for j in range(u.shape[1]):
            _set_gaps(u[t, j], y[j], 1.0, gaps)
            out[t, j] = log_probability(gaps, unwanted)


@cached_njit
def labels_log_probability(f, y, gamma, out):  # type: ignore[no-untyped-def]
    """Write log P(y(j) | f(:, j)) into ``out``, for one field or K; f has shape (C, J)."""
    gaps, unwanted = np.empty(f.shape[0] - 1), np.empty(0)
    for j in range(y.size):
        if f.shape[0] == 1:
            out[j] = log_cdf(y[j] * f[0, j] / gamma)
        else:
            _set_gaps(f[:, j], int(y[j]), gamma, gaps)
            out[j] = log_probability(gaps, unwanted)


@cached_njit
def _add_slopes(slopes, c, factor, out):  # type: ignore[no-untyped-def]
    """Add minus ``factor`` times the gradient by the field, from that by the gaps."""
    for k in range(slopes.size):
        out[c] -= factor * slopes[k]
        out[k + (k >= c)] += factor * slopes[k]


@cached_njit
def potential(u, seen):  # type: ignore[no-untyped-def]
    """Phi_p(u; y) = - sum_j log Psi(y(j) u(j); gamma), section 3.1; - sum_j log P(y(j) | u(j))."""
    gamma = seen.parameters[0]
    phi = 0.0
    if u.shape[1] == 1:
        for j in range(seen.y.size):
            phi -= log_cdf(seen.y[j] * u[seen.rows[j], 0] / gamma)
        return phi
    gaps, unwanted = np.empty(u.shape[1] - 1), np.empty(0)
    for j in range(seen.y.size):
        _set_gaps(u[seen.rows[j]], int(seen.y[j]), gamma, gaps)
        phi -= log_probability(gaps, unwanted)
    return phi


@cached_njit
def gradient(u, seen, out):  # type: ignore[no-untyped-def]
    """Write dPhi_p/du into ``out``."""
    gamma = seen.parameters[0]
    out[:] = 0.0
    if u.shape[1] == 1:
        for j in range(seen.y.size):
            scaled = seen.y[j] / gamma
            out[seen.rows[j], 0] -= scaled * log_cdf_slope(scaled * u[seen.rows[j], 0])
        return
    gaps, slopes = np.empty(u.shape[1] - 1), np.empty(u.shape[1] - 1)
    for j in range(seen.y.size):
        c, row = int(seen.y[j]), seen.rows[j]
        _set_gaps(u[row], c, gamma, gaps)
        log_probability(gaps, slopes)
        _add_slopes(slopes, c, 1.0 / gamma, out[row])


@cached_njit
def noisy_potential(u, seen):  # type: ignore[no-untyped-def]
    """Phi = - sum_j log(f / (K - 1) + (1 - f K / (K - 1)) P(y(j) | u(j))).

    For two classes, P is Psi(y(j) u(j); gamma): Psi if not flipped, 1 - Psi if so. The parameters
    are gamma and f, or gamma and one f for each label.
    """
    gamma, last = seen.parameters[0], seen.parameters.size - 1
    phi = 0.0
    if u.shape[1] == 1:
        for j in range(seen.y.size):
            flip = seen.parameters[min(j + 1, last)]
            if flip == 0.0:
                phi -= log_cdf(seen.y[j] * u[seen.rows[j], 0] / gamma)
                continue
            right = 0.5 * math.erfc(-seen.y[j] * u[seen.rows[j], 0] / gamma * _SQRT_HALF)
            phi -= math.log(flip + (1.0 - 2.0 * flip) * right)
        return phi
    gaps, unwanted = np.empty(u.shape[1] - 1), np.empty(0)
    for j in range(seen.y.size):
        flip = seen.parameters[min(j + 1, last)]
        other = flip / gaps.size
        _set_gaps(u[seen.rows[j]], int(seen.y[j]), gamma, gaps)
        log_right = log_probability(gaps, unwanted)
        if flip == 0.0:
            phi -= log_right
        else:
            phi -= math.log(other + (1.0 - flip - other) * math.exp(log_right))
    return phi


@cached_njit
def noisy_gradient(u, seen, out):  # type: ignore[no-untyped-def]
    """Write the derivative of `noisy_potential` into ``out``."""
    gamma, last = seen.parameters[0], seen.parameters.size - 1
    out[:] = 0.0
    if u.shape[1] == 1:
        for j in range(seen.y.size):
            flip = seen.parameters[min(j + 1, last)]
            scaled = seen.y[j] / gamma * u[seen.rows[j], 0]
            if flip == 0.0:
                out[seen.rows[j], 0] -= seen.y[j] / gamma * log_cdf_slope(scaled)
                continue
            right = 0.5 * math.erfc(-scaled * _SQRT_HALF)
            density = math.exp(-0.5 * scaled * scaled) * _INVERSE_SQRT_2PI
            slope = (1.0 - 2.0 * flip) * density / (flip + (1.0 - 2.0 * flip) * right)
            out[seen.rows[j], 0] -= seen.y[j] / gamma * slope
        return
    gaps, slopes = np.empty(u.shape[1] - 1), np.empty(u.shape[1] - 1)
    for j in range(seen.y.size):
        flip = seen.parameters[min(j + 1, last)]
        other = flip / gaps.size
        c, row = int(seen.y[j]), seen.rows[j]
        _set_gaps(u[row], c, gamma, gaps)
        right = (1.0 - flip - other) * math.exp(log_probability(gaps, slopes))
        share = right / (other + right) if flip > 0.0 else 1.0
        _add_slopes(slopes, c, share / gamma, out[row])


@cached_njit
def step_potential(u, seen):  # type: ignore[no-untyped-def]
    """Phi = - sum_j log P(y(j) | u(j)) without noise; the parameters are V, or one V for each."""
    phi, last = 0.0, seen.parameters.size - 1
    for j in range(seen.y.size):
        cost, n_wrong = seen.parameters[min(j, last)], max(1, u.shape[1] - 1)
        if u.shape[1] == 1:
            wrong = (u[seen.rows[j], 0] >= 0.0) != (seen.y[j] > 0.0)
        else:
            wrong = np.argmax(u[seen.rows[j]]) != seen.y[j]
        phi += math.log1p(n_wrong * math.exp(-cost))
        if wrong:
            phi += cost
    return phi
