"""The state of a run in a file, from which a killed run goes on as if nothing had happened."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

import graphuq
from graphuq.whole import plain_arrays, require_place, written_whole

# Seconds between two states.
EVERY = 60.0


class Snapshot(NamedTuple):
    """One chain between two chunks."""

    chunks: int
    """Of its plan that are done."""
    state: Any
    """The sampler's."""
    rng: tuple[Any, Any]
    """The states of the chain's generator and of its record's."""
    record: Callable[[], dict[str, Any]]
    """Gathers what was kept of its draws until then."""


class Chain(Protocol):
    """What can be written and set again."""

    snapshot: Snapshot

    def blank(self) -> Snapshot:
        """Return the snapshot of a chain that has not begun: the same from run to run."""

    def restore(self, snapshot: Snapshot) -> None:
        """Go on from there."""


class Checkpoint:
    """A file with the state of all chains.

    Parameters
    ----------
    path : path
    fingerprint : dict
        What the run is of, in plain values; a file with another is refused.
    n_bytes : float
        About how large the file may get.

    Raises
    ------
    OSError
        No such folder, too little room on the disk.
    ValueError
        The file is damaged or belongs to another run.
    """

    def __init__(self, path: Any, fingerprint: dict[str, Any], n_bytes: float) -> None:
        self.path = Path(path)
        require_place(self.path)
        free = shutil.disk_usage(self.path.parent).free
        if 2 * n_bytes > free:  # the old file stays until the new one is whole
            raise OSError(
                f"the checkpoint may need {2 * n_bytes / 2**30:.2g} GiB in {self.path.parent}, "
                f"where {free / 2**30:.2g} GiB are free: make room, or ask for fewer draws"
            )
        with tempfile.TemporaryFile(dir=self.path.parent):
            pass  # or it may not be written, which had better be known now
        self._lock = _locked(self.path)
        try:
            fingerprint = {"version": graphuq.__version__, **fingerprint}
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
        """Draws that each round asked for, where there is a run to go on with."""
        if self._arrays is None:
            return None
        return [int(n) for n in header(self.path, self._arrays)["rounds"]]

    def resume(self, chains: Sequence[Chain]) -> None:
        """Set the chains to where they were, if there is a file."""
        if self._arrays is None:
            return
        saved = header(self.path, self._arrays)["chains"]
        try:
            for i, (chain, plain) in enumerate(zip(chains, saved, strict=True)):
                if plain is None:
                    continue
                blank = chain.blank()
                state = rebuilt(blank.state, self._arrays, f"{i}/state")
                record = rebuilt(blank.record(), self._arrays, f"{i}/record")
                rng = tuple(plain["rng"])
                chain.restore(Snapshot(plain["chunks"], state, rng, partial(_itself, record)))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(
                f"{self.path} is damaged ({error}): remove it to begin anew"
            ) from error
        self._arrays = None

    def write_in_time(self, chains: Sequence[Chain], rounds: Sequence[int]) -> None:
        """Write if the last state is `EVERY` seconds old; if that fails, the run goes on."""
        if time.monotonic() - self._written >= EVERY:
            self.write(chains, rounds)

    def write(self, chains: Sequence[Chain], rounds: Sequence[int]) -> None:
        """Write the state of all chains.

        Warns
        -----
        RuntimeWarning
            It could not be written: the state before stays.
        """
        arrays: dict[str, Any] = {}
        plain: list[Any] = []
        for i, chain in enumerate(chains):
            snapshot = chain.snapshot
            if not snapshot.chunks:
                plain.append(None)
                continue
            blank = chain.blank()
            arrays.update(leaves(snapshot.state, f"{i}/state", blank.state))
            arrays.update(leaves(snapshot.record(), f"{i}/record", blank.record()))
            plain.append({"chunks": snapshot.chunks, "rng": snapshot.rng})
        head = {
            "fingerprint": self._fingerprint,
            "rounds": list(rounds),
            "chains": plain,
            "seconds": self.seconds + time.monotonic() - self._begun,
        }
        try:
            with written_whole(self.path) as temporary, open(temporary, "wb") as file:
                np.savez(file, header=np.array(json.dumps(head, default=_plain)), **arrays)
        except OSError as error:
            warnings.warn(
                f"the checkpoint {self.path} could not be written ({error}): the run goes on, and "
                "the state before stays",
                RuntimeWarning,
                stacklevel=4,
            )
        self._written = time.monotonic()

    def remove(self) -> None:
        """Remove the file: the posterior is there."""
        self.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Let other runs have the file."""
        if self._lock is not None:
            self._lock.close()
            _lock_of(self.path).unlink(missing_ok=True)
            self._lock = None

    def _require_same(self, other: dict[str, Any]) -> None:
        for name, own in self._fingerprint.items():
            theirs = other.get(name)
            same = _close(own, theirs)
            if not same:
                raise ValueError(
                    f"{self.path} is a checkpoint of another run: its {name} is {theirs!r}, here "
                    f"it is {own!r}; name another file, or remove this one to begin anew"
                )


def _lock_of(path: Path) -> Path:
    return path.with_name(path.name + ".lock")


def _locked(path: Path) -> Any:
    """Return what keeps other runs off the file, as long as this process lives."""
    try:
        import fcntl
    except ImportError:  # no such locks here
        return None
    lock = open(_lock_of(path), "w")  # noqa: SIM115  # closed by `Checkpoint.close`
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.close()
        raise ValueError(
            f"another run is writing {path}: name another file for this one"
        ) from error
    return lock


def require_seed(seed: Any) -> None:
    """Refuse to go on with a run that could not be made again."""
    if seed is None:
        raise ValueError("a run with a checkpoint must be repeatable: give a seed, such as seed=0")


def digest(*arrays: Any) -> str:
    """Return what tells arrays from others in a few characters."""
    found = hashlib.sha256()
    for array in arrays:
        found.update(repr((array.dtype.str, array.shape)).encode())
        found.update(repr(array.tolist()).encode())
    return found.hexdigest()[:16]


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the arrays of a checkpoint; pickled objects are never read."""
    try:
        return plain_arrays(path)
    except ValueError as error:
        raise ValueError(
            f"{path} is no checkpoint ({error}): remove it to begin anew, or name another file"
        ) from error


def header(path: Any, arrays: dict[str, Any]) -> dict[str, Any]:
    """Return what a checkpoint says of itself."""
    try:
        found = json.loads(str(arrays["header"]))
    except (KeyError, ValueError):
        found = None
    if not isinstance(found, dict) or set(found) != {"fingerprint", "rounds", "chains", "seconds"}:
        raise ValueError(f"{path} is no checkpoint: name another file, or remove it")
    return found


def leaves(thing: Any, name: str, blank: Any) -> dict[str, Any]:
    """Return the arrays and numbers of nested tuples, dataclasses and dicts, by their places.

    What is as in ``blank`` is left out, and None.
    """
    if thing is None or thing is blank:
        return {}
    if not _holds(thing):
        value = np.asarray(thing)
        same = blank is not None and np.array_equal(value, np.asarray(blank), equal_nan=True)
        return {} if same else {name: value}
    found = {}
    parts = dict(_children(blank))
    for key, child in _children(thing):
        found.update(leaves(child, f"{name}/{key}", parts.get(key)))
    return found


def rebuilt(blank: Any, arrays: dict[str, Any], name: str) -> Any:
    """Return ``blank`` with what `leaves` found."""
    if not _holds(blank):
        value = arrays.get(name)
        if value is None:
            return blank
        return value if blank is None or isinstance(blank, np.ndarray) else value.tolist()
    parts = {key: rebuilt(child, arrays, f"{name}/{key}") for key, child in _children(blank)}
    if isinstance(blank, dict):
        inside = [key[len(name) + 1 :] for key in arrays if key.startswith(f"{name}/")]
        new = {key: arrays[f"{name}/{key}"] for key in inside if "/" not in key}
        return {**new, **parts}
    if isinstance(blank, tuple):
        return blank._make(parts.values()) if hasattr(blank, "_make") else tuple(parts.values())
    return dataclasses.replace(blank, **parts)


def _holds(thing: Any) -> bool:
    """Whether a thing is one that holds others."""
    return isinstance(thing, dict | tuple) or (
        dataclasses.is_dataclass(thing) and not isinstance(thing, type)
    )


def _children(thing: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(thing, dict):
        yield from thing.items()
    elif isinstance(thing, tuple):
        names = getattr(thing, "_fields", range(len(thing)))
        yield from zip(map(str, names), thing, strict=True)
    elif _holds(thing):
        for field in dataclasses.fields(thing):
            yield field.name, getattr(thing, field.name)


def _itself(record: dict[str, Any]) -> dict[str, Any]:
    return record


def _close(a: Any, b: Any) -> bool:
    """Whether plain values are equal, numbers but for rounding."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_close(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(_close(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, float) and isinstance(b, float):
        return bool(np.isclose(a, b, rtol=1e-6, atol=1e-8, equal_nan=True))
    return bool(a == b)


def _plain(value: Any) -> Any:
    """Return arrays and numpy's numbers, as generators' states may hold, in JSON's terms."""
    return value.tolist()
