"""Arrays that nobody can change by accident."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray
from scipy import sparse


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view of an array that cannot be written.

    Examples
    --------
    >>> import numpy as np
    >>> fixed = read_only(np.zeros(2))
    >>> fixed[0] = 1
    Traceback (most recent call last):
    ...
    ValueError: assignment destination is read-only
    """
    view = array.view()
    view.flags.writeable = False
    return view


def freeze_matrix(matrix: Any) -> Any:
    """Return a dense or sparse matrix whose entries cannot be written."""
    if not sparse.issparse(matrix):
        return read_only(matrix)
    for part in ("data", "indices", "indptr"):
        setattr(matrix, part, read_only(getattr(matrix, part)))
    return matrix
