"""Open the table in a file: its kind decides how it is read."""

from __future__ import annotations

import os
from pathlib import Path

from graphuq.cli.files import edge_lines, network_files
from graphuq.cli.files.loaded_table import LoadedTable
from graphuq.cli.files.text_table import TextTable

# Suffixes of tables, and of all files that can be read; texts may be compressed, .csv.gz.
TEXTS = (".csv", ".tsv", ".txt", ".data", *edge_lines.SUFFIXES)
TABLES = (*TEXTS, ".parquet", ".pq", ".xlsx", ".jsonl", ".ndjson", ".json")
SUFFIXES = (*TABLES, ".npz", *network_files.FORMATS, ".mtx", ".h5ad")

Table = TextTable | LoadedTable


def require_file(path: Path) -> str:
    """Return the suffix of a file, which must exist and be of a known kind."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it")
    if path.name == "-" or (path.exists() and not path.is_file()):
        raise ValueError(f"{path} is no regular file, and tables are read twice: save it as one")
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}: check the name and the folder")
    if not os.access(path, os.R_OK):
        raise PermissionError(f"{path} cannot be read: allow it, for example with chmod u+r")
    suffix = kind(path)
    if suffix not in SUFFIXES:
        raise ValueError(
            f"{path} has the unknown suffix {suffix!r}: save it as one of {', '.join(SUFFIXES)}"
        )
    return suffix


def kind(path: Path) -> str:
    """Return the suffix of a file, without the .gz of a compressed text.

    Examples
    --------
    >>> kind(Path("votes.CSV.gz")), kind(Path("digits.npz.gz"))
    ('.csv', '.gz')
    """
    suffix = path.suffix.lower()
    inner = Path(path.stem).suffix.lower()
    return inner if suffix == ".gz" and inner in TEXTS else suffix


def stem(path: Path) -> str:
    """Return the name of a file without its suffix, and without the .gz of a compressed text.

    Examples
    --------
    >>> stem(Path("data/votes.csv.gz")), stem(Path("votes.2024.csv"))
    ('votes', 'votes.2024')
    """
    path = path.absolute()  # the folder . has no name else
    inner = kind(path) in TEXTS and kind(path) != path.suffix.lower()
    return Path(path.stem).stem if inner else path.stem


def open_table(path: Path, encoding: str) -> Table:
    """Return the table in a file; nothing is read yet."""
    return TextTable(path, encoding) if kind(path) in TEXTS else LoadedTable(path, encoding)
