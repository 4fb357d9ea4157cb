"""Inputs of a user: an ``.npz`` is read, and whatever else it may be is told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from collage_core.errors import CollageError
from collage_core.rewrite.runtime.arrays_file import read_arrays


def test_arrays_are_read_by_name(tmp_path: Path) -> None:
    np.savez(tmp_path / "inputs.npz", x=np.arange(3), y=np.ones(2))
    found = read_arrays(tmp_path / "inputs.npz")
    assert {name: array.tolist() for name, array in found.items()} == {"x": [0, 1, 2], "y": [1.0, 1.0]}


def broken(kind: str, path: Path) -> None:
    if kind == "one array":
        with path.open("wb") as file:
            np.save(file, np.ones(2))
    elif kind == "changed":
        np.savez(path, x=np.ones(1000))
        path.write_bytes(path.read_bytes().replace(b"\xf0?", b"\xf0@", 1))
    elif kind != "missing":
        path.write_bytes({"empty": b"", "text": b"hello", "cut off": b"PK\x03\x04 and no more"}[kind])


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("missing", "No such file or directory"),
        ("empty", "No data left in file"),
        ("text", "pickled"),
        ("cut off", "File is not a zip file"),
        ("changed", "Bad CRC-32"),
        ("one array", "it holds a single array"),
    ],
)
def test_a_file_that_is_no_npz_is_a_mistake(tmp_path: Path, kind: str, why: str) -> None:
    path = tmp_path / "inputs.npz"
    broken(kind, path)
    with pytest.raises(CollageError) as caught:
        read_arrays(path)
    assert caught.value.message.startswith(f"cannot read the inputs {str(path)!r}: ")
    assert why in caught.value.message
    assert (caught.value.hint, caught.value.code) == ("give an .npz with one array for each input", "bad_inputs")
