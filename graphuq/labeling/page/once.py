"""Do once what a page may send twice, after a connection that was lost."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Any

# Results that are remembered.
MAX_KEPT = 10_000


class Once:
    """Results by the ids of requests.

    Examples
    --------
    >>> once, done = Once(), []
    >>> for attempt in range(2):
    ...     once.do("7f", lambda: done.append("an answer"))
    >>> done
    ['an answer']
    """

    def __init__(self) -> None:
        self._results: OrderedDict[str, Any] = OrderedDict()
        self._lock = Lock()

    def do(self, name: str, work: Callable[[], Any]) -> Any:
        """Return the result of ``work``, or the former one of the same id.

        Work that fails is not remembered, so that a second attempt may succeed.
        """
        with self._lock:
            if name not in self._results:
                self._results[name] = work()
                while len(self._results) > MAX_KEPT:
                    self._results.popitem(last=False)
            return self._results[name]
