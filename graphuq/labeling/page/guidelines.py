"""Guidelines for the people who label: a Markdown file with its pictures."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote

from graphuq.labeling.page.pictures import PictureFiles
from graphuq.utils import validation

# Characters of a file of guidelines, and of its HTML, at most.
MAX_LENGTH, MAX_HTML = 50_000, 5_000_000


class Guidelines:
    r"""Guidelines as HTML that is inert, and their pictures by number.

    Parameters
    ----------
    path : path-like
        A Markdown file in UTF-8. HTML in it is shown as text. Pictures are files, relative to its
        folder.

    Attributes
    ----------
    html : str
        Pictures have the addresses ``/guidelines/0`` and so on.

    Raises
    ------
    FileNotFoundError
    ValueError
        The file is no text, or too long; a picture is missing, in another folder, or cannot be
        read.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "guidelines.md")
    >>> _ = path.write_text("A *tit* is small.\n\n<script>alert(1)</script>\n")
    >>> print(Guidelines(path).html)
    <p>A <em>tit</em> is small.</p>
    <p>&lt;script&gt;alert(1)&lt;/script&gt;</p>
    <BLANKLINE>
    >>> Guidelines(path).encode(0) is None
    True
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        from markdown_it import MarkdownIt

        file = validation.file_path("guidelines", path)
        if not file.is_file():
            raise FileNotFoundError(f"there is no file {file} (guidelines): check the name")
        try:
            text = file.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            raise ValueError(f"{file} is not UTF-8 text ({error}): save it as UTF-8") from error
        if len(text) > MAX_LENGTH:
            raise ValueError(f"{file} has more than {MAX_LENGTH:,} characters: shorten it")
        markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
        tokens = markdown.parse(text)
        inner = [child for token in tokens for child in token.children or ()]
        images = [token for token in inner if token.type == "image"]
        # encoded once, so that a file that changes later does no harm
        self._pictures = [_encode(file, unquote(str(token.attrs["src"]))) for token in images]
        for k, token in enumerate(images):
            token.attrs["src"] = f"/guidelines/{k}"
        for token in (*tokens, *inner):
            token.attrs.pop("style", None)  # the page has no styles but its own
            if token.type == "link_open":
                token.attrs |= {"target": "_blank", "rel": "noreferrer"}
            if token.type.startswith("heading"):  # below that of the view
                token.tag = f"h{min(6, int(token.tag[1]) + 2)}"
        self.html = markdown.renderer.render(tokens, markdown.options, {})
        if len(self.html) > MAX_HTML:
            raise ValueError(f"{file} is more than {MAX_HTML:,} characters of HTML: shorten it")

    def encode(self, k: int) -> bytes | None:
        """Return a picture as PNG, or None if there is none of this number."""
        return self._pictures[k] if 0 <= k < len(self._pictures) else None


def _encode(file: Path, source: str) -> bytes:
    """Return a picture beside the guidelines, or in a folder there, as PNG."""
    folder = file.absolute().parent.resolve()
    if not source.startswith("data:") and "://" not in source:
        place = (folder / source).resolve()
        if not place.is_relative_to(folder) or (place.exists() and not place.is_file()):
            raise ValueError(f"{file}: the picture {source!r} is not in its folder: copy it there")
    try:
        return PictureFiles([source], folder).encode(0)
    except (OSError, ValueError, SyntaxError) as error:
        raise ValueError(f"{file}: the picture {source[:80]!r} cannot be read: {error}") from error
