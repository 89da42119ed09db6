"""The few labels that are known: which nodes carry them, and which class they name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq import validation


class Labels:
    """Observed labels y(j) at the nodes j of Z'.

    Parameters
    ----------
    nodes : array_like of int, shape (J,)
        Labelled nodes; their order does not matter.
    values : array_like, shape (J,)
        Class of each, as any two sortable values: ints, strings, booleans.

    Attributes
    ----------
    nodes : ndarray of int64, shape (J,)
        In increasing order.
    values : ndarray, shape (J,)
    classes : ndarray, shape (2,)
        Sorted; ``classes[1]`` is coded +1 and ``classes[0]`` -1.
    codes : ndarray of float64, shape (J,)
        y(j), -1 or +1.

    Raises
    ------
    ValueError
        Negative nodes, a node labelled twice with different values, missing values, lengths
        that differ, or a number of classes other than two.

    Examples
    --------
    >>> labels = Labels([7, 2, 5], ["cat", "dog", "cat"])
    >>> labels.nodes
    array([2, 5, 7])
    >>> labels.codes
    array([ 1., -1., -1.])
    """

    def __init__(self, nodes: Any, values: Any) -> None:
        nodes, values = np.asarray(nodes), _as_given(values)
        if nodes.ndim != 1 or nodes.shape != values.shape:
            raise ValueError(
                "nodes and values must be two lists of equal length, got shapes "
                f"{nodes.shape} and {values.shape}"
            )
        if nodes.size == 0:
            raise ValueError("no labels: at least one node of each of two classes is needed")
        if not np.issubdtype(nodes.dtype, np.integer):
            raise TypeError(f"nodes must be integers (positions in the graph), got {nodes.dtype}")
        if nodes.min() < 0:
            raise ValueError(f"nodes must not be negative, got {nodes.min()}")
        missing = np.flatnonzero(_is_missing(values))
        if missing.size:
            raise ValueError(
                f"the label of node {nodes[missing[0]]} is missing ({values[missing[0]]!r}): "
                "leave unlabelled nodes out"
            )
        values = _one_type(values)
        order = np.argsort(nodes, kind="stable")
        nodes, values = nodes[order].astype(np.int64), values[order]
        repeated = nodes[1:] == nodes[:-1]
        clash = np.flatnonzero(repeated & (values[1:] != values[:-1]))
        if clash.size:
            at = clash[0]
            raise ValueError(
                f"node {nodes[at]} is labelled twice, as {values[at]} and as {values[at + 1]}: "
                "keep one of them"
            )
        first = np.concatenate([[True], ~repeated])
        self.nodes: NDArray[np.int64] = nodes[first]
        self.values: NDArray[Any] = values[first]
        self.classes: NDArray[Any] = np.unique(self.values)
        if self.classes.size != 2:
            raise ValueError(
                f"labels must show two classes, got {self.classes.size}: "
                f"{self.classes.tolist()[:5]}"
                + (
                    "; label a node of another class too"
                    if self.classes.size == 1
                    else "; keep the labels of two of them"
                )
            )
        self.codes: NDArray[np.float64] = np.where(self.values == self.classes[1], 1.0, -1.0)

    def __len__(self) -> int:
        return self.nodes.size

    def __repr__(self) -> str:
        low, high = self.classes.tolist()
        n_high = int((self.codes > 0).sum())
        return f"Labels({len(self)} nodes: {len(self) - n_high} x {low!r}, {n_high} x {high!r})"

    def require_within(self, n_nodes: int) -> None:
        """Refuse labels on nodes that the graph does not have."""
        validation.node_ids("labels", self.nodes, n_nodes)


def _as_given(values: Any) -> NDArray[Any]:
    """Return an array that keeps the types of a list's items, which numpy would make alike."""
    if not isinstance(values, list | tuple):
        values = np.asarray(values)
        if values.dtype != object or values.ndim != 1:
            return values
    array = np.empty(len(values), dtype=object)
    array[:] = [value.item() if isinstance(value, np.generic) else value for value in values]
    return array


def _is_missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    if values.dtype.kind not in "fmMO":
        return np.zeros(values.shape, dtype=bool)
    # NaN and NaT differ from themselves; of pandas' NA even that is NA
    return np.array([value is None or (value == value) is not True for value in values.tolist()])


def _one_type(values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype != object:
        return values
    kinds = sorted({type(value).__name__ for value in values})
    if len(kinds) > 1:
        raise TypeError(f"label values must be of one type, got {', '.join(kinds)}")
    return np.array(values.tolist())


def reveal(
    y: Any,
    fraction: float | None = None,
    *,
    counts: int | Mapping[Any, int] | None = None,
    seed: validation.Seed = None,
) -> Labels:
    """Reveal a few of the true labels, drawn at random within each class.

    Parameters
    ----------
    y : array_like, shape (n,)
        True class of every node.
    fraction : float in (0, 1], optional
        Share of each class to reveal, rounded, and at least one node.
    counts : int or mapping from class to int, optional
        Instead of ``fraction``: how many nodes of each class.
    seed : int, SeedSequence or Generator, optional

    Returns
    -------
    Labels

    Raises
    ------
    ValueError
        Neither or both of ``fraction`` and ``counts``; a fraction outside (0, 1]; more nodes
        asked of a class than it has.

    Examples
    --------
    >>> reveal([4, 4, 4, 9, 9, 9], counts={4: 2, 9: 1}, seed=0)
    Labels(3 nodes: 2 x 4, 1 x 9)
    """
    y = _one_type(_as_given(y))
    if y.ndim != 1:
        raise ValueError(f"y must be one-dimensional, got shape {y.shape}")
    missing = np.flatnonzero(_is_missing(y))
    if missing.size:
        raise ValueError(
            f"y must give every node's class, but that of node {missing[0]} is missing"
        )
    if (fraction is None) == (counts is None):
        raise ValueError("give either fraction or counts")
    classes, sizes = np.unique(y, return_counts=True)
    if fraction is not None:
        if not 0 < validation.real("fraction", fraction) <= 1:
            raise ValueError(f"fraction must lie in (0, 1], got {fraction}")
        wanted = {
            c: max(1, round(fraction * n)) for c, n in zip(classes.tolist(), sizes, strict=True)
        }
    elif isinstance(counts, Mapping):
        wanted = dict(counts)
    else:
        wanted = dict.fromkeys(classes.tolist(), validation.integer("counts", counts, 1))
    rng = np.random.default_rng(validation.seed_sequence(seed))
    chosen = []
    for value, count in wanted.items():
        members = np.flatnonzero(y == value)
        if members.size == 0:
            raise ValueError(f"y has no class {value!r}; it has {classes.tolist()[:10]}")
        validation.integer(f"the count of class {value!r}", count, 0, members.size)
        chosen.append(rng.choice(members, size=count, replace=False))
    nodes = np.sort(np.concatenate([np.empty(0, dtype=np.int64), *chosen]))
    return Labels(nodes, y[nodes])
