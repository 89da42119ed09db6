"""The page of a session, asked without a browser."""

from __future__ import annotations

import warnings

import pytest

pytest.importorskip("starlette")
pytest.importorskip("jinja2")
pytest.importorskip("httpx")

with warnings.catch_warnings():
    # newer versions of Starlette prefer another client
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

from graphuq.labeling.page.app import build_app
from graphuq.labeling.page.desk import Desk
from graphuq.labeling.page.finishing import Finishing
from graphuq.labeling.page.items import Texts

TOKEN, COOKIE, HOST = "t" * 43, "graphuq-label-8765", "127.0.0.1:8765"


def client_of(session, items=None, *, known=True, host="127.0.0.1", title="Votes", **given):
    """Return the page as a browser sees it that has the cookie, or has not."""
    items = Texts([f"Text {k}" for k in range(session.n)]) if items is None else items
    desk = Desk(session, items, Finishing(lambda: "Written."))
    app = build_app(desk, title=title, who="Ada", token=TOKEN, host=host, cookie=COOKIE, **given)
    client = TestClient(
        app, base_url=f"http://{HOST}", follow_redirects=False, raise_server_exceptions=False
    )
    client.desk = desk
    client.headers["origin"] = f"http://{HOST}"
    if known:
        client.cookies.set(COOKIE, TOKEN)
    return client
