"""The folder of a result: a new one appears complete, an existing one gets file after file."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from graphuq.utils.atomic_files import umask

# Files of a result. A folder with the first is known as a result.
RUN = "run.json"
DRAWS = "posterior.nc"
PROBLEM = "problem.npz"
NODES = "nodes.csv"
UNCERTAIN = "uncertain.csv"
SUSPECTS = "suspects.csv"
GROUPS = "groups.csv"
REPORT = "report.html"

T = TypeVar("T")


def require_result_folder(path: Path, file: Path | None = None) -> None:
    """Refuse a folder that cannot be made, or has other files than a result, or that of other data.

    Parameters
    ----------
    path : Path
    file : Path, optional
        The file of items; by default the result of any file may be replaced.
    """
    if path.is_symlink() and not path.exists():
        raise FileNotFoundError(f"{path} is a link to nothing: choose another --out")
    if path.is_dir():
        if any(path.iterdir()) and not (path / RUN).is_file():
            raise FileExistsError(
                f"the folder {path} has files that graphuq did not write: choose another --out"
            )
        former = _file_of(path)
        if file is not None and former is not None and _differ(former, file):
            raise FileExistsError(
                f"the folder {path} has the result of {former}: choose another --out, or "
                "remove the folder"
            )
    elif path.exists():
        raise NotADirectoryError(f"{path} is a file: choose another --out for the folder")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.absolute().parent}: create it first")
    _make_beside(path).rmdir()  # a folder that cannot be written is known before any work


def _differ(former: Path, file: Path) -> bool:
    """Return whether two paths are those of two files; a file may have moved with its folder."""
    return former.name != file.name or (
        former.exists() and file.exists() and not former.samefile(file)
    )


def _file_of(path: Path) -> Path | None:
    """Return the file of items of the result in a folder, None if it is not known."""
    try:
        return Path(json.loads((path / RUN).read_text(encoding="utf-8"))["file"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


@contextmanager
def result_folder(path: Path) -> Iterator[Path]:
    """Provide a temporary folder that becomes ``path`` when all files are written.

    In an existing result, files of the same names are replaced one by one, and groups that the new
    one has not are removed.
    """
    fresh = _make_beside(path)
    try:
        yield fresh
        has_groups = (fresh / GROUPS).exists()
        if path.is_dir():
            for file in fresh.iterdir():
                os.replace(file, path / file.name)
            if not has_groups:
                (path / GROUPS).unlink(missing_ok=True)
        else:
            fresh.chmod(0o777 & ~umask())
            os.replace(fresh, path)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _make_beside(path: Path) -> Path:
    """Return a new temporary folder on the same disk as ``path``."""
    beside = path if path.is_dir() else path.absolute().parent
    try:
        return Path(tempfile.mkdtemp(prefix=".graphuq-", dir=beside))
    except OSError as error:
        raise OSError(
            f"cannot write to {beside} ({error.strerror}): choose another --out"
        ) from error


def write_or_rescue(write: Callable[[Path], T], folder: Path) -> T:
    """Return ``write(folder)``; if it fails, write to a temporary folder and say which.

    Raises
    ------
    OSError
        The folder cannot be written. The message names the temporary folder.
    """
    try:
        return write(folder)
    except OSError as error:
        rescued = Path(tempfile.mkdtemp(prefix="graphuq-"))
        try:
            write(rescued)
        except OSError:
            shutil.rmtree(rescued)
            raise error from None
        raise OSError(
            f"cannot write to {folder} ({error}): the result is in {rescued}; make room, and move "
            "it"
        ) from error
