"""Files that are replaced completely or not at all, and npz files without pickled objects."""

from __future__ import annotations

import errno
import io
import os
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq.utils import validation

# What the system says if a disk is full, a quota used up, or a file as long as it may be.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

# The last record of a zip file states at COUNT_AT, in two bytes, how many files there are.
END_OF_ZIP, COUNT_AT, MAX_COUNT = b"PK\x05\x06", 10, 2**16 - 1


@contextmanager
def write_atomically(path: str | os.PathLike[str]) -> Iterator[str]:
    """Give the path of a temporary file, which replaces ``path`` if the block succeeds.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "result.txt"
    ...     with write_atomically(path) as temporary:
    ...         _ = Path(temporary).write_text("complete")
    ...     path.read_text()
    'complete'
    """
    path = Path(os.path.realpath(validation.file_path("path", path)))  # a link stays one
    require_destination(path)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    os.close(handle)
    try:
        yield temporary
        os.chmod(temporary, 0o666 & ~umask())
        with open(temporary, "rb") as written:  # a full disk may say so only now
            os.fsync(written.fileno())
        os.replace(temporary, path)
    except BaseException as error:
        os.unlink(temporary)
        if isinstance(error, OSError) and error.errno in FULL:
            remedy = "nothing was written: make room, or name a file on another disk"
            raise OSError(
                error.errno, f"{os.strerror(error.errno)}; {remedy}", str(path)
            ) from error
        raise


def require_replaceable(path: Path, is_own: Callable[[Path], bool], who: str) -> None:
    """Refuse to replace a file that ``who`` did not write; an empty one may be replaced.

    Raises
    ------
    FileExistsError
    """
    if path.is_file() and path.stat().st_size and not is_own(path):
        raise FileExistsError(
            f"{path} exists and is not a file that {who} wrote: choose another name, or remove the "
            "file"
        )


def holds_arrays(path: Path, *names: str) -> bool:
    """Return whether a file is an npz file with arrays of these names."""
    with suppress(OSError, ValueError, zipfile.BadZipFile), zipfile.ZipFile(path) as archive:
        return {f"{name}.npy" for name in names} <= {*archive.namelist()}
    return False


def read_npz(path: str | os.PathLike[str]) -> dict[str, NDArray[Any]]:
    """Return the arrays of an npz file; pickled objects are never read.

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        The file is damaged or is not an npz file.
    """
    content = Path(path).read_bytes()
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            found = {name: archive[name] for name in archive.files}
        if min(len(found), MAX_COUNT) != _stated_count(content):
            raise ValueError("arrays are missing")
        if not all(isinstance(array, np.ndarray) for array in found.values()):
            raise ValueError("a file of the archive is no array")  # NumPy returns its bytes
        return found
    except Exception as error:  # damage can make a reader fail in any way
        raise ValueError(
            f"{path} is damaged, is not an npz file, or holds pickled objects, which are never read"
        ) from error


def _stated_count(content: bytes) -> int:
    """Return the number of files that the end of a zip file states.

    zipfile does not look at it: a flipped bit in the length of a comment hides all later files,
    and one in a name may give two files the same name.
    """
    at = content.rfind(END_OF_ZIP) + COUNT_AT
    return int.from_bytes(content[at : at + 2], "little")


def require_destination(path: Path) -> None:
    """Refuse a path where no file can be written."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} does not exist: make it first")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it")
    if path.exists() and not path.is_file():
        raise FileExistsError(f"{path} is a device or a pipe, which would be replaced: name a file")
    try:
        tempfile.TemporaryFile(dir=path.parent).close()
    except OSError as error:
        raise OSError(
            f"cannot write to the folder {path.parent} ({error.strerror}): name a file in another"
        ) from error


def umask() -> int:
    """Return the permission bits that new files lack. The system shows them only when set."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
