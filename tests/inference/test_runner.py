"""The work of running many chains."""

import sys
import time
from types import SimpleNamespace

from graphuq.inference.runner import _advance_all
from graphuq.utils.interruption import Workers


class Brief:
    """A chain of two chunks, long enough that each end is seen before the next."""

    n_left = 2

    def advance(self):
        time.sleep(5e-4)
        self.n_left -= 1
        return SimpleNamespace(chain=self)


def count_calls(n_chains):
    """The number of calls in this thread while it advances so many chains."""
    calls, chunks = [], []
    with Workers(1) as pool:
        sys.setprofile(lambda *_: calls.append(None))
        try:
            _advance_all(pool, [Brief() for _ in range(n_chains)], chunks.append)
        finally:
            sys.setprofile(None)
    assert len(chunks) == 2 * n_chains
    return len(calls)


def test_the_work_between_chunks_is_linear_in_chains():
    assert count_calls(400) < 6 * count_calls(100)
