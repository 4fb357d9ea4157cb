"""Digests of large files: of the content alone, computed once for a file that stays as it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from collage_core.base.home import home
from collage_core.errors import CollageError
from collage_core.model.files import file_digests
from collage_core.model.files.file_digests import KEPT, file_digest


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_digests, "BLOCK_BYTES", 4096)


def resting(path: Path, data: bytes, age_s: int = 1000) -> Path:
    """Write a file that was changed long ago, as far as its time says; when its entry changed, the clock says."""
    path.write_bytes(data)
    os.utime(path, ns=(path.stat().st_mtime_ns - age_s * 10**9,) * 2)
    return path


def test_it_depends_on_the_content_alone(tmp_path: Path):
    one, other = (resting(tmp_path / name, bytes(range(256)) * 100) for name in ("a", "b"))
    assert file_digest(one) == file_digest(other)
    assert file_digest(resting(tmp_path / "c", bytes(range(256)) * 100 + b"!")) != file_digest(one)
    swapped = bytes(4096) + b"x" * 4096
    assert file_digest(resting(tmp_path / "d", swapped)) != file_digest(resting(tmp_path / "e", swapped[::-1]))


def test_holes_are_zeros(tmp_path: Path):
    sparse = tmp_path / "sparse"
    with sparse.open("wb") as file:
        file.seek(40960)
        file.write(b"end")
        file.truncate(81923)
    dense = tmp_path / "dense"
    dense.write_bytes(sparse.read_bytes())
    assert file_digest(sparse) == file_digest(dense)


def test_a_file_that_rests_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = resting(tmp_path / "weights", b"1" * 10_000)
    monkeypatch.setattr(file_digests.time, "time_ns", lambda: path.stat().st_ctime_ns + 10**10)
    first = file_digest(path)
    assert (home() / KEPT).exists()
    monkeypatch.setattr(file_digests, "_computed", lambda path: pytest.fail("it was read again"))
    assert file_digest(path) == first


def test_a_file_that_was_changed_is_read_again_though_size_and_time_are_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = resting(tmp_path / "weights", b"1" * 10_000)
    monkeypatch.setattr(file_digests.time, "time_ns", lambda: path.stat().st_ctime_ns + 10**10)
    first, before = file_digest(path), path.stat()
    path.write_bytes(b"2" * 10_000)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file_digest(path) != first


def test_a_file_that_was_just_changed_is_not_kept(tmp_path: Path):
    path = tmp_path / "weights"
    path.write_bytes(b"1")
    (home() / KEPT).unlink(missing_ok=True)
    file_digest(path)
    assert not (home() / KEPT).exists()


@pytest.mark.parametrize("garbage", ["", "[1]", '{"%s": {"stamp": 1}}', '{"%s": 5}'])
def test_a_broken_list_of_digests_counts_as_none(tmp_path: Path, garbage: str):
    path = resting(tmp_path / "weights", b"1")
    (home() / KEPT).write_text(garbage.replace("%s", str(path)))
    assert len(file_digest(path)) == 64


def test_a_file_that_is_gone(tmp_path: Path):
    with pytest.raises(CollageError, match=r"^cannot read '.*/gone': No such file"):
        file_digest(tmp_path / "gone")
