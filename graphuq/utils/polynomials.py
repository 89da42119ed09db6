"""Polynomials that stand for functions of `math` in compiled loops, which run in vectors then."""

from __future__ import annotations

from collections.abc import Callable

from numpy.polynomial import Chebyshev, Polynomial

from graphuq.utils.typing import Array


def interpolate(
    f: Callable[[Array], Array], degree: int, ends: tuple[float, float]
) -> tuple[float, ...]:
    """Return the coefficients, lowest first, of a polynomial near a function between two ends.

    It agrees with the function at the Chebyshev points.

    Examples
    --------
    >>> import numpy as np
    >>> coefficients = interpolate(np.exp, 5, (-1.0, 0.0))
    >>> bool(abs(np.polyval(coefficients[::-1], -0.5) - np.exp(-0.5)) < 1e-6)
    True
    """
    return tuple(Chebyshev.interpolate(f, degree, ends).convert(kind=Polynomial).coef.tolist())
