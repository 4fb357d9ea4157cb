"""ONNX Runtime's own file of a sub-model, an ONNX model, with a loader that has the options of the session that was measured.

It is the model before ONNX Runtime optimised it, since the optimised one is for one processor; each session optimises it as `build` did.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...graph.dataflow_graph import Tensor
from ..native_files import ONNX_FILE, NativeFiles, is_quantised, loader_text

_LOADER = """
from pathlib import Path

import onnxruntime

OUTPUTS = {outputs}
options = onnxruntime.SessionOptions()
options.intra_op_num_threads, options.inter_op_num_threads = {threads}, 1
for name, value in {entries}.items():
    options.add_session_config_entry(name, value)
session = onnxruntime.InferenceSession(Path(__file__).with_name("{file}"), options, providers=["CPUExecutionProvider"])


def run(inputs):
    \"""Return arrays by output name for arrays by input name.\"""
    return dict(zip(OUTPUTS, session.run(OUTPUTS, inputs)))
"""


def files_of(onnx: bytes, outputs: Sequence[Tensor], threads: int, entries: Mapping[str, str], version: str) -> NativeFiles:
    """Return the files of the model `onnx`, whose sessions have `entries`.

    A quantised one was made exact for this processor, so it is not portable.
    """
    names = [tensor.name for tensor in outputs]
    body = _LOADER.format(outputs=names, threads=threads, entries=dict(entries), file=ONNX_FILE)
    text = loader_text("ONNX Runtime", f"onnxruntime {version} and numpy", body)
    return NativeFiles({ONNX_FILE: onnx}, {"threads": threads, "entries": dict(entries)}, text, not is_quantised(onnx))
