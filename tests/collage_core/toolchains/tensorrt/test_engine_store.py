"""Engines that are kept: found again, bounded, and none where a file is damaged or cannot be written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from collage_core.toolchains.tensorrt.engine_store import BuiltEngine, EngineStore, engine_key

ENGINE = BuiltEngine(b"a\nb", ("conv (kgen)", "é"))


def test_an_engine_is_found_again_with_its_layers(tmp_path: Path):
    EngineStore(tmp_path / "engines").put("k", ENGINE)
    assert EngineStore(tmp_path / "engines").get("k") == ENGINE
    assert EngineStore(tmp_path / "engines").get("other") is None


def test_the_key_covers_the_model_and_all_that_it_is_built_with():
    keys = {engine_key(onnx, words) for onnx in (b"a", b"b") for words in (["x", "1"], ["x", "2"], ["x1"])}
    assert len(keys) == 6


def test_what_was_not_asked_for_the_longest_goes_first(tmp_path: Path):
    store = EngineStore(tmp_path, most_bytes=3 * 110)
    for number, key in enumerate("abc"):
        store.put(key, BuiltEngine(bytes(100), ()))
        os.utime(tmp_path / f"{key}.engine", (number, number))
    assert store.get("a") is not None
    store.put("d", BuiltEngine(bytes(100), ()))
    assert sorted(path.stem for path in tmp_path.iterdir()) == ["a", "c", "d"]


def test_one_that_is_larger_than_the_store_is_not_kept(tmp_path: Path):
    store = EngineStore(tmp_path, most_bytes=50)
    store.put("a", BuiltEngine(b"1234", ()))
    store.put("b", BuiltEngine(bytes(100), ()))
    assert (store.get("a") is None, store.get("b") is None) == (False, True)


@pytest.mark.parametrize("data", [b"", b"no json\nengine", b"[1]\nengine", b"[]"])
def test_a_damaged_file_is_no_engine(tmp_path: Path, data: bytes):
    (tmp_path / "k.engine").write_bytes(data)
    assert EngineStore(tmp_path).get("k") is None


def test_a_folder_that_cannot_be_made_keeps_nothing(tmp_path: Path):
    (tmp_path / "file").write_text("")
    store = EngineStore(tmp_path / "file" / "engines")
    store.put("k", ENGINE)
    assert store.get("k") is None
