"""The noise before the label rule, given the fields and the labels: truncated normals.

A label is that of the noisy fields x = f + noise eta, or any of the others, which are e^-cost times
as likely.
"""

from __future__ import annotations

import math

import numba
import numpy as np
from numba import types
from numba.core.types import NumPyRandomGeneratorType

from graphuq.utils.jit import kernel

_SQRT_HALF = math.sqrt(0.5)

_GENERATOR = NumPyRandomGeneratorType("NumPyRandomGeneratorType")
_VECTOR, _MATRIX = types.float64[::1], types.float64[:, ::1]
# Functions of other files enter as pointers: numba's cache does not see edits there.
_OF_A_NUMBER = types.FunctionType(types.float64(types.float64))
_LOG_PROBABILITY = types.FunctionType(types.float64(_VECTOR, _VECTOR))

# Newton's steps to about the mode; the draw is exact wherever they end.
_MAX_STEPS = 20


@numba.njit
def _positive(rng, mean):  # type: ignore[no-untyped-def]
    """Draw from N(mean, 1) given that it is positive; Robert 1995."""
    if mean > -0.5:
        while True:
            t = mean + rng.standard_normal()
            if t > 0.0:
                return t
    rate = 0.5 * (-mean + math.sqrt(mean * mean + 4.0))
    while True:
        t = rng.standard_exponential() / rate
        if rng.random() < math.exp(-0.5 * (t - mean - rate) ** 2):
            return t


@kernel(types.void(_GENERATOR, _VECTOR, _VECTOR, types.float64, _VECTOR, _VECTOR))
def add_noise(rng, f, y, noise, costs, x):  # type: ignore[no-untyped-def]
    """Write a draw of x = f + noise eta given the labels -1 and +1, each with its cost."""
    for j in range(f.size):
        if noise == 0.0:
            x[j] = f[j]
            continue
        sign, mean = y[j], y[j] * f[j] / noise
        right = math.erfc(-mean * _SQRT_HALF)
        wrong = math.exp(-costs[j]) * math.erfc(mean * _SQRT_HALF)
        if wrong > 0.0 and rng.random() * (right + wrong) < wrong:
            sign, mean = -sign, -mean
        x[j] = sign * noise * _positive(rng, mean)


@numba.njit
def _largest(rng, gaps, log_cdf, log_cdf_slope):  # type: ignore[no-untyped-def]
    """Draw t from a density proportional to phi(t) prod_k Psi(gaps_k + t; 1).

    The log of the product is concave, and so below its tangent at any t_0. With the tangent in its
    place the density is N(slope, 1), of which the share that is accepted is largest where t_0 is
    the mode. There the second derivative lies between -K and -1, so that it is at least K^(-1/2).
    """
    at, slope = 0.0, 0.0
    for _ in range(_MAX_STEPS):
        slope, curvature = 0.0, 1.0
        for k in range(gaps.size):
            hazard = log_cdf_slope(gaps[k] + at)
            slope += hazard
            curvature += min(1.0, max(0.0, hazard * (hazard + gaps[k] + at)))
        step = (slope - at) / curvature
        if abs(step) * math.sqrt(curvature) < 0.01:
            break
        at += step
    slope, height = 0.0, 0.0
    for k in range(gaps.size):
        slope += log_cdf_slope(gaps[k] + at)
        height += log_cdf(gaps[k] + at)
    while True:
        t = slope + rng.standard_normal()
        log_share = -height - slope * (t - at)
        for k in range(gaps.size):
            log_share += log_cdf(gaps[k] + t)
        if -rng.standard_exponential() < log_share:
            return t


@kernel(
    types.void(
        _GENERATOR,
        _MATRIX,
        _VECTOR,
        types.float64,
        _VECTOR,
        _OF_A_NUMBER,
        _OF_A_NUMBER,
        _LOG_PROBABILITY,
        _MATRIX,
    )
)
def add_class_noise(rng, f, y, noise, costs, log_cdf, log_cdf_slope, log_probability, x):  # type: ignore[no-untyped-def]
    """Write a draw of x = f + noise eta, shape (K, J), given the labels 0 to K - 1, with costs."""
    gaps, unwanted = np.empty(f.shape[0] - 1), np.empty(0)
    for j in range(y.size):
        c = int(y[j])
        for k in range(f.shape[0]):
            x[k, j] = f[k, j]
        if noise == 0.0:
            continue
        for k in range(gaps.size):
            gaps[k] = (f[c, j] - f[k + (k >= c), j]) / noise
        odds = math.exp(-costs[j])
        # a label that is likelier wrong than right: draws that are right are kept more seldom
        if odds > 1.0:
            while True:
                for k in range(f.shape[0]):
                    x[k, j] = f[k, j] + noise * rng.standard_normal()
                if x[:, j].argmax() != c or rng.random() * odds < 1.0:
                    break
            continue
        # without the label, as by a flip
        if odds > 0.0:
            right = (1.0 - odds) * math.exp(log_probability(gaps, unwanted))
            if rng.random() * (right + odds) < odds:
                for k in range(f.shape[0]):
                    x[k, j] += noise * rng.standard_normal()
                continue
        # given the label: first its own field, then the others, which are below
        t = _largest(rng, gaps, log_cdf, log_cdf_slope)
        x[c, j] += noise * t
        for k in range(gaps.size):
            x[k + (k >= c), j] = x[c, j] - noise * _positive(rng, gaps[k] + t)
