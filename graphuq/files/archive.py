"""NumPy archives: features or an adjacency, and perhaps labels and ids."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from graphuq import validation
from graphuq.files.table import as_written
from graphuq.graphs import Graph

# What sparse matrices and labels are called: by scipy.sparse.save_npz, and in archives of graphs.
PREFIXES = ("", "adj_", "adjacency_")
PARTS = ("data", "indices", "indptr", "shape")
LABELS = ("y", "labels")


@dataclass(frozen=True, eq=False)
class Archive:
    """What an archive holds.

    Attributes
    ----------
    ids : ndarray of str, shape (n,)
    features : ndarray, shape (n, d), or None
    graph : Graph or None
    known : ndarray of object, shape (n,)
        Classes, None where they are not known.
    """

    ids: NDArray[Any]
    features: NDArray[np.float64] | None
    graph: Graph | None
    known: NDArray[Any]


def read_archive(path: Path) -> Archive:
    """Return what an NPZ file holds: ``X``, or an adjacency; perhaps ``y`` or ``labels``, ``ids``.

    The adjacency is a matrix ``adjacency``, or sparse as `scipy.sparse.save_npz` writes it, with
    names that may begin with ``adj_`` or ``adjacency_``. In labels, -1, NaN and blanks stand for
    what is not known. Pickled objects are never read.

    Raises
    ------
    ValueError
        A damaged file, or arrays that are not there or do not fit together.
    """
    try:
        with np.load(path, allow_pickle=False) as opened:
            if not isinstance(opened, np.lib.npyio.NpzFile):
                raise ValueError("it holds a single array")
            arrays = {name: opened[name] for name in opened.files}
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"{path} is damaged, or no plain npz file: {error}") from error
    try:
        graph = _graph(arrays)
        features = None if graph or "X" not in arrays else _features(arrays["X"])
        if graph is None and features is None:
            raise ValueError(
                "there is neither X nor an adjacency, but only "
                f"{', '.join(arrays) or 'nothing'}: save X=... or adjacency=..."
            )
        n = graph.n_nodes if graph else features.shape[0]  # type: ignore[union-attr]
        ids = np.array([str(value) for value in _of_items(arrays, ("ids",), n, range(n))])
        y = pd.Series(_of_items(arrays, LABELS, n, [-1] * n))
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from error
    if pd.api.types.is_numeric_dtype(y):
        y = y.where(y != -1)
    text = as_written(y)
    return Archive(ids, features, graph, text.where(text.notna(), None).to_numpy(dtype=object))


def _graph(arrays: Mapping[str, NDArray[Any]]) -> Graph | None:
    if "adjacency" in arrays:
        return Graph(arrays["adjacency"])
    for prefix in PREFIXES:
        parts = [arrays.get(prefix + part) for part in PARTS]
        data, indices, indptr, shape = parts
        if data is not None and indices is not None and indptr is not None and shape is not None:
            if arrays.get("format", np.array(b"csr")).item() not in (b"csr", "csr"):
                raise ValueError("the sparse matrix must be CSR: save A.tocsr()")
            return Graph(
                sparse.csr_array((data, indices, indptr), shape=tuple(np.ravel(shape).tolist()))
            )
    return None


def _features(X: NDArray[Any]) -> NDArray[np.float64]:
    return np.array(validation.features(X))


def _of_items(
    arrays: Mapping[str, NDArray[Any]], names: tuple[str, ...], n: int, otherwise: Any
) -> NDArray[Any]:
    """Return the first of the arrays of these names, which must have a value for each item."""
    for name in names:
        if name in arrays:
            if arrays[name].shape != (n,):
                raise ValueError(
                    f"{name} must have a value for each of {n} items, got shape "
                    f"{arrays[name].shape}"
                )
            return arrays[name]
    return np.asarray(otherwise)
