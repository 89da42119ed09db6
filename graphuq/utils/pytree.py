"""Nested tuples, dataclasses and dicts as a flat dict of arrays, and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np


def flatten(tree: Any, name: str, blank: Any) -> dict[str, Any]:
    """Return the arrays and numbers of nested tuples, dataclasses and dicts, by their path.

    Parameters
    ----------
    tree : tuple, dataclass, dict, array or number
    name : str
        The path of ``tree`` itself; a child adds a slash and its own name.
    blank : same type as ``tree``
        Values that equal those of ``blank`` are left out, and so is None.

    Examples
    --------
    >>> flatten({"a": (1, 2), "b": None}, "state", blank={"a": (1, 0), "b": None})
    {'state/a/1': array(2)}
    """
    if tree is None or tree is blank:
        return {}
    if not _is_node(tree):
        value = np.asarray(tree)
        same = blank is not None and np.array_equal(value, np.asarray(blank), equal_nan=True)
        return {} if same else {name: value}
    arrays = {}
    blank_children = dict(_children(blank))
    for key, child in _children(tree):
        arrays.update(flatten(child, f"{name}/{key}", blank_children.get(key)))
    return arrays


def unflatten(blank: Any, arrays: dict[str, Any], name: str) -> Any:
    """Return ``blank`` with its values replaced by the arrays that `flatten` returned.

    Examples
    --------
    >>> unflatten({"a": (1, 0), "b": None}, {"state/a/1": np.array(2)}, "state")
    {'a': (1, 2), 'b': None}
    """
    if not _is_node(blank):
        value = arrays.get(name)
        if value is None:
            return blank
        return value if blank is None or isinstance(blank, np.ndarray) else value.tolist()
    parts = {key: unflatten(child, arrays, f"{name}/{key}") for key, child in _children(blank)}
    if isinstance(blank, dict):
        # a dict may have gained keys since it was blank
        inside = [key[len(name) + 1 :] for key in arrays if key.startswith(f"{name}/")]
        new = {key: arrays[f"{name}/{key}"] for key in inside if "/" not in key}
        return {**new, **parts}
    if isinstance(blank, tuple):
        return blank._make(parts.values()) if hasattr(blank, "_make") else tuple(parts.values())
    return dataclasses.replace(blank, **parts)


def _is_node(tree: Any) -> bool:
    """Whether ``tree`` has children, and is not a leaf."""
    return isinstance(tree, dict | tuple) or (
        dataclasses.is_dataclass(tree) and not isinstance(tree, type)
    )


def _children(tree: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(tree, dict):
        yield from tree.items()
    elif isinstance(tree, tuple):
        names = getattr(tree, "_fields", range(len(tree)))
        yield from zip(map(str, names), tree, strict=True)
    elif _is_node(tree):
        for field in dataclasses.fields(tree):
            yield field.name, getattr(tree, field.name)
