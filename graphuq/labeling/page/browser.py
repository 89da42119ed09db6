"""Open the page in the browser."""

from __future__ import annotations

import os
import tempfile
import webbrowser
from html import escape
from pathlib import Path


def open_browser(address: str) -> bool:
    """Open the page, and return whether there is a browser.

    The browser gets a file that only this user may read and that leads to the address: the
    arguments of a program, with the token, would be shown to all users of the machine.
    """
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return False
    # A browser in the terminal would write over what the command prints
    if type(browser) is webbrowser.GenericBrowser:
        return False
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "graphuq")
    try:
        cache.mkdir(parents=True, exist_ok=True)
        for former in cache.glob("label-*.html"):  # a token is of no use after its session
            former.unlink(missing_ok=True)
        handle, name = tempfile.mkstemp(".html", "label-", cache)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(
                '<!DOCTYPE html><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
                f'<meta http-equiv="refresh" content="0; url={escape(address)}">'
            )
    except OSError:
        return False
    return browser.open(Path(name).as_uri())
