"""Tables as they are written: CSV, TSV and Parquet, and where in them a cell stands."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

# What stands for a value that is not known, besides blank cells.
MISSING = ("", "?", "NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL")

SEPARATORS = (",", ";", "\t")


@dataclass(frozen=True)
class TextTable:
    """A CSV or TSV file whose first line names the columns.

    Attributes
    ----------
    path : Path
    encoding : str

    Raises
    ------
    ValueError
        An empty file, another encoding, rows of different lengths, columns without a name of
        their own.
    """

    path: Path
    encoding: str

    @cached_property
    def separator(self) -> str:
        """Comma, semicolon or tab, whichever the first line has most of; of TSV files the tab."""
        if self.path.suffix.lower() == ".tsv":
            return "\t"
        with self._text() as lines:
            first = next((line for line in lines if line.strip()), "")
        return max(SEPARATORS, key=first.count)

    @cached_property
    def columns(self) -> list[str]:
        """Names of the columns; the first may be blank."""
        line, names = next(self.rows(), (0, []))
        if not line:
            raise ValueError(f"{self.path} is empty: expected a line of column names, then rows")
        names = [name.strip() for name in names]
        if all(_is_number(name) for name in names):
            raise ValueError(
                f"{self.path}, line {line}: numbers stand where names of columns are expected: "
                "begin the file with a line of names, or, if it lists edges, say --edges"
            )
        for at, name in enumerate(names):
            if name in names[:at] or (not name and at > 0):
                fault = f"column {name!r} is there twice" if name else f"column {at + 1} is blank"
                raise ValueError(
                    f"{self.path}, line {line}: {fault}: the first line must give every column a "
                    "name of its own"
                )
        return names

    def frame(self, as_text: Collection[str] = ()) -> pd.DataFrame:
        """Return the rows: columns of numbers as such, missing values as NaN.

        Parameters
        ----------
        as_text : collection of str
            Columns to be left as they are written.
        """
        names = self.columns
        first = next(islice(self.rows(), 1, None), None)
        if first is None:
            raise ValueError(f"{self.path} names columns and has no rows below them")
        if len(first[1]) != len(names):
            self._refuse_ragged()
        try:
            with self._text() as lines:
                frame = pd.read_csv(
                    lines,
                    sep=self.separator,
                    header=0,
                    names=names,
                    dtype=dict.fromkeys(as_text, str),
                    keep_default_na=False,
                    na_values=list(MISSING),
                    skipinitialspace=True,
                    low_memory=False,
                )
        except UnicodeDecodeError as error:
            raise self._not_decoded() from error
        except (pd.errors.ParserError, csv.Error) as error:
            self._refuse_ragged()
            reason = " ".join(str(error).split())
            raise ValueError(f"{self.path} cannot be read as a table ({reason}): mend it") from None
        if frame.iloc[:, -1].isna().any():  # pandas fills up rows that are too short
            self._refuse_ragged()
        return frame

    def where(self, row: int, column: str) -> str:
        """Return where in the file a cell stands, in words."""
        line, _ = next(islice(self.rows(), row + 1, None))
        return f"{self.path}, line {line}, column {column!r}"

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the line number and cells of every row that is not blank, names included."""
        try:
            with self._text() as lines:
                reader = csv.reader(lines, delimiter=self.separator, skipinitialspace=True)
                line = 1
                for cells in reader:
                    if len(cells) > 1 or (cells and cells[0].strip()):
                        yield line, cells
                    line = reader.line_num + 1
        except UnicodeDecodeError as error:
            raise self._not_decoded() from error
        except csv.Error as error:
            raise ValueError(f"{self.path}, line {line}: {error}: mend that line") from error

    def _text(self) -> Any:
        # spreadsheets begin UTF-8 with a mark
        marked = self.encoding.lower().replace("_", "-") in ("utf-8", "utf8")
        try:
            return open(self.path, encoding="utf-8-sig" if marked else self.encoding, newline="")
        except LookupError as error:
            raise ValueError(
                f"there is no encoding {self.encoding!r}: utf-8, latin-1 and utf-16 are common"
            ) from error

    def _refuse_ragged(self) -> None:
        width = len(self.columns)
        for line, cells in self.rows():
            if len(cells) == width:
                continue
            held = f"{len(cells)} value" + "s" * (len(cells) != 1)
            at = f"after column {self.columns[min(len(cells), width) - 1]!r}"
            fault = f"it ends {at}" if len(cells) < width else f"it goes on {at}"
            raise ValueError(
                f"{self.path}, line {line}: {held} where the first line names {width} columns "
                f"({fault}): give every row as many, with text that holds {self.separator!r} in "
                "quotes"
            )

    def _not_decoded(self) -> ValueError:
        raw = self.path.read_bytes()
        remedy = "save the file as UTF-8, or say how it is written, such as --encoding latin-1"
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


@dataclass(frozen=True)
class ParquetTable:
    """A Parquet file; rows count from 0.

    Attributes
    ----------
    path : Path

    Raises
    ------
    ModuleNotFoundError
        Without pyarrow.
    ValueError
        A damaged file.
    """

    path: Path

    @cached_property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return [str(name) for name in self._read.columns]

    def frame(self, as_text: Collection[str] = ()) -> pd.DataFrame:
        """Return the rows; see `TextTable.frame`."""
        frame = self._read.copy()
        frame.columns = pd.Index(self.columns, dtype=object)
        for name in as_text:
            frame[name] = as_written(frame[name])
        return frame

    def where(self, row: int, column: str) -> str:
        """Return where in the file a cell stands, in words."""
        return f"{self.path}, row {row}, column {column!r}"

    @cached_property
    def _read(self) -> pd.DataFrame:
        try:
            import pyarrow  # type: ignore[import-untyped, import-not-found, unused-ignore]
        except ImportError as error:
            raise ModuleNotFoundError(
                "Parquet files need pyarrow: pip install 'graphuq[parquet]', or save as CSV"
            ) from error
        try:
            frame = pd.read_parquet(self.path, engine="pyarrow")
        except (pyarrow.ArrowInvalid, OSError) as error:
            raise ValueError(f"{self.path} is no Parquet file, or is damaged: {error}") from error
        if not isinstance(frame.index, pd.RangeIndex):
            frame = frame.reset_index()
        if frame.empty:
            raise ValueError(f"{self.path} has no rows")
        return frame


Table = TextTable | ParquetTable


def open_table(path: Path, encoding: str) -> Table:
    """Return the table in a file, of which nothing is read yet."""
    if path.suffix.lower() in (".parquet", ".pq"):
        return ParquetTable(path)
    return TextTable(path, encoding)


def as_written(values: pd.Series) -> pd.Series:
    """Return values as text, whole numbers without a point, missing ones as NaN.

    Examples
    --------
    >>> as_written(pd.Series([1.0, None, 0.0])).tolist()
    ['1', nan, '0']
    """
    known = values.dropna()
    if pd.api.types.is_float_dtype(known) and (known % 1 == 0).all():
        known = known.astype("int64")
    text = known.astype(str).str.strip()
    return text[~text.isin(MISSING)].astype(object).reindex(values.index)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
