"""A hyperspectral image from the air."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphuq.datasets.files import load_file
from graphuq.utils.typing import Array


class JasperRidge(NamedTuple):
    """A hyperspectral image, and the material on the ground.

    Attributes
    ----------
    X : ndarray, shape (10000, 198)
        Spectra, one row for each pixel, in row-major order.
    y : ndarray of int, shape (10000,)
        The most abundant material: 0 tree, 1 water, 2 dirt, 3 road.
    abundance : ndarray, shape (10000, 4)
        Share of each material in each pixel.
    shape : (int, int)
        Height and width, 100 each.

    Examples
    --------
    >>> import numpy as np
    >>> import graphuq as gq
    >>> X, y, abundance = np.ones((2, 198)), np.array([0, 3]), np.eye(4)[[0, 3]]
    >>> two = gq.datasets.JasperRidge(X, y, abundance, (1, 2))
    >>> two.y.reshape(two.shape)
    array([[0, 3]])
    """

    X: Array
    y: NDArray[np.int64]
    abundance: Array
    shape: tuple[int, int]


def jasper_ridge() -> JasperRidge:
    """Return the AVIRIS image of Jasper Ridge, 100 x 100 pixels in 198 bands.

    Read from ``$GRAPHUQ_DATA/jasper_ridge.npz`` or the cache; never downloaded. The arrays are
    those of ``data/jasperRidge2_R198.mat`` of
    github.com/MeiShaohui/Spectral-Variability-Augmented-Sparse-Unmixing. No license is stated.
    Cite: F. Zhu et al., Structured sparse method for hyperspectral unmixing, ISPRS Journal 88,
    2014, for the abundances; the scene is NASA's.

    Returns
    -------
    JasperRidge
        ``X``, ``y`` (3493, 3326, 2428 and 753 pixels of tree, water, dirt and road),
        ``abundance`` and ``shape``.

    Raises
    ------
    FileNotFoundError, PermissionError, ValueError
        See `load_file`.

    Examples
    --------
    >>> import graphuq as gq
    >>> picture = gq.datasets.jasper_ridge()  # doctest: +SKIP
    >>> picture.X.shape  # doctest: +SKIP
    (10000, 198)
    """
    arrays = load_file("jasper_ridge")
    X, y, abundance = arrays["X"], arrays["y"], arrays["abundance"]
    height, width, bands = X.shape
    return JasperRidge(
        X.reshape(-1, bands).astype(np.float64),
        y.ravel().astype(np.int64),
        abundance.reshape(-1, abundance.shape[2]).astype(np.float64),
        (height, width),
    )
