"""Data sets in files: found in ``$GRAPHUQ_DATA`` or the cache, or fetched; and checked."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from graphuq.datasets.digests import DIGESTS, as_expected
from graphuq.datasets.fetch import FetchError, fetch
from graphuq.datasets.sources import SOURCES, Arrays
from graphuq.whole import plain_arrays


class DamagedFileError(ValueError):
    """A file that holds something else than it should."""


def cache() -> Path:
    """Return the folder that fetched files are kept in."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "graphuq"


def load_file(name: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of the data file ``NAME.npz``.

    Looked for in the folder that the environment variable ``GRAPHUQ_DATA`` names, then in
    ``~/.cache/graphuq``; then fetched into that cache, if the set is one that the package knows
    where to find, by pooch: ``pip install 'graphuq[fetch]'``. The arrays of known sets are checked:
    they are, to the last bit, those that the package is tested with. Files under other names are
    yours, and only need to be npz files. Pickled objects are never read.

    Parameters
    ----------
    name : str
        Such as ``"mnist"`` or ``"vote"``.

    Raises
    ------
    FileNotFoundError
        No such file, and it could not be fetched; the message says what to place and where.
    PermissionError
        A folder or a file that may not be read, or a cache that may not be written.
    NotADirectoryError
        ``GRAPHUQ_DATA`` names no folder.
    ValueError
        A damaged file, one with pickled objects, or one with other arrays than those expected. A
        file in the cache is fetched again first.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from unittest.mock import patch
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/votes.npz", y=np.array(["no", "yes"]))
    ...     with patch.dict(os.environ, GRAPHUQ_DATA=folder):
    ...         load_file("votes")["y"]
    array(['no', 'yes'], dtype='<U3')
    """
    proper = isinstance(name, str) and 0 < len(name) < 200 and "\0" not in name
    if not proper or Path(name).name != name:
        raise ValueError(
            "name must be that of a file, without folder and .npz, such as 'mnist', got "
            f"{name!r}; folders are named by GRAPHUQ_DATA"
        )
    named = os.environ.get("GRAPHUQ_DATA")
    if named and not Path(named).is_dir():
        raise NotADirectoryError(
            f"GRAPHUQ_DATA names {named}, which is no folder: name one with its whole path"
        )
    found = _read(Path(named), name) if named else None
    if found is not None:
        return found
    try:
        found = _read(cache(), name)
    except DamagedFileError as error:
        if name not in SOURCES:
            raise
        return _fetched(name, f"{error}, and it could not be fetched again: ", error)
    if found is not None:
        return found
    searched = f"there is no {name}.npz in {f'{named} or ' if named else ''}{cache()}"
    if name in SOURCES:
        return _fetched(name, f"{searched}, and it could not be fetched: ")
    raise FileNotFoundError(f"{searched}: {_remedy(name)}")


def _fetched(name: str, prefix: str, damage: Exception | None = None) -> Arrays:
    try:
        return fetch(name, cache())
    except FetchError as error:
        kind = FileNotFoundError if damage is None else DamagedFileError
        raise kind(f"{prefix}{error}. Otherwise {_remedy(name)}") from error


def _remedy(name: str) -> str:
    place = "put the file there, or set GRAPHUQ_DATA to its folder"
    return f"{place}; docs/how-to/data.md says what it holds" if name in DIGESTS else place


def _read(folder: Path, name: str) -> Arrays | None:
    """Return the checked arrays of a folder's file, None if there is no such file."""
    path = folder / f"{name}.npz"
    try:
        arrays = plain_arrays(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError as error:
        raise PermissionError(
            f"{path} may not be read: give yourself the permission, or set GRAPHUQ_DATA to a "
            "folder that you can read"
        ) from error
    except OSError as error:
        raise DamagedFileError(f"{path} cannot be read ({error}): replace it") from error
    except ValueError as error:
        raise DamagedFileError(str(error)) from error
    if not as_expected(name, arrays):
        raise DamagedFileError(
            f"{path} does not hold the {name!r} that this package is tested with: replace it, or "
            "give it another name if it is a set of your own"
        )
    return arrays
