"""Tables with typed values: Parquet, Excel and JSON lines."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from graphuq.adapters import label_studio
from graphuq.cli.files.class_column import to_ids
from graphuq.cli.files.numbers import PADDED
from graphuq.cli.files.text_layout import N_LINES, find_names, note_of_title
from graphuq.utils.words import list_names

# The key of each annotation by which Prodigy knows its task.
HASH = "_task_hash"

# Other keys of Prodigy, besides those that begin with "_".
OWN_KEYS = {"answer", "accept", "options", "spans", "tokens", "relations", "config", "meta"}


@dataclass(frozen=True)
class LoadedTable:
    """A table that is read as a whole; its rows are numbered as its kind of file shows them.

    Attributes
    ----------
    path : Path
    encoding : str

    Raises
    ------
    ModuleNotFoundError
        The package that reads such files is not installed.
    ValueError
        A damaged file, a file without rows, or column names that are repeated.
    """

    path: Path
    encoding: str = "utf-8"

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return [str(name).strip() for name in self._read.columns]

    @property
    def empty_columns(self) -> list[str]:
        """See `TextTable.empty_columns`; such columns are left out already."""
        return []

    @property
    def separator(self) -> str:
        """What stands between names of columns in messages."""
        return ","

    @property
    def title(self) -> str:
        """See `TextTable.title`."""
        return str(self._read.attrs.get("title", ""))

    @property
    def notes(self) -> tuple[str, ...]:
        """See `TextTable.notes`."""
        return note_of_title(self.title)

    def frame(self, as_text: Collection[str] = (), decimal: str | None = None) -> pd.DataFrame:
        """Return the rows; see `TextTable.frame`."""
        frame = self._read.copy()
        frame.columns = pd.Index(self.columns, dtype=object)
        for name in as_text:
            texts = to_ids(frame[name])
            for at, cell in enumerate(frame[name]):
                if isinstance(cell, list | dict):
                    texts[at] = cell
            frame[name] = pd.Series(texts, frame.index, dtype=object)
        return frame

    def where(self, row: int, column: str) -> str:
        """Return the place of a cell in words."""
        return f"{self.path}, {self.line(row)}, column {column!r}"

    def line(self, row: int) -> str:
        """Return the place of a row in words."""
        # Spreadsheets and text files count from 1; the first row of a spreadsheet has the names.
        first = {".xlsx": 2, ".parquet": 0, ".pq": 0}.get(self.path.suffix.lower(), 1)
        first += self._read.attrs.get("n_above", 0)
        return f"row {row + first}"

    def cell(self, row: int, column: str) -> str:
        """Return a cell as text."""
        return str(self._read.iloc[row, self.columns.index(column)])

    def texts(self, column: str) -> list[str]:
        """Return the texts of a column; numbers are not texts."""
        return [value for value in self._read.iloc[:, self.columns.index(column)]
                if isinstance(value, str)]  # fmt: skip

    def padded(self) -> dict[str, str]:
        """Return a whole number that begins with 0 of each column that has one as a text."""
        found = {name: filter(PADDED.fullmatch, self.texts(name)) for name in self.columns}
        first = {name: next(texts, None) for name, texts in found.items()}
        return {name: text for name, text in first.items() if text is not None}

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the names of the columns, then the number and the cells of every row."""
        yield 0, self.columns
        texts = [to_ids(self._read.iloc[:, k]) for k in range(self._read.shape[1])]
        for row, cells in enumerate(zip(*texts, strict=True)):
            yield row, [cell or "" for cell in cells]

    @cached_property
    def _read(self) -> pd.DataFrame:
        reader = {".parquet": _read_parquet, ".pq": _read_parquet, ".xlsx": _read_excel}
        frame = reader.get(self.path.suffix.lower(), _read_json)(self.path, self.encoding)
        if frame.empty:
            raise ValueError(f"{self.path} has no rows: add one row per item")
        names = pd.Index([str(name).strip() for name in frame.columns])
        if names.has_duplicates:
            at = int(names.duplicated().argmax())
            what = (
                f"duplicate column {names[at]!r}" if names[at] else f"column {at + 1} has no name"
            )
            raise ValueError(f"{self.path}: {what}: give every column its own name, in one row")
        return frame


def _read_parquet(path: Path, encoding: str) -> pd.DataFrame:
    try:
        import pyarrow  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError as error:
        raise ModuleNotFoundError(
            "Parquet files need pyarrow: pip install 'graphuq[parquet]', or save as CSV"
        ) from error
    try:
        frame = pd.read_parquet(path, engine="pyarrow")
    except (pyarrow.ArrowException, OSError, ValueError, TypeError, KeyError) as error:
        raise ValueError(
            f"{path} is not a Parquet file, or is damaged ({error}): write it again"
        ) from error
    frame = frame if isinstance(frame.index, pd.RangeIndex) else frame.reset_index()
    return _spread_lists(path, frame)


def _read_excel(path: Path, encoding: str) -> pd.DataFrame:
    """Return the first sheet."""
    try:
        import openpyxl  # type: ignore[import-untyped, import-not-found, unused-ignore]  # noqa: F401
    except ImportError as error:
        raise ModuleNotFoundError(
            "Excel files need openpyxl: pip install 'graphuq[excel]', or save as CSV"
        ) from error
    try:
        sheets = pd.read_excel(path, sheet_name=None, header=None, dtype=object, engine="openpyxl")
    except Exception as error:  # damage can make the reader fail in any way
        raise ValueError(
            f"{path} is not an Excel file, or is damaged ({error}): save it again"
        ) from error
    sheets = {name: sheet for name, sheet in sheets.items() if not sheet.empty}
    if len(sheets) > 1:
        raise ValueError(
            f"{path} has several sheets ({list_names(list(sheets))}): save the one with the table "
            "by itself"
        )
    sheet = next(iter(sheets.values()), pd.DataFrame([[]]))
    cells = sheet.iloc[:N_LINES].astype(object).fillna("").astype(str)
    rows = [[cell.strip() for cell in row] for row in cells.to_numpy().tolist()]
    at = find_names(rows)
    frame = sheet.iloc[at + 1 :].reset_index(drop=True)
    frame.columns = pd.Index(rows[at])
    used = [bool(name) or bool(frame.iloc[:, k].notna().any()) for k, name in enumerate(rows[at])]
    frame = frame.loc[:, used].infer_objects()
    frame.attrs = {"title": next(filter(None, rows[0])) if at else "", "n_above": at}
    return frame


def _read_json(path: Path, encoding: str) -> pd.DataFrame:
    """Return a table from a list of objects, or from lines with one object each."""
    try:
        text = path.read_text(encoding=encoding)
    except (UnicodeDecodeError, LookupError) as error:
        raise ValueError(
            f"{path} is not {encoding.upper()} text ({error}): save the file as UTF-8, or name "
            "its encoding, for example --encoding latin-1"
        ) from error
    if text.lstrip().startswith("["):
        rows = _parse(path, "", text)
        if text.find('"annotations"') > 0 and label_studio.are_tasks(rows):
            rows = _rows_of_tasks(rows)
        places = [f"item {k}" for k in range(1, len(rows) + 1)]
    else:
        lines = [(k, line) for k, line in enumerate(text.splitlines(), 1) if line.strip()]
        rows = [_parse(path, f", line {k}", line) for k, line in lines]
        places = [f"line {k}" for k, _ in lines]
    if HASH in text:
        rows = _rows_of_prodigy(rows)
    for place, row in zip(places, rows, strict=True):
        if not isinstance(row, dict):
            raise ValueError(
                f"{path}, {place}: expected an object such as "
                f'{{"id": "a", "x": 1, "label": null}}, got {type(row).__name__}: write one object '
                "per item"
            )
    return _spread_lists(path, pd.DataFrame(rows))


def _rows_of_tasks(tasks: list[Any]) -> list[dict[str, Any]]:
    """Return a row for each annotation of Label Studio, and for each task without any.

    Its columns are id, the data of the task, and label; with several tags, one for each of them
    instead of label; and with several annotators, annotator.
    """
    choices = [[*label_studio.choices_of(task)] for task in tasks]
    tags = {str(tag) for found in choices for _, tag, _ in found}
    annotators = {who for found in choices for who, _, _ in found}
    rows = []
    for task, found in zip(tasks, choices, strict=True):
        data = task["data"]
        own = data.get(label_studio.NAME, data.get(label_studio.NODE, task.get("id")))
        row = {"id": own, **data}
        said: dict[Any, dict[str, Any]] = {}
        for who, tag, chosen in found:
            named = {"annotator": f"annotator {who}"} if len(annotators) > 1 else {}
            label = chosen[0] if len(chosen) == 1 else chosen
            said.setdefault(who, named)["label" if len(tags) == 1 else str(tag)] = label
        rows += [row | one for one in said.values()] or [row]
    return rows


def _rows_of_prodigy(rows: list[Any]) -> list[Any]:
    """Return annotations of Prodigy without its own keys.

    The label of one that was rejected is None; where all ask about the same label, it is "not" and
    that label.
    """
    own = [isinstance(row, dict) and HASH in row for row in rows]
    asked = [None if "accept" in row else row.get("label") for row in compress(rows, own)]
    only = asked[0] if asked and all(label == asked[0] for label in asked) else None
    labels = {"reject": f"not {only}"} if isinstance(only, str) else {}
    # a label without an answer is a suggestion, if others are answered
    unanswered = "ignore" if any("answer" in row for row in compress(rows, own)) else "accept"

    def convert(row: dict[str, Any]) -> dict[str, Any]:
        data = {key: row[key] for key in row if not key.startswith("_") and key not in OWN_KEYS}
        chosen, answer = row.get("accept", row.get("label")), row.get("answer", unanswered)
        return data | {"label": chosen if answer == "accept" else labels.get(answer)}

    return [convert(row) if is_own else row for row, is_own in zip(rows, own, strict=True)]


def _spread_lists(path: Path, frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table in which lists of one value are this value, and vectors are columns.

    Vectors are lists of several numbers, as many in each row that has one, such as embeddings.
    Other lists and objects stay as they are.

    Raises
    ------
    ValueError
        Vectors of different lengths, or whose columns would have the names of others.
    """
    parts: list[pd.Series | pd.DataFrame] = []
    for name in frame.columns:
        column = frame[name]
        lists = column.dtype == object and any(isinstance(x, list | np.ndarray) for x in column)
        if not lists:
            parts.append(column)
            continue
        cells = [x.tolist() if isinstance(x, np.ndarray) else x for x in column]
        cells = [
            (cell[0] if cell else None) if isinstance(cell, list) and len(cell) < 2 else cell
            for cell in cells
        ]
        spread = pd.Series(cells, frame.index, dtype=object, name=name)
        known = np.flatnonzero(spread.notna()).tolist()
        if not known or not all(_is_vector(cells[at]) for at in known):
            parts.append(spread)
            continue
        width = len(cells[known[0]])
        odd = next((at for at in known if len(cells[at]) != width), None)
        if odd is not None:
            raise ValueError(
                f"{path}: item {odd + 1} has {len(cells[odd])} numbers in {name!r}, and item "
                f"{known[0] + 1} has {width}: give every item as many"
            )
        names = [f"{name}[{k}]" for k in range(width)]
        if clash := {*names} & {*frame.columns}:
            raise ValueError(
                f"{path}: {name!r} holds vectors, whose columns are called as {min(clash)!r}, "
                "which is another column: rename that one"
            )
        X = np.full((len(cells), width), np.nan)
        X[known] = np.array([cells[at] for at in known], dtype=np.float64)
        parts.append(pd.DataFrame(X, frame.index, names))
    return pd.concat(parts, axis=1) if parts else frame


def _is_vector(cell: Any) -> bool:
    return isinstance(cell, list) and all(
        x is None or isinstance(x, float) or (type(x) is int and abs(x) < 2**1000) for x in cell
    )


def _parse(path: Path, where: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}{where}: not JSON ({error}): correct it") from error
