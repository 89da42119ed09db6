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
SIZE = (480, 320)  # pixels, twice what is shown


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


def shrink(app: Any, error: Exception | None) -> None:
    """Write ``_images/gallery-NAME.png``, the picture of a notebook that fills a card best."""
    if error or app.builder.format != "html":
        return
    for path in NOTEBOOKS.glob("*.ipynb"):
        found = app.env.get_doctree(f"gallery/{path.stem}").findall(nodes.image)
        pictures = [Image.open(Path(app.srcdir) / node["uri"]) for node in found]
        if not pictures:
            logger.warning("the notebook %s has no picture", path.stem)
            continue
        picture = max(pictures, key=share).convert("RGB")
        picture.thumbnail(SIZE)
        card = Image.new("RGB", SIZE, "white")
        card.paste(picture, tuple((a - b) // 2 for a, b in zip(SIZE, picture.size, strict=True)))
        card.quantize(256).save(Path(app.outdir) / "_images" / f"gallery-{path.stem}.png")


def share(picture: Image.Image) -> float:
    """Return the share of a card that a picture fills."""
    ratio = picture.width / picture.height * SIZE[1] / SIZE[0]
    return min(ratio, 1 / ratio)


def setup(app: Any) -> None:
    """Register the pictures."""
    app.connect("build-finished", shrink)
