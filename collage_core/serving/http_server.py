"""The HTTP side of the inference protocol: a bounded server, and the handler that reads requests and writes answers.

Requests of the network enter, which may be slow, broken or hostile. So there are bounds for connections, for the bytes of a request, for
those of all requests in progress, and for the time that a request may take to arrive and its answer to be taken. Only faults are logged.
"""

from __future__ import annotations

import io
import json
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from typing import Any
from urllib.parse import unquote, urlsplit

from ..version import __version__
from .refusal import Refusal
from .served_model import VERSION, ServedModel, parse

MOST_CONNECTIONS = 64
IDLE_S = 60.0
"""Longest that a connection may be idle between two requests."""
REQUEST_S = 30.0
"""Longest that a request may take to arrive, and an answer to be taken."""
BODIES_AT_ONCE = 4
"""The bytes of all requests in progress are at most so many times those of the largest one."""
HEADER_LENGTH = "Inference-Header-Content-Length"
"""The header of the extension for binary tensors: how many bytes of the body are JSON."""


class ModelServer(ThreadingHTTPServer):
    """A server of one model, with a thread for each connection; the connection after `MOST_CONNECTIONS` is closed at once.

    Args:
        most_bytes: Most bytes of a request.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, host: str, port: int, model: ServedModel, most_bytes: int):
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), _Handler)
        self.model, self.most_bytes = model, most_bytes
        self.is_local = _is_loopback(host)
        self._connections = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self._bytes, self._lock = 0, threading.Lock()

    @property
    def address(self) -> str:
        """The address of the server, as clients write it."""
        host, port = self.server_name, self.server_port
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    def server_bind(self) -> None:
        """Bind as the base class does, without asking the network for the name of this machine."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    @contextmanager
    def holding(self, size: int) -> Iterator[None]:
        """Count the bytes of a request in progress.

        Raises:
            Refusal: there would be too many.
        """
        with self._lock:
            if self._bytes + size > BODIES_AT_ONCE * self.most_bytes:
                raise Refusal(503, "the requests in progress are too large together: try again later", closes=True)
            self._bytes += size
        try:
            yield
        finally:
            with self._lock:
                self._bytes -= size

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._connections.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._connections.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._connections.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log a fault of ours; a client that leaves or is too slow is none."""
        if not isinstance(sys.exception(), OSError):
            traceback.print_exc()


class _Arriving(io.RawIOBase):
    """Bytes that a client sends, read before a moment that is set for each request."""

    def __init__(self, connection: socket.socket):
        self._connection = connection
        self._end = 0.0

    def readable(self) -> bool:
        return True

    def allow(self, seconds: float) -> None:
        """Give the client so many seconds from now."""
        self._end = time.monotonic() + seconds

    def readinto(self, buffer: Any) -> int:
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError("the client is too slow")
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)


class _Handler(BaseHTTPRequestHandler):
    """Answers the requests of one connection."""

    protocol_version = "HTTP/1.1"
    server_version = f"collage/{__version__}"
    sys_version = ""
    server: ModelServer
    rfile: io.BufferedReader

    def setup(self) -> None:
        super().setup()
        self._arriving = _Arriving(self.connection)
        self.rfile = io.BufferedReader(self._arriving, 1 << 16)

    def handle_one_request(self) -> None:
        """Read and answer a request: the first byte may take long to come, the rest may not."""
        self._arriving.allow(IDLE_S)
        self.close_connection = True
        if not self.rfile.peek(1):
            return
        self._arriving.allow(REQUEST_S)
        super().handle_one_request()

    def handle_expect_100(self) -> bool:
        """Ask for the body only where it is one that will be read."""
        try:
            self._body_size()
        except Refusal as refusal:
            self._refuse(refusal)
            return False
        return super().handle_expect_100()

    def do_GET(self) -> None:
        self._answer(self._get)

    def do_HEAD(self) -> None:
        self._answer(self._get)

    def do_POST(self) -> None:
        self._answer(self._post)

    def _other(self) -> None:
        self._answer(self._other_method)

    do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_TRACE = do_CONNECT = _other

    def _answer(self, respond: Callable[[], tuple[dict[str, Any], bytes]]) -> None:
        """Answer with what `respond` returns, or with the refusal that it raises."""
        try:
            self._check_asker()
            told, binary = respond()
        except Refusal as refusal:
            self._refuse(refusal)
        except Exception:  # noqa: BLE001 - a fault of ours: the client is told that it is, and the log has it
            traceback.print_exc()
            self._refuse(Refusal(500, "the server met a fault of its own; its log has the details", closes=True))
        else:
            self._send(200, told, binary)

    def _check_asker(self) -> None:
        """Refuse pages of other web sites, which a browser on this machine may have been made to ask for."""
        host, origin = self.headers.get("Host", ""), self.headers.get("Origin")
        if self.server.is_local and host and not _is_loopback(_host_of(host)):
            raise Refusal(403, f"the server is asked as {host!r}, which is no name of this machine", closes=True)
        if origin is not None and urlsplit(origin).netloc != host:
            raise Refusal(403, f"a page of {origin!r} asks, and pages of other sites are not served", closes=True)

    def _get(self) -> tuple[dict[str, Any], bytes]:
        self._no_body()
        match self._path():
            case ["v2"]:
                return {"name": "collage", "version": __version__, "extensions": ["binary_tensor_data"]}, b""
            case ["v2", "health", "live"]:
                return {"live": True}, b""
            case ["v2", "health", "ready"]:
                return {"ready": True}, b""
            case ["v2", "models", *_] as parts:
                match self._model_part(parts):
                    case []:
                        return self.server.model.metadata(), b""
                    case ["ready"]:
                        return {"name": self.server.model.name, "ready": True}, b""
                    case ["infer"]:
                        raise self._wrong_method("POST")
        raise self._nothing()

    def _post(self) -> tuple[dict[str, Any], bytes]:
        parts = self._path()
        if parts[:2] != ["v2", "models"] or self._model_part(parts) != ["infer"]:
            self.close_connection = True
            if parts in (["v2"], ["v2", "health", "live"], ["v2", "health", "ready"]) or parts[:2] == ["v2", "models"]:
                raise self._wrong_method("GET")
            raise self._nothing()
        size = self._body_size()
        with self.server.holding(size):
            body = self._read(size)
            split = self._json_size(size)
            return self.server.model.infer(parse(body[:split]), body[split:])

    def _other_method(self) -> tuple[dict[str, Any], bytes]:
        raise Refusal(405, f"{self.command[:20]!r} is not served here: there is GET, and POST for infer", closes=True)

    def _path(self) -> list[str]:
        return [unquote(part) for part in urlsplit(self.path).path.strip("/").split("/")]

    def _model_part(self, parts: list[str]) -> list[str]:
        """Return what comes after the model, and its version, in the path of a request.

        Raises:
            Refusal: it is another model or version.
        """
        match parts[2:]:
            case [name, "versions", version, *rest]:
                if version != VERSION:
                    raise Refusal(404, f"the model {name!r} has no version {version[:80]!r}; its only one is {VERSION!r}", closes=True)
            case [name, *rest]:
                pass
            case _:
                raise self._nothing()
        if name != self.server.model.name:
            raise Refusal(404, f"there is no model {name[:80]!r}; the one that is served is {self.server.model.name!r}", closes=True)
        return rest

    def _nothing(self) -> Refusal:
        return Refusal(404, f"there is nothing at {self.path[:200]!r}: begin at /v2/models/{self.server.model.name}", closes=True)

    def _wrong_method(self, right: str) -> Refusal:
        return Refusal(405, f"{self.path[:200]!r} is asked with {right}, and not with {self.command[:20]}", closes=True)

    def _no_body(self) -> None:
        """Refuse what could be taken for the next request: a body where there is none."""
        if self.headers.get("Content-Length", "0").strip() != "0" or "Transfer-Encoding" in self.headers:
            raise Refusal(400, f"{self.command} has no body", closes=True)

    def _body_size(self) -> int:
        """Return how many bytes the body of this request has.

        Raises:
            Refusal: it does not say so, or they are too many.
        """
        if "Transfer-Encoding" in self.headers:
            raise Refusal(411, "the body must come in one piece, with its Content-Length", closes=True)
        said = set(self.headers.get_all("Content-Length", []))
        size = _whole(next(iter(said))) if len(said) == 1 else None
        if size is None:
            raise Refusal(400 if said else 411, "the request must say once how long its body is: Content-Length", closes=True)
        if size > self.server.most_bytes:
            most = self.server.most_bytes
            raise Refusal(413, f"the body has {size} bytes, at most {most} are read: send binary tensors, or see --most-mb", closes=True)
        return size

    def _json_size(self, size: int) -> int:
        """Return how many bytes of the body are JSON."""
        said = self.headers.get(HEADER_LENGTH)
        found = size if said is None else _whole(said)
        if found is None or found > size:
            raise Refusal(400, f"{HEADER_LENGTH} is {said!r}, and the body has {size} bytes")
        return found

    def _read(self, size: int) -> bytes:
        try:
            body = self.rfile.read(size)
        except TimeoutError as error:
            raise Refusal(408, f"the body did not come within {REQUEST_S:g} s", closes=True) from error
        if len(body) < size:
            raise Refusal(400, f"the body ends after {len(body)} of {size} bytes", closes=True)
        return body

    def _refuse(self, refusal: Refusal) -> None:
        self.close_connection |= refusal.closes
        self._send(refusal.status, {"error": refusal.message}, b"")

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer what is no HTTP of this server's in the same shape as every error."""
        self.close_connection = True
        self._send(code, {"error": message or self.responses.get(code, ("error",))[0]}, b"")

    def _send(self, status: int, told: dict[str, Any], binary: bytes) -> None:
        """Send an answer; the client has `REQUEST_S` to take it."""
        text = json.dumps(told, allow_nan=False, separators=(",", ":")).encode()
        self.send_response_only(status)
        self.send_header("Server", self.version_string())
        self.send_header("Content-Type", "application/octet-stream" if binary else "application/json")
        if binary:
            self.send_header(HEADER_LENGTH, str(len(text)))
        self.send_header("Content-Length", str(len(text) + len(binary)))
        self.send_header("X-Content-Type-Options", "nosniff")
        if status == 503:
            self.send_header("Retry-After", "1")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.connection.settimeout(REQUEST_S)
        with suppress(OSError):
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(text)
                self.wfile.write(binary)
            return
        self.close_connection = True

    def log_message(self, format: str, *arguments: Any) -> None:
        """Log no requests."""


def _whole(text: str) -> int | None:
    """Return a header's whole number; None where it is none."""
    stripped = text.strip()
    return int(stripped) if stripped.isascii() and stripped.isdigit() and len(stripped) < 16 else None


def _host_of(header: str) -> str:
    """Return the name in a ``Host`` header, without its port."""
    return header[1:].partition("]")[0] if header.startswith("[") else header.partition(":")[0]


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
