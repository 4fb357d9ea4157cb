"""Reads a TensorFlow Lite model through TVM's own importer. It runs TVM and belongs in a worker process."""

from __future__ import annotations

from pathlib import Path

import tvm

from ...base.extras import install_command
from ...base.user_file import read_file
from ...errors import CollageError
from ..files.external_data import MOST_BYTES


def read_tflite(path: Path) -> tvm.IRModule:
    """Return the model as a Relax module with its weights inside.

    Raises:
        CollageError: the package tflite is missing, the file is damaged, or the importer does not take it.
        OSError: it cannot be read.
    """
    try:
        import tflite
    except ImportError as error:
        message = f"{str(path)!r} is a TensorFlow Lite model, and the package tflite, which reads these, is not installed"
        raise CollageError(message, install_command("tflite"), "missing_package") from error
    from tvm.relax.frontend.tflite import from_tflite

    data = read_file(path, MOST_BYTES)
    try:
        module = from_tflite(tflite.Model.GetRootAsModel(data, 0))
    except Exception as error:  # any exception of TVM is its reason
        reason = next((line.strip() for line in reversed(str(error).splitlines()) if line.strip()), type(error).__name__)
        hint = "convert it to ONNX with another tool, such as `python -m tf2onnx.convert --tflite FILE --output model.onnx`"
        raise CollageError(f"TVM's importer does not take {str(path)!r}: {reason[:300]}", hint, "unsupported") from error
    # It keeps the weights as an attribute, too, which nobody reads.
    return tvm.IRModule({name: function.without_attr("params") for name, function in module.functions.items()})
