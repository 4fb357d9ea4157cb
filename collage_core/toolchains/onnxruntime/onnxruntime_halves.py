"""Converts a sub-model from float32 to float16, but for its inputs and outputs, with the converter that ONNX Runtime brings.

A serialised ONNX model enters and another leaves. For a toolchain that computes in the types of the model, such as TensorRT.
"""

from __future__ import annotations

from onnx import load_model_from_string

from ..border import one_line
from ..toolchain import ToolchainError


def in_halves(onnx: bytes) -> bytes:
    """Return the model `onnx` in float16.

    Raises:
        ToolchainError: at stage ``import``, where it cannot be converted.
    """
    from onnxruntime.transformers.float16 import convert_float_to_float16

    try:
        return bytes(convert_float_to_float16(load_model_from_string(onnx), keep_io_types=True).SerializeToString())
    except Exception as error:  # any exception of the converter is the reason
        raise ToolchainError("import", f"it cannot be converted to float16: {one_line(error)}") from error
