"""The labels in a file of answers, for commands that read labels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq.labeling.answers import parse
from graphuq.labeling.book import Book
from graphuq.utils.typing import Array
from graphuq.utils.words import count


def read_answers(
    path: Path, names: Sequence[str], *, keep_apart: bool
) -> tuple[NDArray[Any], tuple[str, ...], Array]:
    r"""Return the label of each item or None, notes on how it was read, and confidences.

    A later answer of a person replaces the earlier one, and an empty label takes it back. The file
    is not changed, and may be that of a session that is running.

    Parameters
    ----------
    path : Path
    names : sequence of str
        The names of all items.
    keep_apart : bool
        Whether to leave out the random sample, which no model may learn from.

    Raises
    ------
    ValueError
        Not a file of answers, or answers to other items.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "answers.csv")
    >>> rows = "b,rose,1,Ann,,0\na,lily,1,Ann,,0\nb,lily,1,Ann,,0\nc,rose,1,Ann,,1\n"
    >>> _ = path.write_text("id,label,confidence,who,when,apart\n" + rows)
    >>> read_answers(path, ["a", "b", "c"], keep_apart=True)[0].tolist()
    ['lily', 'lily', None]
    """
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]  # the last line may be being written
    rows = parse(whole or content, names, path)
    book = Book(len({row.label for row in rows if row.label}))
    for row in rows:
        book.add(row)
    labels, sure = book.labeled(), np.ones(len(names))
    left_out = [node for node in labels if keep_apart and node in book.apart]
    column = np.full(len(names), None, dtype=object)
    confidence = book.confidence()
    for node in labels.keys() - left_out:
        column[node], sure[node] = labels[node], confidence[node]
    if not left_out:
        return column, (), sure
    note = f"left out {count(len(left_out), 'label')} of the random sample in {path}"
    return column, (note,), sure
