"""Download data sets into the cache: checked, and completely or not at all."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

import numpy as np

from graphuq.datasets.digests import as_expected
from graphuq.datasets.sources import SOURCES, Arrays

# Seconds to wait for the answer of a server, and between two parts of it.
TIMEOUT = 30


class FetchError(Exception):
    """A data set could not be downloaded."""


def fetch(name: str, folder: Path) -> Arrays:
    """Download, read and check the files of a data set; store the arrays in ``folder/NAME.npz``."""
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
                raise FetchError(f"the data of {addresses} differ from the tested version")
            complete = Path(place) / "complete.npz"
            np.savez_compressed(complete, **arrays)  # type: ignore[arg-type]
            complete.replace(folder / f"{name}.npz")
    except OSError as error:
        raise type(error)(
            f"the cache {folder} cannot be written ({error}): set XDG_CACHE_HOME to a writable "
            "folder, or put the files into a folder that GRAPHUQ_DATA names"
        ) from error
    return arrays


def _download(urls: dict[str, str | None], place: str) -> list[Path]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a notebook without widgets
            import pooch
    except ImportError as error:
        raise FetchError(
            "a download needs pooch, which is not installed: pip install 'graphuq[fetch]'"
        ) from error
    pooch.get_logger().setLevel("WARNING")  # it would give advice to packagers
    # no streaming: pooch leaves the socket of a streamed answer open if the server refuses
    downloader = pooch.HTTPDownloader(timeout=TIMEOUT, stream=False)
    paths = []
    for url, known in urls.items():
        try:
            path = pooch.retrieve(url, known_hash=known, path=place, downloader=downloader)
        except OSError as error:  # requests' errors are OSErrors
            raise FetchError(f"no complete answer from {url} ({error})") from error
        except ValueError as error:
            raise FetchError(f"{url} has changed ({error})") from error
        paths.append(Path(path))
    return paths
