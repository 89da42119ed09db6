"""Checksums of a file, its variables and its attributes, by which damage is noticed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import xarray as xr

# The attribute of a variable, and of a group, that holds its checksum.
CHECKSUM = "sha256"

# The footer of a file begins so, and has the checksum of all bytes before it. HDF5 ignores what
# follows its own data.
FOOTER = b"\ngraphuq sha256 "
FOOTER_SIZE = len(FOOTER) + hashlib.sha256().digest_size


def footer_of(content: bytes | memoryview) -> bytes:
    """Return the bytes that follow this content in a file.

    Examples
    --------
    >>> content = b"values" + footer_of(b"values")
    >>> require_footer(content)
    >>> require_footer(b"w" + content[1:])
    Traceback (most recent call last):
    ValueError: the checksum of the file does not match
    """
    return FOOTER + hashlib.sha256(content).digest()


def require_footer(content: bytes) -> None:
    """Refuse a file whose checksum does not match; a file without one comes from arviz.

    HDF5 reads some damaged files without end, so that they must not reach it.

    Raises
    ------
    ValueError
        The file is damaged or was changed.
    """
    last = content[-FOOTER_SIZE:]
    if last.startswith(FOOTER) and last != footer_of(memoryview(content)[:-FOOTER_SIZE]):
        raise ValueError("the checksum of the file does not match")


def add_checksums(groups: Mapping[str, xr.Dataset]) -> dict[str, xr.Dataset]:
    """Return copies of the groups in which each variable and each group has a checksum.

    Examples
    --------
    >>> groups = add_checksums({"node_summary": xr.Dataset({"mean": ("node", [0.5, -0.5])})})
    >>> require_checksums(groups)
    >>> groups["node_summary"]["mean"].values[0] = 0.25
    >>> require_checksums(groups)
    Traceback (most recent call last):
    ValueError: the checksum of mean in node_summary does not match
    """
    checked = {}
    for name, group in groups.items():
        copy = group.copy()
        for key, variable in copy.variables.items():
            variable.attrs[CHECKSUM] = _of_variable(str(key), variable)
        copy.attrs[CHECKSUM] = _of_group(name, groups, copy)
        checked[name] = copy
    return checked


def require_checksums(groups: Mapping[str, xr.Dataset]) -> None:
    """Refuse groups whose checksums do not match; groups without any come from arviz.

    Raises
    ------
    ValueError
        With the name of the variable.
    """
    holders: list[Any] = [v for group in groups.values() for v in group.variables.values()]
    if not any(CHECKSUM in holder.attrs for holder in [*holders, *groups.values()]):
        return
    for name, group in groups.items():
        for key, variable in group.variables.items():
            if variable.attrs.get(CHECKSUM) != _of_variable(str(key), variable):
                raise ValueError(f"the checksum of {key} in {name} does not match")
        if group.attrs.get(CHECKSUM) != _of_group(name, groups, group):
            raise ValueError(f"the checksum of the attributes of {name} does not match")


def _of_variable(name: str, variable: xr.Variable) -> str:
    """Return the checksum of a variable: of its name, dimensions, attributes and values."""
    values = np.asarray(variable.values)
    found = hashlib.sha256()
    if values.dtype.kind in "OUST":  # files do not keep the type of texts
        kind, content = "text", json.dumps(values.astype(str).tolist()).encode()
    else:
        kind = values.dtype.newbyteorder("<").str
        if values.dtype.kind == "f":  # files do not keep the sign of NaN
            values = np.where(np.isnan(values), np.array(np.nan, values.dtype), values)
        content = np.ascontiguousarray(values, dtype=kind).tobytes()
    head = [name, list(variable.dims), list(variable.shape), kind, _plain(variable.attrs)]
    found.update(json.dumps(head).encode())
    found.update(content)
    return found.hexdigest()


def _of_group(name: str, groups: Iterable[str], group: xr.Dataset) -> str:
    """Return the checksum of a group: of the names in it and beside it, and its attributes."""
    head = [name, sorted(groups), sorted(map(str, group.variables)), _plain(group.attrs)]
    return hashlib.sha256(json.dumps(head).encode()).hexdigest()


def _plain(attrs: Mapping[Any, Any]) -> dict[str, Any]:
    """Return attributes as plain Python values; files turn numbers into those of NumPy."""
    return {
        str(key): np.asarray(value).tolist()
        for key, value in sorted(attrs.items())
        if key != CHECKSUM
    }
