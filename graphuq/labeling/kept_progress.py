"""The goals and the curve of a session, in a file beside its answers, for the next session.

To learn from the answers up to each point again would take as long as the first time. The answers
need nothing of this file: where it cannot be written or read, the curve begins anew.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from graphuq.labeling.curve import Point
from graphuq.utils.atomic_files import read_npz, write_atomically


class Kept(NamedTuple):
    """The threshold and the goal that were set last, and the points of the curve.

    Examples
    --------
    >>> import tempfile
    >>> answers = Path(tempfile.mkdtemp(), "labels.csv")
    >>> Kept(0.9, 0.99, [Point(5, 0.75, np.ones(3))]).write(answers)
    >>> Kept.read(answers).points
    [Point(n_labels=5, expected=0.75, counts=array([1., 1., 1.]))]
    """

    threshold: float
    goal: float
    points: list[Point]

    @classmethod
    def read(cls, answers: Path) -> Kept | None:
        """Return what was kept beside a file of answers, or None."""
        try:
            found = read_npz(_beside(answers))
            columns = (found["n_labels"].tolist(), found["expected"].tolist(), found["counts"])
            points = [Point(*row) for row in zip(*columns, strict=True)]
            return cls(float(found["threshold"]), float(found["goal"]), points)
        except (OSError, ValueError, KeyError):  # there is none, or another program wrote it
            return None

    def write(self, answers: Path) -> None:
        """Write it beside a file of answers."""
        with (
            suppress(OSError),
            write_atomically(_beside(answers)) as temporary,
            open(temporary, "wb") as file,
        ):
            np.savez_compressed(
                file,
                threshold=self.threshold,
                goal=self.goal,
                n_labels=[point.n_labels for point in self.points],
                expected=[point.expected for point in self.points],
                counts=[point.counts for point in self.points],
            )


def _beside(answers: Path) -> Path:
    return answers.with_name(f"{answers.name}.progress.npz")
