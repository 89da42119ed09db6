"""What answers say in sum: the label of each item, and what each person may take back.

The state depends on the rows of the file alone, so that a session that starts again goes on.
"""

from __future__ import annotations

from typing import NamedTuple

from graphuq.labeling.records import Answer

# Less sure labels say more against their class than for it, if there are two.
MIN_CONFIDENCE = 0.5


class Change(NamedTuple):
    """One person's change of one item: the answers before and after it."""

    node: int
    before: Answer | None
    after: Answer


class Book:
    """The answers so far.

    Attributes
    ----------
    n_answers : int
        Number of rows.
    rows : list of Answer
    apart : set of int
        Items of the random sample that were answered.

    Examples
    --------
    >>> book = Book()
    >>> book.add(Answer(3, "cat", 1.0, "Ann", "", False))
    >>> book.add(Answer(3, "dog", 0.6, "Ben", "", False))
    >>> book.label(3), book.labeled()
    ('cat', {3: 'cat'})
    >>> back = book.take_back("Ann")
    >>> back.node, back.label
    (3, '')
    >>> book.add(back)
    >>> book.labeled(), book.take_back("Ann")
    ({3: 'dog'}, None)
    """

    def __init__(self) -> None:
        self.rows: list[Answer] = []
        self.apart: set[int] = set()
        # of each item and person: the last answer
        self._own: dict[int, dict[str, Answer]] = {}
        self._changes: dict[str, list[Change]] = {}
        self._labels: dict[int, str] = {}

    @property
    def n_answers(self) -> int:
        """Number of rows."""
        return len(self.rows)

    def add(self, row: Answer) -> None:
        """Take a row of the file into account."""
        self.rows.append(row)
        if row.apart:
            self.apart.add(row.node)
        own = self._own.setdefault(row.node, {})
        before, changes = own.get(row.who), self._changes.setdefault(row.who, [])
        last = changes[-1] if changes and changes[-1].node == row.node else None
        if last is not None and _says(last.before) == _says(row):
            # the row restores what the person's last one replaced
            changes.pop()
            if last.before is None:
                del own[row.who]
            else:
                own[row.who] = row
        elif before is None or _says(before) != _says(row):
            changes.append(Change(row.node, before, row))
            own[row.who] = row
        label = self._surest(row.node)
        if label is None:
            self._labels.pop(row.node, None)
        else:
            self._labels[row.node] = label

    def take_back(self, who: str) -> Answer | None:
        """Return the row that takes back a person's last answer; None if there is none.

        Its time is that of the answer; the session writes its own.
        """
        changes = self._changes.get(who)
        if not changes:
            return None
        node, before, after = changes[-1]
        label, confidence = _says(before)
        return after._replace(node=node, label=label, confidence=confidence)

    def label(self, node: int) -> str | None:
        """Return the label of an item, or None."""
        return self._labels.get(node)

    def labeled(self) -> dict[int, str]:
        """Return the label of each item that has one."""
        return dict(self._labels)

    def _surest(self, node: int) -> str | None:
        """Return the label of which an item's annotators are surest together."""
        sure: dict[str, float] = {}
        for answer in self._own.get(node, {}).values():
            if answer.label and (answer.confidence or 0.0) >= MIN_CONFIDENCE:
                sure[answer.label] = sure.get(answer.label, 0.0) + (answer.confidence or 0.0)
        return max(sure, key=sure.__getitem__) if sure else None

    def was_seen(self, node: int, who: str) -> bool:
        """Whether this person labeled or skipped the item."""
        return who in self._own.get(node, {})


def _says(answer: Answer | None) -> tuple[str, float | None]:
    """Return the label and confidence of an answer; no answer says the same as a skip."""
    return ("", None) if answer is None else (answer.label, answer.confidence)
