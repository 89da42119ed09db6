"""Serve the page on this machine, in a thread."""

from __future__ import annotations

import errno
import secrets
import socket
import threading
from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp

from graphuq.labeling.page.security import LOOPBACK
from graphuq.utils import validation
from graphuq.utils.warnings import warn

# The port that is tried first, if none is given.
PORT = 8765


class PageServer:
    """A server of one page, behind a token of its own.

    Parameters
    ----------
    build : callable
        Returns the application from the token, the host and the name of the cookie.
    host : str
    port : int, optional
        By default 8765, or a free one if it is in use.

    Attributes
    ----------
    address : str
        The address of the page, with the token.

    Raises
    ------
    OSError
        The port is in use, or the host is none of this machine.
    """

    def __init__(
        self, build: Callable[[str, str, str], ASGIApp], host: str, port: int | None
    ) -> None:
        self._socket = bind(host, port)
        self.port = self._socket.getsockname()[1]
        token = secrets.token_urlsafe(32)
        shown = "127.0.0.1" if host == "0.0.0.0" else host.strip("[]")
        shown = "[::1]" if shown == "::" else f"[{shown}]" if ":" in shown else shown
        self.address = f"http://{shown}:{self.port}/?token={token}"
        if host not in LOOPBACK:
            warn(
                f"the page listens on {host}: others on the network can reach it, and whoever has "
                "the token can label; it is sent without encryption, so prefer a tunnel, such as "
                f"ssh -L {self.port}:localhost:{self.port}"
            )
        try:
            app = build(token, host, f"graphuq-label-{self.port}")
        except BaseException:
            self._socket.close()
            raise
        config = uvicorn.Config(
            app,
            http="h11",
            ws="none",
            lifespan="off",
            loop="asyncio",
            log_config=None,
            log_level="error",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=100,
            h11_max_incomplete_event_size=16_384,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=2,
        )
        self._server = uvicorn.Server(config)
        # not Thread.join, which takes a thread for ended once Ctrl-C interrupted it (Python 3.11)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin to serve."""
        self._thread.start()

    def _run(self) -> None:
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._ended.set()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the server ends, at most so long, and return whether it serves."""
        return not self._ended.wait(seconds)

    def stop(self) -> None:
        """End, after the requests that are being answered."""
        self._server.should_exit = True
        if self._thread.ident is not None:
            self._ended.wait(5)
        self._socket.close()


def require_port(host: str, port: int | None) -> None:
    """Refuse a port in use, or a host of another machine, before any work."""
    bind(host, port).close()


def bind(host: str, port: int | None) -> socket.socket:
    """Return a socket that is bound to a port, or to a free one if none is given."""
    if not isinstance(host, str) or not host:
        raise TypeError(f"host must be an address such as 127.0.0.1, got {host!r}")
    if port is not None:
        port = validation.integer("port", port, 0, 65_535)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for wanted in (PORT, 0) if port is None else (port,):
        # asyncio sends answers at once (TCP_NODELAY) only where the protocol is named: without it,
        # each would wait 40 ms
        bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((host.strip("[]"), wanted))
            bound.listen()  # a browser that comes before the server is ready waits
        except (UnicodeError, TypeError) as error:  # which Python's encoding of names raises
            bound.close()
            raise OSError(f"cannot listen on {host!r}: {error}") from None
        except OSError as error:
            bound.close()
            if error.errno == errno.EADDRINUSE and port is None:
                continue
            if error.errno == errno.EADDRINUSE:
                raise OSError(
                    f"port {port} is in use: choose another, or leave it out for a free one"
                ) from None
            reason = error.strerror or error
            raise OSError(f"cannot listen on {host}, port {wanted}: {reason}") from None
        return bound
    raise AssertionError("port 0 is always free")
