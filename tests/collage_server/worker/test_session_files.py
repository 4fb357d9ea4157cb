"""Whatever a stranger can do to the file of a session, one line says what is wrong, and nothing is written outside its folder."""

from __future__ import annotations

import json
import os
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from collage_core.errors import CollageError
from collage_server.shared.session_manifest import SessionManifest
from collage_server.worker import session_files
from collage_server.worker.session_files import unpack_session
from tests.helpers.sessions import with_digests, write_session

RUN = "20260102-030405-abc"
FILES = {
    "model/tiny.onnx": b"the model",
    "model/weights/tiny.data": b"its weights",
    f"runs/{RUN}/run.json.gz": b"a record",
    f"runs/{RUN}/snapshot.json": b"{}",
}
MANIFEST: dict[str, Any] = {
    "format": "collage-session",
    "version": 1,
    "made_by": "1.0",
    "created": "2026-01-02",
    "model": {"id": "a" * 64, "name": "tiny", "files": ["model/tiny.onnx", "model/weights/tiny.data"]},
    "runs": [{"id": RUN, "note": "a note"}],
    "shown": RUN,
    "files": {},
}
ENTRIES = with_digests({**FILES, "manifest.json": json.dumps(MANIFEST).encode()})


def unpacked(path: Path, folder: Path) -> SessionManifest:
    return unpack_session(str(path), str(folder))


def packed(path: Path, *more: tuple[zipfile.ZipInfo | str, bytes], without: str = "") -> Path:
    """Write the session with more entries, which its manifest does not name."""
    with zipfile.ZipFile(path, "w") as file:
        for name, data in ENTRIES.items():
            if name != without:
                file.writestr(name, data)
        for entry, data in more:
            file.writestr(entry, data)
    return path


def entry(name: str, mode: int = stat.S_IFREG | 0o644, kind: int = zipfile.ZIP_STORED) -> zipfile.ZipInfo:
    made = zipfile.ZipInfo(name)
    made.external_attr, made.compress_type = mode << 16, kind
    return made


def cut(path: Path) -> Path:
    data = write_session(path, ENTRIES).read_bytes()
    path.write_bytes(data[: len(data) // 2])
    return path


def flipped(path: Path) -> Path:
    data = write_session(path, ENTRIES).read_bytes()
    path.write_bytes(data.replace(b"its weights", b"its wEights"))
    return path


def swapped(path: Path) -> Path:
    return write_session(path, {**ENTRIES, "model/tiny.onnx": b"THE MODEL"})


def longer(path: Path) -> Path:
    return write_session(path, {**ENTRIES, "model/tiny.onnx": b"the model and more"})


def bomb(path: Path) -> Path:
    return packed(path, (entry(f"runs/{RUN}/events.jsonl.gz", kind=zipfile.ZIP_DEFLATED), bytes(3 << 20)))


def overlapping(path: Path) -> Path:
    """Let two entries of the directory lie at the same bytes."""
    data = packed(path, (entry("model/tiny.onnX"), FILES["model/tiny.onnx"] * 20_000)).read_bytes()
    small, large = (zipfile.ZipFile(path).getinfo(name) for name in ("model/weights/tiny.data", "model/tiny.onnX"))
    at = data.rindex(b"PK\x01\x02", 0, data.rindex(small.filename.encode()))
    sizes = large.CRC.to_bytes(4, "little") + large.file_size.to_bytes(4, "little") * 2
    changed = data[: at + 16] + sizes + data[at + 28 : at + 42] + large.header_offset.to_bytes(4, "little") + data[at + 46 :]
    path.write_bytes(changed)
    return path


def text(path: Path) -> Path:
    path.write_text("dear diary")
    return path


def manifest_with(**changes: Any) -> Callable[[Path], Path]:
    def make(path: Path) -> Path:
        return write_session(path, ENTRIES, {**json.loads(ENTRIES["manifest.json"]), **changes})

    return make


HOSTILE: dict[str, tuple[Callable[[Path], Path], str]] = {
    "no zip": (text, "it is no session, or is cut off or damaged"),
    "cut off": (cut, "it is no session, or is cut off or damaged"),
    "a bit that fell over": (flipped, "it is no session, or is cut off or damaged"),
    "another file than its digest": (swapped, "'model/tiny.onnx' is not what its manifest says: its digest is another one"),
    "another size": (longer, "'model/tiny.onnx' has another size than its manifest says"),
    "a bomb": (bomb, r"'runs/20260102-030405-abc/events.jsonl.gz' unpacks to more than 1 MiB"),
    "overlapping entries": (overlapping, "overlap"),
    "no manifest": (lambda path: packed(path, without="manifest.json"), "it has no manifest.json"),
    "a file too few": (lambda path: packed(path, without="model/tiny.onnx"), "'model/tiny.onnx' is missing"),
    "a file too many": (lambda path: packed(path, ("model/extra.data", b"")), "'model/extra.data' is not in its manifest"),
    "a file twice": (lambda path: packed(path, ("model/tiny.onnx", b"")), "two entries called 'model/tiny.onnx'"),
    "a path above": (lambda path: packed(path, ("model/../../up", b"")), r"'model/../../up' leads out of the file"),
    "an absolute path": (lambda path: packed(path, ("/etc/cron.d/job", b"")), "'/etc/cron.d/job' leads out of the file"),
    "a path of Windows": (lambda path: packed(path, ("model\\..\\up", b"")), "leads out of the file"),
    "a folder": (lambda path: packed(path, ("model/deep/", b"")), "leads out of the file"),
    "a link": (lambda path: packed(path, (entry("model/link", stat.S_IFLNK | 0o777), b"/etc/passwd")), "is no plain file"),
    "a packed model": (lambda path: packed(path, (entry("model/more", kind=zipfile.ZIP_DEFLATED), bytes(9999))), "is packed"),
    "an odd packing": (lambda path: packed(path, (entry("runs/more", kind=zipfile.ZIP_LZMA), b"x")), "in a way that is not accepted"),
    "a newer version": (manifest_with(version=2), "this session has version 2, and this program reads up to 1"),
    "another format": (manifest_with(format="else"), "its manifest is not that of a session"),
}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("what", HOSTILE)
def test_a_bad_file_is_refused_in_one_line(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_files, "MOST_BYTES", 1 << 20)
    make, says = HOSTILE[what]
    path, folder = make(tmp_path / "bad.collage"), tmp_path / "inner" / "folder"
    with pytest.raises(CollageError, match=says) as caught:
        unpacked(path, folder)
    assert "\n" not in caught.value.message
    assert caught.value.hint
    written = {Path(root) / name for root, _, names in os.walk(tmp_path) for name in names}
    assert all(file.is_relative_to(folder) for file in written - {path})


def test_a_good_one_is_unpacked_whole(tmp_path: Path) -> None:
    manifest = unpacked(write_session(tmp_path / "good.collage", ENTRIES), tmp_path / "folder")
    assert (manifest.model.name, [run.note for run in manifest.runs]) == ("tiny", ["a note"])
    for name, data in FILES.items():
        assert (tmp_path / "folder" / name).read_bytes() == data


def test_too_many_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_files, "MOST_ENTRIES", 3)
    with pytest.raises(CollageError, match="it has 5 entries, at most 3 are accepted"):
        unpacked(write_session(tmp_path / "many.collage", ENTRIES), tmp_path / "folder")


@pytest.mark.parametrize(
    ("make", "says"), [(lambda path: path.mkdir(), "Is a directory"), (os.mkfifo, "it is a pipe"), (id, "No such file")]
)
def test_what_is_no_file_is_named(make: Callable[[Path], object], says: str, tmp_path: Path) -> None:
    make(tmp_path / "odd.collage")
    with pytest.raises(CollageError, match=rf"^cannot read '.*odd.collage': {says}"):
        unpacked(tmp_path / "odd.collage", tmp_path / "folder")
