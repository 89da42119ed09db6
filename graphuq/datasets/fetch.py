"""Data sets fetched into the cache: checked, and whole or not at all."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

import numpy as np

from graphuq.datasets.digests import as_expected
from graphuq.datasets.sources import SOURCES, Arrays

# Seconds that a server may take to answer, and between two parts of its answer.
PATIENCE = 30


class FetchError(Exception):
    """Why a set could not be fetched."""


def fetch(name: str, folder: Path) -> Arrays:
    """Fetch a set's files, read and check them, and keep their arrays in ``folder/NAME.npz``."""
    source = SOURCES[name]
    addresses = " and ".join(source.urls)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".fetch-") as place:
            paths = _download(source.urls, place)
            try:
                arrays = source.read(paths)
            except Exception as error:  # a wrong file can make a reader fail in any way
                raise FetchError(f"{addresses} cannot be read ({error!r})") from error
            if not as_expected(name, arrays):
                raise FetchError(f"{addresses} holds other data than this package is tested with")
            whole = Path(place) / "whole.npz"
            np.savez_compressed(whole, **arrays)  # type: ignore[arg-type]
            whole.replace(folder / f"{name}.npz")
    except OSError as error:
        raise type(error)(
            f"the cache {folder} cannot be written ({error}): set XDG_CACHE_HOME to a folder that "
            "can, or put files in one that GRAPHUQ_DATA names"
        ) from error
    return arrays


def _download(urls: dict[str, str | None], place: str) -> list[Path]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a notebook without widgets
            import pooch
    except ImportError as error:
        raise FetchError(
            "that needs pooch, which is not installed: pip install 'graphuq[fetch]'"
        ) from error
    pooch.get_logger().setLevel("WARNING")  # or it gives advice to packagers
    # read in one go, for pooch leaves the socket of a streamed answer open if that is a refusal
    downloader = pooch.HTTPDownloader(timeout=PATIENCE, stream=False)
    paths = []
    for url, known in urls.items():
        try:
            path = pooch.retrieve(url, known_hash=known, path=place, downloader=downloader)
        except OSError as error:  # requests' errors are OSErrors
            raise FetchError(f"no whole answer from {url} ({error})") from error
        except ValueError as error:
            raise FetchError(f"{url} is not the file that it was ({error})") from error
        paths.append(Path(path))
    return paths
