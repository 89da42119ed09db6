"""The Whittle-Matern family of spectral weights, (lambda + tau^2)^-alpha, and its parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq import validation

Array = NDArray[np.float64]

# Where labels look for the parameters. A handful of them cannot tell a smooth field from one
# mode alone, and the latter is too sure of itself: alpha is thought exponential with this mean. Nor
# can they tell a rough field from noise, under which all items are coin's tosses: it is at least 1.
RANGES = {"alpha": (1.0, 10.0), "tau": (0.01, 1.0)}
MEAN_ALPHA = 4.0


def log_spectral_weight(values: Array, alpha: float, tau: float) -> Array:
    """Log of the prior variance of a mode, up to the scale c: that of (lambda + tau^2)^-alpha.

    The Whittle-Matern family; alpha = 1, tau = 0 is the paper's 1 / lambda. In logarithms, since
    powers of small eigenvalues overflow.
    """
    return -alpha * np.log(values + tau**2)


def checked(alpha: Any, tau: Any, null_mode: Any) -> tuple[float | str, float | str]:
    """Return alpha and tau, each as a float in its range or "auto"."""
    if not isinstance(null_mode, bool):
        raise TypeError(f"null_mode must be True or False, got {null_mode!r}")
    if not validation.is_auto(alpha):
        alpha = validation.between("alpha", alpha, 0.01, 100)
    if not validation.is_auto(tau):
        tau = validation.between("tau", tau, 0, 100)
    if null_mode and tau == 0:
        raise ValueError("null_mode needs a positive tau: at tau = 0 q_0 has infinite variance")
    return alpha, tau
