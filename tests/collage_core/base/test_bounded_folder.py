"""Files that are kept: found again, bounded, and none where they cannot be read or written."""

from __future__ import annotations

import os
from pathlib import Path

from collage_core.base.bounded_folder import BoundedFolder


def test_what_was_not_asked_for_the_longest_goes_first(tmp_path: Path):
    kept = BoundedFolder(tmp_path / "kept", ".x", most_bytes=300)
    for number, key in enumerate("abc"):
        kept.put(key, bytes(100))
        os.utime(tmp_path / "kept" / f"{key}.x", (number, number))
    assert kept.get("a") == bytes(100)
    kept.put("d", bytes(150))
    assert sorted(path.stem for path in (tmp_path / "kept").iterdir()) == ["a", "d"]


def test_other_files_of_the_folder_stay(tmp_path: Path):
    (tmp_path / "other").write_bytes(bytes(1000))
    BoundedFolder(tmp_path, ".x", most_bytes=100).put("a", bytes(100))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.x", "other"]


def test_what_is_larger_than_the_folder_may_be_is_not_kept(tmp_path: Path):
    kept = BoundedFolder(tmp_path, ".x", most_bytes=50)
    kept.put("a", bytes(50))
    kept.put("b", bytes(51))
    assert (kept.get("a"), kept.get("b")) == (bytes(50), None)


def test_a_folder_that_is_gone_keeps_nothing_and_is_not_made_again(tmp_path: Path):
    kept = BoundedFolder(tmp_path / "gone" / "kept", ".x")
    kept.put("a", b"1")
    assert kept.get("a") is None
    assert not (tmp_path / "gone").exists()
