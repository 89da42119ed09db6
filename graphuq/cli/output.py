"""What commands print, and the folder that is written whole or not at all."""

from __future__ import annotations

import json
import math
import os
import shutil
import tempfile
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from graphuq.whole import umask

WIDTH = 88

# The file by which a folder is known as a result.
RUN = "run.json"


def table(header: Sequence[str], rows: Sequence[Sequence[str]], indent: str = "") -> None:
    """Print columns flush right."""
    widths = [max(len(row[k]) for row in [header, *rows]) for k in range(len(header))]
    for row in [header, ["-" * width for width in widths], *rows]:
        cells = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        print(indent + "  ".join(cells))


def paragraph(text: str, indent: str = "") -> None:
    """Print text in lines of a readable length."""
    print(
        textwrap.fill(
            text,
            WIDTH,
            initial_indent=indent,
            subsequent_indent=indent,
            break_on_hyphens=False,
            break_long_words=False,
        )
    )


def as_json(value: Any) -> str:
    """Return JSON of plain values and numpy's; what is not finite becomes null."""
    return json.dumps(_plain(value), indent=2, ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _plain(held) for name, held in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(held) for held in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, Path):
        return str(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def require_result_folder(path: Path) -> None:
    """Refuse to write into a folder that is neither new nor empty nor a result."""
    if path.is_dir():
        if any(path.iterdir()) and not (path / RUN).is_file():
            raise FileExistsError(
                f"the folder {path} holds files that are no result of graphuq: choose another --out"
            )
    elif path.exists():
        raise NotADirectoryError(f"{path} is a file: choose another --out for the folder")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.absolute().parent}: make it first")


@contextmanager
def result_folder(path: Path) -> Iterator[Path]:
    """Give a new folder to write into, which becomes ``path`` if all goes well.

    In a result that is there already, files of the same names are replaced.
    """
    try:
        beside = path if path.is_dir() else path.absolute().parent
        fresh = Path(tempfile.mkdtemp(prefix=".graphuq-", dir=beside))
    except OSError as error:
        raise OSError(f"cannot write beside {path} ({error}): choose another --out") from error
    try:
        yield fresh
        if path.is_dir():
            for file in fresh.iterdir():
                os.replace(file, path / file.name)
        else:
            fresh.chmod(0o777 & ~umask())
            os.replace(fresh, path)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
