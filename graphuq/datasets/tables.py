"""Tables with one row for each item."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphuq.datasets.files import load_file
from graphuq.utils import validation
from graphuq.utils.typing import Array

UCI = ("iris", "wine", "glass", "ecoli", "ionosphere", "pima")
WITH_SKLEARN = ("iris", "wine")

Table = tuple[Array, NDArray[np.int64]]


def vote() -> Table:
    """Return the voting records of the US House of Representatives in 1984, section 5.1.2.

    Read from ``$GRAPHUQ_DATA/vote.npz`` or the cache, or downloaded from the UCI repository, which
    states CC BY 4.0. Cite: Congressional Voting Records, UCI Machine Learning Repository, 1987.

    Returns
    -------
    X : ndarray, shape (435, 16)
        Votes of each member on 16 bills: 1 for yes, -1 for no, 0 for neither.
    y : ndarray of int, shape (435,)
        0 for the 267 Democrats, 1 for the 168 Republicans.

    Raises
    ------
    FileNotFoundError, PermissionError, ValueError
        See `load_file`.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.vote()  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (435, 16)
    """
    arrays = load_file("vote")
    return arrays["X"].astype(np.float64), arrays["y"].astype(np.int64)


def uci(name: str) -> Table:
    """Return a table of the UCI machine learning repository.

    ============  =======  =======  =================================================
    name          X        classes  y
    ============  =======  =======  =================================================
    iris          150, 4   3        0 to 2: setosa, versicolor, virginica; 50 each
    wine          178, 13  3        0 to 2, three growers; 59, 71, 48
    glass         214, 9   6        1, 2, 3, 5, 6, 7 as there; 70, 76, 17, 13, 9, 29
    ecoli         336, 7   8        0 to 7: cp, im, pp, imU, om, omL, imL, imS; 143,
                                    77, 52, 35, 20, 5, 2, 2
    ionosphere    351, 34  2        0 and 1: bad and good returns; 126, 225
    pima          768, 8   2        0 and 1: without and with diabetes; 500, 268
    ============  =======  =======  =================================================

    Iris and wine are bundled with scikit-learn. The others are read from
    ``$GRAPHUQ_DATA/NAME.npz`` or the cache, or downloaded from the repository; pima, which was
    withdrawn there, comes from a copy. The repository states CC BY 4.0; pima is usually listed as
    CC0. Cite the repository (Dua and Graff) and the donors named on its page. In pima, zeros of
    glucose, pressure, triceps, insulin and mass are missing values.

    Parameters
    ----------
    name : {"iris", "wine", "glass", "ecoli", "ionosphere", "pima"}

    Returns
    -------
    X : ndarray, shape (n, d)
        Raw features.
    y : ndarray of int, shape (n,)

    Raises
    ------
    ValueError
        An unknown name, or a damaged file.
    FileNotFoundError, PermissionError
        See `load_file`.

    Examples
    --------
    >>> import numpy as np
    >>> import graphuq as gq
    >>> X, y = gq.datasets.uci("wine")
    >>> X.shape, np.bincount(y)
    ((178, 13), array([59, 71, 48]))
    """
    validation.one_of("name", name, UCI)
    if name in WITH_SKLEARN:
        from sklearn import datasets

        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    else:
        arrays = load_file(name)
        X, y = arrays["X"], arrays["y"]
    return X.astype(np.float64), y.astype(np.int64)
