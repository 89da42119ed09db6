"""A file that a command writes: its suffix, and what it may replace."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from graphuq.utils.atomic_files import require_destination

# Bytes at the beginning of a file that show which command wrote it.
N_READ = 1000


def require_output(
    path: Path, suffix: str, own: str | None = None, inputs: Iterable[Path | None] = ()
) -> None:
    """Refuse a file with another suffix, and one that exists and is not the command's own.

    Parameters
    ----------
    path : Path
    suffix : str
        That of the format which the command writes.
    own : str, optional
        A regular expression for the beginning of the files that the command writes, and which it
        may replace; by default it replaces none.
    inputs : iterable of Path or None
        Files that the command reads, and never replaces.

    Raises
    ------
    OSError, ValueError

    Examples
    --------
    >>> require_output(Path("page.pdf"), ".html")
    Traceback (most recent call last):
    ...
    ValueError: page.pdf: this command writes .html files: let the name end in .html
    """
    require_destination(path)
    if path.suffix.lower() != suffix:
        raise ValueError(
            f"{path}: this command writes {suffix} files: let the name end in {suffix}"
        )
    if not path.exists():
        return
    if any(given is not None and given.exists() and path.samefile(given) for given in inputs):
        raise FileExistsError(f"{path} is an input file: choose another --out")
    with open(path, "rb") as file:
        beginning = file.read(N_READ).decode(errors="replace")
    if own is None or (beginning and not re.match(own, beginning)):
        unknown = "" if own is None else " and has other contents than this command writes"
        raise FileExistsError(f"{path} exists{unknown}: choose another --out, or remove the file")
