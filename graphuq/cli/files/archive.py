"""NumPy archives: features or an adjacency matrix, and optional labels and ids."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from graphuq.cli.files.class_column import to_ids
from graphuq.cli.files.columns import NUMBERS
from graphuq.cli.files.contents import NUMBERED, Contents
from graphuq.cli.files.encoding import Encoding, fit_encoding
from graphuq.cli.files.features import warn_of_outliers
from graphuq.cli.files.label_table import LABEL, no_column
from graphuq.cli.files.missing_values import choose_rows
from graphuq.cli.files.options import ReadOptions
from graphuq.graphs import Graph
from graphuq.utils.atomic_files import read_npz
from graphuq.utils.features import check_features
from graphuq.utils.typing import Array
from graphuq.utils.validation import MIN_POSITIVE
from graphuq.utils.words import count

# Names of the arrays of a sparse matrix: those of scipy.sparse.save_npz, with or without a prefix.
PREFIXES = ("", "adj_", "adjacency_")
PARTS = ("data", "indices", "indptr", "shape")

# What is said of features in the file of a graph.
BESIDE_GRAPH = "both the graph and X are used: --ignore X takes the graph alone"

# Names of the array of labels.
LABEL_ARRAYS = ("y", "labels", LABEL)


def read_archive(path: Path, options: ReadOptions) -> Contents:
    """Return the contents of an NPZ file: ``X``, a graph or both, and optional labels, ids.

    ``X`` has shape (n, d), or (n, height, width) for images. The adjacency matrix is an array
    ``adjacency``, or a sparse matrix as `scipy.sparse.save_npz` writes it, with names that may
    begin with ``adj_`` or ``adjacency_``. The labels are ``y`` or ``labels``. Pickled objects are
    never read.

    Raises
    ------
    ValueError
        A damaged file, missing arrays, or arrays of different lengths.
    """
    arrays = _load(path)
    _require_arrays(path, arrays, options)
    arrays = {name: array for name, array in arrays.items() if name not in options.ignore}
    try:
        graph = _graph(arrays)
        if graph is None and "X" not in arrays:
            raise ValueError(
                "expected X or an adjacency matrix, got only "
                f"{', '.join(arrays) or 'an empty archive'}: save X=... or adjacency=..."
            )
        n = graph.n_nodes if graph else _length(arrays["X"])
        if graph and "X" in arrays and len(arrays["X"]) != n:
            raise ValueError(
                f"X must have a row for each of {n} nodes, got {len(arrays['X'])}: save such an X, "
                "or use --ignore X"
            )
        columns = {
            name: array
            for name, array in arrays.items()
            if (array.shape == (n,) and name not in PARTS)
        }
        _require_one_per_item(arrays, columns, n, options)
        ids = to_ids(columns.get(options.id_column or "ids", np.arange(n)))
        label = options.label or _own_label(columns, options)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from error
    _require_unique(path, ids)
    if label is not None and options.label is None:
        columns[LABEL] = columns[label]
    notes = () if (options.id_column or "ids") in columns else (NUMBERED,)
    if "X" not in arrays:
        return Contents(ids.astype(str), None, graph, columns, notes)
    X, kept, changes, shape, encoding = features_of(path, arrays["X"], options)
    notes = (*((BESIDE_GRAPH,) if graph else ()), *changes, *notes)
    encoding = encoding._replace(id_column=options.id_column, fills=options.missing == "fill")
    linked = graph is not None
    return Contents(
        ids.astype(str), X, graph, columns, notes, kept, shape, encoding=encoding, linked=linked
    )


def read_matrix(path: Path, width: int, id_array: str | None) -> tuple[NDArray[Any], Array]:
    """Return the ids and ``X`` of new items, NaN where a value is missing.

    Parameters
    ----------
    path : Path
    width : int
        Expected number of columns of X.
    id_array : str or None
        The array of ids, by default ``ids``.
    """
    arrays = _load(path)
    if "X" not in arrays:
        raise ValueError(
            f"{path}: expected X, got only {', '.join(arrays) or 'an empty archive'}: save X=..."
        )
    try:
        n = _length(arrays["X"])
        X = arrays["X"].reshape(n, -1)
        if X.shape[1] != width:
            raise ValueError(
                f"X must have {width} columns, as for the first items, got {X.shape[1]}: save "
                "the same columns"
            )
        X = _check_values(X)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from error
    ids = arrays.get(id_array or "ids", np.arange(n))
    if ids.shape != (n,):
        raise ValueError(f"{path}: ids must have shape ({n},), got {ids.shape}: name every item")
    return to_ids(ids).astype(str), X


def _load(path: Path) -> dict[str, NDArray[Any]]:
    with open(path, "rb") as file:
        if file.read(6) == b"\x93NUMPY":
            raise ValueError(
                f"{path} is damaged, or not a plain npz file (it holds a single array): write it "
                "again with numpy.savez, as X=... and y=..."
            )
    try:
        return read_npz(path)
    except ValueError as error:
        raise ValueError(
            f"{path} is damaged, or not a plain npz file: write it again with numpy.savez, without "
            "objects"
        ) from error


def _require_arrays(path: Path, arrays: Mapping[str, NDArray[Any]], options: ReadOptions) -> None:
    """Refuse names of arrays that do not exist."""
    for option, name in (
        ("--label", None if options.labels else options.label),
        ("--id", options.id_column),
        *(("--ignore", name) for name in options.ignore if name not in options.elsewhere),
    ):
        if name is not None and name not in arrays:
            raise ValueError(no_column(path, option, name, sorted(arrays)))


def _own_label(columns: Mapping[str, NDArray[Any]], options: ReadOptions) -> str | None:
    """Return the name of the array of labels, None if there is none."""
    found = [name for name in LABEL_ARRAYS if name in columns]
    if options.labels is not None and found:
        raise ValueError(
            f"it has labels {found[0]}, and --labels names a second source of labels: exclude them "
            f"with --ignore {found[0]}, or leave out --labels"
        )
    if len(found) > 1:
        raise ValueError(
            f"it has labels {' and '.join(found)}: choose one with --label {found[0]} or --label "
            f"{found[1]}"
        )
    return found[0] if found else None


def _graph(arrays: Mapping[str, NDArray[Any]]) -> Graph | None:
    if "adjacency" in arrays:
        return Graph(arrays["adjacency"])
    for prefix in PREFIXES:
        parts = [arrays.get(prefix + part) for part in PARTS]
        data, indices, indptr, shape = parts
        if data is not None and indices is not None and indptr is not None and shape is not None:
            if arrays.get("format", np.array(b"csr")).item() not in (b"csr", "csr"):
                raise ValueError("the sparse matrix must be CSR: save A.tocsr()")
            matrix = sparse.csr_array(
                (data, indices, indptr), shape=tuple(np.ravel(shape).tolist())
            )
            matrix.check_format(full_check=True)  # indices outside the matrix crash SciPy
            return Graph(matrix)
    return None


def _length(X: NDArray[Any]) -> int:
    if X.ndim not in (2, 3):
        raise ValueError(
            "X must be a matrix with one row for each item, or gray images of shape (n, height, "
            f"width), got shape {X.shape}: save X.reshape(len(X), -1)"
        )
    return len(X)


def features_of(
    path: Path, X: NDArray[Any], options: ReadOptions
) -> tuple[Array, NDArray[Any] | None, tuple[str, ...], tuple[int, int] | None, Encoding]:
    """Return the features, the kept rows, notes, the shape of images, and the encoding."""
    shape = (X.shape[1], X.shape[2]) if X.ndim == 3 else None
    X = X.reshape(len(X), -1)
    kept: NDArray[Any] | None = None
    notes: list[str] = []
    try:
        if options.missing != "refuse" and X.dtype.kind == "f":
            invalid = ~np.isfinite(X)
            if invalid.all(axis=0).any():
                raise ValueError(
                    f"column {int(invalid.all(axis=0).argmax())} of X has no valid values: remove "
                    "it"
                )
            kept, notes = choose_rows(str(path), invalid, options.missing)
            X = X[kept]
        elif X.dtype.kind == "f" and not np.isfinite(X).all():
            rows = np.flatnonzero(~np.isfinite(X).all(axis=1))
            raise ValueError(
                f"X holds NaN or infinite values in {rows.size} of {count(len(X), 'row')}, first "
                f"in row {rows[0]}: drop such rows with --drop-missing, or replace such values by "
                "the column mean with --fill-missing"
            )
        known = _check_values(X)
    except (ValueError, TypeError) as error:
        message = str(error)
        raise ValueError(message if str(path) in message else f"{path}: {message}") from error
    rows = np.arange(len(known)) if kept is None else np.flatnonzero(kept)
    warn_of_outliers(
        known,
        lambda row, k: f"{path}: row {rows[row]}, column {k} of X is {known[row, k]:g}, which",
        "make it NaN",
    )
    if options.scale:
        spread = np.nanmax(known, axis=0) - np.nanmin(known, axis=0)
        tiny = np.flatnonzero((spread > 0) & (spread < MIN_POSITIVE))
        if tiny.size:
            raise ValueError(
                f"{path}: column {tiny[0]} of X varies by {spread[tiny[0]]:g}, and squares of that "
                "underflow: multiply the column by one number, or leave out --scale"
            )
        notes.append("scaled each column to mean 0 and standard deviation 1")
    forms = np.full(known.shape[1], NUMBERS)
    encoding = fit_encoding(None, known, forms, scale=bool(options.scale), drop_constant=False)
    return encoding.to_features(known), kept, tuple(notes), shape, encoding


def _check_values(X: NDArray[Any]) -> Array:
    """Return features, NaN where a value is missing; refuse what cannot be a feature."""
    missing = ~np.isfinite(X) if X.dtype.kind == "f" else np.zeros(X.shape, dtype=bool)
    if not missing.any():
        return np.array(check_features(X))
    return np.where(missing, np.nan, check_features(np.where(missing, 0, X)))


def _require_one_per_item(
    arrays: Mapping[str, NDArray[Any]],
    columns: Mapping[str, NDArray[Any]],
    n: int,
    options: ReadOptions,
) -> None:
    """Refuse labels, ids and true classes of another length."""
    label = None if options.labels else options.label
    for name in (*LABEL_ARRAYS, label, options.truth, options.id_column or "ids"):
        if name is not None and name in arrays and name not in columns:
            raise ValueError(
                f"{name} must have one value for each of {n} items, got shape "
                f"{arrays[name].shape}: save it with shape ({n},)"
            )


def _require_unique(path: Path, ids: NDArray[Any]) -> None:
    if None in ids.tolist():
        at = ids.tolist().index(None)
        raise ValueError(f"{path}, ids[{at}]: the id is missing: give every item its own id")
    repeated = pd.Index(ids).duplicated()
    if repeated.any():
        at = int(repeated.argmax())
        raise ValueError(f"{path}, ids[{at}]: duplicate id {ids[at]!r}: give every item its own id")
