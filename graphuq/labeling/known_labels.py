"""All labels of a session: those before it, the answers, and which are of the random sample."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import numpy as np

from graphuq.labeling.arguments import one_line
from graphuq.labeling.book import Book
from graphuq.labeling.learner import START, Task, labels_of
from graphuq.labeling.records import Answer
from graphuq.labeling.stopping import Drawn
from graphuq.labels.labels import RANDOM, Labels
from graphuq.utils import validation

# An item of the random sample stands for the items without a label when it was drawn. Questions
# then take hard items out of the rest, and not out of the sample: it counts for the expected
# accuracy of the rest while at most this share of all items was labeled since. With 15% and 30% the
# expected accuracy of overlapping moons was 1 and 5 hundredths too low.
MAX_NEWER = 0.1


class KnownLabels:
    """The labels and the classes so far.

    Parameters
    ----------
    n_items : int
    before : dict of int to str
        Labels known before the session; an answer replaces them.

    Attributes
    ----------
    book : Book
        The answers.
    classes : list of str

    Examples
    --------
    >>> known = KnownLabels(13, {0: "cat"})
    >>> [known.add_class(name) for name in ("cat", "dog", "cat")]
    [True, True, False]
    >>> known.add(Answer(2, "dog", 1.0, "Ann", "", False))
    >>> known.labels()
    {0: 'cat', 2: 'dog'}
    >>> sorted(row.node for row in known.draw(2, np.random.default_rng(0)))
    [9, 10]
    """

    def __init__(self, n_items: int, before: Mapping[int, str]) -> None:
        self.n_items, self._before = n_items, dict(before)
        self.book = Book()
        self.classes: list[str] = []
        # labels besides those of the random sample and those before: now, and when items were drawn
        self._n_told = 0
        self._told_at: dict[int, int] = {}

    def row(self, node: int, label: str, confidence: float | None, who: str) -> Answer:
        """Return the row of an answer that is given now."""
        return Answer(node, label, confidence, who, _now(), node in self.book.apart)

    def add(self, row: Answer) -> None:
        """Take an answer into account."""
        had = self.label(row.node) is not None
        self.book.add(row)
        if row.apart:
            self._told_at.setdefault(row.node, self._n_told)
        else:
            self._n_told += (self.label(row.node) is not None) - had
        if row.label:
            self.add_class(row.label)

    def add_class(self, name: str) -> bool:
        """Add a class; return whether it is new."""
        if one_line("class", name) in self.classes:
            return False
        self.classes.append(name)
        self.book.set_classes(len(self.classes))
        return True

    def label(self, node: int) -> str | None:
        """Return the label of an item, or None."""
        label = self.book.label(node)
        return self._before.get(node) if label is None else label

    def labels(self) -> dict[int, str]:
        """Return all labels, those of the random sample among them."""
        return {**self._before, **self.book.labeled()}

    @property
    def apart(self) -> frozenset[int]:
        """The random sample, answered or not: the learner does not see its labels."""
        return frozenset(self.book.apart)

    def labels_apart(self) -> dict[int, str]:
        """Return the labels of the random sample that are certain: a guess is no truth."""
        labels, sure = self.book.labeled(), self.book.confidence()
        return {node: labels[node] for node in self.book.apart if sure.get(node) == 1}

    def labels_current(self) -> dict[int, str]:
        """Return those of `labels_apart` whose items stand for the items without a label."""
        labels = self.labels_apart().items()
        return {node: label for node, label in labels if self._is_current(node)}

    def _is_current(self, node: int) -> bool:
        """Whether an item of the random sample stands for the items without a label."""
        return self._n_told - self._told_at[node] <= MAX_NEWER * self.n_items

    def drawn(self) -> Drawn:
        """Return how many items of the random sample have no certain label, and may be drawn."""
        certain = self.labels_apart()
        unclear = [n for n in self.book.apart if self._is_current(n) and n not in certain]
        waiting = [node for node in unclear if not self.book.is_answered(node)]
        return Drawn(len(unclear), len(waiting), self._most())

    def _most(self) -> int:
        """Return how many items can be drawn."""
        n_done = len(self.labels().keys() | self.apart)
        return max(0, self.n_items - max(n_done, len(self.apart) + START))

    def draw(self, k: int, rng: np.random.Generator) -> list[Answer]:
        """Return rows that say which k items without a label are drawn for the random sample."""
        done = self.labels().keys() | self.apart
        left = [node for node in range(self.n_items) if node not in done]
        remedy = f"{len(left)} items have no label, and {START} of all must stay to learn from"
        validation.integer("k", k, 1, self._most(), remedy)
        drawn = rng.choice(left, k, replace=False).tolist()
        return [Answer(node, "", None, "", _now(), True) for node in drawn]

    def task(self) -> Task:
        """Return what there is to learn from."""
        apart = self.apart
        labels = {node: label for node, label in self.labels().items() if node not in apart}
        sure = self.book.confidence()
        current, drawn = self.labels_current(), self.drawn()
        return Task(labels, tuple(self.classes), apart, sure, current, drawn)

    def to_labels(self) -> Labels:
        """Return the labels to learn from.

        Raises
        ------
        ValueError
            Fewer than two classes.
        """
        return labels_of(self.task())

    def to_sample(self) -> Labels | None:
        """Return the certain labels of the random sample, or None if there are none."""
        known = self.labels_apart()
        if not known:
            return None
        values, classes = list(known.values()), list(self.classes)
        return Labels(list(known), values, classes, sampling=RANDOM)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
