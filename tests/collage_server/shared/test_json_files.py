"""JSON files and plain values."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from collage_server.shared.json_files import is_id, json_data, read_json, write_json


def test_plain() -> None:
    value = {"a": (1, float("nan"), float("inf")), 3: {4}, "n": np.float32(0.5), "b": True, "none": None}
    assert json_data(value) == {"a": [1, None, None], "3": [4], "n": 0.5, "b": True, "none": None}
    with pytest.raises(TypeError, match="is no plain data"):
        json_data({"a": object()})


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_write_and_read(tmp_path: Path, name: str) -> None:
    write_json(tmp_path / name, {"a": [1]})
    assert read_json(tmp_path / name) == {"a": [1]}
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_a_value_that_json_cannot_say_leaves_the_old_file(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    write_json(file, 1)
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(file, float("nan"))
    assert json.loads(file.read_text()) == 1


@pytest.mark.parametrize("spoil", [lambda data: data[:-10], lambda data: data[:20] + b"spoilt" + data[26:]], ids=["cut off", "overwritten"])
def test_damaged(tmp_path: Path, spoil: Callable[[bytes], bytes]) -> None:
    file = tmp_path / "a.json.gz"
    write_json(file, list(range(1000)))
    file.write_bytes(spoil(file.read_bytes()))
    with pytest.raises(ValueError, match=r"a\.json\.gz is cut off or damaged"):
        read_json(file)


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "a\\b", ".hidden", "a\0", "a" * 200, "a\n", "é", "a..b"])
def test_is_no_id(name: str) -> None:
    assert not is_id(name)


def test_is_id() -> None:
    assert is_id("20260101-120000-abc123")
    assert is_id("recorded-resnet50")
