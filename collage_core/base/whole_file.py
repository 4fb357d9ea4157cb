"""Writes a file whole or not at all: a reader sees the old file or the new one, and a disk that is full keeps no half of it."""

from __future__ import annotations

import errno
import secrets
from pathlib import Path

FULL = (errno.ENOSPC, errno.EDQUOT)
"""Error numbers of a disk, or a share of it, that has no room left."""


def write_whole(path: Path, data: bytes) -> None:
    """Write `data` to `path`.

    Raises:
        OSError: it cannot be written; nothing of it is left.
    """
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        beside.write_bytes(data)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
