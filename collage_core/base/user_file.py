"""Opens and reads files that a user, or a file of the user, names: regular files only, and no more of them than is expected.

A path enters; bytes or text leave. Whatever is wrong is an `OSError` whose `strerror` says it, so a caller that names its file in one
clear line need not know of devices, of pipes on which a read never ends, or of a few bytes that unpack to gigabytes.
"""

from __future__ import annotations

import errno
import gzip
import io
import os
import stat
from pathlib import Path

MOST_BYTES = 256 << 20
"""Most bytes of a file of text, packed or not. The largest that this program writes are a hundred times smaller."""

_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


def open_file(path: Path) -> io.BufferedReader[io.FileIO]:
    """Open the regular file `path` for reading.

    Raises:
        OSError: it is missing, cannot be read, or is no regular file.
    """
    try:
        # Opening a device may already do something, and opening a pipe waits for a writer.
        _check(path, os.stat(path).st_mode)
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError as error:
        raise OSError(errno.EINVAL, "no file has such a name", str(path)) from error
    file = io.BufferedReader(io.FileIO(descriptor))
    try:
        _check(path, os.fstat(descriptor).st_mode)
    except OSError:
        file.close()
        raise
    return file


def check_regular(path: Path) -> None:
    """Check that `path` is a regular file, without opening it: closing a file drops the locks that this process holds on it.

    Raises:
        OSError: it is missing, or is no regular file.
    """
    _check(path, os.stat(path).st_mode)


def read_file(path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """Return the content of the regular file `path`.

    Raises:
        OSError: as `open_file`, or the file holds more than `most_bytes`.
    """
    with open_file(path) as file:
        return _bounded(file, path, most_bytes)


def read_text(path: Path) -> str:
    """Return the text in the regular file `path`.

    Raises:
        OSError: as `read_file`.
        UnicodeDecodeError: it is not UTF-8.
    """
    return read_file(path).decode("utf-8")


def unpack(data: bytes, path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """Return the content of `data`, which gzip packed, without ever holding more than `most_bytes` of it.

    Raises:
        OSError: it is not packed by gzip, or holds more.
        EOFError, zlib.error: it is cut off, or damaged.
    """
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as unpacked:
        return _bounded(unpacked, path, most_bytes)


def _bounded(file: io.BufferedReader[io.FileIO] | gzip.GzipFile, path: Path, most_bytes: int) -> bytes:
    data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise OSError(errno.EFBIG, f"it holds more than {most_bytes >> 20} MiB", str(path))
    return data


def _check(path: Path, mode: int) -> None:
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    kind = next((name for is_kind, name in _KINDS if is_kind(mode)), "something else")
    raise OSError(errno.EINVAL, f"it is {kind}, not a regular file", str(path))
