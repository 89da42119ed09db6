"""Plots and images as the bytes of PNG files."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import Any

from numpy.typing import NDArray

from graphuq.utils.interruption import named_interruption


def png(draw: Callable[[Any], object], width: float, height: float) -> bytes:
    """Return what ``draw(figure)`` draws on a figure of this size in inches."""
    from matplotlib.figure import Figure

    with named_interruption("drawing a picture"):
        figure, file = Figure(figsize=(width, height), layout="constrained"), BytesIO()
        draw(figure)
        figure.savefig(file, format="png", dpi=110)
    return file.getvalue()


def thumbnail(image: NDArray[Any], low: float, high: float) -> bytes:
    """Return an image of shape (height, width), white at ``low`` and black at ``high``."""
    from matplotlib.image import imsave

    file = BytesIO()
    imsave(file, image, cmap="gray_r", vmin=low, vmax=high, format="png")
    return file.getvalue()
