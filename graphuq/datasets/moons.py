"""Two moons, section 5.1.1."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq.utils import validation
from graphuq.utils.typing import Array


def two_moons(
    n: int = 2000, d: int = 100, sigma: float = 0.06, *, seed: validation.Seed = None
) -> tuple[Array, NDArray[np.int64]]:
    """Draw two interleaved half circles, embedded in d dimensions, with noise in each dimension.

    Points are uniform on the upper half of the unit circle at (0, 0) and on the lower half of the
    unit circle at (1, 1/2); Bertozzi et al. 2018, section 5.1.1.

    Parameters
    ----------
    n : int
        Number of points, half in each moon.
    d : int
        Dimension, at least 2.
    sigma : float
        Standard deviation of the Gaussian noise in each coordinate, in units of the radius.
    seed : int, SeedSequence or Generator, optional

    Returns
    -------
    X : ndarray, shape (n, d)
    y : ndarray of int, shape (n,)
        0 for the upper moon, 1 for the lower.

    Examples
    --------
    >>> import numpy as np
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(10, d=3, sigma=0.0, seed=0)
    >>> X.shape
    (10, 3)
    >>> np.bincount(y)
    array([5, 5])
    """
    validation.integer("n", n, 2)
    validation.integer("d", d, 2)
    if validation.real("sigma", sigma) < 0:
        raise ValueError(f"sigma must not be negative, got {sigma}")
    rng = np.random.default_rng(validation.seed_sequence(seed))
    y: NDArray[Any] = (np.arange(n) >= n - n // 2).astype(np.int64)
    # points on the half circles, then noise in all coordinates
    angle = np.pi * rng.random(n)
    X = np.zeros((n, d))
    X[:, 0] = np.where(y, 1 - np.cos(angle), np.cos(angle))
    X[:, 1] = np.where(y, 0.5 - np.sin(angle), np.sin(angle))
    return X + sigma * rng.standard_normal((n, d)), y
