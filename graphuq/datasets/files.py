"""Data sets in files: found in ``$GRAPHUQ_DATA`` or the cache."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def folders() -> list[Path]:
    """Return where data files are looked for, in order."""
    named = os.environ.get("GRAPHUQ_DATA")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "graphuq"
    return [*([Path(named)] if named else []), cache]


def load_file(name: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of the data file ``NAME.npz``.

    Looked for in the folder that the environment variable ``GRAPHUQ_DATA`` names, then in
    ``~/.cache/graphuq``. Pickled objects are never read.

    Parameters
    ----------
    name : str
        Such as ``"mnist"`` or ``"vote"``.

    Raises
    ------
    FileNotFoundError
        The message names the folders that were searched.
    ValueError
        A damaged file, or one with pickled objects.

    Examples
    --------
    >>> import tempfile
    >>> from unittest.mock import patch
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/votes.npz", y=np.array(["no", "yes"]))
    ...     with patch.dict(os.environ, GRAPHUQ_DATA=folder):
    ...         load_file("votes")["y"]
    array(['no', 'yes'], dtype='<U3')
    """
    for folder in folders():
        path = folder / f"{name}.npz"
        if not path.is_file():
            continue
        try:
            content = io.BytesIO(path.read_bytes())
            with np.load(content, allow_pickle=False) as archive:
                return {key: archive[key] for key in archive.files}
        except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(f"{path} is damaged, or no plain npz file: {error}") from error
    searched = " or ".join(map(str, folders()))
    raise FileNotFoundError(
        f"there is no {name}.npz in {searched}: put the file there, or set GRAPHUQ_DATA to its "
        "folder"
    )
