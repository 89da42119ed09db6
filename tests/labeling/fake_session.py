"""A session that knows nothing: it asks items in their order, and keeps answers in a list."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from graphuq.labeling.records import Answer, Neighbor, Opinion, Progress, Question, Suspect


class FakeSession:
    """What the page needs of a session; ``full`` makes the disk refuse answers."""

    def __init__(self, n, classes=("cat", "dog"), names=None):
        self.n, self.classes, self.full = n, tuple(classes), False
        self.path = Path("labels.csv")
        self.names = [f"n{k}" for k in range(n)] if names is None else names
        self.rows, self.skipped, self.sample = [], set(), 0
        self.goal, self.threshold, self.risk, self.stop = 0.95, 0.95, 0.05, None
        self.expected, self.busy = (0.5, (0.4, 0.6)), False
        self.before = 0  # labels known before the session

    def question(self, who):
        done = {row.node for row in self.rows if row.label} | self.skipped
        node = next((node for node in range(self.n) if node not in done), None)
        return None if node is None else self.look(node)

    def look(self, node):
        near = tuple(Neighbor(row.node, row.label, 0.5) for row in self.rows[-3:])
        return Question(node, "It is next.", None, near, self.sample > 0)

    def answer(self, node, label, *, confidence=1.0, who):
        if self.full:
            raise OSError(28, "No space left on device")
        self.rows.append(Answer(node, label, confidence, who, "2026-01-01", False))

    def skip(self, node, *, who):
        self.skipped.add(node)

    def undo(self, who):
        return self.rows.pop().node if self.rows else None

    def add_class(self, name):
        self.classes = tuple(dict.fromkeys((*self.classes, name)))

    def set_threshold(self, value):
        self.threshold = value

    def set_goal(self, value, risk=None):
        self.goal, self.risk = value, risk or self.risk

    def start_random_sample(self, k):
        self.sample = k

    def opinion(self, node):
        K = len(self.classes)
        if K < 2:
            return None
        return Opinion(self.classes, np.full(K, 1 / K))

    def progress(self):
        n, known = len(self.rows), self.before + len(self.rows)
        return Progress(
            self.n, n, known, known, self.threshold, *self.expected, None, None, self.stop,
            self.busy, error=None,
        )  # fmt: skip

    def table(self):
        labels = {row.node: row.label for row in self.rows}
        return pd.DataFrame({"id": self.names, "label": [labels.get(k) for k in range(self.n)]})

    def curve(self):
        return [(k, k, 0.5) for k in range(len(self.rows))]

    def embedding(self):
        return np.column_stack([np.arange(self.n), np.arange(self.n) % 7]).astype(float)

    def states(self):
        return np.zeros(self.n, int), np.linspace(0, 1, self.n), np.zeros(self.n, bool)

    def suspects(self, k=20):
        return [Suspect(row.node, row.label, row.label, 0.5, True) for row in self.rows[:k]]

    def confusion(self):
        return np.eye(len(self.classes))

    def history(self, who=None, k=50):
        return self.rows[::-1][:k]

    def close(self):
        pass
