"""Cores and memory that a container may use."""

import subprocess
import sys

import numpy as np
import pytest

from graphuq.utils import memory


@pytest.mark.parametrize(
    ("files", "available"),
    [
        ({"memory.max": "5000\n", "memory.stat": "file 900\nanon 1200\n"}, 3800.0),
        ({"memory.max": "1000\n", "memory.stat": "anon 1200\n"}, 0.0),
        ({"memory.max": "max\n", "memory.stat": "anon 1200\n"}, np.inf),
        (
            {
                "memory/memory.limit_in_bytes": "7000\n",
                "memory/memory.stat": "total_rss 2000\ntotal_cache 4000\n",
            },
            5000.0,
        ),
        ({}, np.inf),
    ],
)
def test_memory_limits_of_containers_are_read(tmp_path, files, available):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert memory._available_in_container(tmp_path) == available


def test_the_smaller_of_machine_and_container_counts(monkeypatch):
    monkeypatch.setattr(memory, "_available_on_machine", lambda: 3000.0)
    for container, available in ((2000.0, 2000.0), (np.inf, 3000.0)):
        monkeypatch.setattr(memory, "_available_in_container", lambda _, free=container: free)
        with pytest.raises(MemoryError, match="take less"):
            memory.require_memory(available + 1, "this", "take less")
        memory.require_memory(available, "this", "take less")


OVERLAPPING = """
from concurrent.futures import ThreadPoolExecutor
from threadpoolctl import threadpool_limits
from graphuq.utils import threads

def blas_threads():
    return {library["num_threads"] for library in threads._controller().info()}

def enter():
    limit = threads.one_blas_thread()
    limit.__enter__()
    return limit

def leave(limit):
    limit.__exit__(None, None, None)

def here(work, *arguments):
    return work(*arguments)

with ThreadPoolExecutor(1) as pool, threadpool_limits(3, user_api="blas"):
    def there(work, *arguments):
        return pool.submit(work, *arguments).result()

    for begins, follows, ends_first, ends_last in (
        (here, here, here, here),
        (here, there, here, there),
        (there, here, there, here),
        (there, there, here, here),
    ):
        first = begins(enter)
        assert blas_threads() == {1}
        second = follows(enter)
        ends_first(leave, first)
        assert blas_threads() == {1}
        ends_last(leave, second)
        assert blas_threads() == {3}
    # limits that others set in any thread have an effect afterwards

    def limited():
        with threadpool_limits(2, user_api="blas"):
            return blas_threads()

    assert there(limited) == here(limited) == {2}
"""


def test_overlapping_limits_of_blas_by_any_threads_end_with_the_last():
    # in a process of its own: threads that other tests interrupted may still change the limit
    subprocess.run([sys.executable, "-c", OVERLAPPING], check=True)
