"""Work that takes long is announced, and work without an end in sight refused."""

from __future__ import annotations

import time
import warnings

# What takes longer than this many seconds is announced.
MAX_SILENT_SECONDS = 600.0

# What takes longer than this many seconds, a week, is refused.
MAX_SECONDS = 7 * 86400.0

# Seconds until the pace of work is known.
LOOK_SECONDS = 5.0


def announce_long_work(seconds: float, what: str, remedy: str, stacklevel: int = 2) -> bool:
    """Warn of work that takes more than ten minutes before it starts, and return whether it does.

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

    Raises
    ------
    ValueError
        The work takes more than a week.

    Examples
    --------
    >>> announce_long_work(20.0, "sampling", "ask for fewer draws")
    False
    >>> announce_long_work(1e7, "sampling", "ask for fewer draws")
    Traceback (most recent call last):
    ValueError: sampling takes about 116 days, more than a week: ask for fewer draws
    """
    if seconds > MAX_SECONDS:
        duration = describe_duration(seconds)
        raise ValueError(f"{what} takes about {duration}, more than a week: {remedy}")
    return warn_of_long_work(seconds, what, remedy, stacklevel + 1)


def warn_of_long_work(seconds: float, what: str, remedy: str, stacklevel: int = 2) -> bool:
    """Warn of work that takes more than ten minutes, also if it has begun.

    Parameters
    ----------
    seconds, what, remedy, stacklevel
        See `announce_long_work`.

    Examples
    --------
    >>> warn_of_long_work(20.0, "sampling", "ask for fewer draws")
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
    steps : float
        Number of all steps, about.
    what, remedy : str
        See `announce_long_work`.

    Examples
    --------
    >>> pace = Pace(3, "counting to three", "count to two")
    >>> for _ in range(3):
    ...     pace.step()
    """

    def __init__(self, steps: float, what: str, remedy: str) -> None:
        self._left, self._what, self._remedy = steps, what, remedy
        self._done, self._begun, self._said = -1, 0.0, False

    def step(self, left: float | None = None) -> None:
        """Count a step that is done; the first tells nothing of the pace, since it compiles.

        Parameters
        ----------
        left : float, optional
            Number of steps left, where it becomes known on the way.
        """
        self._done += 1
        self._left = self._left - 1 if left is None else left
        if not self._done:
            self._begun = time.perf_counter()
            return
        seconds = time.perf_counter() - self._begun
        if self._said or seconds < LOOK_SECONDS:
            return
        left = seconds / self._done * self._left
        self._said = warn_of_long_work(left, self._what, self._remedy, stacklevel=2)


def describe_duration(seconds: float) -> str:
    """Return a duration in the largest unit that fits.

    Examples
    --------
    >>> describe_duration(45), describe_duration(1500), describe_duration(20_000)
    ('45 seconds', '25 minutes', '5.6 hours')
    >>> describe_duration(1e12)
    '31,688 years'
    """
    for unit, name in ((365.25 * 86400, "years"), (86400.0, "days"), (3600.0, "hours")):
        if seconds >= 2 * unit:
            number = seconds / unit
            return f"{number:.2g} {name}" if number < 100 else f"{number:,.0f} {name}"
    return f"{seconds / 60:.0f} minutes" if seconds >= 120 else f"{seconds:.0f} seconds"
