"""The Whittle-Matern family of spectral weights, (lambda + tau^2)^-alpha, and its parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphuq.utils import validation
from graphuq.utils.typing import Array

# The ranges in which parameters are searched. A handful of labels does not distinguish a rough
# field from noise, which predicts nothing, so alpha is at least 1. On development sets alpha from
# 0.5 has worse log scores, and alpha up to 20 the same as up to 10, which is never reached.
RANGES = {"alpha": (1.0, 10.0), "tau": (0.01, 1.0)}


def log_spectral_weight(values: Array, alpha: float, tau: float) -> Array:
    """Return the log prior variance of a mode, log (lambda + tau^2)^-alpha, up to the scale c.

    This is the Whittle-Matern family; alpha = 1, tau = 0 is the paper's 1 / lambda. Logarithms
    avoid the overflow of powers of small eigenvalues.
    """
    return -alpha * np.log(values + tau**2)


def check_parameters(alpha: Any, tau: Any, null_mode: Any) -> tuple[float | str, float | str]:
    """Return alpha and tau, each as a float in its domain or "auto"."""
    if not isinstance(null_mode, bool):
        raise TypeError(f"null_mode must be True or False, got {null_mode!r}")
    if not validation.is_auto(alpha):
        alpha = validation.between("alpha", alpha, 0.01, 100)
    if not validation.is_auto(tau):
        tau = validation.between("tau", tau, 0, 100)
    if null_mode and tau == 0:
        raise ValueError("null_mode needs a positive tau: at tau = 0 q_0 has infinite variance")
    return alpha, tau
