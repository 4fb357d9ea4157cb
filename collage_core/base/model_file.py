"""Says what a model's file holds, by its ending: ONNX, or a Relax module."""

from __future__ import annotations

from pathlib import Path

RELAX_SUFFIXES = (".py", ".json", ".pt2")
"""Endings of files that are read as Relax modules: a script, what `tvm.ir.save_json` writes, and a program of `torch.export`."""

SUFFIXES_OF_CODE = (".py", ".pt2")
"""Endings of files whose reading may run code that is in them."""


def is_relax_file(path: str | Path) -> bool:
    """Return whether the file at `path` is read as a Relax module."""
    return Path(path).suffix.lower() in RELAX_SUFFIXES


def may_hold_code(path: str | Path) -> bool:
    """Return whether reading the file at `path` may run code that is in it."""
    return Path(path).suffix.lower() in SUFFIXES_OF_CODE
