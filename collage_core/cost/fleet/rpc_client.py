"""In a child of the run: the RPC session with one worker. TVM's client is native code that blocks, so it stays out here.

What a worker answers leaves as bytes that nobody here has looked into. One session in a process.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from .protocol import ASK, CHUNK_BYTES, PUT
from .request_handler import PIECE

_LONGEST_ANSWER = 16 << 20
_functions: dict[str, Any] = {}


def connect(host: str, port: int, match_key: str) -> None:
    """Open the session that the tracker offered.

    Raises:
        RuntimeError: nobody answers there, or no RPC server.
        AttributeError: it is some other RPC server.
    """
    import tvm.rpc

    session = tvm.rpc.connect(host, port, match_key)
    _functions.update({name: session.get_function(name) for name in (ASK, PUT)})


def ask(request: bytes) -> bytes:
    """Send one request and give its answer."""
    return _plain(_functions[ASK](request))


def send(name: str, content: bytes | Path) -> bytes:
    """Send a file, or bytes, under their SHA-256 `name`; gives the first answer that is not empty, or the last one."""
    size = len(content) if isinstance(content, bytes) else content.stat().st_size
    with io.BytesIO(content) if isinstance(content, bytes) else content.open("rb") as file:
        for offset in range(0, max(size, 1), CHUNK_BYTES):
            answer = _plain(_functions[PUT](PIECE.pack(bytes.fromhex(name), offset, size) + file.read(CHUNK_BYTES)))
            if answer != b"{}":
                break
    return answer


def _plain(answer: Any) -> bytes:
    if not isinstance(answer, str):
        raise TypeError(f"it answered with a {type(answer).__name__}")
    if len(answer) > _LONGEST_ANSWER:
        raise ValueError(f"it answered with {len(answer)} characters")
    return answer.encode("utf-8", "replace")
