"""OpenVINO's own files of a model, ``model.xml`` and ``model.bin`` (its IR), with a loader that has the settings that were measured."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...graph.dataflow_graph import Tensor
from ..native_files import ONNX_FILE, NativeFiles, is_quantised, loader_text

NETWORK, WEIGHTS = "model.xml", "model.bin"

_LOADER = """
from pathlib import Path

import openvino

OUTPUTS = {outputs}
SETTINGS = {settings}
model = openvino.Core().compile_model(Path(__file__).with_name("{file}"), "CPU", SETTINGS)
INPUTS = {{name for port in model.inputs for name in port.names}}


def run(inputs):
    \"""Return arrays by output name for arrays by input name.\"""
    made = model({{name: array for name, array in inputs.items() if name in INPUTS}})
    return {{name: made[index].copy() for index, name in enumerate(OUTPUTS)}}
"""


def ir_of(read: Any) -> dict[str, bytes]:
    """Return the model `read` as OpenVINO writes it, in the precision of its weights."""
    import openvino

    with tempfile.TemporaryDirectory(prefix="collage-openvino-") as folder:
        openvino.save_model(read, Path(folder) / NETWORK, compress_to_fp16=False)
        return {name: (Path(folder) / name).read_bytes() for name in (NETWORK, WEIGHTS)}


def files_of(
    onnx: bytes, ir: Mapping[str, bytes] | None, outputs: Sequence[Tensor], settings: Mapping[str, Any], version: str
) -> NativeFiles:
    """Return the files of the model `onnx`: its `ir`, or itself where that is None, since OpenVINO reads ONNX too."""
    names, files = [tensor.name for tensor in outputs], {ONNX_FILE: onnx} if ir is None else ir
    body = _LOADER.format(outputs=names, settings=dict(settings), file=next(iter(files)))
    return NativeFiles(files, settings, loader_text("OpenVINO", f"openvino {version} and numpy", body), not is_quantised(onnx))
