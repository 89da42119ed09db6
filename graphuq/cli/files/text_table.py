"""Tables in text files: CSV and TSV, and the place of each cell for messages."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from graphuq.cli.files.numbers import PADDED, is_number
from graphuq.cli.files.text_layout import (
    BLANK,
    N_LINES,
    SEPARATORS,
    Layout,
    find_footer,
    find_layout,
    note_of_title,
    split,
)
from graphuq.utils.words import count, shorten

# Texts that mark a missing value of a feature.
MISSING = ("", "?", "NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL")

# A message lists this many rows of a wrong length.
MAX_RAGGED = 5

# Bytes at the end of a file in which a footer is looked for.
TAIL = 8192

# Characters that are read at a time.
CHUNK = 1 << 20

# The name of a column without name and values, such as a spreadsheet writes at the end of rows.
EMPTY = "empty column {}"


@dataclass(frozen=True)
class TextTable:
    """A CSV or TSV file, maybe compressed, whose first line names the columns.

    Attributes
    ----------
    path : Path
    encoding : str

    Raises
    ------
    ValueError
        An empty file, a wrong encoding, rows of different lengths, or column names that are
        missing or repeated.
    """

    path: Path
    encoding: str

    @cached_property
    def layout(self) -> Layout:
        """See `find_layout`; the separator is a tab in TSV files."""
        is_tsv = ".tsv" in [suffix.lower() for suffix in self.path.suffixes[-2:]]
        try:
            with self._open() as lines:
                return find_layout([*islice(lines, N_LINES)], "\t" if is_tsv else None)
        except UnicodeError as error:
            raise self._decoding_error() from error

    @property
    def separator(self) -> str:
        """What stands between cells."""
        return self.layout.separator

    @property
    def title(self) -> str:
        """What stands above the names of the columns; "" if nothing does."""
        return self.layout.title

    @property
    def notes(self) -> tuple[str, ...]:
        """What is said of lines above and below the table, which are left out."""
        written = [line.strip().strip(self.separator) for line in _lines_of(self.footer)]
        below = [line for line in written if line]
        more = f" ({count(len(below), 'line')})" if len(below) > 1 else ""
        told = (f"left out {shorten(text, 60)!r}{more}, which stands below the last row"
                for text in below[:1])  # fmt: skip
        return (*note_of_title(self.title), *told)

    @cached_property
    def footer(self) -> str:
        """What stands below the last row; see `find_footer`."""
        whole = codecs.lookup(self.encoding).name.startswith(("utf-16", "utf-32"))
        raw = self._bytes() if whole or self.path.suffix.lower() == ".gz" else self._tail()
        lines = _lines_of(raw.decode(self.encoding, errors="ignore"))
        lines = lines if whole or len(raw) < TAIL else lines[1:]
        return "".join(lines[find_footer(lines, self._width, self.separator) :])

    def _tail(self) -> bytes:
        with open(self.path, "rb") as file:
            file.seek(max(0, self.path.stat().st_size - TAIL))
            return file.read()

    @cached_property
    def _width(self) -> int:
        """How many cells the first row has, or that of the names if there is none."""
        with self._open() as file:
            lines = [line for line in islice(file, self.layout.n_above, N_LINES) if line.strip()]
        return len(split(lines[min(1, len(lines) - 1)], self.separator)) if lines else 0

    @cached_property
    def columns(self) -> list[str]:
        """Names of the columns; the first may be blank."""
        line, names = next(self.rows(), (0, []))
        if not line:
            raise ValueError(f"{self.path} is empty: expected a line of column names, then rows")
        names = [name.strip() for name in names]
        names[0] = names[0].removeprefix("#").strip() or names[0]  # of a header that is a comment
        if all(is_number(name) for name in names):
            raise ValueError(
                f"{self.path}, line {line}: expected column names, got numbers: begin the file "
                "with a line of column names, or use --edges if it lists edges, or is a matrix of "
                "their weights"
            )
        if any(not name for name in names[1:]):
            names = self._name_empty(names)
        faults = []
        for at, name in enumerate(names):
            if name in names[:at] or (not name and at > 0):
                faults.append(f"duplicate column {name!r}" if name else
                              f"column {at + 1} has no name")  # fmt: skip
        if faults:
            raise ValueError(
                f"{self.path}, line {line}: {', '.join(dict.fromkeys(faults))}: give every column "
                "its own name in the first line"
            )
        return names

    def require_names(self) -> None:
        """Refuse a first line that is a row: its values stand in their columns below, too."""
        (line, first), *rows = islice(self.rows(), N_LINES)
        names = [name.strip() for name in first]
        below = [
            name
            for at, name in enumerate(names)
            if not is_number(name)
            and any(at < len(cells) and cells[at].strip() == name for _, cells in rows)
        ]
        named = names[0] == "" or {"id", "label"} & {name.lower() for name in names}
        if below and not named and (2 * len(below) >= len(names) or any(map(is_number, names))):
            example = self.separator.join([f"x{k}" for k in range(1, len(names))] + ["label"])
            raise ValueError(
                f"{self.path}, line {line}: expected column names, got a row: {below[-1]!r} stands "
                f"in its column below, too: begin the file with a line such as {example}"
            )

    @property
    def empty_columns(self) -> list[str]:
        """Columns that have neither a name in the file nor values."""
        return [name for at, name in enumerate(self.columns) if name == EMPTY.format(at + 1)]

    def frame(self, as_text: Collection[str] = (), decimal: str | None = None) -> pd.DataFrame:
        """Return the rows: numeric columns as numbers, missing values as NaN.

        Parameters
        ----------
        as_text : collection of str
            Columns that stay as they are written; only blanks are missing in them.
        decimal : str, optional
            The decimal mark, a point by default.
        """
        names = self.columns
        first = next(islice(self.rows(), 1, None), None)
        if first is None:
            raise ValueError(f"{self.path} has column names but no rows: add one row per item")
        if len(first[1]) != len(names):
            self._refuse_ragged()
        try:
            with self._text() as lines:
                frame = pd.read_csv(
                    lines,
                    sep=r"\s+" if self.separator == BLANK else self.separator,
                    header=0,
                    names=names,
                    dtype=dict.fromkeys(as_text, str),
                    keep_default_na=False,
                    na_values={n: [""] if n in as_text else list(MISSING) for n in names},
                    decimal=decimal or ".",
                    skipinitialspace=True,
                    low_memory=False,
                )
        except UnicodeError as error:
            raise self._decoding_error() from error
        except (pd.errors.ParserError, pd.errors.EmptyDataError, csv.Error) as error:
            self._refuse_ragged()
            reason = " ".join(str(error).split())
            raise ValueError(
                f"{self.path} cannot be read as a table ({reason}): correct the file"
            ) from None
        if frame.iloc[:, -1].isna().any():  # pandas fills up rows that are too short
            self._refuse_ragged()
        return frame

    def where(self, row: int, column: str) -> str:
        """Return the place of a cell in words."""
        return f"{self.path}, {self.line(row)}, column {column!r}"

    def line(self, row: int) -> str:
        """Return the place of a row in words."""
        # In a table of one column, pandas counts an empty text in quotes, and `rows` does not.
        line, _ = next(islice(self.rows(), row + 1, None), (row + 2, []))
        return f"line {line}"

    def cell(self, row: int, column: str) -> str:
        """Return a cell as it is written."""
        texts = self.texts(column)
        return texts[row] if row < len(texts) else ""  # see `where`

    def texts(self, column: str) -> list[str]:
        """Return the cells of a column as they are written."""
        at = self.columns.index(column)
        return [cells[at].strip() for _, cells in islice(self.rows(), 1, None)]

    def padded(self) -> dict[str, str]:
        """Return a whole number that begins with 0 of each column whose first rows have one."""
        found: dict[str, str] = {}
        for _, cells in islice(self.rows(), 1, N_LINES):
            for name, cell in zip(self.columns, cells, strict=False):
                if PADDED.fullmatch(cell.strip()):
                    found.setdefault(name, cell.strip())
        return found

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the line number and the cells of every row that is not blank, from the first."""
        line = first = self.layout.n_above + 1
        is_header = True
        try:
            with self._text() as text:
                lines = map(str.rstrip, text) if self.separator == BLANK else text
                reader = csv.reader(lines, delimiter=self.separator, skipinitialspace=True)
                for cells in reader:
                    if len(cells) > 1 or (cells and cells[0].strip()):
                        row_name = [""] if is_header and self.layout.has_row_names else []
                        yield line, row_name + cells
                        is_header = False
                    line = reader.line_num + first
        except UnicodeError as error:
            raise self._decoding_error() from error
        except csv.Error as error:
            raise ValueError(f"{self.path}, line {line}: {error}: correct that line") from error

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield the number and the text of every line."""
        try:
            with self._open() as lines:
                yield from enumerate(lines, 1)
        except UnicodeError as error:
            raise self._decoding_error() from error

    def _text(self) -> Any:
        """Return the file, open where the table begins."""
        file = self._open()
        for _ in range(self.layout.n_above):
            file.readline()
        if not self.footer:
            return file
        with file:
            return io.StringIO(file.read().removesuffix(self.footer), newline="")

    def _open(self) -> Any:
        """Return the open file."""
        # Spreadsheets begin UTF-8 files with a byte order mark.
        has_mark = self.encoding.lower().replace("_", "-") in ("utf-8", "utf8")
        encoding = "utf-8-sig" if has_mark else self.encoding
        try:
            if self.path.suffix.lower() == ".gz":
                return io.TextIOWrapper(io.BytesIO(self._unpacked), encoding, newline="")
            return open(self.path, encoding=encoding, newline="")
        except LookupError as error:
            raise ValueError(
                f"unknown encoding {self.encoding!r}: use for example utf-8, latin-1 or utf-16"
            ) from error

    def _bytes(self) -> bytes:
        """Return the contents, decompressed."""
        return self._unpacked if self.path.suffix.lower() == ".gz" else self.path.read_bytes()

    @cached_property
    def _unpacked(self) -> bytes:
        try:
            return gzip.decompress(self.path.read_bytes())
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(
                f"{self.path} is not a gzip file, or is damaged ({error}): compress it again"
            ) from error

    def _name_empty(self, names: list[str]) -> list[str]:
        """Return the names, with one for each column that has neither a name nor values."""
        filled = {at for _, cells in islice(self.rows(), 1, None) for at, cell in enumerate(cells)
                  if cell.strip()}  # fmt: skip
        return [
            EMPTY.format(at + 1) if at and not name and at not in filled else name
            for at, name in enumerate(names)
        ]

    def _refuse_ragged(self) -> None:
        width = len(self.columns)
        ragged = [(line, cells) for line, cells in self.rows() if len(cells) != width]
        if not ragged:
            return
        line, cells = ragged[0]
        every = len(ragged) == sum(1 for _ in self.rows()) - 1
        hint = ""
        if every and all(len(cells) == width + 1 for _, cells in ragged):
            hint = "; if write.table of R wrote row names, use write.csv"
            if not any(cells[-1].strip() for _, cells in ragged):
                hint = f"; every row ends with {self.separator!r}: end the first line with it, too"
        if not every and line > max((n for n, row in self.rows() if len(row) == width), default=0):
            hint = "; if they are no rows, remove them, and what stands below the last row"
        last = self.columns[min(len(cells), width) - 1]
        fault = f"{'ends' if len(cells) < width else 'continues'} after column {last!r}"
        more = ", ".join(str(line) for line, _ in ragged[1:MAX_RAGGED])
        if len(ragged) > MAX_RAGGED:
            more += f" and {len(ragged) - MAX_RAGGED} more"
        also = f"; the length of {len(ragged)} rows is wrong, also in lines {more}" if more else ""
        raise ValueError(
            f"{self.path}, line {line}: expected {count(width, 'value')} as in the first line, "
            f"got {len(cells)} (the row {fault}{also}): give every row the same number of values, "
            f"and put texts that contain {self.separator!r} in quotes{hint}"
        )

    def decoding_error(self) -> ValueError | None:
        """Return the error of a file in another encoding, None if there is none."""
        try:
            with self._open() as lines:
                while lines.read(CHUNK):
                    pass
        except UnicodeError:
            return self._decoding_error()
        return None

    def likely_encoding(self) -> str:
        """Return an encoding to try if that of the file is unknown."""
        raw = self._bytes()
        if raw[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            return "utf-16"
        if not re.search(rb"[\x80-\x9f]", raw):
            return "latin-1"
        # that of Windows has letters and signs where latin-1 has control characters
        with suppress(UnicodeDecodeError):
            raw.decode("cp1252")
            return "cp1252"
        return "latin-1"

    def _decoding_error(self) -> ValueError:
        raw = self._bytes()
        remedy = (
            "save the file as UTF-8, or name its encoding, for example --encoding "
            f"{self.likely_encoding()}"
        )
        try:
            raw.decode(self.encoding)
        except UnicodeDecodeError as error:
            start = raw.rfind(b"\n", 0, error.start) + 1
            before = raw[start : error.start].decode("latin-1")
            line = raw.count(b"\n", 0, error.start) + 1
            separator = max(SEPARATORS, key=before.count)
            return ValueError(
                f"{self.path}, line {line}, column {before.count(separator) + 1}: byte "
                f"0x{raw[error.start]:02x} is not {self.encoding.upper()} text: {remedy}"
            )
        return ValueError(f"{self.path} is not {self.encoding.upper()} text: {remedy}")


def _lines_of(text: str) -> list[str]:
    """Return the lines of a text with their ends, as a file has them."""
    return list(io.StringIO(text, newline=""))
