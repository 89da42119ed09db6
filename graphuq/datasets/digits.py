"""Images of handwritten digits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphuq.datasets.files import load_file
from graphuq.utils import validation
from graphuq.utils.typing import Array

SOURCES = ("digits", "mnist")


def digits() -> tuple[Array, NDArray[np.int64]]:
    """Return 1797 small images of digits.

    Bundled with scikit-learn (BSD), from the UCI repository, which states CC BY 4.0. Cite: E.
    Alpaydin and C. Kaynak, Optical Recognition of Handwritten Digits, UCI Machine Learning
    Repository, 1998.

    Returns
    -------
    X : ndarray, shape (1797, 64)
        Gray levels from 0 to 1 of 8 x 8 pixels, one row for each image.
    y : ndarray of int, shape (1797,)
        The digits, 174 to 183 images of each.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.digits()
    >>> X.shape, float(X.max())
    ((1797, 64), 1.0)
    """
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X.astype(np.float64) / X.max(), y.astype(np.int64)


def mnist() -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the 70,000 images of MNIST, section 5.1.3.

    Read from ``$GRAPHUQ_DATA/mnist.npz`` or the cache, or downloaded (11 MB). The license is
    usually given as CC BY-SA 3.0. Cite: Y. LeCun, C. Cortes and C. J. C. Burges, The MNIST database
    of handwritten digits.

    Returns
    -------
    X : ndarray of uint8, shape (70000, 784)
        Gray levels from 0 to 255 of 28 x 28 pixels, one row for each image. The first 60,000 are
        the training images. As floats they take 439 MB: convert only those that you need.
    y : ndarray of int, shape (70000,)
        The digits, 6313 to 7877 images of each.

    Raises
    ------
    FileNotFoundError, PermissionError, ValueError
        See `load_file`.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.mnist()  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (70000, 784)
    """
    arrays = load_file("mnist")
    return arrays["X"], arrays["y"].astype(np.int64)


def usps() -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the 9298 images of USPS: digits from envelopes.

    Read from ``$GRAPHUQ_DATA/usps.npz`` or the cache; never downloaded. The arrays are those of
    ``data/usps.h5`` of github.com/niuers/Learning-From-Data-A-Short-Course, rounded to 256 gray
    levels. No license is stated. Cite: J. J. Hull, A database for handwritten text recognition
    research, IEEE PAMI 16, 1994.

    Returns
    -------
    X : ndarray of uint8, shape (9298, 256)
        Gray levels from 0 to 255 of 16 x 16 pixels, one row for each image. The first 7291 are the
        training images.
    y : ndarray of int, shape (9298,)
        The digits, 708 to 1553 images of each.

    Raises
    ------
    FileNotFoundError, PermissionError, ValueError
        See `load_file`.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.usps()  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (9298, 256)
    """
    arrays = load_file("usps")
    return arrays["X"], arrays["y"].astype(np.int64)


def digit_pair(
    a: int,
    b: int,
    *,
    dataset: str = "digits",
    per_class: int | None = None,
    seed: validation.Seed = 0,
) -> tuple[Array, NDArray[np.int64]]:
    """Return the images of two digits.

    Parameters
    ----------
    a, b : int
        Two different digits.
    dataset : {"digits", "mnist"}
        The 8 x 8 images of `digits`, about 180 of each digit, or the 28 x 28 images of `mnist`.
    per_class : int, optional
        Number of images of each digit, drawn at random; all by default.
    seed : int, SeedSequence or Generator
        Determines these images.

    Returns
    -------
    X : ndarray, shape (n, d)
        Gray levels from 0 to 1, one row for each image.
    y : ndarray of int, shape (n,)
        The digits themselves.

    Raises
    ------
    ValueError
        Equal digits, numbers that are not digits, fewer than ``per_class`` images.
    FileNotFoundError
        MNIST is neither found nor downloaded.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.digit_pair(4, 9)
    >>> X.shape
    (361, 64)
    """
    validation.one_of("dataset", dataset, SOURCES)
    for name, digit in (("a", a), ("b", b)):
        validation.integer(name, digit, 0, 9)
    if a == b:
        raise ValueError(f"a pair needs two different digits, got {a} and {b}")
    X, y = digits() if dataset == "digits" else mnist()
    rng = np.random.default_rng(validation.seed_sequence(seed))
    chosen = []
    for digit in (a, b):
        members = np.flatnonzero(y == digit)
        if per_class is not None:
            validation.integer("per_class", per_class, 1, members.size)
            members = rng.choice(members, size=per_class, replace=False)
        chosen.append(members)
    rows = np.sort(np.concatenate(chosen))
    return X[rows].astype(np.float64) / X.max(), y[rows]
