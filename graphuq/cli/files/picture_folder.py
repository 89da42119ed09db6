"""A folder of pictures: their pixels are features, and sub-folders are classes."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq.cli.files.archive import features_of
from graphuq.cli.files.contents import Contents
from graphuq.cli.files.feature_file import read_features
from graphuq.cli.files.label_table import LABEL
from graphuq.cli.files.options import ReadOptions
from graphuq.cli.files.problems import MAX_NAMED
from graphuq.labeling.page.pictures import SUFFIXES, read_gray
from graphuq.utils.memory import require_memory
from graphuq.utils.words import count, is_unicode, list_names

# Pictures become gray squares of this many pixels a side.
SIDE = 32

# The column of the sub-folder of each picture, "" for those in the folder itself.
FOLDER = "folder"

# The end of the name of a folder of results, which may stand beside the pictures.
RESULTS = "-graphuq"


def read_pictures(path: Path, options: ReadOptions) -> Contents:
    """Return the pictures in a folder and in its sub-folders, in the order of their paths.

    A sub-folder names the class of its pictures. Files that cannot be read are left out, with a
    note. The features are gray levels, or those of ``--features``, which has a row for each file of
    a picture.

    Raises
    ------
    ValueError
        No pictures.
    ModuleNotFoundError
        Pillow is not installed.
    """
    names, others = _list(path)
    pixels, readable, broken = _read(path, names)
    if len(pixels) < 2:
        raise ValueError(f"{path} has {count(len(pixels), 'picture')} that can be read: add some")
    notes: list[str] = []
    for what, left_out in (("file", others), ("picture", broken)):
        if left_out:
            some = list_names(left_out, MAX_NAMED)
            why = "no pictures" if what == "file" else "not readable"
            notes.append(f"left out {count(len(left_out), what)}, {why}: {some}")
    shape: tuple[int, int] | None = None
    kept: NDArray[np.bool_] | None = None
    if options.features is None:
        X, _, _, shape, encoding = features_of(path, pixels, options)
        notes.append(
            f"features: gray levels of {SIDE} x {SIDE} pixels. Photographs are told apart better "
            "by those of an image model: --features FILE.npy"
        )
    else:
        given = read_features(options.features, len(names))[readable]
        X, kept, more, _, encoding = features_of(options.features, given, options)
        notes += more
    ids = np.array(names)[readable]
    within = [str(PurePosixPath(name).parent) for name in ids]
    folders = np.array(["" if folder == "." else folder for folder in within], dtype=object)
    columns: dict[str, Any] = {FOLDER: folders}
    if folders.any():
        columns[LABEL] = np.array([folder or None for folder in folders], dtype=object)
        if options.labels is None and LABEL not in options.ignore:
            notes.append(
                "labels: the names of sub-folders (if they are no classes, --ignore label)"
            )
    images = pixels.reshape(len(pixels), -1)
    images = images if kept is None else images[kept]
    return Contents(
        ids, X, None, columns, tuple(notes), kept, shape, encoding=encoding, images=images
    )


def read_new_pictures(path: Path) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return the names and the pixels of the pictures in a folder."""
    names, _ = _list(path)
    pixels, readable, _ = _read(path, names)
    return np.array(names)[readable], pixels.reshape(len(pixels), -1)


def _list(path: Path) -> tuple[list[str], list[str]]:
    """Return the names of pictures, and of other files that are not hidden."""
    found = []
    for folder, inner, files in os.walk(path):
        inner[:] = sorted(n for n in inner if not n.startswith(".") and not n.endswith(RESULTS))
        place = Path(folder).relative_to(path)
        visible = [name for name in files if not name.startswith(".")]
        found += [(place / n).as_posix() for n in visible if Path(folder, n).is_file()]
    fit = [name for name in found if name.lower().endswith(SUFFIXES) and is_unicode(name)]
    names = sorted(fit, key=lambda name: name.split("/"))  # as paths are
    if not names:
        raise IsADirectoryError(
            f"{path} is a folder without pictures ({', '.join(SUFFIXES)}): name a file in it, or a "
            "folder of pictures"
        )
    others = [name.encode(errors="replace").decode() for name in {*found} - {*names}]
    return names, sorted(others)


def _read(path: Path, names: list[str]) -> tuple[Any, NDArray[np.bool_], list[str]]:
    """Return the pixels of the pictures that can be read, which these are, and the others."""
    require_memory(8.0 * len(names) * SIDE**2, "the pixels of all pictures", "take fewer")
    pixels, readable = np.empty((len(names), SIDE, SIDE)), np.ones(len(names), dtype=np.bool_)
    for at, name in enumerate(names):
        try:
            pixels[at] = read_gray(path / name, SIDE)
        except (OSError, ValueError, SyntaxError):
            readable[at] = False
    return pixels[readable], readable, [names[at] for at in np.flatnonzero(~readable)]
