"""Features of items in a file of their own, such as embeddings: an array with a row for each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq.utils.words import count

SUFFIX = ".npy"


def read_features(path: Path, n: int | None = None) -> NDArray[Any]:
    """Return the array in a file of `numpy.save`, with one row for each of n items.

    Raises
    ------
    FileNotFoundError, ValueError
        No such file, a damaged one, pickled objects, or another number of rows.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "embeddings.npy")
    >>> np.save(path, np.eye(3))
    >>> read_features(path, 3).shape
    (3, 3)
    """
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}: check the name and the folder")
    try:
        X = np.load(path, allow_pickle=False) if path.suffix.lower() == SUFFIX else None
    except (Exception, MemoryError) as error:  # a damaged header can make the reader fail anyhow
        raise ValueError(
            f"{path} is damaged, or holds objects ({error}): write it again with numpy.save"
        ) from error
    if not isinstance(X, np.ndarray):
        raise ValueError(f"{path} is no {SUFFIX} file: write the features with numpy.save")
    if X.ndim != 2 or (n is not None and len(X) != n):
        rows = "one row for each item" if n is None else f"{count(n, 'row')}, one for each item"
        raise ValueError(
            f"{path} must hold a matrix with {rows}, in their order, got shape {X.shape}"
        )
    return X
