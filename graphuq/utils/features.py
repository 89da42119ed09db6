"""Checks of features: a matrix with one row for each item.

scikit-learn's ``check_array`` does not name the row to fix, and reads no Dask array.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from graphuq.utils.row_blocks import is_dask, map_rows
from graphuq.utils.typing import Array
from graphuq.utils.validation import MAX_MAGNITUDE, MIN_POSITIVE, has_mask, require_in_place


def check_features(X: Any, *, accept_sparse: bool = False) -> Any:
    """Return ``X`` as a finite float64 matrix, C-contiguous or CSR, with one row for each item."""
    if sparse.issparse(X) and not accept_sparse:
        raise TypeError("X is sparse, and a dense matrix is needed: pass X.toarray()")
    matrix = _convert(X)
    _require_matrix(matrix)
    _report(_find_faults(matrix), matrix.shape[0])
    return matrix


def check_node_features(X: Any, n_nodes: int, *, accept_sparse: bool = False) -> Any:
    """Return ``X`` as `check_features` does, with one row for each node of a graph."""
    matrix = check_features(X, accept_sparse=accept_sparse)
    if matrix.shape[0] != n_nodes:
        raise ValueError(
            f"X must have one row for each of {n_nodes} nodes, got shape {matrix.shape}; for a "
            "largest component pass X[graph.nodes]"
        )
    return matrix


def check_new_weights(weights: Any, n_nodes: int) -> sparse.csr_array:
    """Return the weights of links of new items, a row for each, as a sparse matrix."""
    given = weights if sparse.issparse(weights) else np.asarray(weights)
    if given.dtype.kind not in "biuf":
        raise TypeError(f"weights must be a matrix of numbers, got {given.dtype}")
    matrix = sparse.csr_array(given, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[1] != n_nodes:
        raise ValueError(
            f"weights of new items must have a column for each of {n_nodes} nodes, got shape "
            f"{matrix.shape}"
        )
    if not (np.isfinite(matrix.data).all() and (matrix.data >= 0).all()):
        raise ValueError("weights of new items must be finite and not negative")
    return matrix


def check_new_features(X: Any, n_items: int) -> Any:
    """Return the features of new items, a row for each; a sparse matrix stays sparse."""
    X = X if sparse.issparse(X) else np.asarray(X)
    if X.dtype.kind not in "biuf":
        raise TypeError(f"X must be a matrix of numbers, got {X.dtype}")
    X = X.astype(np.float64)
    if X.ndim != 2 or X.shape[0] != n_items:
        raise ValueError(
            f"X must have one row for each of {n_items} new items, as weights have, got shape "
            f"{X.shape}"
        )
    if not np.isfinite(X.data if sparse.issparse(X) else X).all():
        raise ValueError("features of new items hold NaN or infinite values: fill them in")
    return X


def check_images(X: Any, n_nodes: int, shape: tuple[int, int] | None) -> Array:
    """Return gray images, one in each row of ``X``, as an array (n_nodes, height, width)."""
    matrix = check_features(X)
    if matrix.shape[0] != n_nodes:
        raise ValueError(
            f"images must have one row for each of {n_nodes} nodes, got {matrix.shape[0]}"
        )
    if shape is None:
        side = round(matrix.shape[1] ** 0.5)
        shape = (side, side)
    if shape[0] * shape[1] != matrix.shape[1]:
        raise ValueError(
            f"images of {matrix.shape[1]} pixels do not have shape {shape}: give shape=(height, "
            "width)"
        )
    return np.asarray(matrix.reshape(n_nodes, *shape))


def check_table(X: Any) -> Any:
    """Return ``X`` as a matrix to read in blocks of rows; arrays are neither copied nor converted.

    Its values are not read: `require_finite` checks them.
    """
    if is_dask(X):
        if np.isnan(X.shape).any():
            raise ValueError("the length of X is unknown: call X.compute_chunk_sizes() first")
    elif sparse.issparse(X):
        raise TypeError("X is sparse, and must be dense here: X.toarray(), if it fits in memory")
    elif not isinstance(X, np.ndarray) or np.ma.isMaskedArray(X):
        X = _convert(X)
    _require_matrix(X)
    if X.dtype.kind not in "fiub":
        raise TypeError(
            f"X must hold real numbers, got dtype {X.dtype}: convert it, X.astype(float)"
        )
    return X


def require_finite(X: Any) -> Array:
    """Refuse a table with NaN or infinite values, or whose squares overflow.

    Returns
    -------
    ndarray, shape (2, d)
        The lowest and the highest value of each column.
    """
    # blocks come in order, so the first block with faults has the first row
    total = _Faults(0, 0, np.full(X.shape[1], np.inf), np.full(X.shape[1], -np.inf))
    for rows, found in map_rows(_find_faults, X, X.shape[1]):
        first = total.first if total.n_rows else rows.start + found.first
        low, high = np.minimum(total.low, found.low), np.maximum(total.high, found.high)
        total = _Faults(total.n_rows + found.n_rows, first, low, high)
    _report(total, X.shape[0])
    return np.stack([total.low, total.high])


def require_squarable(X: Any) -> None:
    """Refuse finite features whose squares overflow."""
    _report(_find_faults(X), X.shape[0])


def require_spread(X: Any) -> float:
    """Return the widest range of a column; refuse one so narrow that squares of it underflow.

    Items that are all equal have none.
    """
    low, high = X.min(axis=0), X.max(axis=0)
    spread = float((high - low).max())
    if 0 < spread < MIN_POSITIVE:
        raise ValueError(
            f"no column of X varies by more than {spread:g}, so that squares of distances "
            "underflow: multiply X by one number"
        )
    return spread


def digest(X: Any) -> str:
    """Return what identifies checked features, in the order of their rows: a row is a node."""
    arrays: tuple[Any, ...] = (X,)
    if sparse.issparse(X):
        arrays = (X.indptr.astype(np.int64), X.indices.astype(np.int64), X.data)
    found = hashlib.blake2b(repr(X.shape).encode())
    for array in arrays:
        found.update(array.tobytes())
    return found.hexdigest()[:16]


def refuse_masks_and_dates(X: Any) -> None:
    """Refuse what scikit-learn's ``validate_data`` turns into numbers without a word."""
    _require_unmasked(X)
    if not sparse.issparse(X):
        with suppress(ValueError):  # scikit-learn refuses rows of different lengths
            dtype = np.asarray(X).dtype
            if dtype.kind in "mM":
                raise TypeError(f"X must hold real numbers, got {dtype} values: encode them")


def _require_unmasked(X: Any) -> None:
    if has_mask(X):
        raise TypeError("X is masked, and every value is needed: fill it in, X.filled(...)")


def _convert(X: Any) -> Any:
    _require_unmasked(X)
    require_in_place("X", X)
    try:
        if not sparse.issparse(X):
            given = np.asarray(X)
            _require_real(given.dtype)
            return np.ascontiguousarray(given, dtype=np.float64)
        _require_real(X.dtype)
        matrix = sparse.csr_array(X, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(
            f"X must be a numeric matrix with one row for each item; {type(X).__name__} could not "
            f"be converted ({error}): drop or encode the columns that are not numbers"
        ) from error
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def _require_real(dtype: Any) -> None:
    """Refuse types that NumPy converts to numbers with a loss: complex numbers and dates."""
    if dtype.kind in "cmM":
        raise TypeError(f"{dtype} values are not real numbers")


def _require_matrix(X: Any) -> None:
    if X.ndim != 2 or X.shape[0] < 2 or X.shape[1] < 1:
        raise ValueError(
            "X must be a matrix with at least two rows (items) and one column (feature), "
            f"got shape {X.shape}"
        )


class _Faults(NamedTuple):
    """Rows with NaN or infinite values: how many, and the first; the range of each column of X."""

    n_rows: int
    first: int
    low: Array
    high: Array


def _find_faults(X: Any) -> _Faults:
    if sparse.issparse(X):
        bad = np.unique(X.tocoo().row[~np.isfinite(X.data)])
    else:
        bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
    if bad.size:
        none = np.zeros(X.shape[1])
        return _Faults(bad.size, int(bad[0]), none, none)
    ends = X.min(axis=0), X.max(axis=0)
    low, high = (end.toarray().ravel() if sparse.issparse(end) else end for end in ends)
    return _Faults(0, 0, low.astype(np.float64), high.astype(np.float64))


def _report(faults: _Faults, n: int) -> None:
    if faults.n_rows:
        raise ValueError(
            f"X holds NaN or infinite values in {faults.n_rows} of {n} rows, first in row "
            f"{faults.first}: drop those rows or fill the values in"
        )
    if max(faults.high.max(), -faults.low.min()) > MAX_MAGNITUDE:
        raise ValueError(
            f"X holds values beyond {MAX_MAGNITUDE:g}, whose squares overflow: rescale it"
        )
