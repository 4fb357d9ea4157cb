"""Computes digests of large files, and keeps them, so that gigabytes are read once and not at each opening.

A path enters; a hex digest leaves. It is the SHA-256 over those of the file's blocks, which all cores compute at once; blocks in a hole
of a sparse file are known without reading. A digest is kept in `COLLAGE_HOME` under the file's path, size, inode and times of change; one
of a file that was just changed is not, since it may change again within the same tick of the clock.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

from ...base.home import home_path
from ...base.processor import usable_cores
from ...base.user_file import open_file, read_text
from ...base.whole_file import write_whole
from ...errors import CollageError

BLOCK_BYTES = 1 << 20
KEPT = "file-digests.json"
_MOST_KEPT = 200
_RESTS_NS = 2_000_000_000
"""A file that was changed no longer ago than this may be changed again under the same time."""


def file_digest(path: Path) -> str:
    """Return the digest of the file at `path`, which is read only where no digest of it as it is now is kept.

    Raises:
        CollageError: it cannot be read.
    """
    try:
        status = os.stat(path)
        stamp = [status.st_size, status.st_ino, status.st_dev, status.st_mtime_ns, status.st_ctime_ns]
        name = str(path.resolve())
        known = _kept().get(name)
        if isinstance(known, dict) and known.get("stamp") == stamp and isinstance(known.get("digest"), str):
            return str(known["digest"])
        digest = _computed(path)
    except OSError as error:
        raise CollageError(f"cannot read {str(path)!r}: {error.strerror}", "check the file's permissions", "unreadable") from error
    if time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) > _RESTS_NS:
        _keep(name, {"stamp": stamp, "digest": digest})
    return digest


def _computed(path: Path) -> str:
    with open_file(path) as file, ThreadPoolExecutor(usable_cores()) as pool:
        descriptor = file.fileno()
        size = os.fstat(descriptor).st_size
        digests = pool.map(partial(_block_digest, descriptor, size), range(0, size, BLOCK_BYTES))
        return hashlib.sha256(b"".join(digests)).hexdigest()


def _block_digest(descriptor: int, size: int, offset: int) -> bytes:
    length = min(BLOCK_BYTES, size - offset)
    if _is_hole(descriptor, offset, length):
        return _digest_of_zeros(length)
    return hashlib.sha256(os.pread(descriptor, length, offset)).digest()


def _is_hole(descriptor: int, offset: int, length: int) -> bool:
    """Return whether the file system knows that there is nothing but zeros there. The position in the file changes."""
    try:
        return os.lseek(descriptor, offset, os.SEEK_DATA) >= offset + length
    except OSError:  # There is no data behind `offset`, or the file system knows no holes.
        with suppress(OSError):
            return os.lseek(descriptor, offset, os.SEEK_HOLE) == offset
        return False


@cache
def _digest_of_zeros(length: int) -> bytes:
    return hashlib.sha256(bytes(length)).digest()


def _kept() -> dict[str, Any]:
    with suppress(OSError, ValueError, RecursionError):
        data = json.loads(read_text(home_path() / KEPT))
        if isinstance(data, dict):
            return data
    return {}


def _keep(name: str, entry: Mapping[str, Any]) -> None:
    """Keep a digest as the newest; another process that keeps one at the same time may undo that, and then a file is read once more."""
    kept = {other: value for other, value in _kept().items() if other != name}
    newest = dict(list(kept.items())[1 - _MOST_KEPT :]) | {name: dict(entry)}
    with suppress(OSError):
        write_whole(home_path() / KEPT, json.dumps(newest, indent=1).encode())
