"""Who may speak to the page: a token, the names of this machine, one origin, and short requests."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Callable, Iterator
from hmac import compare_digest
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

# A body that the page sends has at most this many bytes, and comes within these seconds.
MAX_BODY, BODY_SECONDS = 65_536, 10.0

LOOPBACK = ("localhost", "127.0.0.1", "::1")

# Nothing runs, is shown or is asked for that does not come from this server as a file of its own.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'"
)

HEADERS = {
    "content-security-policy": POLICY,
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class Guard:
    """Pass on only what the page itself may have sent, and add the headers of safety.

    A request needs all of these:

    1. A Host that names this machine. A foreign name that points here (DNS rebinding) is refused.
    2. An Origin that is that Host. Requests that change something need one.
    3. The key of the session, if it names one: a page that was left open may not speak to another
       session at the same address, and says so.
    4. The token, once in the address of the page, and from then on in a cookie.
    5. A body of moderate size.

    Parameters
    ----------
    app : ASGI application
    token : str
    host : str
        The address that the server listens on.
    cookie : str
        The name of the cookie. Cookies ignore ports, so that each server needs its own.
    session : str
        The key of the session.
    refuse : callable
        Returns the response to a refused request, from its status and the reason.
    """

    def __init__(
        self,
        app: ASGIApp,
        token: str,
        host: str,
        cookie: str,
        session: str,
        refuse: Callable[[int, str], Response],
    ) -> None:
        self._app, self._token, self._cookie, self._refuse = app, token, cookie, refuse
        self._session = session
        self._names = {*LOOPBACK, host.lower()}
        # Beyond loopback, an address in figures cannot be rebound, and the machine has a name
        self._any_address = host.lower() not in LOOPBACK
        if self._any_address:
            self._names |= {socket.gethostname().lower(), socket.getfqdn().lower()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http":  # no websockets
            return
        found = self._fault(scope)
        body = b""
        if found is None:
            try:
                async with asyncio.timeout(BODY_SECONDS):
                    found, body = await _read_body(scope, receive)
            except TimeoutError:
                found = (408, "the request did not end")
        sends_cookie = found is None and _has_token(scope)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message["headers"],
                    *((name.encode(), value.encode()) for name, value in HEADERS.items()),
                ]
                if sends_cookie:
                    value = f"{self._cookie}={self._token}; HttpOnly; SameSite=Strict; Path=/"
                    message["headers"].append((b"set-cookie", value.encode()))
            await send(message)

        if found is not None:
            await self._refuse(*found)(scope, receive, send_with_headers)
            return
        given = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def receive_body() -> Message:
            return next(given, None) or await receive()

        await self._app(scope, receive_body, send_with_headers)

    def _fault(self, scope: Scope) -> tuple[int, str] | None:
        """Return the status and the reason of a refusal, None if there is none."""
        method = scope["method"]
        if method not in ("GET", "HEAD", "POST"):
            return 405, "this method is not used"
        hosts = [*_values(scope, b"host")]
        if len(hosts) != 1 or not self._is_own(hosts[0]):
            return 421, "the name of the server in the address is not one of this machine"
        origins = [*_values(scope, b"origin")]
        own = {f"{scheme}://{hosts[0].lower()}" for scheme in ("http", "https")}
        if any(origin.lower() not in own for origin in origins) or (
            method == "POST" and len(origins) != 1
        ):
            return 403, "the request comes from another page"
        sites = {*_values(scope, b"sec-fetch-site")}
        if not sites <= {"same-origin", "none"} and scope["path"] != "/":
            return 403, "the request comes from another page"
        if any(key != self._session for key in _values(scope, b"graphuq-session")):
            return 409, "This page is that of another session, with other items or another file"
        if not self._is_known(scope):
            return 403, "the token is missing or wrong"
        return None

    def _is_own(self, host: str) -> bool:
        """Return whether a Host names this machine; the port may be that of a tunnel."""
        name, port = host.lower(), ""
        if name.startswith("["):
            name, closed, port = name[1:].partition("]")
            if not closed or (port and not port.startswith(":")):
                return False
            port = port[1:]
        elif ":" in name:
            name, _, port = name.partition(":")
        if port and not (port.isascii() and port.isdigit()):
            return False
        if name in self._names:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return self._any_address

    def _is_known(self, scope: Scope) -> bool:
        """Return whether the token is in the address of the page, or in the cookie."""
        if _has_token(scope):
            try:
                query = parse_qs(scope["query_string"].decode("latin-1"), max_num_fields=10)
            except ValueError:  # more fields
                return False
            return self._is_token(query.get("token", [""]))
        # not http.cookies, which drops all that follows an odd cookie of another program
        pairs = [
            pair.strip().partition("=")
            for header in _values(scope, b"cookie")
            for pair in header.split(";")
        ]
        return self._is_token([value for name, _, value in pairs if name == self._cookie])

    def _is_token(self, given: list[str]) -> bool:
        return len(given) == 1 and compare_digest(given[0].encode(), self._token.encode())


def _values(scope: Scope, name: bytes) -> Iterator[str]:
    return (value.decode("latin-1") for key, value in scope["headers"] if key == name)


def _has_token(scope: Scope) -> bool:
    """Return whether the address is that of the page, with a token."""
    return scope["path"] == "/" and b"token" in scope["query_string"]


async def _read_body(scope: Scope, receive: Receive) -> tuple[tuple[int, str] | None, bytes]:
    """Return the whole body, or the refusal of one that is too long."""
    too_long = (413, f"the request has more than {MAX_BODY:,} bytes"), b""
    length = next(_values(scope, b"content-length"), "0")
    if not length.isdigit() or int(length[:20]) > MAX_BODY:
        return too_long
    parts, size, more = [], 0, True
    while more:
        message = await receive()
        if message["type"] != "http.request":  # the connection has ended
            return (400, "the request did not end"), b""
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > MAX_BODY:
            return too_long
        more = message.get("more_body", False)
    return None, b"".join(parts)
