"""Progress bars, and progress for those who show it in another way."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

# Receive what is done, of how much, and the unit, instead of a bar.
Listener = Callable[[int, int, str], None]
_listeners: list[Listener] = []


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
