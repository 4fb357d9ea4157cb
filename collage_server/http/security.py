"""Checks the ``Host`` and ``Origin`` of every request before Flask or Socket.IO see it, and sets safe headers.

A web site that points its own name at 127.0.0.1 is refused by its ``Host``; a page of another origin by its ``Origin``, and by what its
browser says in ``Sec-Fetch-Site``: reads too, since some of them start processes. A link to the page may stand anywhere. Programs that
send none of these are served.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from flask import Response

from collage_core.base.model_file import PROGRAM_TEXT, may_hold_code

from ..config import ServerConfig, is_loopback
from ..messages.live import ApiError
from .error_answers import Problem, error_response

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

READS = frozenset({"GET", "HEAD", "OPTIONS"})
_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
_PROXY_HEADERS = ("HTTP_FORWARDED", "HTTP_VIA", "HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_HOST", "HTTP_X_FORWARDED_PROTO", "HTTP_X_REAL_IP")
_POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "worker-src 'self' blob:",
        "connect-src 'self'",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
        "frame-src 'self'",
        "frame-ancestors 'self'",
    )
)


class Gatekeeper:
    """WSGI middleware in front of everything, Socket.IO's polling and web sockets included."""

    def __init__(self, app: WSGIApplication, config: ServerConfig):
        self._app = app
        self._config = config
        self._names = _LOCAL_NAMES | _named(config)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        refusal = self._refusal(environ)
        _take_prefix_off(environ)
        if refusal is None:
            return self._app(environ, start_response)
        response: Response = error_response(403, refusal)
        set_headers(response)
        return response(environ, start_response)

    def _refusal(self, environ: WSGIEnvironment) -> ApiError | None:
        host = environ.get("HTTP_HOST", "")
        if not self._knows(host):
            return ApiError("foreign_host", f"this server does not answer for the host {host!r}", "use the address that it printed")
        is_read = environ.get("REQUEST_METHOD", "GET") in READS and not is_socket_path(environ)
        if is_read and _is_visit(environ):
            return None
        # A browser names the site even where it sends no ``Origin``.
        is_own_site = environ.get("HTTP_SEC_FETCH_SITE", "none") in ("same-origin", "none")
        if is_own_origin(environ.get("HTTP_ORIGIN"), environ) and is_own_site:
            return None
        origin = environ.get("HTTP_ORIGIN", "another site")
        return ApiError("foreign_origin", f"a page of {origin!r} may not use this server", f"open http://{host}/ itself")

    def _knows(self, host: str) -> bool:
        name = host_name(host)
        if name is None:
            return False
        if name in self._names:
            return True
        return not self._config.is_loopback and _is_address(name)


def is_own_origin(origin: str | None, environ: WSGIEnvironment) -> bool:
    """Return whether there is no origin (a program), or exactly the host and port that were asked."""
    return not origin or origin.partition("://")[2].lower() == environ.get("HTTP_HOST", "").lower()


def trusts(config: ServerConfig, environ: WSGIEnvironment) -> bool:
    """Return whether who asks may open programs, and models by their path: the user of this machine, who has brought the token."""
    if not config.is_reached_directly or (config.token is None and not config.trust_local):
        return False
    return is_loopback(environ.get("REMOTE_ADDR", "")) and not any(environ.get(name) for name in _PROXY_HEADERS)


def check_path(config: ServerConfig, environ: WSGIEnvironment) -> None:
    """Check that who asks may open a model by its path on this machine.

    Raises:
        Problem: they may not (403): the hint says who may.
    """
    if not trusts(config, environ):
        message = "models cannot be opened by a path on the server's machine"
        raise Problem(403, "local_paths_off", message, f"send the file instead{_how_to_trust(config)}")


def check_code(config: ServerConfig, environ: WSGIEnvironment, name: str, *, is_trusted: bool) -> None:
    """Check that who asks may open the file of that name if it is a program, and has been asked whether to.

    Args:
        is_trusted: They trust whoever wrote it.

    Raises:
        Problem: they may not (403): the hint says who may; or they have not been asked (409).
    """
    if not may_hold_code(name):
        return
    if not trusts(config, environ):
        hint = f"send what `tvm.ir.save_json` writes of its module, or open it with `collage explore FILE`{_how_to_trust(config)}"
        raise Problem(403, "runs_code", f"{name[:80]!r} may hold code, which would run on the server", hint)
    if not is_trusted:
        shown = name.replace("\\", "/").rpartition("/")[2][:80]
        raise Problem(409, "asks_trust", f"{shown!r} {PROGRAM_TEXT}", 'send "trust": true if you trust who wrote it')


def _how_to_trust(config: ServerConfig) -> str:
    return "; or start the explorer without --no-token" if config.is_reached_directly and config.token is None else ""


def is_socket_path(environ: WSGIEnvironment) -> bool:
    """Return whether a request may be one of Socket.IO."""
    return "/socket.io" in environ.get("PATH_INFO", "")


def host_name(host: str) -> str | None:
    """Return the name or address in a ``Host`` header, without its port and brackets; None where there is none."""
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None


def set_headers(response: Response) -> Response:
    """Set headers by which a page loads nothing from elsewhere, guesses no types, and is framed by no other."""
    response.headers.setdefault("Content-Security-Policy", _POLICY)
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Referrer-Policy"] = "same-origin"
    response.headers["Cross-Origin-Opener-Policy"] = "same-origin"
    response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
    response.headers.setdefault("Cache-Control", "no-store")
    return response


def socket_origins() -> Callable[[str | None, dict[str, Any]], bool]:
    """Return the function by which Socket.IO judges origins: the same rule."""
    return lambda origin, environ: is_own_origin(origin, environ)


def _take_prefix_off(environ: WSGIEnvironment) -> None:
    """Take the prefix that a proxy announces off the path, as some proxies leave it there."""
    prefix, path = environ.get("SCRIPT_NAME", ""), environ.get("PATH_INFO", "")
    if prefix and path.startswith(f"{prefix}/"):
        environ["PATH_INFO"] = path[len(prefix) :]


def _is_visit(environ: WSGIEnvironment) -> bool:
    """Return whether a browser opens the page itself, as it does for a link in another site. What the page reads is no such visit."""
    opens = environ.get("HTTP_SEC_FETCH_MODE") == "navigate" and environ.get("HTTP_SEC_FETCH_DEST") == "document"
    return opens and "/api/" not in environ.get("PATH_INFO", "")


def _named(config: ServerConfig) -> frozenset[str]:
    names = {config.host, *config.hosts}
    if not config.is_loopback:
        names |= {socket.gethostname(), socket.getfqdn()}
    return frozenset(name.lower().strip("[]") for name in names if name)


def _is_address(name: str) -> bool:
    """Return whether `name` is an IP address, which no name server can point elsewhere."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
