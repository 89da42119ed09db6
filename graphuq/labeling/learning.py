"""The learner in its thread, and the newest of what it found."""

from __future__ import annotations

import threading

from graphuq.labeling.background import Background
from graphuq.labeling.course import Course
from graphuq.labeling.known_labels import KnownLabels
from graphuq.labeling.learner import Learned, Learner, Task


class Learning:
    """Learns from the labels whenever they change.

    Parameters
    ----------
    learner : Learner
    known : KnownLabels
    course : Course
        Gets the points of its curve, and is kept whenever parameters are chosen anew.
    lock : RLock
        Held while ``known`` is read and while results are set.

    Attributes
    ----------
    learned : Learned
        The newest.
    error : str or None
        What went wrong last.
    """

    def __init__(
        self, learner: Learner, known: KnownLabels, course: Course, lock: threading.RLock
    ) -> None:
        self._learner, self._known, self._course, self._lock = learner, known, course, lock
        self.error: str | None = None
        # the first questions, before anything is learned
        self.learned = learner.begin(known.task())
        self._background: Background[Task] = Background(self._learn)
        self.notice()

    def notice(self) -> None:
        """Learn from the labels as they are now."""
        with self._lock:
            self._background.give(self._known.task())

    @property
    def busy(self) -> bool:
        """Whether there are answers yet to learn from."""
        return self._background.busy

    def wait(self, seconds: float) -> bool:
        """Wait until all is learned; return whether it is."""
        return self._background.wait(seconds)

    def close(self) -> None:
        """End the thread."""
        self._background.close()

    def _learn(self, task: Task) -> None:
        """Learn, in the background; what goes wrong is shown, and does not stop the session."""
        tuned = self._learner.tuned
        try:
            for learned in self._learner.learn(task, lambda: self._background.has_newer):
                self._take(learned)
            if self._learner.tuned is not tuned:
                self._course.keep()
        except Exception as error:
            with self._lock:
                self.error = f"{type(error).__name__}: {error}"
        else:
            with self._lock:
                self.error = None

    def _take(self, learned: Learned) -> None:
        """Use what was learned."""
        with self._lock:
            self.learned = learned
            self._course.curve.add(learned)
