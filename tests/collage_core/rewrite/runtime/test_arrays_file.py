"""Inputs of a user: an ``.npz`` is read, and whatever else it may be is told."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.lib.npyio import NpzFile

from collage_core.errors import CollageError
from collage_core.rewrite.runtime import arrays_file
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


def entry(path: Path, data: bytes, packed: int = zipfile.ZIP_STORED) -> None:
    """A file with one array, which is what `data` says."""
    with zipfile.ZipFile(path, "w", packed) as made:
        made.writestr("x.npy", data)


def header(said: str, data: bytes = b"") -> bytes:
    """An array whose header is `said`."""
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(said)) + said.encode() + data


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (
            header("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n", b"cos\nsystem\n(S'true'\ntR."),
            "Object arrays cannot be loaded",
        ),
        (header("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000000000,), }\n"), "Unable to allocate"),
        (header("{'descr': '<f4', 'fortran_order': False, 'shape': (8,), }\n", bytes(4)), "reading array data, expected 32 bytes got 4"),
        (header("{'descr': '<f4', 'fortran_order': False, 'shape': ('8',), }\n"), "shape is not valid"),
        (header("{'descr': 'nothing', 'fortran_order': False, 'shape': (1,), }\n"), "descr is not a valid dtype"),
        (header("__import__('os').abort()\n"), "malformed node or string"),
        (b"plain text", "something else than arrays"),
    ],
)
def test_an_array_that_lies_about_itself_is_a_mistake(tmp_path: Path, data: bytes, why: str) -> None:
    entry(tmp_path / "inputs.npz", data)
    with pytest.raises(CollageError) as caught:
        read_arrays(tmp_path / "inputs.npz")
    assert why in caught.value.message
    assert caught.value.code == "bad_inputs"


def test_a_few_bytes_that_unpack_to_many_are_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays_file, "MOST_BYTES", 1 << 20)
    monkeypatch.setattr(NpzFile, "__getitem__", lambda *args: pytest.fail("it was unpacked"))
    entry(tmp_path / "inputs.npz", bytes(4 << 20), zipfile.ZIP_DEFLATED)
    assert (tmp_path / "inputs.npz").stat().st_size < 10_000
    with pytest.raises(CollageError, match=r"it unpacks to 0.0 GiB, at most 0.0 are read"):
        read_arrays(tmp_path / "inputs.npz")
