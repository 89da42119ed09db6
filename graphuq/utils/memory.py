"""How much memory there is, and the refusal of work that needs more."""

from __future__ import annotations

import os
from pathlib import Path


def require_memory(n_bytes: float, what: str, remedy: str) -> None:
    """Refuse work that needs more memory than is available."""
    available = _available_memory()
    if n_bytes > available:
        raise MemoryError(
            f"{what} needs about {n_bytes / 2**30:.1f} GiB, and {available / 2**30:.1f} GiB are "
            f"available: {remedy}"
        )


def _available_memory() -> float:
    """Return the bytes that are free on this machine, or in this container if that is less."""
    return min(_available_on_machine(), _available_in_container(Path("/sys/fs/cgroup")))


def _available_on_machine() -> float:
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return float(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):  # a platform without sysconf: no forecast
        return float("inf")


def _available_in_container(cgroup: Path) -> float:
    """Return what the container's memory limit leaves; the page cache does not count as used."""
    for folder, limit, used in (
        (cgroup, "memory.max", "anon"),  # control groups, version 2
        (cgroup / "memory", "memory.limit_in_bytes", "total_rss"),  # version 1
    ):
        try:
            total = float((folder / limit).read_text())
            stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
            return max(total - float(stat[used]), 0.0)
        except (OSError, ValueError, KeyError):  # no such file, or the limit is "max"
            continue
    return float("inf")
