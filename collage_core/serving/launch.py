"""`serve`: opens an artifact, serves it until Ctrl-C or SIGTERM, and says where (`collage serve`, or `python -m collage_core.serving`)."""

from __future__ import annotations

import errno
import signal
import socket
import sys
import threading
from contextlib import closing, suppress
from pathlib import Path
from types import FrameType

from ..errors import CollageError
from .http_server import ModelServer
from .served_model import ServedModel

DEFAULT_PORT = 8080


def serve(
    folder: Path,
    host: str = "127.0.0.1",
    port: int = DEFAULT_PORT,
    name: str = "",
    most_mb: int | None = None,
    other_versions: bool = False,
) -> None:
    """Serve the artifact in `folder`; prints its address on standard output.

    Args:
        host, port: Address to listen at; port 0 for any free one.
        name: What clients call the model; its own name unless given.
        most_mb: Most megabytes of a request; unless given, as many as its inputs can need.
        other_versions: As `Artifact` takes it.

    Raises:
        CollageError: the artifact cannot be opened, or the port is not to be had.
    """
    if most_mb is not None and most_mb < 1:
        raise CollageError(f"--most-mb is {most_mb}, it must be at least 1", "leave it out for what the inputs can need", "bad_option")
    with closing(ServedModel(folder, name, other_versions)) as model:
        for note in model.notes:
            print(f"note: {note}", file=sys.stderr, flush=True)
        with listen(host, port, model, model.body_bytes if most_mb is None else most_mb << 20) as server:
            _end_with_signal(server)
            print(f"{model.name} is served at {server.address}/v2/models/{model.name}  (Ctrl-C ends it)", flush=True)
            if not server.is_local:
                print(f"anyone who reaches {host} can use it: there is no password", file=sys.stderr, flush=True)
            server.serve_forever()


def listen(host: str, port: int, model: ServedModel, most_bytes: int) -> ModelServer:
    """Return a server that listens at this address.

    Raises:
        CollageError: it cannot.
    """
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        return ModelServer(str(found[0][4][0]), port, model, most_bytes)
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
        threading.Thread(target=server.shutdown, daemon=True).start()

    with suppress(ValueError):
        signal.signal(signal.SIGTERM, end)
