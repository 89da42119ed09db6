"""Checks of arguments at the public boundary, before any work starts.

Every message says what was expected, what came and what to do about it.
"""

from __future__ import annotations

import numbers
import os
import reprlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

# A positive number in this range has a finite square, and so has its inverse.
MIN_POSITIVE, MAX_MAGNITUDE = 1e-100, 1e100

# Larger integers are not exact as floats, and no count is near it.
MAX_INTEGER = 2**53

# More threads than any machine has cores.
MAX_THREADS = 4096

# The value of a parameter that `graphuq.tune` chooses by the labels.
AUTO = "auto"

Seed = int | np.random.SeedSequence | np.random.Generator | None


def is_auto(value: object) -> bool:
    """Return whether `graphuq.tune` chooses the parameter from the labels."""
    return isinstance(value, str) and value == AUTO


def positive(
    name: str,
    value: object,
    high: float = MAX_MAGNITUDE,
    remedy: str = "",
    *,
    low: float = MIN_POSITIVE,
) -> float:
    """Return ``value`` as a positive float, by default one whose square and inverse are finite."""
    number = real(name, value)
    if not low <= number <= high:
        raise ValueError(
            f"{name} must be positive, from {low:g} to {high:g}, got {number:g}"
            + (f"; {remedy}" if remedy else "")
        )
    return number


def real(name: str, value: object) -> float:
    """Return ``value`` as a finite float."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, got {value!r}")
    try:
        number = float(value)
    except OverflowError:  # an integer of hundreds of digits
        number = np.inf
    if not np.isfinite(number):
        raise ValueError(f"{name} must be finite, got {reprlib.repr(value)}")
    return number


def boolean(name: str, value: object) -> bool:
    """Return ``value`` as a bool; 0 and 1 are taken, too."""
    if not isinstance(value, bool | np.bool_ | numbers.Integral) or value not in (0, 1):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def between(name: str, value: object, low: float, high: float) -> float:
    """Return ``value`` as a float in ``[low, high]``."""
    number = real(name, value)
    if not low <= number <= high:
        raise ValueError(f"{name} must lie between {low:g} and {high:g}, got {number:g}")
    return number


def integer(name: str, value: object, low: int, high: int | None = None, remedy: str = "") -> int:
    """Return ``value`` as an int in ``[low, high]``."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    number = int(value)
    top = MAX_INTEGER if high is None else high
    if number < low or number > top:
        open_end = high is None and number < low
        span = f"at least {low}" if open_end else f"between {low} and {top}"
        raise ValueError(
            f"{name} must be {span}, got {reprlib.repr(number)}" + (f"; {remedy}" if remedy else "")
        )
    return number


def n_threads(threads: object) -> int | None:
    """Return a number of threads, or None for one on each core."""
    return None if threads is None else integer("threads", threads, 1, MAX_THREADS)


def file_path(name: str, path: object) -> Path:
    """Return ``path`` as a `pathlib.Path`."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"{name} must be a path, a text or a pathlib.Path, got {path!r}")
    if "\0" in os.fsdecode(path):
        raise ValueError(f"{name} must be a path without null characters, got {path!r}")
    return Path(path)


def one_of(name: str, value: str, allowed: tuple[str, ...]) -> str:
    """Return ``value`` if it is among ``allowed``."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")
    return value


def unmasked(name: str, values: Any) -> NDArray[Any]:
    """Return ``values`` as an array, and refuse masked ones, whose masks NumPy would ignore."""
    if has_mask(values):
        raise TypeError(
            f"{name} must not be masked: leave the masked entries out, or fill them in, "
            f"{name}.filled(...)"
        )
    return array_of(name, values)


def real_array(name: str, values: Any) -> NDArray[Any]:
    """Return ``values`` as an array, and refuse what a conversion to floats would lose.

    These are masks, imaginary parts and dates, whose missing values become numbers.
    """
    array = unmasked(name, values)
    if array.dtype.kind in "cmM":
        raise TypeError(f"{name} must hold real numbers, got {array.dtype} values")
    return array


def array_of(name: str, values: Any) -> NDArray[Any]:
    """Return ``values`` as an array, and refuse lists of lists of different lengths."""
    require_in_place(name, values)
    try:
        return np.asarray(values)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{name} must be an array, or lists of equal lengths, got {type(values).__name__} "
            f"({error})"
        ) from error


def require_in_place(name: str, values: Any) -> None:
    """Refuse tensors that NumPy cannot read in place: a copy is for the user to make."""
    device = getattr(getattr(values, "device", None), "type", "cpu")
    if device != "cpu":
        raise TypeError(f"{name} is a tensor on {values.device}: pass {name}.cpu()")
    if getattr(values, "requires_grad", False) is True:
        raise TypeError(f"{name} is a tensor that requires gradients: pass {name}.detach()")


def has_mask(values: Any) -> bool:
    """Whether an array, or an item of a list, has a masked entry."""
    if isinstance(values, list | tuple):
        return any(np.ma.is_masked(item) for item in values)
    return bool(np.ma.is_masked(values))


def node_ids(name: str, nodes: Any, n_nodes: int) -> NDArray[np.int64]:
    """Return ``nodes`` as distinct int64 ids from 0 to ``n_nodes - 1``."""
    array = np.atleast_1d(unmasked(name, nodes))
    if array.size == 0:
        return np.empty(0, dtype=np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise TypeError(f"{name} must be a sequence of integer node ids, got {nodes!r}")
    outside = array[(array < 0) | (array >= n_nodes)]
    if outside.size:
        raise ValueError(
            f"{name} must hold nodes of the graph, from 0 to {n_nodes - 1}, got {outside[0]}"
        )
    if np.unique(array).size != array.size:
        raise ValueError(f"{name} must hold each node once")
    return array.astype(np.int64)


def seed_sequence(seed: Seed) -> np.random.SeedSequence:
    """Return a new SeedSequence; equal seeds give equal sequences.

    A Generator advances, so that two uses of it give two different sequences.
    """
    if isinstance(seed, np.random.SeedSequence):
        return np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key)
    if isinstance(seed, np.random.Generator):
        return np.random.SeedSequence(seed.integers(2**63, size=2).tolist())
    if seed is None:
        return np.random.SeedSequence()
    if isinstance(seed, bool) or not isinstance(seed, numbers.Integral) or int(seed) < 0:
        raise TypeError(
            "seed must be a non-negative int, a numpy SeedSequence or Generator, or None, "
            f"got {seed!r}"
        )
    return np.random.SeedSequence(int(seed))
