"""The notebooks as pages, and a picture of each for the page that lists them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from docutils import nodes
from PIL import Image
from sphinx.util import logging

logger = logging.getLogger(__name__)

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
CARD = 1.5  # width over height, as in pages.css


def write(folder: Path) -> None:
    """Copy the notebooks into the documentation, and delete copies of removed ones."""
    folder.mkdir(exist_ok=True)
    wanted = {path.name for path in NOTEBOOKS.glob("*.ipynb")}
    for copy in folder.glob("*.ipynb"):
        if copy.name not in wanted:
            copy.unlink()
    for name in wanted:
        source, copy = NOTEBOOKS / name, folder / name
        if not copy.is_file() or copy.read_bytes() != source.read_bytes():
            shutil.copyfile(source, copy)


def choose(app: Any, error: Exception | None) -> None:
    """Copy the picture of a notebook that fills a card best to ``_images/gallery-NAME.png``."""
    if error or app.builder.format != "html":
        return
    for path in NOTEBOOKS.glob("*.ipynb"):
        found = app.env.get_doctree(f"gallery/{path.stem}").findall(nodes.image)
        pictures = [Path(app.srcdir) / node["uri"] for node in found]
        if pictures:
            best = max(pictures, key=share)
            shutil.copyfile(best, Path(app.outdir) / "_images" / f"gallery-{path.stem}.png")
        else:
            logger.warning("the notebook %s has no picture", path.stem)


def share(picture: Path) -> float:
    """Return the share of a card that a picture fills."""
    width, height = Image.open(picture).size
    ratio = width / height / CARD
    return min(ratio, 1 / ratio)


def setup(app: Any) -> None:
    """Register the pictures."""
    app.connect("build-finished", choose)
