"""The manifest of a session: what it must be, and that it agrees with itself."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collage_core.errors import CollageError
from collage_server.shared.session_manifest import is_model_entry, read_manifest, to_json

FILE = {"bytes": 1, "sha256": "0" * 64}
ENTRIES = (
    "model/tiny.onnx",
    *(f"runs/{run}/{name}" for run in ("first", "second") for name in ("run.json.gz", "snapshot.json")),
    "runs/first/events.jsonl.gz",
)
MANIFEST: dict[str, Any] = {
    "format": "collage-session",
    "version": 1,
    "made_by": "1.0",
    "created": "2026-01-02",
    "model": {"id": "a" * 64, "name": "tiny", "files": ["model/tiny.onnx"], "shapes": {"x": [1, 3], "y": "1,{2,4}"}},
    "runs": [{"id": "first", "note": "of\ntwo lines"}, {"id": "second"}],
    "shown": "second",
    "files": dict.fromkeys(ENTRIES, FILE),
}


def manifest(**changes: Any) -> bytes:
    return json.dumps({**MANIFEST, **changes}).encode()


def test_it_is_read_and_written() -> None:
    read = read_manifest(manifest())
    assert (read.model.shapes, read.runs[0].note, read.shown) == ({"x": [1, 3], "y": "1,{2,4}"}, "of\ntwo lines", "second")
    assert read_manifest(json.dumps(to_json(read)).encode()) == read


def test_what_a_later_one_adds_is_ignored() -> None:
    assert read_manifest(manifest(more={}, model={**MANIFEST["model"], "more": 1})) == read_manifest(manifest())


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"model": {**MANIFEST["model"], "id": "../up"}}, r"model\.id is '\.\./up', it must be an id of letters"),
        ({"model": {**MANIFEST["model"], "name": "a\u202eb"}}, "it must be text that can be shown"),
        ({"model": {**MANIFEST["model"], "accuracy": 0}}, "model.accuracy is 0, it must be greater than 0"),
        ({"model": {**MANIFEST["model"], "files": ["model/../tiny.onnx"]}}, "has no digest of 'model/../tiny.onnx'"),
        ({"model": {**MANIFEST["model"], "files": []}}, "'model/tiny.onnx' belongs to no run and no model"),
        ({"runs": [{"id": "first", "note": "x" * 2001}]}, r"runs\[0\]\.note"),
        ({"runs": [*MANIFEST["runs"], {"id": "first"}]}, "names a run twice"),
        ({"runs": [*MANIFEST["runs"], {"id": "third"}]}, "has no digest of 'runs/third/run.json.gz'"),
        ({"shown": "third"}, "shows the run 'third', which is not in it"),
        ({"files": {**MANIFEST["files"], "etc/passwd": FILE}}, "'etc/passwd' belongs to no run"),
        ({"files": {**MANIFEST["files"], "model/tiny.onnx": {"bytes": -1, "sha256": "0" * 64}}}, "it must be greater than or equal to 0"),
        ({"runs": [], "files": {}, "shown": None, "model": {**MANIFEST["model"], "files": []}}, "neither a model nor a run"),
        ({"version": "1"}, "version is '1', it must be a valid integer"),
    ],
)
def test_a_wrong_one_is_refused_with_what_is_wrong(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(CollageError, match=says):
        read_manifest(manifest(**changes))


@pytest.mark.parametrize("text", [b"", b"[]", b"\xff", b"[" * 100_000])
def test_what_is_no_json_object_is_no_manifest(text: bytes) -> None:
    with pytest.raises(CollageError, match="its manifest is no"):
        read_manifest(text)


@pytest.mark.parametrize(
    "name", ["model/", "tiny.onnx", "model/..", "model/a/../b", "model//a", "model/a\\b", "model/C:x", "model/" + "a" * 201]
)
def test_odd_names_are_no_files_of_a_model(name: str) -> None:
    assert not is_model_entry(name)
    assert is_model_entry("model/deep/weights of mine.data")
