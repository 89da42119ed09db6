"""Fingerprints: plain values that identify a prior, a problem or a run."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np


def array_fingerprint(*arrays: Any) -> str:
    """Return a few characters that identify the values, types and shapes of arrays.

    Examples
    --------
    >>> array_fingerprint(np.arange(3)) == array_fingerprint(np.arange(4))
    False
    """
    found = hashlib.sha256()
    for array in arrays:
        found.update(repr((array.dtype.str, array.shape)).encode())
        found.update(repr(array.tolist()).encode())
    return found.hexdigest()[:16]


def same_fingerprint(a: Any, b: Any) -> bool:
    """Whether two fingerprints are equal, numbers up to rounding.

    Examples
    --------
    >>> same_fingerprint({"rank": 3, "scale": 0.1 + 0.2}, {"rank": 3, "scale": 0.3})
    True
    >>> same_fingerprint({"rank": 3}, {"rank": 4})
    False
    """
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same_fingerprint(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same_fingerprint(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, float) and isinstance(b, float):
        return bool(np.isclose(a, b, rtol=1e-6, atol=1e-8, equal_nan=True))
    return bool(a == b)
