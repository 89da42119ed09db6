"""Data sets in files: read from ``$GRAPHUQ_DATA`` or the cache, or downloaded, and checked."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from graphuq.datasets.digests import DIGESTS, as_expected
from graphuq.datasets.fetch import FetchError, fetch
from graphuq.datasets.sources import SOURCES, Arrays
from graphuq.utils.atomic_files import read_npz


class DamagedFileError(ValueError):
    """A file that is damaged or differs from the tested version."""


def cache_folder() -> Path:
    """Return the folder of downloaded files."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "graphuq"


def load_file(name: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of the data file ``NAME.npz``.

    The file is searched in the folder that the environment variable ``GRAPHUQ_DATA`` names, then in
    the cache ``~/.cache/graphuq``. If it is in neither, and the package knows its source, pooch
    downloads it into the cache: ``pip install 'graphuq[fetch]'``. The arrays of known data sets
    must be exactly those with which the package is tested. Files with other names are your own, and
    may be any npz files. Pickled objects are never read.

    Parameters
    ----------
    name : str
        Name of the file without ``.npz``, such as ``"mnist"`` or ``"vote"``.

    Raises
    ------
    FileNotFoundError
        The file does not exist and could not be downloaded; the message says where to put it.
    PermissionError
        A folder or a file that cannot be read, or a cache that cannot be written.
    NotADirectoryError
        ``GRAPHUQ_DATA`` does not name a folder.
    ValueError
        A damaged file, a file with pickled objects, or with other arrays than expected. A file in
        the cache is first downloaded again.

    Examples
    --------
    >>> import os
    >>> import graphuq as gq
    >>> import tempfile
    >>> import numpy as np
    >>> from unittest.mock import patch
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/votes.npz", y=np.array(["no", "yes"]))
    ...     with patch.dict(os.environ, GRAPHUQ_DATA=folder):
    ...         gq.datasets.load_file("votes")["y"]
    array(['no', 'yes'], dtype='<U3')
    """
    proper = isinstance(name, str) and 0 < len(name) < 200 and "\0" not in name
    if not proper or Path(name).name != name:
        raise ValueError(
            "name must be that of a file, without folder and .npz, such as 'mnist', got "
            f"{name!r}; set GRAPHUQ_DATA to name a folder"
        )
    # 1. the folder that the user names
    named = os.environ.get("GRAPHUQ_DATA")
    if named and not Path(named).is_dir():
        raise NotADirectoryError(
            f"GRAPHUQ_DATA names {named}, which is not a folder: give the full path of one"
        )
    found = _read(Path(named), name) if named else None
    if found is not None:
        return found
    # 2. the cache, where a damaged file is downloaded again
    try:
        found = _read(cache_folder(), name)
    except DamagedFileError as error:
        if name not in SOURCES:
            raise
        return _fetch_or_explain(name, f"{error}, and it could not be fetched again: ", error)
    if found is not None:
        return found
    # 3. the source
    searched = f"there is no {name}.npz in {f'{named} or ' if named else ''}{cache_folder()}"
    if name in SOURCES:
        return _fetch_or_explain(name, f"{searched}, and it could not be fetched: ")
    raise FileNotFoundError(f"{searched}: {_remedy(name)}")


def _fetch_or_explain(name: str, prefix: str, damage: Exception | None = None) -> Arrays:
    try:
        return fetch(name, cache_folder())
    except FetchError as error:
        kind = FileNotFoundError if damage is None else DamagedFileError
        raise kind(f"{prefix}{error}. Otherwise {_remedy(name)}") from error


def _remedy(name: str) -> str:
    place = "put the file there, or set GRAPHUQ_DATA to its folder"
    return f"{place}; docs/how-to/data.md says what it holds" if name in DIGESTS else place


def _read(folder: Path, name: str) -> Arrays | None:
    """Return the checked arrays of a file in a folder, or None if the file does not exist."""
    path = folder / f"{name}.npz"
    try:
        arrays = read_npz(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError as error:
        raise PermissionError(
            f"{path} cannot be read: change its permissions, or set GRAPHUQ_DATA to a folder that "
            "you can read"
        ) from error
    except OSError as error:
        raise DamagedFileError(f"{path} cannot be read ({error}): replace it") from error
    except ValueError as error:
        raise DamagedFileError(str(error)) from error
    if not as_expected(name, arrays):
        raise DamagedFileError(
            f"{path} does not hold the {name!r} with which this package is tested: replace it, or "
            "rename it if it is a data set of your own"
        )
    return arrays
