"""The state of a run in a file, from which an interrupted or killed run resumes."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from graphuq.utils import validation
from graphuq.utils.atomic_files import read_npz, require_destination, write_atomically
from graphuq.utils.fingerprint import same_fingerprint
from graphuq.utils.pytree import flatten, unflatten
from graphuq.utils.warnings import warn

# Seconds between two writes.
INTERVAL_SECONDS = 60.0


class Snapshot(NamedTuple):
    """One chain between two chunks."""

    done: int
    """Number of draws that are done, warm-up included."""
    size: int
    """Number of draws of the next chunk."""
    state: Any
    """State of the sampler."""
    rng: tuple[Any, Any]
    """States of the generators of the chain and of its record."""
    record: Callable[[], dict[str, Any]]
    """Collects the draws that were recorded until then."""


class Chain(Protocol):
    """The methods of a chain that a checkpoint uses."""

    snapshot: Snapshot

    def blank(self) -> Snapshot:
        """Return the snapshot of a chain that has not begun: the same from run to run."""

    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot."""


class Checkpoint:
    """A file with the state of all chains.

    Parameters
    ----------
    path : path
    fingerprint : dict
        Plain values that identify the run; a file with another fingerprint is refused.
    n_bytes : float
        About the largest size of the file.

    Raises
    ------
    OSError
        The folder does not exist, or the disk has too little room.
    ValueError
        The file is damaged or belongs to another run.
    """

    def __init__(self, path: Any, fingerprint: dict[str, Any], n_bytes: float) -> None:
        self.path = validation.file_path("checkpoint", path)
        require_destination(self.path)
        from graphuq.utils.version import __version__

        free = shutil.disk_usage(self.path.parent).free
        if 2 * n_bytes > free:  # the old file stays until the new one is whole
            raise OSError(
                f"the checkpoint may need {2 * n_bytes / 2**30:.2g} GiB in {self.path.parent}, "
                f"where {free / 2**30:.2g} GiB are free: make room, or ask for fewer draws"
            )
        with tempfile.TemporaryFile(dir=self.path.parent):
            pass  # fails now if files cannot be written here
        self._lock = _lock(self.path)
        try:
            fingerprint = {"version": __version__, **fingerprint}
            self._fingerprint = json.loads(json.dumps(fingerprint, default=_plain))
            self._arrays = read(self.path) if self.path.exists() else None
            self.seconds = 0.0
            if self._arrays is not None:
                head = header(self.path, self._arrays)
                self._require_same(head["fingerprint"])
                self.seconds = float(head["seconds"])
        except BaseException:
            self.close()
            raise
        self._written = self._begun = time.monotonic()

    @property
    def rounds(self) -> list[int] | None:
        """Draws that each round asked for, if there is a run to resume."""
        if self._arrays is None:
            return None
        return [int(n) for n in header(self.path, self._arrays)["rounds"]]

    def resume(self, chains: Sequence[Chain]) -> None:
        """Restore all chains, if there is a file."""
        if self._arrays is None:
            return
        saved = header(self.path, self._arrays)["chains"]
        try:
            for i, (chain, plain) in enumerate(zip(chains, saved, strict=True)):
                if plain is None:
                    continue
                blank = chain.blank()
                state = unflatten(blank.state, self._arrays, f"{i}/state")
                record = unflatten(blank.record(), self._arrays, f"{i}/record")
                rng = tuple(plain["rng"])
                done, size = int(plain["done"]), int(plain["size"])
                chain.restore(Snapshot(done, size, state, rng, partial(_itself, record)))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(
                f"{self.path} is damaged, or of an earlier version ({error}): remove it to start "
                "again"
            ) from error
        self._arrays = None

    def write_in_time(self, chains: Sequence[Chain], rounds: Sequence[int]) -> None:
        """Write if the last write is `INTERVAL_SECONDS` old; on failure the run continues."""
        if time.monotonic() - self._written >= INTERVAL_SECONDS:
            self.write(chains, rounds)

    def write(self, chains: Sequence[Chain], rounds: Sequence[int]) -> None:
        """Write the state of all chains.

        Warns
        -----
        RuntimeWarning
            It could not be written: the previous state is kept.
        """
        arrays: dict[str, Any] = {}
        plain: list[Any] = []
        for i, chain in enumerate(chains):
            snapshot = chain.snapshot
            if not snapshot.done:
                plain.append(None)
                continue
            blank = chain.blank()
            arrays.update(flatten(snapshot.state, f"{i}/state", blank.state))
            arrays.update(flatten(snapshot.record(), f"{i}/record", blank.record()))
            plain.append({"done": snapshot.done, "size": snapshot.size, "rng": snapshot.rng})
        head = {
            "fingerprint": self._fingerprint,
            "rounds": list(rounds),
            "chains": plain,
            "seconds": self.seconds + time.monotonic() - self._begun,
        }
        try:
            with write_atomically(self.path) as temporary, open(temporary, "wb") as file:
                np.savez(file, header=np.array(json.dumps(head, default=_plain)), **arrays)
        except OSError as error:
            warn(
                f"the checkpoint {self.path} could not be written ({error}): the run continues, "
                "and the previous state is kept"
            )
        self._written = time.monotonic()

    def remove(self) -> None:
        """Remove the file, once there is a posterior."""
        self.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Release the file for other runs."""
        if self._lock is not None:
            # While it is held: released first, it could be the lock of the next run
            _lock_of(self.path).unlink(missing_ok=True)
            self._lock.close()
            self._lock = None

    def _require_same(self, other: dict[str, Any]) -> None:
        for name, own in self._fingerprint.items():
            theirs = other.get(name)
            if not same_fingerprint(own, theirs):
                raise ValueError(
                    f"{self.path} is a checkpoint of another run: its {name} is {theirs!r}, here "
                    f"it is {own!r}; name another file, or remove this one to start again"
                )


@contextmanager
def open_checkpoint(
    path: str | os.PathLike[str] | None, fingerprint: dict[str, Any], n_bytes: float
) -> Iterator[Checkpoint | None]:
    """Open the checkpoint at ``path``, if there is a path, and close it in the end."""
    if path is None:
        yield None
        return
    with closing(Checkpoint(path, fingerprint, n_bytes)) as checkpoint:
        yield checkpoint


def _lock_of(path: Path) -> Path:
    return path.with_name(path.name + ".lock")


def _lock(path: Path) -> Any:
    """Return a lock that refuses the file to other runs while this process lives."""
    try:
        import fcntl
    except ImportError:  # no such locks here
        return None
    while True:
        lock = open(_lock_of(path), "w")  # noqa: SIM115  # closed by `Checkpoint.close`
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            lock.close()
            raise ValueError(
                f"another run is writing {path}: name another file for this one"
            ) from error
        if _is_open_file(_lock_of(path), lock):
            return lock
        lock.close()  # a run that ended just now has removed it


def _is_open_file(path: Path, file: Any) -> bool:
    """Return whether the open file still has this name."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except FileNotFoundError:
        return False


def require_seed(seed: Any) -> None:
    """Refuse a run that could not be repeated."""
    if seed is None:
        raise ValueError("a run with a checkpoint must be repeatable: give a seed, such as seed=0")


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the arrays of a checkpoint; pickled objects are never read."""
    try:
        return read_npz(path)
    except ValueError as error:
        raise ValueError(
            f"{path} is not a checkpoint ({error}): remove it to start again, or name another file"
        ) from error


def header(path: Any, arrays: dict[str, Any]) -> dict[str, Any]:
    """Return the header of a checkpoint."""
    try:
        found = json.loads(str(arrays["header"]))
    except (KeyError, ValueError):
        found = None
    if not isinstance(found, dict) or set(found) != {"fingerprint", "rounds", "chains", "seconds"}:
        raise ValueError(f"{path} is not a checkpoint: name another file, or remove it")
    return found


def _itself(record: dict[str, Any]) -> dict[str, Any]:
    return record


def _plain(value: Any) -> Any:
    """Return arrays and NumPy numbers, as states of generators hold them, for JSON."""
    return value.tolist()
