"""What a session has besides answers, and goes on with when it is started again."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from graphuq.labeling.answers import AnswerFile
from graphuq.labeling.arguments import share
from graphuq.labeling.curve import Curve
from graphuq.labeling.kept_progress import Kept
from graphuq.labeling.known_labels import KnownLabels


class Course:
    """The goals of a session, its curve, and the classes that were added on the way.

    Parameters
    ----------
    file : AnswerFile
        They are kept beside it.
    names : sequence of str
        Names of the items.
    known : KnownLabels
        Gets the classes that were added in former sessions, and the answers of the file.
    threshold, goal, risk : float or None
        By default those that were kept.
    lock : RLock
        Held while anything changes, and never while it is written: a disk may hang.

    Attributes
    ----------
    threshold : float
    curve : Curve
    """

    def __init__(
        self,
        file: AnswerFile,
        names: Sequence[str],
        known: KnownLabels,
        threshold: float | None,
        goal: float | None,
        risk: float | None,
        lock: threading.RLock,
    ) -> None:
        self._file, self._names, self._known, self._lock = file, names, known, lock
        self._writing = threading.Lock()
        # beside a new file is the progress of another one, which was moved or removed
        kept = Kept() if file.is_new else Kept.read(file.path, names)
        self._added = [*kept.added]
        for name in self._added:
            known.add_class(name)
        for row in file.answers:
            known.add(row)
        self.threshold = threshold or kept.threshold
        n_labels = len(known.task().labels)  # rows may have been removed
        points = [point for point in kept.points if point.n_labels <= n_labels]
        self.curve = Curve(len(names), goal or kept.goal, risk or kept.risk, points)

    def add_class(self, name: str) -> bool:
        """Add a class; return whether it is new."""
        with self._lock:
            if not self._known.add_class(name):
                return False
            self._added.append(name)
        self.keep()
        return True

    def set_threshold(self, value: float) -> None:
        """Set the probability from which an item is decided."""
        self.threshold = share("threshold", value)
        self.keep()

    def set_goal(self, value: float, risk: float | None) -> None:
        """Set the accuracy to reach, and the accepted probability that it is not."""
        goal, risk = share("goal", value), None if risk is None else share("risk", risk)
        with self._lock:
            self.curve.set_goal(goal, self.curve.risk if risk is None else risk)
        self.keep()

    def points(self) -> list[tuple[int, int, float]]:
        """Return the decided items and the expected accuracy after each number of labels."""
        return [(p.n_labels, p.decided(self.threshold), p.expected) for p in self.curve.points]

    def keep(self) -> None:
        """Write all of it, unless another session may have the file by now.

        Several threads may call this; the last one writes the newest.
        """
        with self._writing:
            self._write()

    def close(self) -> None:
        """Write all of it, and close the file of answers: nothing is written from then on."""
        with self._writing:
            try:
                self._write()
            finally:
                with self._lock:
                    self._file.close()

    def _write(self) -> None:
        if self._file.is_there:
            curve = self.curve
            kept = Kept(self.threshold, curve.goal, curve.risk, curve.points, self._added)
            kept.write(self._file.path, self._names)
