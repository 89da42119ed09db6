"""Posteriors as NetCDF files, written whole or not at all, and checked when they are read."""

from __future__ import annotations

import hashlib
import io
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from graphuq.posterior.to_arviz import groups_of
from graphuq.utils import validation
from graphuq.utils.atomic_files import require_replaceable, write_atomically

# The footer of a file begins so, and has the checksum of all bytes before it. HDF5 ignores what
# follows its own data.
FOOTER = b"\ngraphuq sha256 "
FOOTER_SIZE = len(FOOTER) + hashlib.sha256().digest_size

# Attributes of HDF5's dimensions, and the name of one that no variable has.
OF_THE_FORMAT = {"CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "_NCProperties"}
NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable"


def save(posterior: Any, path: str | os.PathLike[str]) -> None:
    """Write ``posterior`` to a NetCDF file, whole or not at all.

    The file is made in memory first: HDF5 ends the process where its own writes fail.

    Parameters
    ----------
    posterior : Posterior
    path : path-like
        Its folder must exist.

    Raises
    ------
    OSError
        The file cannot be written, or another file than `save` writes is there; what was there
        before is kept.
    """
    require_replaceable(validation.file_path("path", path), _is_own, "save")
    content = _encode(groups_of(posterior))
    with write_atomically(path) as temporary:
        Path(temporary).write_bytes(content)


def _is_own(path: Path) -> bool:
    """Return whether a file is one that `save` wrote, and not damaged."""
    import h5netcdf

    with suppress(Exception), h5netcdf.File(path) as found:  # damage can make it fail in any way
        return "node_summary" in found.groups
    return False


def _encode(groups: dict[str, xr.Dataset]) -> memoryview:
    """Return the content of a NetCDF file."""
    import h5netcdf

    content = io.BytesIO()
    with h5netcdf.File(content, "w") as file:
        for name, group in groups.items():
            group.dump_to_store(xr.backends.H5NetCDFStore(file.create_group(name)))
    footer = _footer_of(content.getbuffer())
    content.seek(0, io.SEEK_END)
    content.write(footer)
    return content.getbuffer()


def read_groups(path: str | os.PathLike[str]) -> dict[str, xr.Dataset]:
    """Return the groups in a NetCDF file, whose checksum matches if it has one.

    HDF5 reads some damaged files without end, so that they must not reach it. Files that arviz or
    another program wrote or changed have no checksum.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        No such file, or a folder.
    ValueError
        A file of another kind, or one that is damaged.
    """
    file = validation.file_path("path", path)
    if file.is_dir():
        raise IsADirectoryError(
            f"{path} is a folder: name a file in it that save wrote, such as posterior.nc in the "
            "folder that graphuq sample wrote"
        )
    if not file.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    content = file.read_bytes()
    last = content[-FOOTER_SIZE:]
    if last.startswith(FOOTER) and last != _footer_of(memoryview(content)[:-FOOTER_SIZE]):
        raise ValueError(
            f"{path} is damaged: its checksum does not match: copy the file again, or sample again"
        )
    try:
        return _decode(io.BytesIO(content))
    except Exception as error:  # damage can make a reader fail in any way
        raise ValueError(
            f"{path} is not a NetCDF file, or is damaged: name a file that save wrote, or copy it "
            f"again ({error})"
        ) from error


def _footer_of(content: bytes | memoryview) -> bytes:
    """Return the bytes that follow this content in a file."""
    return FOOTER + hashlib.sha256(content).digest()


def _decode(content: io.BytesIO) -> dict[str, xr.Dataset]:
    """Return the groups in the content of a NetCDF file.

    xarray's own reader takes five times as long, most of it for the sizes of dimensions.
    """
    import h5py

    with h5py.File(content, "r") as file:
        return {
            name: xr.decode_cf(_read_group(group)).load()
            for name, group in file.items()
            if isinstance(group, h5py.Group)
        }


def _read_group(group: Any) -> xr.Dataset:
    """Return the variables of a group as they are stored."""
    variables = {}
    for name, stored in group.items():
        if not hasattr(stored, "dims") or NO_VARIABLE in str(stored.attrs.get("NAME")):
            continue
        texts = stored.dtype.metadata and stored.dtype.metadata.get("vlen") is str
        scales = [scale[0].name for scale in stored.dims if len(scale)]
        dimensions = [scale.rpartition("/")[2] for scale in scales] or [name] * stored.ndim
        values = np.asarray(stored.asstr()[()], dtype=np.str_) if texts else stored[()]
        variables[name] = (dimensions, values, _attributes(stored))
    return xr.Dataset(variables, attrs=_attributes(group))


def _attributes(stored: Any) -> dict[str, Any]:
    """Return the attributes of a group or variable, without those of HDF5 and of NetCDF itself."""
    return {
        name: value[0] if getattr(value, "shape", None) == (1,) else value
        for name, value in stored.attrs.items()
        if name not in OF_THE_FORMAT and not name.startswith("_Netcdf4")
    }
