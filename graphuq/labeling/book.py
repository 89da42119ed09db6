"""What answers say in sum: the label of each item, and what each person may take back.

The state depends on the rows of the file alone, so that a session that starts again goes on.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from graphuq.labeling.combine import combine
from graphuq.labeling.records import Answer


class Change(NamedTuple):
    """One person's change of one item: the answers before and after it."""

    node: int
    before: Answer | None
    after: Answer


class Book:
    """The answers so far.

    Parameters
    ----------
    n_classes : int

    Attributes
    ----------
    n_answers : int
        Number of answers.
    rows : list of Answer
        The answers; rows that nobody gave, which say what was drawn, are not among them.
    apart : dict of int to None
        Items of the random sample, in the order in which they were drawn.

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

    def __init__(self, n_classes: int = 2) -> None:
        self._n_classes = n_classes
        self.rows: list[Answer] = []
        self.apart: dict[int, None] = {}
        # of each item and person: the last answer
        self._own: dict[int, dict[str, Answer]] = {}
        self._changes: dict[str, list[Change]] = {}
        self._labels: dict[int, tuple[str, float]] = {}

    @property
    def n_answers(self) -> int:
        """Number of answers."""
        return len(self.rows)

    def add(self, row: Answer) -> None:
        """Take a row of the file into account."""
        if row.apart:
            self.apart.setdefault(row.node)
            if not row.who and not row.label:  # drawn for the random sample
                return
        self.rows.append(row)
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
        self._combine(row.node)

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

    def set_classes(self, n_classes: int) -> None:
        """Say how many classes there are, which matters where people contradict each other."""
        self._n_classes = n_classes
        for node in self._own:
            self._combine(node)

    def _combine(self, node: int) -> None:
        """Combine the answers to an item."""
        said = [(one.label, one.confidence or 0.0) for one in self._own[node].values() if one.label]
        found = combine(said, self._n_classes)
        if found is None:
            self._labels.pop(node, None)
        else:
            self._labels[node] = found

    def label(self, node: int) -> str | None:
        """Return the label of an item, or None."""
        found = self._labels.get(node)
        return None if found is None else found[0]

    def labeled(self) -> dict[int, str]:
        """Return the label of each item that has one."""
        return {node: label for node, (label, _) in self._labels.items()}

    def confidence(self) -> dict[int, float]:
        """Return the confidence of each label."""
        return {node: sure for node, (_, sure) in self._labels.items()}

    def said_of(self, node: int) -> dict[str, str]:
        """Return who gave an item which label."""
        own = self._own.get(node, {})
        return {who: answer.label for who, answer in own.items() if answer.label}

    def is_answered(self, node: int) -> bool:
        """Whether anybody labeled or skipped the item."""
        return bool(self._own.get(node))

    def contradictions(self) -> dict[int, tuple[str, str]]:
        """Return two labels of each item to which people gave several, and none is likeliest."""
        found = {}
        for node in self._own:
            said = Counter(self.said_of(node).values())
            if node not in self._labels and len(said) > 1:
                (one, _), (other, _) = said.most_common(2)
                found[node] = one, other
        return found

    def latest(self, who: str | None, k: int) -> list[Answer]:
        """Return the last k answers of a person, or of all, the last one first."""
        return [row for row in self.rows if who is None or row.who == who][::-1][:k]

    def has(self, row: Answer) -> bool:
        """Whether a person's last answer to an item says the same."""
        return _says(self._own.get(row.node, {}).get(row.who)) == _says(row)

    def was_seen(self, node: int, who: str) -> bool:
        """Whether this person labeled or skipped the item."""
        return who in self._own.get(node, {})


def _says(answer: Answer | None) -> tuple[str, float | None]:
    """Return the label and confidence of an answer; those of none if it was taken back."""
    return ("", None) if answer is None else (answer.label, answer.confidence)
