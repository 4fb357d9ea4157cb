"""`AccessGate`: lets in who brings the token, on every route and socket; only the files of the built page are for everybody.

A browser brings the token in the address that the explorer printed: it is exchanged for a cookie, and leaves the address. A program
brings it as ``Authorization: Bearer``. Whoever brings none gets an `ErrorBody`, and where the page is, one that says how to get in.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, parse_qsl, urlencode

from flask import Response
from werkzeug.http import parse_cookie

from collage_core.base.access_token import bearer, is_same

from ..messages.live import ApiError
from .error_answers import error_response
from .security import READS, set_headers

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

TOKEN = "token"
"""The name of the token in an address."""

ADMIT = "collage.admit"
"""Key in the environment of a request → what the server wants called once the token has come, if it wants to know."""

_NONE = ApiError(
    "no_token", "this explorer asks for a token", "open the address that it printed, or send the header Authorization: Bearer TOKEN"
)
_WRONG = ApiError("wrong_token", "the token is not that of this explorer", _NONE.hint)


class AccessGate:
    """WSGI middleware in front of Flask and Socket.IO, behind the check of ``Host`` and ``Origin``.

    Args:
        token: None lets everybody in.
        sign_in: Renders the page for browsers that bring no token, or a wrong one (``is_wrong``). Its form asks for the address ``page``,
            and keeps ``fields``.
    """

    def __init__(self, app: WSGIApplication, token: str | None, sign_in: Callable[..., str]):
        self._app = app
        self._token = token
        self._sign_in = sign_in
        # Whoever gets hold of the cookie does not learn the token; and after a restart with the same token, the cookie is good again.
        self._cookie = hmac.new((token or "").encode(), b"cookie", "sha256").hexdigest()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ.get("PATH_INFO", "").startswith("/static/"):
            return self._app(environ, start_response)
        answer = self._answer(environ)
        if answer is not None:
            return set_headers(answer)(environ, start_response)
        environ.get(ADMIT, lambda: None)()
        return self._app(environ, start_response)

    def _answer(self, environ: WSGIEnvironment) -> Response | None:
        """Return the answer to who may not go on, or should go on elsewhere; None lets the request through."""
        if self._token is None:
            return None
        in_address = parse_qs(environ.get("QUERY_STRING", "")).get(TOKEN, [None])[0]
        in_header = bearer(environ.get("HTTP_AUTHORIZATION"))
        if is_same(in_address, self._token):
            return self._exchange(environ) if _is_page(environ) else None
        cookies = parse_cookie(environ)
        if is_same(in_header, self._token) or is_same(cookies.get(cookie_name(environ)), self._cookie):
            return None
        error = _NONE if in_address is None and in_header is None else _WRONG
        if "text/html" in environ.get("HTTP_ACCEPT", "") and "/api/" not in environ.get("PATH_INFO", ""):
            fields = _other_fields(environ) if _is_page(environ) else []
            # The address is relative, for there may be a prefix that nobody announces.
            to_page = "../" * (environ.get("PATH_INFO", "").count("/") - 1) or "./"
            response = Response(self._sign_in(page=to_page, fields=fields, is_wrong=error is _WRONG), 401)
        else:
            response = error_response(401, error)
        response.headers["WWW-Authenticate"] = 'Bearer realm="Collage Explorer"'
        return response

    def _exchange(self, environ: WSGIEnvironment) -> Response:
        """Send the browser to the same page without the token. The address is relative, for there may be a prefix that nobody announces."""
        others = urlencode(_other_fields(environ))
        response = Response(status=303, headers={"Location": f"./?{others}" if others else "./"})
        # Without a path, the cookie is for the page's folder, prefix included. Lax: links to the page in other sites still open it.
        is_secure = environ.get("wsgi.url_scheme") == "https"
        response.set_cookie(cookie_name(environ), self._cookie, path=None, secure=is_secure, httponly=True, samesite="Lax")
        return response


def cookie_name(environ: WSGIEnvironment) -> str:
    """Return the name of the cookie: browsers send cookies to every port of a host, so it holds the port that the browser asked."""
    port = environ.get("HTTP_HOST", "").rpartition(":")[2]
    return f"collage-{port if port.isdecimal() else environ.get('wsgi.url_scheme')}"


def _is_page(environ: WSGIEnvironment) -> bool:
    return environ.get("PATH_INFO") == "/" and environ.get("REQUEST_METHOD") in READS


def _other_fields(environ: WSGIEnvironment) -> list[tuple[str, str]]:
    return [(name, value) for name, value in parse_qsl(environ.get("QUERY_STRING", ""), keep_blank_values=True) if name != TOKEN]
