"""The addresses of the page."""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources
from pathlib import PurePath
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from graphuq.labeling.page import overview
from graphuq.labeling.page.desk import Desk
from graphuq.labeling.page.given import Given, GivenError
from graphuq.labeling.page.guidelines import Guidelines
from graphuq.labeling.page.security import Guard

TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


def build_app(
    desk: Desk,
    *,
    title: str,
    who: str,
    token: str,
    host: str,
    cookie: str,
    question: str = "",
    guidelines: Guidelines | None = None,
) -> ASGIApp:
    """Return the page of a session as an ASGI application, behind its guard.

    Parameters
    ----------
    desk : Desk
    title : str
        What is labeled.
    who : str
        The name under which answers are kept until the person gives another.
    token, host, cookie : str
        See `Guard`.
    question : str
        What is asked of each item.
    guidelines : Guidelines, optional
    """
    folder = resources.files("graphuq.labeling.page")
    # All files are read here: no address is ever a path
    static = {
        file.name: (file.read_bytes(), TYPES[PurePath(file.name).suffix])
        for file in (folder / "static").iterdir()
    }
    templates = Environment(
        loader=FileSystemLoader(str(folder / "templates")),
        autoescape=True,
        undefined=StrictUndefined,
    )
    page = templates.get_template("page.html").render(
        title=title,
        who=who,
        question=question,
        guidelines=None if guidelines is None else Markup(guidelines.html),
        most=desk.most_drawn,
        session=desk.key,
    )
    refused = templates.get_template("refused.html")

    def refuse(status: int, reason: str) -> Response:
        if status == 403:
            return HTMLResponse(refused.render(reason=reason), status)
        return JSONResponse({"error": reason}, status)

    async def show_page(request: Request) -> Response:
        return HTMLResponse(page)

    async def show_static(request: Request) -> Response:
        found = static.get(request.path_params["name"])
        if found is None:
            raise HTTPException(404)
        return Response(found[0], media_type=found[1])

    def show_picture(request: Request) -> Response:
        node, encode = request.path_params["node"], getattr(desk.items, "encode", None)
        if encode is None or not 0 <= node < len(desk.names):
            raise HTTPException(404)
        return Response(encode(node), media_type="image/png")

    def download_table(request: Request) -> Response:
        return Response(overview.table(desk), media_type="text/csv", headers=as_file("items.csv"))

    def download_report(request: Request) -> Response:
        path = desk.finishing.report
        if path is None:
            raise HTTPException(404)
        return Response(path.read_bytes(), media_type="text/html", headers=as_file(path.name))

    def show_guidelines(request: Request) -> Response:
        picture = None if guidelines is None else guidelines.encode(request.path_params["k"])
        if picture is None:
            raise HTTPException(404)
        return Response(picture, media_type="image/png")

    def reading(view: Callable[[Desk], Any]) -> Callable[[Request], Response]:
        def answer(request: Request) -> Response:
            found = view(desk)
            if isinstance(found, bytes):
                return Response(found, media_type="application/octet-stream")
            return JSONResponse(found)

        return answer

    def telling(action: Callable[[Given], dict[str, Any]]) -> Callable[[Request], Any]:
        async def answer(request: Request) -> Response:
            given = desk.give(await request.body())
            return JSONResponse(await run_in_threadpool(action, given))

        return answer

    routes = [
        Route("/", show_page),
        Route("/static/{name}", show_static),
        Route("/picture/{node:int}", show_picture),
        Route("/guidelines/{k:int}", show_guidelines),
        Route("/items.csv", download_table),
        Route("/report.html", download_report),
        Route("/api/state", reading(Desk.state)),
        *(
            Route(f"/api/{view.__name__}", reading(view))
            for view in (
                overview.positions, overview.colors, overview.suspects, overview.confusion,
                overview.history, overview.curve,
            )
        ),
        *(
            Route(f"/api/{name}", telling(action), methods=["POST"])
            for name, action in {
                "ask": desk.ask, "answer": desk.answer, "skip": desk.skip, "undo": desk.undo,
                "look": desk.look, "find": desk.find, "opinion": desk.opinion_of,
                "class": desk.add_class, "aim": desk.aim, "sample": desk.draw_sample,
                "finish": desk.finish,
            }.items()
        ),
    ]  # fmt: skip
    app = Starlette(
        routes=routes,
        exception_handlers={
            GivenError: _said(400),
            ValueError: _said(400),
            OSError: _said(507),
            HTTPException: lambda _, error: JSONResponse(
                {"error": "there is nothing here"}, getattr(error, "status_code", 404)
            ),
            Exception: lambda *_: JSONResponse(
                {"error": "this is an error in graphuq: the terminal shows it"}, 500
            ),
        },
    )
    app.router.redirect_slashes = False
    return Guard(app, token, host, cookie, desk.key, refuse)


def as_file(name: str) -> dict[str, str]:
    """Return the header by which a browser saves what it gets."""
    return {"content-disposition": f'attachment; filename="{name}"'}


def _said(status: int) -> Any:
    return lambda _, error: JSONResponse({"error": str(error)}, status)
