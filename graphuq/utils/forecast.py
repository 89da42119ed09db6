"""Work that takes long is announced."""

from __future__ import annotations

import time
import warnings

# What takes longer than this many seconds is announced.
MAX_SILENT_SECONDS = 600.0

# Seconds until the pace of work is known.
LOOK_SECONDS = 5.0


def announce_long_work(seconds: float, what: str, remedy: str, stacklevel: int = 2) -> bool:
    """Warn of work that takes more than ten minutes, and return whether it does.

    Parameters
    ----------
    seconds : float
        About how long the work takes.
    what : str
        The work, the subject of the sentence.
    remedy : str
        What takes less time.
    stacklevel : int
        Counted from the caller.

    Examples
    --------
    >>> announce_long_work(20.0, "sampling", "ask for fewer draws")
    False
    """
    if seconds <= MAX_SILENT_SECONDS:
        return False
    warnings.warn(
        f"{what} takes about {describe_duration(seconds)}: {remedy}",
        RuntimeWarning,
        stacklevel=stacklevel + 1,
    )
    return True


class Pace:
    """Announces work by the pace of its first steps, once, if the others take long.

    Parameters
    ----------
    steps : int
        Number of all steps, about.
    what, remedy : str
        See `announce_long_work`.

    Examples
    --------
    >>> pace = Pace(3, "counting to three", "count to two")
    >>> for _ in range(3):
    ...     pace.step()
    """

    def __init__(self, steps: int, what: str, remedy: str) -> None:
        self._left, self._what, self._remedy = steps, what, remedy
        self._done, self._begun, self._said = -1, 0.0, False

    def step(self) -> None:
        """Count a step that is done; the first tells nothing of the pace, since it compiles."""
        self._done, self._left = self._done + 1, self._left - 1
        if not self._done:
            self._begun = time.perf_counter()
            return
        seconds = time.perf_counter() - self._begun
        if self._said or seconds < LOOK_SECONDS:
            return
        left = seconds / self._done * self._left
        self._said = announce_long_work(left, self._what, self._remedy, stacklevel=2)


def describe_duration(seconds: float) -> str:
    """Return a duration in the largest unit that fits.

    Examples
    --------
    >>> describe_duration(45), describe_duration(1500), describe_duration(20_000)
    ('45 seconds', '25 minutes', '5.6 hours')
    """
    for unit, name in ((86400.0, "days"), (3600.0, "hours")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:,.2g} {name}" if seconds < 100 * unit else "many days"
    return f"{seconds / 60:.0f} minutes" if seconds >= 120 else f"{seconds:.0f} seconds"
