"""Files of equal content below a folder are one on disk; what they make together is tested in `runtime/test_shaped_artifact.py`."""

from __future__ import annotations

from pathlib import Path

from collage_core.rewrite.shaped_folder import FEWEST_SHARED, share_equal_files


def test_equal_files_become_one_and_keep_their_content(tmp_path: Path) -> None:
    large, other, small = b"a" * FEWEST_SHARED, b"b" * FEWEST_SHARED, b"c" * (FEWEST_SHARED - 1)
    for folder in ("000", "001", "002"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "package.bin").write_bytes(other if folder == "002" else large)
        (tmp_path / folder / "small.bin").write_bytes(small)
    assert share_equal_files(tmp_path) == len(large)
    packages = [tmp_path / folder / "package.bin" for folder in ("000", "001", "002")]
    assert packages[0].samefile(packages[1])
    assert not packages[0].samefile(packages[2])
    assert not (tmp_path / "000" / "small.bin").samefile(tmp_path / "001" / "small.bin")
    assert [path.read_bytes() for path in packages] == [large, large, other]
    assert share_equal_files(tmp_path) == 0
    assert sorted(path.name for path in (tmp_path / "001").iterdir()) == ["package.bin", "small.bin"]
