"""The file of answers: a plain CSV that only grows, and that holds what it acknowledged.

Each answer is one line, written by one call and followed by fsync. A process that is killed leaves
at most one line without its end, which nobody was told is kept. The next start removes it, or ends
it if all its fields are there. Where a line cannot be written, what was written of it is removed,
and the error is raised.

One process at a time may write: the file is locked, and the system ends the lock with the process.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from graphuq.labeling.records import Answer
from graphuq.utils.atomic_files import FULL, require_destination

COLUMNS = ("id", "label", "confidence", "who", "when", "apart")
HEADER = (",".join(COLUMNS) + "\n").encode()

# Programs that save a table may begin it with this mark.
MARK = "\ufeff".encode()

# A message lists this many ids that no item has.
MAX_LISTED = 3


class AnswerFile:
    """The answers of a session on disk, open for more.

    Parameters
    ----------
    path : Path
        Made if it does not exist.
    names : sequence of str
        The names of all items.

    Attributes
    ----------
    path : Path
    answers : list of Answer
        What the file held when it was opened.
    is_new : bool
        Whether it did not hold a line then.
    error : str or None
        Why the last answer could not be kept.

    Raises
    ------
    ValueError
        Another session has the file, it is no file of answers, or it has answers to other items.
    OSError
        The file cannot be opened or written.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "answers.csv"
    >>> file = AnswerFile(path, ["a", "b"])
    >>> file.append(Answer(1, "cat", 1.0, "Ann", "2026-01-01T12:00:00+00:00", False))
    >>> file.close()
    >>> print(path.read_text(), end="")
    id,label,confidence,who,when,apart
    b,cat,1,Ann,2026-01-01T12:00:00+00:00,0
    >>> again = AnswerFile(path, ["a", "b"])
    >>> again.answers[0].label
    'cat'
    >>> again.close()
    """

    def __init__(self, path: Path, names: Sequence[str]) -> None:
        self.path = Path(os.path.realpath(path))
        require_destination(self.path)
        self._names = names
        self.error: str | None = None
        self.is_new = False
        self._file = open(self.path, "ab+", buffering=0)  # noqa: SIM115  # closed by `close`
        try:
            _lock(self._file, self.path)
            self.answers = self._mend()
            self._size = self._size_on_disk()
        except BaseException:
            self._file.close()
            raise

    def _mend(self) -> list[Answer]:
        """Return the answers of the file; begin an empty one, and mend a line without its end."""
        self._file.seek(0)
        content = self._file.read()
        if HEADER.startswith(content):  # empty, or killed in the first line
            self.is_new = content != HEADER
            self._file.truncate(0)
            self._write(HEADER)
            _sync_folder(self.path)
            return []
        whole = _end_of_records(content)
        answers = parse(content[:whole], self._names, self.path)
        rest = content[whole:]
        if rest and _is_complete(rest):
            answers += parse(HEADER + rest, self._names, self.path)
            self._write(b"\n")
        elif rest:
            self._file.truncate(whole)
            os.fsync(self._file.fileno())
        return answers

    def append(self, *answers: Answer) -> None:
        """Write answers, all or none; they are on the disk when this returns.

        Raises
        ------
        OSError
            It cannot be kept: the disk is full, or another program moved or changed the file.
        """
        try:
            self._append(answers)
        except OSError as error:
            self.error = str(error)
            raise
        self.error = None

    def _append(self, answers: Iterable[Answer]) -> None:
        if self._file.closed:
            raise OSError(f"{self.path} is closed: start the session again")
        if not _is_open_file(self.path, self._file):
            raise OSError(
                f"{self.path} was moved or removed: put it back, or start the session again"
            )
        if self._size_on_disk() != self._size:
            raise OSError(
                f"another program changed {self.path}, and this answer was not kept: start the "
                "session again"
            )
        lines = (
            _line(
                self._names[answer.node],
                answer.label,
                "" if answer.confidence is None else f"{answer.confidence:g}",
                answer.who,
                answer.when,
                int(answer.apart),
            )
            for answer in answers
        )
        self._write("".join(lines).encode())
        self._size = self._size_on_disk()

    def _write(self, line: bytes) -> None:
        """Write all of the line, or nothing."""
        before = self._size_on_disk()
        try:
            left = line
            while left:
                left = left[self._file.write(left) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            self._file.truncate(before)
            if error.errno in FULL:
                raise OSError(
                    error.errno,
                    f"{os.strerror(error.errno)}; the answer was not kept: make room",
                    str(self.path),
                ) from error
            raise

    def _size_on_disk(self) -> int:
        return os.fstat(self._file.fileno()).st_size

    @property
    def is_there(self) -> bool:
        """Whether the file is open, and neither moved nor removed."""
        return not self._file.closed and _is_open_file(self.path, self._file)

    def close(self) -> None:
        """Close the file, which ends its lock."""
        self._file.close()


def _line(*fields: Any) -> str:
    r"""Return the line of a row.

    Examples
    --------
    >>> _line("a\rb", "cat", 1), _line("a", "cat", 1)
    ('"a\rb",cat,1\n', 'a,cat,1\n')
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerow(fields)  # puts quotes around both ends
    return text.getvalue().removesuffix("\r\n") + "\n"


def parse(content: bytes, names: Sequence[str], path: Path) -> list[Answer]:
    """Return the answers in a file's content.

    Raises
    ------
    ValueError
        Not a file of answers, or answers to other items.
    """
    position = {name: node for node, name in enumerate(names)}
    try:
        rows = list(csv.reader(io.StringIO(content.removeprefix(MARK).decode(), newline="")))
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path} is not a file of answers: {error}; name another file") from error
    if not rows or tuple(rows[0]) != COLUMNS:
        raise ValueError(
            f"{path} is not a file of answers, whose first line is {','.join(COLUMNS)}: name "
            "another file"
        )
    unknown = list(dict.fromkeys(row[0] for row in rows[1:] if row and row[0] not in position))
    if unknown:
        listed = ", ".join(map(repr, unknown[:MAX_LISTED]))
        raise ValueError(
            f"{path} has answers to {len(unknown)} items that are not among these, such as "
            f"{listed}: name the answers of these items, or a new file"
        )
    return [
        _answer(row, position, f"{path}, row {at}") for at, row in enumerate(rows) if at and row
    ]


def _answer(row: list[str], position: dict[str, int], where: str) -> Answer:
    """Return the answer of a row."""
    if len(row) != len(COLUMNS) or row[5] not in ("0", "1"):
        raise ValueError(f"{where}: expected {','.join(COLUMNS)}, got {','.join(row)}")
    name, label, confidence, who, when, apart = row
    try:
        sure = float(confidence) if confidence else None
    except ValueError:
        sure = -1.0
    if (label and not sure) or (sure is not None and not 0 <= sure <= 1):
        raise ValueError(f"{where}: confidence must lie in (0, 1], got {confidence!r}")
    return Answer(
        position[name], label, sure if label or sure == 0 else None, who, when, apart == "1"
    )


def is_answers(path: Path) -> bool:
    """Return whether a file begins as files of answers do."""
    with open(path, "rb") as file:
        return file.read(len(MARK) + len(HEADER)).removeprefix(MARK).startswith(HEADER.rstrip())


def _end_of_records(content: bytes) -> int:
    """Return where the last complete record ends; a newline between quotes ends none."""
    end = len(content)
    while (end := content.rfind(b"\n", 0, end)) >= 0:
        if content.count(b'"', 0, end) % 2 == 0:
            return end + 1
    return 0


def _is_complete(line: bytes) -> bool:
    """Whether only the end of the line is missing; the last column shows that all others are."""
    try:
        (row,) = csv.reader([line.decode()], strict=True)
    except (UnicodeDecodeError, ValueError, csv.Error):
        return False
    return len(row) == len(COLUMNS) and row[5] in ("0", "1")


def require_unlocked(path: Path) -> None:
    """Refuse a file that a session is writing, before any work."""
    if path.exists():
        with open(path, "ab") as file:
            _lock(file, path)


def _lock(file: Any, path: Path) -> None:
    """Refuse the file to other sessions while this process lives."""
    try:
        import fcntl
    except ImportError:  # no such locks here
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise ValueError(
            f"another session is writing {path}: open its page, or name another file"
        ) from error


def _is_open_file(path: Path, file: Any) -> bool:
    """Whether the open file still has this name."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except OSError:
        return False


def _sync_folder(path: Path) -> None:
    """Keep the name of a new file, too."""
    try:
        folder = os.open(path.parent, os.O_RDONLY)
    except OSError:  # folders cannot be opened here
        return
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
