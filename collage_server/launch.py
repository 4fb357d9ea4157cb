"""`serve`: starts the web app on a port of this machine, says where, and ends everything that it started (`collage explore`)."""

from __future__ import annotations

import errno
import html
import io
import os
import signal
import socket
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from werkzeug.serving import BaseWSGIServer, ThreadedWSGIServer, WSGIRequestHandler

from collage_core.base.access_token import token_of
from collage_core.base.home import expanded, home
from collage_core.base.module_regions import SeveralRegions
from collage_core.errors import CollageError
from collage_core.model.samples import registry as samples

from .app import create_app
from .config import DEFAULT_PORT, ServerConfig
from .http.access import ADMIT, TOKEN
from .model_store import FixedInputs, ModelStore
from .sessions.from_folder import is_run, open_run
from .sessions.open import open_session
from .shared.session_manifest import SUFFIX

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

PORTS_TRIED = 100
BACKLOG = 128
MOST_CONNECTIONS = 256
IDLE_S = 60.0
"""Longest that a connection may send nothing while something is expected: the next request, or the rest of one."""
HEAD_BYTES = 128 << 10
READ_BYTES = 256 << 10
EVICTION_S = 1.0
"""Longest wait for the end of a connection that is ended to make room. Its thread waits for nothing else."""


def serve(
    host: str = "127.0.0.1",
    port: int | None = None,
    model: str | None = None,
    open_browser: bool = True,
    *,
    shapes: Mapping[str, Sequence[int] | str] | None = None,
    values: Mapping[str, str] | None = None,
    region: str | None = None,
    run_model: str | None = None,
    hosts: Sequence[str] = (),
    behind_proxy: int = 0,
    token: str | None = None,
    asks_token: bool = True,
    trust_local: bool = False,
) -> None:
    """Serve the explorer until Ctrl-C or SIGTERM; prints its address on standard output.

    Args:
        host: Address to listen at.
        port: None for `DEFAULT_PORT`, or the next free one after it.
        model: Name of a sample, or path of a model, of a session or of the folder of a run, to show first.
        open_browser: Show the page in the user's browser, where there is one.
        shapes: Input name to shape, for `model`; text such as ``1,{16,64}`` for several.
        values: Input name to the value that it always has, for `model`.
        region: Name of the region of `model`, a Relax module; the largest one unless given.
        run_model: The file of the model of the run in the folder `model`.
        hosts: Further names under which the page is asked for, such as a proxy's.
        behind_proxy: So many proxies in front set ``X-Forwarded-…``.
        token: The token that whoever asks must bring; a new one unless given.
        asks_token: Without it, there is no token, and whoever reaches the port may ask.
        trust_local: Without a token, whoever asks from this machine may open programs, and models by their path.

    Raises:
        CollageError: the port is taken, the host is not this machine's, the model cannot be opened, or others than the users of this
            machine would be trusted.
    """
    secret = token_of(token, is_off=not asks_token)
    config = ServerConfig(host=host, hosts=tuple(hosts), behind_proxy=behind_proxy, token=secret, trust_local=trust_local)
    if trust_local and not config.is_reached_directly:
        raise CollageError(
            "--trust-local lets whoever asks from this machine run programs, and others than its users would ask",
            "leave it out, or --host, --allow-host and --behind-proxy",
            "invalid",
        )
    with closing(listen(host, port)) as listening:
        if model is not None:
            config = open_first(config, model, FixedInputs(shapes or {}, values or {}, region), run_model)
        elif run_model is not None:
            raise _only_of_run(run_model, None)
        _run(config, listening, open_browser)


def listen(host: str, port: int | None) -> socket.socket:
    """Make a socket that listens at `host` and `port`.

    Raises:
        CollageError: it cannot: in one line why, and another port to try.
    """
    family, address = _resolve(host)
    if port is not None:
        try:
            return _bound(family, address, port)
        except OSError as error:
            raise _no_port(host, port, error, family, address) from error
    for candidate in range(DEFAULT_PORT, DEFAULT_PORT + PORTS_TRIED):
        try:
            return _bound(family, address, candidate)
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise _no_port(host, candidate, error, family, address) from error
    return _bound(family, address, 0)


def open_first(config: ServerConfig, named: str, fixed: FixedInputs, run_model: str | None = None) -> ServerConfig:
    """Open a sample, a model, a session or the folder of a run, and return `config` so that the page shows it first.

    Raises:
        CollageError: it cannot be opened.
    """
    path, is_of_run = expanded(named), is_run(named)
    if run_model is not None and not is_of_run:
        raise _only_of_run(run_model, named)
    if not is_of_run and path.suffix.lower() != SUFFIX:
        return replace(config, model=open_model(config, named, fixed))
    what = "run" if is_of_run else "session"
    if fixed != FixedInputs():
        raise CollageError(f"the {what} {named!r} has the shapes and values of its model", "leave them out", "invalid")
    store = ModelStore(config)
    opened = open_run(config, store, named, run_model) if is_of_run else open_session(config, store, path)
    said = f"opened the {what} of {opened.model.name!r}, with runs: {len(opened.runs)}, new here: {opened.added}"
    print("; ".join(filter(None, (said, opened.notice))), file=sys.stderr, flush=True)
    return replace(config, model=opened.model.id, run=opened.shown)


def _only_of_run(model: str, named: str | None) -> CollageError:
    what = "nothing is opened" if named is None else f"{named!r} is no folder of a run"
    return CollageError(f"--model {model!r} says which file the model of a run is, and {what}", "leave --model out", "invalid")


def open_model(config: ServerConfig, model: str, fixed: FixedInputs) -> str:
    """Open a sample or a file, and return its id. Of several regions the largest one is opened, unless one is named.

    Raises:
        CollageError: it cannot be opened.
    """
    store, path = ModelStore(config), expanded(model)
    sample = None if os.path.isfile(path) else samples.find_sample(model)
    if sample:
        return store.open_sample(sample.name, fixed)[0].id
    file = samples.resolve(str(path))
    try:
        return store.open_path(file, fixed)[0].id
    except SeveralRegions as error:
        largest = error.regions[0].name
        said = f"{model!r} has {len(error.regions)} regions: {largest} is the largest, and open; --region, or the page, opens another"
        print(said, file=sys.stderr, flush=True)
        return store.open_path(file, replace(fixed, region=largest))[0].id


def address_of(host: str, listening: socket.socket) -> str:
    """Return the address to type into a browser."""
    shown = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "[::1]"}.get(host) or (f"[{host}]" if ":" in host else host)
    return f"http://{shown}:{listening.getsockname()[1]}/"


def make_wsgi_server(app: Any, host: str, listening: socket.socket) -> BaseWSGIServer:
    """Make a threaded server for `app` on a socket that listens already; it logs no requests."""
    return _BoundedServer(host, listening.getsockname()[1], app, _QuietHandler, fd=listening.fileno())


def _run(config: ServerConfig, listening: socket.socket, open_browser: bool) -> None:
    app, _ = create_app(config)
    server = make_wsgi_server(app, config.host, listening)
    address = address_of(config.host, listening) + (f"?{urlencode({TOKEN: config.token})}" if config.token else "")
    _end_with(signal.SIGTERM, server)
    print(f"Collage Explorer is at {address}  (Ctrl-C ends it)", flush=True)
    if config.token is None:
        who = "every account of this machine" if config.is_loopback else f"everybody who reaches {config.host}"
        print(f"warning: {who} can use it: it asks for no token", file=sys.stderr, flush=True)
    with ExitStack() as stack:
        stack.callback(server.server_close)
        stack.callback(app.extensions["collage"].close)
        if open_browser and _has_screen():
            opened = stack.enter_context(_file_that_opens(address)) if config.token else address
            threading.Thread(target=webbrowser.open, args=(opened,), daemon=True).start()
        server.serve_forever()


@contextmanager
def _file_that_opens(address: str) -> Iterator[str]:
    """Give the address of a file that sends the user's browser to `address`: every account can list the arguments of a browser."""
    descriptor, name = tempfile.mkstemp(".html", "explorer-", home())  # which only its owner may read
    try:
        with open(descriptor, "w") as file:
            file.write(f'<!doctype html><meta http-equiv="refresh" content="0; url={html.escape(address)}"><title>Collage Explorer</title>')
        yield Path(name).as_uri()
    finally:
        Path(name).unlink(missing_ok=True)


def _end_with(number: signal.Signals, server: BaseWSGIServer) -> None:
    """Let a signal end the server as Ctrl-C does; only the main thread may ask for that."""

    def end(_: int, __: FrameType | None) -> None:
        threading.Thread(target=server.shutdown, daemon=True).start()

    with suppress(ValueError):
        signal.signal(number, end)


def _has_screen() -> bool:
    return sys.platform != "linux" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


def _resolve(host: str) -> tuple[socket.AddressFamily, str]:
    try:
        family, _, _, _, address = socket.getaddrinfo(host or "0.0.0.0", None, type=socket.SOCK_STREAM)[0]
    except (socket.gaierror, UnicodeError) as error:
        raise CollageError(f"the host {host!r} is not known", "give an address of this machine, such as 127.0.0.1", "bad_host") from error
    return family, str(address[0])


def _bound(family: socket.AddressFamily, address: str, port: int) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        listener.close()
        raise error if isinstance(error, OSError) else OSError(errno.EINVAL, "ports are numbers from 0 to 65535") from error
    return listener


def _no_port(host: str, port: int, error: OSError, family: socket.AddressFamily, address: str) -> CollageError:
    if error.errno == errno.EADDRINUSE:
        with closing(_bound(family, address, 0)) as other:
            free = other.getsockname()[1]
        return CollageError(f"port {port} of {host} is in use by another program", f"try --port {free}", "busy_port")
    hint = "choose a port above 1023" if error.errno == errno.EACCES else "give an address of this machine and a port from 0 to 65535"
    return CollageError(f"cannot listen at port {port} of {host}: {error.strerror}", hint, "bad_port")


class _BoundedServer(ThreadedWSGIServer):
    """A thread for each connection, of which there are at most `MOST_CONNECTIONS`.

    Beyond these, the oldest connection on which nobody has brought the token yet gives way to the next one; where there is none, the
    next one is closed at once. So whoever lacks the token keeps nobody out, however many connections they hold.
    """

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)
        self._room = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self._strangers: dict[socket.socket, None] = {}
        """Connections without the token, the oldest first."""
        self._lock = threading.Lock()

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._room.acquire(blocking=False) and not self._take_room():
            self.shutdown_request(request)
            return
        with self._lock:
            self._strangers[request] = None
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._leave(request)
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._leave(request)

    def admit(self, request: Any) -> None:
        """Keep the connection `request`, on which the token has come, for as long as it lasts."""
        with self._lock:
            self._strangers.pop(request, None)

    def _leave(self, request: Any) -> None:
        self.admit(request)
        self._room.release()

    def _take_room(self) -> bool:
        """End the oldest stranger, and return whether its room is free."""
        with self._lock:
            oldest = next(iter(self._strangers), None)
            if oldest is None:
                return False
            del self._strangers[oldest]
            with suppress(OSError):
                oldest.shutdown(socket.SHUT_RDWR)
        return self._room.acquire(timeout=EVICTION_S)


class _BoundedReader(io.BufferedReader):
    """The bytes of a connection: a head of at most `HEAD_BYTES`, and of the body at most `READ_BYTES` at a time.

    Werkzeug reads what an answer left of a body ten megabytes at a time, and Python a hundred lines of 64 KiB as a head: of everybody.
    """

    def __init__(self, raw: io.RawIOBase):
        super().__init__(raw)
        self.head_left: int | None = HEAD_BYTES

    def readline(self, size: int | None = -1, /) -> bytes:
        line = super().readline(size)
        if self.head_left is not None:
            self.head_left -= len(line)
            if self.head_left < 0:
                raise ConnectionError(f"the head of the request has more than {HEAD_BYTES} bytes")
        return line

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(size if size is None or size < 0 else min(size, READ_BYTES))


class _QuietHandler(WSGIRequestHandler):
    """Logs errors, and no requests; ends a connection on which nothing comes for `IDLE_S`, be it half a request or none."""

    timeout = IDLE_S
    rfile: _BoundedReader

    def setup(self) -> None:
        super().setup()
        self.rfile.close()
        self.rfile = _BoundedReader(self.connection.makefile("rb", 0))

    def parse_request(self) -> bool:
        is_whole: bool = super().parse_request()
        self.rfile.head_left = None
        return is_whole

    def make_environ(self) -> WSGIEnvironment:
        return {**super().make_environ(), ADMIT: lambda: self.server.admit(self.connection)}  # type: ignore[attr-defined]

    def run_wsgi(self) -> None:
        super().run_wsgi()
        self.close_connection = True  # what is left of a web socket is no request

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        return None
