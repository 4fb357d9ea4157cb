"""Says what a model's file holds, by its content where that tells and else by its ending: ONNX, or what TVM reads as a Relax module."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from .user_file import open_file

RELAX_SUFFIXES = (".py", ".json", ".pt2")
"""Endings of files that are read as Relax modules: a script, what `tvm.ir.save_json` writes, and a program of `torch.export`."""

SUFFIXES_OF_CODE = (".py", ".pt2")
"""Endings of files whose reading may run code that is in them."""

PROGRAM_TEXT = "is a program: opening it runs what is in it, which can do whatever you can on this machine"
"""Says of a file that `may_hold_code` what its user should know before it is opened."""

WEIGHT_SUFFIXES = (".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".h5", ".keras", ".gguf", ".msgpack")
"""Endings of files that usually hold weights without a graph."""

HEAD_BYTES = 4096
"""Number of first bytes of a file by which its format is recognised."""

_ZIP = b"PK\x03\x04"


def head_of(path: str | Path) -> bytes:
    """Return the first bytes of the file at `path`; none if it is unreadable, which reading the whole file reports."""
    with suppress(OSError), open_file(Path(path)) as file:
        return file.read(HEAD_BYTES)
    return b""


def is_tflite(head: bytes) -> bool:
    """Return whether a file that begins with `head` is a TensorFlow Lite model, a flatbuffer with that mark."""
    return head[4:8] == b"TFL3"


def is_relax_file(path: str | Path) -> bool:
    """Return whether the file at `path` is read as a Relax module: TensorFlow Lite by its content, the others by their endings."""
    suffix = Path(path).suffix.lower()
    head = head_of(path) if suffix not in (".py", ".json") else b""
    if suffix == ".pt2" and head and not head.startswith(_ZIP):
        return False
    return suffix in RELAX_SUFFIXES or is_tflite(head)


def may_hold_code(path: str | Path) -> bool:
    """Return whether reading the file at `path` may run code that is in it."""
    return Path(path).suffix.lower() in SUFFIXES_OF_CODE
