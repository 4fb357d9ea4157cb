"""Files that a user names: whatever is no regular file, or holds too much, is an error at once, and nothing is read from it."""

from __future__ import annotations

import gzip
import os
import socket
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from collage_core.base.user_file import read_file, read_text, unpack


def socket_at(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (os.mkfifo, "it is a pipe, not a regular file"),
        (socket_at, "it is a socket, not a regular file"),
        (lambda path: path.symlink_to("/dev/zero"), "it is a device, not a regular file"),
        (lambda path: path.mkdir(), "Is a directory"),
        (lambda path: None, "No such file or directory"),
        (lambda path: path.symlink_to(path.name), "Too many levels of symbolic links"),
    ],
)
def test_only_regular_files_are_read(tmp_path: Path, make: Callable[[Path], object], words: str) -> None:
    make(tmp_path / "file")
    with pytest.raises(OSError) as caught:  # noqa: PT011 - its words are compared below
        read_file(tmp_path / "file")
    assert caught.value.strerror == words


@pytest.mark.parametrize(("name", "words"), [("a\0b", "no file has such a name"), ("x" * 5000, "File name too long")])
def test_a_name_that_no_file_has(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(OSError) as caught:  # noqa: PT011
        read_file(tmp_path / name)
    assert caught.value.strerror == words


def test_no_more_is_read_than_may_be(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 100)
    assert read_file(path, 100) == b"x" * 100
    assert read_text(path) == "x" * 100
    with pytest.raises(OSError, match="it holds more than 0 MiB"):
        read_file(path, 99)


def test_a_few_bytes_that_unpack_to_many(tmp_path: Path) -> None:
    bomb = gzip.compress(bytes(64 << 20))
    assert len(bomb) < 100_000
    with pytest.raises(OSError, match="it holds more than 1 MiB"):
        unpack(bomb, tmp_path, 1 << 20)
    assert unpack(gzip.compress(b"whole"), tmp_path) == b"whole"
    with pytest.raises((EOFError, zlib.error)):
        unpack(bomb[:-20], tmp_path)
