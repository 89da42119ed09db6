"""Pairs of handwritten digits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq import validation
from graphuq.datasets.files import load_file

SOURCES = ("digits", "mnist")


def digit_pair(
    a: int,
    b: int,
    *,
    dataset: str = "digits",
    per_class: int | None = None,
    seed: validation.Seed = 0,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the images of two digits.

    Parameters
    ----------
    a, b : int
        Two different digits.
    dataset : {"digits", "mnist"}
        scikit-learn's bundled 8 x 8 images, about 180 of each digit; or MNIST's 28 x 28, from
        ``mnist.npz`` in ``$GRAPHUQ_DATA`` or the cache.
    per_class : int, optional
        Take this many of each digit at random; all by default.
    seed : int, SeedSequence or Generator
        Of that choice.

    Returns
    -------
    X : ndarray, shape (n, d)
        Grey levels from 0 to 1, one row an image.
    y : ndarray of int, shape (n,)
        The digits themselves.

    Raises
    ------
    ValueError
        Equal digits or none, or fewer than ``per_class`` images.
    FileNotFoundError
        MNIST asked for and not found.

    Examples
    --------
    >>> X, y = digit_pair(4, 9)
    >>> X.shape
    (361, 64)
    """
    validation.one_of("dataset", dataset, SOURCES)
    for name, digit in (("a", a), ("b", b)):
        validation.integer(name, digit, 0, 9)
    if a == b:
        raise ValueError(f"a pair needs two different digits, got {a} and {b}")
    X, y = _bundled() if dataset == "digits" else _mnist()
    rng = np.random.default_rng(validation.seed_sequence(seed))
    chosen = []
    for digit in (a, b):
        members = np.flatnonzero(y == digit)
        if per_class is not None:
            validation.integer("per_class", per_class, 1, members.size)
            members = rng.choice(members, size=per_class, replace=False)
        chosen.append(members)
    rows = np.sort(np.concatenate(chosen))
    return X[rows].astype(np.float64) / X.max(), y[rows].astype(np.int64)


def _bundled() -> tuple[NDArray[Any], NDArray[Any]]:
    from sklearn.datasets import load_digits

    bundle = load_digits()
    return bundle.data, bundle.target


def _mnist() -> tuple[NDArray[Any], NDArray[Any]]:
    arrays = load_file("mnist")
    return arrays["X"], arrays["y"]
