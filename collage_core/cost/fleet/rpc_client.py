"""Hold the RPC session with one worker, in a child process of the run, since TVM's client is native code that blocks.

A worker's answers leave as bytes that were not looked into. One session in a process.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from .protocol import ASK, CHUNK_BYTES, PUT
from .request_handler import PIECE

_LONGEST_ANSWER = 16 << 20
_functions: dict[str, Any] = {}


def prepare() -> None:
    """Import what `connect` needs: it takes seconds on a busy machine, and an offer of the tracker is good for a few only."""
    import tvm.rpc  # noqa: F401


def connect(host: str, port: int, match_key: str) -> None:
    """Open the session that the tracker offered.

    Raises:
        RuntimeError: no RPC server answers there.
        AttributeError: the RPC server is no worker of Collage Explorer.
    """
    import tvm.rpc

    session = tvm.rpc.connect(host, port, match_key)
    _functions.update({name: session.get_function(name) for name in (ASK, PUT)})


def ask(request: bytes) -> bytes:
    """Send one request and return its answer."""
    return _bytes_of(_functions[ASK](request))


def send(name: str, content: bytes | Path) -> bytes:
    """Send a file, or bytes, under their SHA-256 `name`; return the first answer that is not empty, or the last one."""
    size = len(content) if isinstance(content, bytes) else content.stat().st_size
    with io.BytesIO(content) if isinstance(content, bytes) else content.open("rb") as file:
        for offset in range(0, max(size, 1), CHUNK_BYTES):
            answer = _bytes_of(_functions[PUT](PIECE.pack(bytes.fromhex(name), offset, size) + file.read(CHUNK_BYTES)))
            if answer != b"{}":
                break
    return answer


def _bytes_of(answer: Any) -> bytes:
    if not isinstance(answer, str):
        raise TypeError(f"it answered with a {type(answer).__name__}")
    if len(answer) > _LONGEST_ANSWER:
        raise ValueError(f"it answered with {len(answer)} characters")
    return answer.encode("utf-8", "replace")
