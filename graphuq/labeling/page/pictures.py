"""Items that are pictures: arrays of pixels, or files that are checked when the page starts."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq.utils.words import count

# Longest side of a picture on the page, in pixels; a larger one is made smaller.
MAX_SIDE = 1024

# Bytes of a file, and pixels of a picture, that are read.
MAX_BYTES, MAX_PIXELS = 50_000_000, 50_000_000

# Formats that are read; others have readers that few people test.
FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")


SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff")


class Pictures:
    r"""Pictures by the numbers of their nodes.

    The page gets pictures that are encoded anew, never the bytes of a file.

    Parameters
    ----------
    pixels : ndarray, shape (N, height, width) or (N, height, width, 3)
        Gray levels, from black at the smallest to white at the largest; or colors from 0 to 255,
        or to 1 if they are not integers.

    Examples
    --------
    >>> pictures = Pictures(np.arange(32.0).reshape(2, 4, 4))
    >>> pictures.show(1)
    {'kind': 'picture', 'tiny': True}
    >>> pictures.encode(1)[:4]
    b'\x89PNG'
    """

    def __init__(self, pixels: NDArray[Any]) -> None:
        if pixels.ndim not in (3, 4) or (pixels.ndim == 4 and pixels.shape[3] != 3):
            raise ValueError(
                "pictures need the shape (N, height, width), or (N, height, width, 3) with colors, "
                f"got {pixels.shape}"
            )
        if not np.isfinite(pixels).all():
            raise ValueError("pictures have NaN or infinite pixels: replace them")
        self._pixels = pixels
        colors = pixels.ndim == 4
        low, high = (0.0, 255.0) if colors else (float(pixels.min()), float(pixels.max()))
        self._low = low
        self._high = 1.0 if colors and pixels.dtype.kind == "f" else high

    def show(self, node: int) -> dict[str, Any]:
        """Return the kind; the page asks for the picture by its node."""
        return {"kind": "picture", "tiny": max(self._pixels.shape[1:3]) <= 64}

    def show_beside(self, neighbor: int, node: int) -> dict[str, Any]:
        """Return the kind."""
        return self.show(neighbor)

    def encode(self, node: int) -> bytes:
        """Return a picture as PNG."""
        from PIL import Image

        span = self._high - self._low or 1.0
        levels = np.clip((self._pixels[node] - self._low) / span, 0, 1)
        return _encode(Image.fromarray((255 * levels).round().astype(np.uint8)))


class PictureFiles:
    r"""Pictures in files, or in ``data:`` addresses.

    Parameters
    ----------
    sources : sequence of str
        Paths, or addresses such as data:image/png;base64,...
    folder : Path
        The folder to which paths are relative.

    Raises
    ------
    ValueError
        A picture is missing or cannot be read. The message names the first such item, and says
        how many there are.

    Examples
    --------
    >>> one = base64.b64encode(Pictures(np.eye(4)[None]).encode(0)).decode()
    >>> PictureFiles([f"data:image/png;base64,{one}"], Path()).encode(0)[:4]
    b'\x89PNG'
    """

    def __init__(self, sources: Sequence[str], folder: Path) -> None:
        self._sources = [_source_of(source.strip(), folder) for source in sources]
        faults = []
        for row, source in enumerate(self._sources):
            try:
                _check(source)
            except (OSError, ValueError, SyntaxError) as error:
                reason = "the file is missing" if isinstance(error, FileNotFoundError) else error
                faults.append((row, reason))
        if faults:
            row, reason = faults[0]
            more = f", and {len(faults) - 1} more" if len(faults) > 1 else ""
            raise ValueError(
                f"{count(len(faults), 'picture')} of {len(sources)} cannot be read: {reason}, of "
                f"item {row} ({str(sources[row])[:80]!r}){more}: paths are relative to {folder}; "
                f"{', '.join(FORMATS)} are read"
            )

    def show(self, node: int) -> dict[str, Any]:
        """Return the kind; the page asks for the picture by its node."""
        return {"kind": "picture", "tiny": False}

    def show_beside(self, neighbor: int, node: int) -> dict[str, Any]:
        """Return the kind."""
        return self.show(neighbor)

    def encode(self, node: int) -> bytes:
        """Return a picture as PNG, upright and of moderate size."""
        from PIL import Image, ImageOps

        with Image.open(_open(self._sources[node]), formats=FORMATS) as image:
            image.draft("RGB", (MAX_SIDE, MAX_SIDE))
            upright = ImageOps.exif_transpose(image)
            upright = upright.convert("RGBA" if "A" in upright.getbands() else "RGB")
            upright.thumbnail((MAX_SIDE, MAX_SIDE))
            return _encode(upright)


def read_gray(path: Path, side: int) -> NDArray[np.float64]:
    """Return a square of the gray levels of a picture, from 0 to 1, shape (side, side).

    Raises
    ------
    OSError, ValueError, SyntaxError
        No picture, a damaged one, or one that is too large.
    """
    try:
        from PIL import Image, ImageOps
    except ImportError as error:
        raise ModuleNotFoundError('pictures need Pillow: pip install "graphuq[label]"') from error
    try:
        with Image.open(_open(path), formats=FORMATS) as image:
            _require_moderate(*image.size)
            image.draft("L", (2 * side, 2 * side))
            gray = _to_gray(ImageOps.exif_transpose(image))
            small = gray.resize((side, side), Image.Resampling.BOX)
    except Image.DecompressionBombError as error:
        raise ValueError(str(error)) from None
    return np.asarray(small, dtype=np.float64) / 255


def _to_gray(image: Any) -> Any:
    """Return a picture in 256 levels of gray; what is transparent becomes white."""
    from PIL import Image

    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        white = Image.new("RGBA", image.size, "white")
        white.alpha_composite(image.convert("RGBA"))
        image = white
    if image.mode.startswith("I") or image.mode == "F":  # scans of 16 bits, and measurements
        levels = np.asarray(image, dtype=np.float64)
        largest = 1.0 if image.mode == "F" and levels.max() <= 1 else 255.0
        if levels.max() > largest:
            largest = 65535.0 if image.mode.startswith("I") else levels.max()
        levels = np.nan_to_num(255 * levels / largest)
        image = Image.fromarray(np.clip(levels, 0, 255).astype(np.uint8))
    return image.convert("L")


def _source_of(source: str, folder: Path) -> bytes | Path:
    """Return the bytes of a data: address, or the path of a file."""
    if not source.startswith("data:"):
        if "://" in source:
            raise ValueError(
                f"{source[:80]!r} is an address, and the page asks nothing of the network: "
                "download the pictures, and name their files"
            )
        if not source:
            raise ValueError("a picture has no path: drop the item, or name a file")
        return folder / source
    head, _, data = source.partition(",")
    try:
        if not head.endswith(";base64"):
            raise ValueError
        return base64.b64decode(data, validate=True)
    except (ValueError, binascii.Error):
        raise ValueError(
            f"{source[:40]!r} is not a picture: expected data:image/png;base64,..."
        ) from None


def _open(source: bytes | Path) -> Any:
    if isinstance(source, bytes):
        return BytesIO(source)
    if source.stat().st_size > MAX_BYTES:
        raise ValueError(f"the file has more than {MAX_BYTES // 10**6} MB")
    return source


def _check(source: bytes | Path) -> None:
    """Refuse what is not a picture; only headers and checksums are read."""
    from PIL import Image

    try:
        with Image.open(_open(source), formats=FORMATS) as image:
            width, height = image.size
            image.verify()
    except Image.DecompressionBombError as error:
        raise ValueError(str(error)) from None
    _require_moderate(width, height)


def _require_moderate(width: int, height: int) -> None:
    if width * height > MAX_PIXELS:
        raise ValueError(f"the picture has more than {MAX_PIXELS // 10**6} million pixels")


def _encode(image: Any) -> bytes:
    file = BytesIO()
    image.save(file, format="PNG", compress_level=1)
    return file.getvalue()
