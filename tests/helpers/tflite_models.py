"""Writes a small TensorFlow Lite model, field by field, since no converter is there. Needs the packages tflite and flatbuffers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def dense_model(weights: np.ndarray, bias: np.ndarray) -> bytes:
    """Return a model of ``sigmoid(relu(x @ weights.T + bias))`` for one row ``x`` of float32."""
    import flatbuffers
    import tflite

    made = flatbuffers.Builder(1024)
    rows, columns = weights.shape
    buffers = [_buffer(made, tflite, data) for data in (b"", weights.tobytes(), bias.tobytes())]
    shapes = [("x", [1, columns], 0), ("w", [rows, columns], 1), ("b", [rows], 2), ("h", [1, rows], 0), ("y", [1, rows], 0)]
    tensors = [_tensor(made, tflite, *one) for one in shapes]
    tflite.FullyConnectedOptionsStart(made)
    tflite.FullyConnectedOptionsAddFusedActivationFunction(made, tflite.ActivationFunctionType.RELU)
    options = tflite.FullyConnectedOptionsEnd(made)
    operators = [
        _operator(made, tflite, 0, [0, 1, 2], [3], tflite.BuiltinOptions.FullyConnectedOptions, options),
        _operator(made, tflite, 1, [3], [4], tflite.BuiltinOptions.NONE, None),
    ]
    codes = [_code(made, tflite, code) for code in (tflite.BuiltinOperator.FULLY_CONNECTED, tflite.BuiltinOperator.LOGISTIC)]
    name = made.CreateString("main")
    lists = [_offsets(made, tensors), _numbers(made, [0]), _numbers(made, [4]), _offsets(made, operators)]
    tflite.SubGraphStart(made)
    for what, one in zip(("Tensors", "Inputs", "Outputs", "Operators"), lists, strict=True):
        getattr(tflite, f"SubGraphAdd{what}")(made, one)
    tflite.SubGraphAddName(made, name)
    graph = tflite.SubGraphEnd(made)
    graphs, known, held = _offsets(made, [graph]), _offsets(made, codes), _offsets(made, buffers)
    tflite.ModelStart(made)
    tflite.ModelAddVersion(made, 3)
    tflite.ModelAddOperatorCodes(made, known)
    tflite.ModelAddSubgraphs(made, graphs)
    tflite.ModelAddBuffers(made, held)
    made.Finish(tflite.ModelEnd(made), b"TFL3")
    return bytes(made.Output())


def _buffer(made: Any, tflite: Any, data: bytes) -> int:
    held = made.CreateByteVector(data) if data else None
    tflite.BufferStart(made)
    if held is not None:
        tflite.BufferAddData(made, held)
    return int(tflite.BufferEnd(made))


def _tensor(made: Any, tflite: Any, name: str, shape: Sequence[int], buffer: int) -> int:
    text, sizes = made.CreateString(name), _numbers(made, shape)
    tflite.TensorStart(made)
    tflite.TensorAddShape(made, sizes)
    tflite.TensorAddType(made, tflite.TensorType.FLOAT32)
    tflite.TensorAddBuffer(made, buffer)
    tflite.TensorAddName(made, text)
    return int(tflite.TensorEnd(made))


def _operator(made: Any, tflite: Any, code: int, reads: Sequence[int], makes: Sequence[int], kind: int, options: int | None) -> int:
    inputs, outputs = _numbers(made, reads), _numbers(made, makes)
    tflite.OperatorStart(made)
    tflite.OperatorAddOpcodeIndex(made, code)
    tflite.OperatorAddInputs(made, inputs)
    tflite.OperatorAddOutputs(made, outputs)
    if options is not None:
        tflite.OperatorAddBuiltinOptionsType(made, kind)
        tflite.OperatorAddBuiltinOptions(made, options)
    return int(tflite.OperatorEnd(made))


def _code(made: Any, tflite: Any, code: int) -> int:
    tflite.OperatorCodeStart(made)
    tflite.OperatorCodeAddBuiltinCode(made, code)
    tflite.OperatorCodeAddDeprecatedBuiltinCode(made, code)
    tflite.OperatorCodeAddVersion(made, 1)
    return int(tflite.OperatorCodeEnd(made))


def _numbers(made: Any, values: Sequence[int]) -> int:
    return int(made.CreateNumpyVector(np.asarray(values, np.int32)))


def _offsets(made: Any, offsets: Sequence[int]) -> int:
    made.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        made.PrependUOffsetTRelative(offset)
    return int(made.EndVector())
