"""The file of a trace: a zip of chunks, each of which can be read and understood without the others.

Chunks of steps enter as plain data, and at the end facts on the whole; the file is written whole or not at all. docs/files.md has the
format. Nothing here depends on the search.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ..errors import CollageError

SCHEMA = 1
FILE_NAME = "trace.zip"
PARTIAL_NAME = FILE_NAME + ".partial"
"""Name of the file that a process leaves when it is killed while it writes."""
CHUNK_STEPS = 1024
BOUND_BYTES = 32 << 20
"""Size from which on a trace records only decisions."""

_INFO = "trace.json"
_MISTAKES = (OSError, ValueError, KeyError, zipfile.BadZipFile, zlib.error, EOFError)


class TraceWriter:
    """Writes a trace to `path`. If the ``with`` block ends by an exception, there is no file."""

    def __init__(self, path: Path):
        self._path = path
        self._partial = path.with_name(path.name + ".partial")
        self._zip = zipfile.ZipFile(self._partial, "w", zipfile.ZIP_DEFLATED, compresslevel=6)
        self._chunks = 0
        self._bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._zip.close()
        self._partial.unlink(missing_ok=True)

    @property
    def bytes(self) -> int:
        """Size of the file so far."""
        return self._bytes

    def add(self, chunk: Mapping[str, Any]) -> None:
        """Write the next chunk."""
        entry = zipfile.ZipInfo(_name(self._chunks))
        entry.compress_type = zipfile.ZIP_DEFLATED
        self._zip.writestr(entry, _text(chunk))
        self._chunks += 1
        self._bytes += entry.compress_size + 2 * len(entry.filename) + 76  # headers of an entry, before it and in the directory

    def finish(self, info: Mapping[str, Any]) -> None:
        """Write the facts on the whole trace, and move the file to its path."""
        self._zip.writestr(zipfile.ZipInfo(_INFO), _text({"schema": SCHEMA, **info}))
        self._zip.close()
        self._partial.replace(self._path)


def read_info(path: Path) -> dict[str, Any]:
    """Return the facts on the whole trace.

    Raises:
        CollageError: the file cannot be read, or another version wrote it.
    """
    try:
        with zipfile.ZipFile(path) as file:
            info = json.loads(file.read(_INFO))
    except _MISTAKES as error:
        raise _unreadable(path, str(error)) from error
    if not isinstance(info, dict) or info.get("schema") != SCHEMA:
        raise _unreadable(path, f"its schema is {info.get('schema') if isinstance(info, dict) else None!r}, this version reads {SCHEMA}")
    return info


def read_chunk(path: Path, number: int) -> bytes | None:
    """Return chunk `number` as JSON text; None where there is no such chunk.

    Raises:
        CollageError: the trace cannot be read.
    """
    try:
        with zipfile.ZipFile(path) as file:
            return file.read(_name(number)) if _name(number) in file.NameToInfo else None
    except _MISTAKES as error:
        raise _unreadable(path, str(error)) from error


def _name(number: int) -> str:
    return f"chunks/{number:06}.json"


def _text(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


def _unreadable(path: Path, why: str) -> CollageError:
    return CollageError(f"cannot read the trace {str(path)!r}: {why}", "trace the search again", "bad_trace")
