"""Progress bars, forecasts of work that takes long, and refusals of work that takes weeks."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from graphuq.utils.warnings import warn

# Receive what is done, of how much, and the unit, instead of a bar.
Listener = Callable[[int, int, str], None]
_listeners: list[Listener] = []

# What takes longer than this many seconds is announced.
MAX_SILENT_SECONDS = 600.0

# What takes longer than this many seconds, a week, is refused.
MAX_SECONDS = 7 * 86400.0

# Seconds until the pace of work is known, and those left above which advice is given.
LOOK_SECONDS, ADVICE_SECONDS = 5.0, 30.0


def progress_bar(total: int, shown: bool, unit: str) -> Any:
    """Return a progress bar, a context manager; it prints nothing unless ``shown``."""
    if shown and _listeners:
        return _Count(total, unit, _listeners[-1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a notebook without widgets: tqdm falls back to text
        from tqdm.auto import tqdm
    return tqdm(total=total, disable=not shown, unit=unit, leave=False)


@contextmanager
def listen_to_progress(listener: Listener) -> Iterator[None]:
    """Send the progress of all bars to a function, instead of printing bars.

    Examples
    --------
    >>> with listen_to_progress(lambda done, total, unit: print(f"{done} of {total} {unit}s")):
    ...     with progress_bar(8, shown=True, unit="draw") as bar:
    ...         bar.update(3)
    3 of 8 draws
    """
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


class _Count:
    """What a progress bar counts, without the bar."""

    def __init__(self, total: int, unit: str, listener: Listener) -> None:
        self.total, self.n = total, 0
        self._unit, self._listener = unit, listener

    def __enter__(self) -> _Count:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def update(self, n: int = 1) -> None:
        """Count ``n`` more."""
        self.n += n
        self._listener(self.n, self.total, self._unit)

    def set_postfix(self, **_: Any) -> None:
        """Accept what a bar shows beside the count."""


def announce_long_work(seconds: float, what: str, remedy: str) -> None:
    """Warn of work that takes more than ten minutes before it starts, and refuse one of weeks.

    Parameters
    ----------
    seconds : float
        About how long the work takes.
    what : str
        The work, the subject of the sentence.
    remedy : str
        What takes less time.

    Raises
    ------
    ValueError
        The work takes more than a week.

    Examples
    --------
    >>> announce_long_work(20.0, "sampling", "ask for fewer draws")
    >>> announce_long_work(1e7, "sampling", "ask for fewer draws")
    Traceback (most recent call last):
    ValueError: sampling takes about 116 days, more than a week: ask for fewer draws
    """
    duration = describe_duration(seconds)
    if seconds > MAX_SECONDS:
        raise ValueError(f"{what} takes about {duration}, more than a week: {remedy}")
    if seconds > MAX_SILENT_SECONDS:
        warn(f"{what} takes about {duration}: {remedy}")


class Pace:
    """Estimates the remaining time from the first steps, and announces it if it is long.

    It says so once, and once more if they come to take more than a week. The work goes on even
    then: a machine may be busy for a while, and what is done would be lost. Ctrl-C ends it.

    Parameters
    ----------
    work : float
        Number of all steps, about, or their work in another unit.
    what, remedy : str
        See `announce_long_work`.

    Examples
    --------
    >>> pace = Pace(3, "counting to three", "count to two")
    >>> for _ in range(3):
    ...     pace.step()
    """

    def __init__(self, work: float, what: str, remedy: str) -> None:
        self._left, self._what, self._remedy = work, what, remedy
        self._begun: float | None = None
        self._done = 0.0
        self._said = 0  # limits that were said to be exceeded

    def add(self, work: float) -> None:
        """Count more work that is left."""
        self._left += work

    def skip(self, work: float) -> None:
        """Count work that does not show the pace, and measure the pace from now on."""
        self._left -= work
        self._begun, self._done = time.perf_counter(), 0.0

    def step(self, work: float = 1.0, left: float | None = None, advice: str = "") -> None:
        """Count a step that is done; the first does not show the pace, since it compiles.

        Parameters
        ----------
        work : float
            Work of the step.
        left : float, optional
            Work that is left, where it becomes known on the way.
        advice : str
            Why the work takes long, and what to do, if that is known; it is worth a word earlier.
        """
        if self._begun is None:
            self.skip(work)
            return
        self._left = self._left - work if left is None else left
        self._done += work
        spent = time.perf_counter() - self._begun
        if spent < LOOK_SECONDS:
            return
        seconds = spent / self._done * self._left
        silent = ADVICE_SECONDS if advice else MAX_SILENT_SECONDS
        exceeded = sum(seconds > limit for limit in (silent, MAX_SECONDS))
        if exceeded > self._said:
            self._said = exceeded
            warn(
                f"{self._what} takes about {describe_duration(seconds)} more"
                + (", beyond the limit of a week" if seconds > MAX_SECONDS else "")
                + (f": {advice}. {self._remedy}" if advice else f": {self._remedy}")
            )


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
