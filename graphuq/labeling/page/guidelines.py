"""Guidelines for the people who label: a Markdown file with its pictures."""

from __future__ import annotations

import os
from urllib.parse import unquote

from graphuq.labeling.page.pictures import PictureFiles
from graphuq.utils import validation

# Characters of a file of guidelines, at most.
MAX_LENGTH = 200_000


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
        The file is no text, or too long; a picture is missing or cannot be read.

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
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(f"{file} is not UTF-8 text ({error}): save it as UTF-8") from error
        if len(text) > MAX_LENGTH:
            raise ValueError(f"{file} has more than {MAX_LENGTH:,} characters: shorten it")
        markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
        tokens = markdown.parse(text)
        inner = [child for token in tokens for child in token.children or ()]
        images = [token for token in inner if token.type == "image"]
        sources = [unquote(str(token.attrs["src"])) for token in images]
        try:
            self._pictures = PictureFiles(sources, file.parent)
        except ValueError as error:
            raise ValueError(f"{file}: {error}") from error
        for k, token in enumerate(images):
            token.attrs["src"] = f"/guidelines/{k}"
        for token in (*tokens, *inner):
            token.attrs.pop("style", None)  # the page has no styles but its own
            if token.type == "link_open":
                token.attrs |= {"target": "_blank", "rel": "noreferrer"}
        self._count = len(images)
        self.html = markdown.renderer.render(tokens, markdown.options, {})

    def encode(self, k: int) -> bytes | None:
        """Return a picture as PNG, or None if there is none of this number."""
        return self._pictures.encode(k) if 0 <= k < self._count else None
