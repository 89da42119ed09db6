"""Files that are written whole, or not at all, and archives of plain arrays."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[str]:
    """Give a file to write to, which takes the place of ``path`` if all goes well."""
    path = Path(path)
    require_place(path)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    os.close(handle)
    try:
        yield temporary
        os.chmod(temporary, 0o666 & ~umask())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def plain_arrays(path: str | os.PathLike[str]) -> dict[str, NDArray[Any]]:
    """Return the arrays of an npz file; pickled objects are never read.

    Raises
    ------
    OSError
        It cannot be read.
    ValueError
        It is damaged, or something else.
    """
    content = io.BytesIO(Path(path).read_bytes())
    try:
        with np.load(content, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except Exception as error:  # damage can make a reader fail in any way
        raise ValueError(
            f"{path} is damaged, no npz file, or holds pickled objects, which are never read"
        ) from error


def require_place(path: Path) -> None:
    """Refuse a path where no file can be."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} does not exist: make it first")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it")


def umask() -> int:
    """Return the permissions that new files do not get."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
