"""The inference protocol as a WSGI application: who may ask, what a path means, and answers in the protocol's form.

The head of a request enters first, so that a body that would be refused is never read; then the whole request. JSON and binary tensors
leave, or an error as ``{"error": …}``.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from ..base.access_token import bearer, is_same
from ..version import __version__
from .refusal import Refusal
from .served_model import VERSION, ServedModel

HEADER_LENGTH = "Inference-Header-Content-Length"
"""The header of the extension for binary tensors: how many bytes of the body are JSON."""
_HEALTH = (["v2", "health", "live"], ["v2", "health", "ready"])
"""Paths that are answered without the token, for whoever watches over the server."""
_METHODS = ("GET", "HEAD", "POST")

Answer = tuple[dict[str, Any], bytes]
Headers = list[tuple[str, str]]


@dataclass(frozen=True)
class Head:
    """A request without its body.

    Attributes:
        path: Decoded, without the query.
        headers: Names in capitals with underscores, as WSGI writes them without ``HTTP_``.
    """

    method: str
    path: str
    headers: Mapping[str, str]

    @property
    def parts(self) -> list[str]:
        return self.path.strip("/").split("/")


class Application:
    """Answers requests for one model.

    Args:
        most_bytes: Most bytes of a body.
        is_local: Whether only this machine can reach it; a page of another site may then not have a browser ask it.
        token: What a request must bring; None where it need bring nothing.
    """

    def __init__(self, model: ServedModel, most_bytes: int, is_local: bool, token: str | None = None):
        self.model, self.most_bytes, self.is_local, self.token = model, most_bytes, is_local, token

    def __call__(self, environ: Mapping[str, Any], start_response: Callable[[str, Headers], object]) -> Iterable[bytes]:
        path = environ["PATH_INFO"].encode("latin-1").decode("utf-8", "replace")  # WSGI hands bytes over as characters
        head = Head(environ["REQUEST_METHOD"], path, _headers_of(environ))
        try:
            self.check(head)
            status, told, binary = 200, *self._answer(head, environ["wsgi.input"].read)
        except Refusal as refusal:
            status, told, binary = refusal.status, {"error": refusal.message}, b""
        except Exception:  # noqa: BLE001 - a fault of ours: the client is told that it is, and the log has it
            traceback.print_exc()
            status, told, binary = 500, {"error": "the server has an internal error; its log has the details"}, b""
        line, headers, body = response(status, told, binary)
        start_response(line, headers)
        return [] if head.method == "HEAD" else body

    def check(self, head: Head) -> None:
        """Check all that can be known before the body is read.

        Raises:
            Refusal: the request will not be answered.
        """
        self._check_asker(head)
        if head.method not in _METHODS:
            raise Refusal(405, f"{head.method[:20]!r} is not served here: there is GET, and POST for infer")
        is_infer = self._is_infer(head)
        if head.method == "POST":
            if not is_infer:
                raise self._wrong_method(head, "GET")
            self._check_length(head)
            return
        if is_infer:
            raise self._wrong_method(head, "POST")
        if head.headers.get("CONTENT_LENGTH", "0").strip() != "0" or "TRANSFER_ENCODING" in head.headers:
            raise Refusal(400, f"{head.method} has no body")

    def _check_asker(self, head: Head) -> None:
        """Refuse pages of other web sites, which a browser on this machine may have been made to ask for, and who lacks the token."""
        host, origin = head.headers.get("HOST", ""), head.headers.get("ORIGIN")
        name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]  # an IPv6 address has colons of its own
        if self.is_local and host and not is_loopback(name):
            raise Refusal(403, f"the server is asked as {host[:200]!r}, which is no name of this machine")
        if origin is not None and _netloc(origin) != host:
            raise Refusal(403, f"a page of {origin[:200]!r} asks, and pages of other sites are not served")
        if self.token is not None and head.parts not in _HEALTH and not is_same(bearer(head.headers.get("AUTHORIZATION")), self.token):
            raise Refusal(401, "the request must bring the server's token: Authorization: Bearer TOKEN")

    def _check_length(self, head: Head) -> None:
        if "TRANSFER_ENCODING" in head.headers:
            raise Refusal(411, "the body must come in one piece, with its Content-Length")
        length = head.headers.get("CONTENT_LENGTH")
        if length is None:
            raise Refusal(411, "the request must say how long its body is: Content-Length")
        size = _whole(length)
        if size is None:
            raise Refusal(400, f"the Content-Length is {length[:80]!r}, and not one whole number")
        if size > self.most_bytes:
            raise Refusal(413, f"the body has {size} bytes, at most {self.most_bytes} are read: send binary tensors, or see --most-mb")

    def _is_infer(self, head: Head) -> bool:
        """Return whether the path is that of inference.

        Raises:
            Refusal: nothing is there.
        """
        match head.parts:
            case ["v2"] | ["v2", "health", "live" | "ready"]:
                return False
            case ["v2", "models", _, *_] as parts:
                match self._model_part(parts, head):
                    case [] | ["ready"]:
                        return False
                    case ["infer"]:
                        return True
        raise self._nothing(head)

    def _model_part(self, parts: list[str], head: Head) -> list[str]:
        """Return what comes after the model, and its version, in the path of a request.

        Raises:
            Refusal: it is another model or version.
        """
        name, rest = parts[2], parts[3:]
        if rest[:1] == ["versions"]:
            if len(rest) < 2:
                raise self._nothing(head)
            if rest[1] != VERSION:
                raise Refusal(404, f"the model {name[:80]!r} has no version {rest[1][:80]!r}; its only one is {VERSION!r}")
            rest = rest[2:]
        if name != self.model.name:
            raise Refusal(404, f"there is no model {name[:80]!r}; the one that is served is {self.model.name!r}")
        return rest

    def _answer(self, head: Head, read: Callable[[], bytes]) -> Answer:
        """Return the answer to a request that `check` lets pass."""
        if head.method == "POST":
            body = read()
            split = _json_size(head, len(body))
            return self.model.infer(self.model.parse(body[:split]), body[split:])
        match head.parts:
            case ["v2"]:
                return {"name": "collage", "version": __version__, "extensions": ["binary_tensor_data"]}, b""
            case ["v2", "health", state]:
                return {state: True}, b""
            case [*_, "ready"]:
                return {"name": self.model.name, "ready": True}, b""
        return self.model.metadata(), b""

    def _nothing(self, head: Head) -> Refusal:
        return Refusal(404, f"there is nothing at {head.path[:200]!r}: begin at /v2/models/{self.model.name}")

    def _wrong_method(self, head: Head, right: str) -> Refusal:
        return Refusal(405, f"{head.path[:200]!r} is asked with {right}, and not with {head.method[:20]}")


def response(status: int, told: Mapping[str, Any], binary: bytes = b"") -> tuple[str, Headers, list[bytes]]:
    """Return the status line, the headers and the body of an answer."""
    text = json.dumps(told, allow_nan=False, separators=(",", ":")).encode()
    headers = [
        ("Content-Type", "application/octet-stream" if binary else "application/json"),
        ("Content-Length", str(len(text) + len(binary))),
        ("X-Content-Type-Options", "nosniff"),
    ]
    if binary:
        headers.append((HEADER_LENGTH, str(len(text))))
    if status == 401:
        headers.append(("WWW-Authenticate", "Bearer"))
    if status == 503:
        headers.append(("Retry-After", "1"))
    return f"{status} {HTTPStatus(status).phrase}", headers, [text, binary] if binary else [text]


def is_loopback(host: str) -> bool:
    """Return whether `host` is an address or the name by which only this machine reaches itself."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _headers_of(environ: Mapping[str, Any]) -> dict[str, str]:
    own = {name.removeprefix("HTTP_"): value for name, value in environ.items() if name.startswith("HTTP_")}
    return own | {name: environ[name] for name in ("CONTENT_LENGTH", "CONTENT_TYPE") if name in environ}


def _json_size(head: Head, size: int) -> int:
    """Return how many bytes of a body are JSON."""
    said = head.headers.get(HEADER_LENGTH.upper().replace("-", "_"))
    found = size if said is None else _whole(said)
    if found is None or found > size:
        raise Refusal(400, f"{HEADER_LENGTH} is {said!r:.80}, and the body has {size} bytes")
    return found


def _whole(text: str) -> int | None:
    """Return a header's whole number; None where it is none."""
    stripped = text.strip()
    return int(stripped) if stripped.isascii() and stripped.isdigit() and len(stripped) < 16 else None


def _netloc(origin: str) -> str | None:
    """Return the host and port of an ``Origin`` header; None where it is no address."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None
