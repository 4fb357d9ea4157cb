"""`NativeFiles`: a sub-model in the files of its toolchain, which other programs of that toolchain open, and which run on any machine.

A toolchain makes them (`OwnFiles.native_files`) and opens them (`OwnFiles.open_native`); the export of an artifact writes them. The
loader among them runs them without this package. Nothing here reads or writes a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

ONNX_FILE = "model.onnx"
LOADER = "load.py"


@dataclass(frozen=True)
class NativeFiles:
    """A sub-model in the files of its toolchain.

    Attributes:
        files: Name → content. The first one is opened, and finds the others beside it by its own name with another suffix.
        settings: What `OwnFiles.open_native` needs beside them, as plain data: threads, hints, session entries.
        loader: The program that opens them and runs them with these settings: its `run` takes arrays by input name.
        is_portable: They compute the same on every processor that the toolchain runs on.
    """

    files: Mapping[str, bytes]
    settings: Mapping[str, Any]
    loader: str
    is_portable: bool = True


def is_quantised(onnx: bytes) -> bool:
    """Return whether a serialised model computes with integers that it quantises to: some processors' products of these saturate."""
    return any(word in onnx for word in (b"QuantizeLinear", b"DequantizeLinear", b"Integer"))


def loader_text(toolchain: str, needs: str, body: str) -> str:
    """Return a loader: its first line names what it needs, and then comes `body`."""
    first = (
        f'"""Runs the model beside this file on {toolchain}, with the settings that were measured. It needs {needs}, and nothing else."""'
    )
    return f"{first}\n\n{body.strip()}\n"
