"""The goals, the curve and the added classes of a session, beside its answers, for the next one.

To learn from the answers up to each point again would take as long as the first time. The answers
need nothing of this file: where it cannot be written or read, or is that of other items, the curve
begins anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphuq.labeling.arguments import check_names, one_line, share
from graphuq.labeling.curve import Point
from graphuq.labeling.learner import BINS
from graphuq.utils.atomic_files import read_npz, write_atomically

# The threshold, the goal and the risk, if none was set.
DEFAULT, RISK = 0.95, 0.05


class Kept(NamedTuple):
    """The goals that were set last, the points of the curve, and added classes.

    Examples
    --------
    >>> import tempfile
    >>> answers = Path(tempfile.mkdtemp(), "labels.csv")
    >>> points = [Point(5, 0.75, np.ones(BINS))]
    >>> Kept(0.9, 0.99, 0.1, points, ["cat"]).write(answers, ["a", "b"])
    >>> kept = Kept.read(answers, ["a", "b"])
    >>> kept.goal, kept.points[0].n_labels, kept.added
    (0.99, 5, ['cat'])
    >>> Kept.read(answers, ["c", "d"])
    Kept(threshold=0.95, goal=0.95, risk=0.05, points=(), added=())
    """

    threshold: float = DEFAULT
    goal: float = DEFAULT
    risk: float = RISK
    points: Sequence[Point] = ()
    added: Sequence[str] = ()

    @classmethod
    def read(cls, answers: Path, names: Sequence[str]) -> Kept:
        """Return what was kept beside a file of answers to these items, if anything was."""
        try:
            found = read_npz(_beside(answers))
            if found["items"].item() != _digest(names):
                return cls()
            keys = "threshold", "goal", "risk"
            threshold, goal, risk = (share(key, found[key].item()) for key in keys)
            added = [one_line("class", name) for name in check_names("classes", found["added"])]
            return cls(threshold, goal, risk, _points(found), added)
        # there is none, or another program wrote it
        except (OSError, TypeError, ValueError, KeyError):
            return cls()

    def write(self, answers: Path, names: Sequence[str]) -> None:
        """Write it beside a file of answers to these items."""
        with (
            suppress(OSError),
            write_atomically(_beside(answers)) as temporary,
            open(temporary, "wb") as file,
        ):
            np.savez_compressed(
                file,
                items=_digest(names),
                threshold=self.threshold,
                goal=self.goal,
                risk=self.risk,
                n_labels=np.array([point.n_labels for point in self.points], dtype=np.int64),
                expected=[point.expected for point in self.points],
                counts=np.reshape([point.counts for point in self.points], (-1, BINS)),
                added=np.array(self.added, dtype=np.str_),
            )


def _points(found: Mapping[str, NDArray[Any]]) -> list[Point]:
    """Return the points of a file, and refuse what no curve can have."""
    n_labels, expected, counts = (found[key] for key in ("n_labels", "expected", "counts"))
    m = len(n_labels)
    if (
        n_labels.dtype.kind != "i"
        or n_labels.shape != (m,)
        or expected.shape != (m,)
        or counts.shape != (m, BINS)
        or (np.diff(n_labels, prepend=0) < 1).any()
        or not ((expected >= 0) & (expected <= 1)).all()
        or not ((counts >= 0) & (counts < np.inf)).all()
    ):
        raise ValueError("these are no points of a curve")
    return [Point(*row) for row in zip(n_labels.tolist(), expected.tolist(), counts, strict=True)]


def _digest(names: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(names).encode()).hexdigest()


def _beside(answers: Path) -> Path:
    return answers.with_name(f"{answers.name}.progress.npz")
