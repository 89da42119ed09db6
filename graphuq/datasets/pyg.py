"""Networks as PyTorch Geometric holds them; torch itself is not needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq.datasets.networks import FeaturedNetwork
from graphuq.utils import validation
from graphuq.utils.features import check_node_features

# The names of a split here, and those of OGB.
PARTS = {"train": ("train",), "val": ("val", "valid"), "test": ("test",)}

# Attributes that may hold weights, besides ``edge_weight``, which does.
OTHER_WEIGHTS = ("edge_attr", "weight")


def from_pyg(data: Any, split: Any = None) -> FeaturedNetwork:
    """Return the network in a ``Data`` object of PyTorch Geometric.

    Edges are read by `Graph.from_edge_index`, with the weights of ``data.edge_weight``. An
    ``edge_attr`` of several numbers for each edge is not read.

    Parameters
    ----------
    data : torch_geometric.data.Data
        Or any object with ``edge_index`` and, each optional, ``num_nodes``, ``x``, ``y``,
        ``edge_weight``, ``train_mask``, ``val_mask`` and ``test_mask``.
    split : int or mapping, optional
        Which column of masks to take, if there are several splits; or the nodes of each part, such
        as ``dataset.get_idx_split()`` of OGB.

    Returns
    -------
    FeaturedNetwork
        ``graph``, ``X``, ``y`` and ``splits``. X is None without ``data.x``; y is -1 where
        ``data.y`` is NaN, and everywhere without it; ``splits`` has the nodes of "train", "val" and
        "test", as far as they are given.

    Raises
    ------
    ValueError, TypeError
        No ``edge_index``; an ``edge_attr`` of one number for each edge, which may be a weight;
        several classes for each node; several splits without ``split``; tensors on a device.

    Examples
    --------
    >>> import numpy as np
    >>> import graphuq as gq
    >>> from types import SimpleNamespace
    >>> data = SimpleNamespace(
    ...     edge_index=np.array([[0, 1, 1, 2], [1, 0, 2, 1]]), x=np.eye(3), y=np.array([0, 1, 1]),
    ...     train_mask=np.array([True, False, True]),
    ... )
    >>> graph, X, y, splits = gq.from_pyg(data)
    >>> graph, X.shape, y, splits
    (Graph(3 nodes, 2 edges, sparse), (3, 3), array([0, 1, 1]), {'train': array([0, 2])})
    """
    from graphuq.graphs import Graph

    edge_index = getattr(data, "edge_index", None)
    if edge_index is None:
        raise TypeError(
            f"data must have edge_index, as torch_geometric.data.Data has, got "
            f"{type(data).__name__}: leave out T.ToSparseTensor, and pass "
            "data.to_homogeneous() for several types of nodes"
        )
    _refuse_unclear_weights(data)
    graph = Graph.from_edge_index(
        edge_index, getattr(data, "edge_weight", None), getattr(data, "num_nodes", None)
    )
    n, x = graph.n_nodes, getattr(data, "x", None)
    X = None if x is None else check_node_features(x, n)
    return FeaturedNetwork(graph, X, _read_classes(data, n), _read_splits(data, split, n))


def _refuse_unclear_weights(data: Any) -> None:
    """Refuse one number for each edge that may be a weight, or may be anything else."""
    if getattr(data, "edge_weight", None) is not None:
        return
    for name in OTHER_WEIGHTS:
        values = getattr(data, name, None)
        shape = np.shape(values) if values is not None else (0, 0)
        if len(shape) == 1 or shape[1:] == (1,):
            raise ValueError(
                f"data.{name} has one number for each edge: if these are weights, set "
                f"data.edge_weight = data.{name}; otherwise set data.{name} = None"
            )


def _read_classes(data: Any, n: int) -> NDArray[np.int64]:
    given = getattr(data, "y", None)
    if given is None:
        return np.full(n, -1)
    y = validation.real_array("data.y", given)
    if y.shape == (n, 1):
        y = y[:, 0]
    if y.shape != (n,):
        raise ValueError(
            f"data.y must give one class for each of {n} nodes, got shape {y.shape}: for several "
            "labels of each node, set data.y to one column"
        )
    if y.dtype.kind in "fiub":
        classes = np.where(np.isnan(y), -1, y)
        if (abs(classes) <= validation.MAX_INTEGER).all() and (classes % 1 == 0).all():
            return classes.astype(np.int64)
    raise TypeError(
        f"data.y must hold whole numbers, the classes, got {y.dtype} values: these may be numbers "
        "to predict by regression"
    )


def _read_splits(data: Any, split: Any, n: int) -> dict[str, NDArray[np.int64]]:
    splits = {}
    for part, names in PARTS.items():
        if isinstance(split, Mapping):
            found = [split[name] for name in names if name in split]
        else:
            found = [getattr(data, f"{part}_mask", None)]
        if found and found[0] is not None:
            column = None if isinstance(split, Mapping) else split
            splits[part] = _read_part(part, found[0], column, n)
    if split is not None and not splits:
        raise ValueError(
            "split names a split, but data has no train_mask, val_mask or test_mask, and split is "
            "not a mapping with 'train', 'valid' and 'test': leave it out"
        )
    return splits


def _read_part(part: str, given: Any, column: Any, n: int) -> NDArray[np.int64]:
    """Return the nodes of a mask, of a column of masks, or of a list of nodes."""
    values = validation.unmasked(f"{part} nodes", given)
    if values.dtype != bool:
        return np.sort(validation.node_ids(f"{part} nodes", values, n))
    if values.ndim == 2 and values.shape[0] == n:
        last = values.shape[1] - 1
        if column is None:
            raise ValueError(
                f"data.{part}_mask has {values.shape[1]} splits: choose one, split=0 to {last}"
            )
        values = values[:, validation.integer("split", column, 0, last)]
    elif column is not None:
        raise ValueError(f"data.{part}_mask has only one split: leave out split={column!r}")
    if values.shape != (n,):
        raise ValueError(f"data.{part}_mask must have shape {(n,)}, got {values.shape}")
    return np.flatnonzero(values)
