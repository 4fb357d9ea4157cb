"""`serve`: opens an artifact, serves it until Ctrl-C or SIGTERM, and says where (`collage serve`, or `python -m collage_core.serving`)."""

from __future__ import annotations

import errno
import os
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from ..base.access_token import ENVIRONMENT, token_of
from ..errors import CollageError
from ..rewrite.runtime.fallback import folder_here
from .application import is_loopback
from .served_model import ServedModel

if TYPE_CHECKING:
    from .http_server import ModelServer

DEFAULT_PORT = 8080
LEAVE_S = 1.0
"""How long the end waits for an inference in progress."""


def serve(
    folder: Path,
    host: str = "127.0.0.1",
    port: int = DEFAULT_PORT,
    name: str = "",
    most_mb: int | None = None,
    other_versions: bool = False,
    token: str | None = None,
    no_token: bool = False,
    fallback: bool = False,
) -> None:
    """Serve the artifact in `folder`; prints its address on standard output.

    Args:
        host, port: Address to listen at; port 0 for any free one.
        name: Name of the model for clients; by default its own.
        most_mb: Largest size of a request in megabytes; by default what its inputs can need.
        other_versions: As `Artifact` takes it.
        token: Token that clients need. The default is none on this machine, and a new one on addresses that other machines can reach.
        no_token: They need bring nothing.
        fallback: Where a device of the artifact is missing, serve its plan for the host.

    Raises:
        CollageError: an option is wrong, the artifact cannot be opened, or the port is not to be had.
    """
    if most_mb is not None and most_mb < 1:
        raise CollageError(f"--most-mb is {most_mb}, it must be at least 1", "leave it out for what the inputs can need", "bad_option")
    if token and no_token:
        raise CollageError(
            "a token and --no-token contradict each other", f"give one of them; {ENVIRONMENT} may hold a token", "bad_option"
        )
    asked = token_of(token, no_token or (not token and is_loopback(host)))
    folder, replaced = folder_here(folder) if fallback else (folder, "")
    model = ServedModel(folder, name, other_versions)
    try:
        for note in (*([replaced] if replaced else []), *model.notes):
            _tell(f"note: {note}")
        with listen(host, port, model, model.body_bytes if most_mb is None else most_mb << 20, asked) as server:
            _end_with_signal(server)
            print(f"{model.name} is served at {server.address}/v2/models/{model.name}  (Ctrl-C ends it)", flush=True)
            if asked is not None:
                _tell(f"clients must bring {'the token' if token else 'this token'}: Authorization: Bearer {'...' if token else asked}")
            elif not server.is_local:
                _tell(f"anyone who reaches {host} can use it: there is no token")
            server.serve_forever()
    finally:
        if not model.close(LEAVE_S):
            # A toolchain still computes in a thread that nothing can interrupt, and Python would wait for it.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(130 if isinstance(sys.exception(), KeyboardInterrupt) else 0)


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def listen(host: str, port: int, model: ServedModel, most_bytes: int, token: str | None = None) -> ModelServer:
    """Return a server that listens at this address.

    Raises:
        CollageError: it cannot, or waitress is not installed: the wheel that runs artifacts alone can do without.
    """
    try:
        from .http_server import ModelServer, silence
    except ModuleNotFoundError as error:
        raise CollageError("serving needs the package waitress, which is not installed", "pip install waitress", "not_installed") from error
    silence()
    try:
        addresses = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        return ModelServer(str(addresses[0][4][0]), port, model, most_bytes, token)
    except (socket.gaierror, UnicodeError) as error:
        raise CollageError(f"the host {host!r} is not known", "give an address of this machine, such as 127.0.0.1", "bad_host") from error
    except (OSError, OverflowError) as error:
        if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
            raise CollageError(f"port {port} of {host} is in use by another program", "try --port 0 for a free one", "busy_port") from error
        why = getattr(error, "strerror", None) or "ports are numbers from 0 to 65535"
        hint = "give an address of this machine and a free port"
        raise CollageError(f"cannot listen at port {port} of {host}: {why}", hint, "bad_port") from error


def _end_with_signal(server: ModelServer) -> None:
    """Let SIGTERM end the server as Ctrl-C does; only the main thread may ask for that."""

    def end(_: int, __: FrameType | None) -> None:
        server.shutdown()

    with suppress(ValueError):
        signal.signal(signal.SIGTERM, end)
