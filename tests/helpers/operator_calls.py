"""A small call of every operator that TVM imports, as an ONNX model of its own, to compare with TVM's analysis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import helper, shape_inference

from collage_core.graph.dataflow_graph import Tensor, TensorType
from collage_core.model.model import SubModel
from collage_core.model.types.dtypes import dtype_name
from collage_core.toolchains.conformance.small_models import normal, sub_model, tensor

Given = np.ndarray | tuple[int, ...] | tuple[str, tuple[int, ...]] | None
"""An input of a call: an array is a weight, a shape a float32 input, a pair an input of that dtype; None is an absent input."""


@dataclass(frozen=True)
class Call:
    """A call: its inputs, attributes and outputs (their number, or their types where ONNX's inference does not find them)."""

    inputs: tuple[Given, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    outputs: int | tuple[tuple[str, tuple[int, ...]], ...] = 1
    opset: int = 17


def call(*inputs: Given, outputs: int | tuple[tuple[str, tuple[int, ...]], ...] = 1, opset: int = 17, **attributes: Any) -> Call:
    return Call(inputs, attributes, outputs, opset)


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def scalar(value: float, dtype: str = "float32") -> np.ndarray:
    return np.array(value, dtype)


S, IMAGE = (2, 3, 4), (1, 4, 8, 8)
I32, BOOL, U8 = ("int32", S), ("bool", S), ("uint8", S)

_UNARY = """
    Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Elu Erf Exp Floor HardSigmoid HardSwish IsInf IsNaN LeakyRelu Log Mish
    Neg Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Tan Tanh ThresholdedRelu Identity
"""
_BINARY = "Add Div Mod Mul Pow Sub Max Min Mean Sum Equal Greater GreaterOrEqual Less LessOrEqual"
_REDUCE = "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSumSquare"

CALLS: dict[str, Call] = {
    **{op: call(S, opset=20 if op == "IsInf" else 18) for op in _UNARY.split()},
    **{op: call(S, S, **({"fmod": 1} if op == "Mod" else {})) for op in _BINARY.split()},
    **{op: call(S, axes=[2], keepdims=1) for op in _REDUCE.split()},
    **{op: call(BOOL, BOOL) for op in ("And", "Or", "Xor")},
    **{op: call(I32, I32, opset=18) for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")},
    **{op: call(S, axis=-1) for op in ("Softmax", "LogSoftmax", "Hardmax")},
    **{op: call(S, axis=1) for op in ("ArgMax", "ArgMin")},
    **{op: call(IMAGE) for op in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")},
    "AffineGrid": call((1, 2, 3), ints(1, 1, 4, 4), opset=20),
    "AveragePool": call(IMAGE, kernel_shape=[2, 2]),
    "BatchNormalization": call(IMAGE, normal(4), normal(4), normal(4), np.abs(normal(4)) + 1),
    "BitShift": call(U8, U8, direction="LEFT"),
    "BitwiseNot": call(I32, opset=18),
    "Cast": call(S, to=onnx.TensorProto.INT32),
    "CastLike": call(S, I32),
    "Clip": call(S, scalar(0), scalar(6)),
    "Concat": call(S, S, axis=1),
    "ConstantOfShape": call(ints(2, 3)),
    "Conv": call(IMAGE, normal(6, 4, 3, 3)),
    "ConvTranspose": call(IMAGE, normal(4, 6, 3, 3)),
    "CumSum": call(S, scalar(1, "int64")),
    "DepthToSpace": call(IMAGE, blocksize=2),
    "DequantizeLinear": call(U8, scalar(0.1), scalar(3, "uint8")),
    "Dropout": call(S),
    "DynamicQuantizeLinear": call(S, outputs=3),
    "Einsum": call(S, (4, 5), equation="abc,cd->abd"),
    "Expand": call((1, 3, 1), ints(2, 3, 4)),
    "EyeLike": call((4, 4)),
    "Flatten": call(S),
    "Gather": call(S, ("int64", (2,)), axis=1),
    "GatherElements": call(S, ("int64", S), axis=1),
    "GatherND": call(S, ("int64", (2, 2))),
    "Gelu": call(S, opset=20),
    "Gemm": call((3, 4), normal(4, 5), normal(5)),
    "GridSample": call(IMAGE, (1, 5, 5, 2)),
    "GroupNormalization": call(IMAGE, normal(4), normal(4), num_groups=2, opset=21),
    "InstanceNormalization": call(IMAGE, normal(4), normal(4)),
    "LRN": call(IMAGE, size=3),
    "LayerNormalization": call(S, normal(4), normal(4)),
    "LpPool": call(IMAGE, kernel_shape=[2, 2]),
    "MatMul": call((2, 3, 4), normal(4, 5)),
    "MatMulInteger": call(("uint8", (3, 4)), ("uint8", (4, 5))),
    "MaxPool": call(IMAGE, kernel_shape=[2, 2]),
    "MaxUnpool": call((1, 1, 2, 2), ("int64", (1, 1, 2, 2)), kernel_shape=[2, 2], strides=[2, 2]),
    "MaxRoiPool": call(IMAGE, np.array([[0, 0, 0, 4, 4]], np.float32), pooled_shape=[2, 2]),
    "MeanVarianceNormalization": call(IMAGE),
    "Not": call(BOOL),
    "OneHot": call(("int64", (3,)), scalar(5, "int64"), np.array([0, 1], np.float64)),
    "PRelu": call(IMAGE, normal(4, 1, 1)),
    "Pad": call(IMAGE, ints(0, 0, 1, 1, 0, 0, 1, 1)),
    "QuantizeLinear": call(S, scalar(0.1), scalar(3, "uint8")),
    "RMSNormalization": call(S, normal(4), opset=23),
    "ReduceSum": call(S, ints(2), keepdims=1),
    "Reshape": call(S, ints(6, 4)),
    "Resize": call(IMAGE, None, np.array([1, 1, 2, 2], np.float32), mode="nearest"),
    "RoiAlign": call(IMAGE, normal(2, 4), ints(0, 0), output_height=2, output_width=2),
    "ScatterElements": call(S, ("int64", S), S, axis=1),
    "ScatterND": call(S, ("int64", (2, 2)), (2, 4)),
    "Range": call(scalar(0), scalar(5), scalar(1)),
    "Size": call(S),
    "Slice": call(S, ints(1), ints(3), ints(2)),
    "SpaceToDepth": call(IMAGE, blocksize=2),
    "Split": call((2, 6), ints(3, 3), outputs=2, axis=1),
    "Squeeze": call((2, 1, 4), ints(1)),
    "Tile": call(S, ints(1, 2, 1)),
    "TopK": call(S, ints(2), outputs=2),
    "Transpose": call(S, perm=[2, 0, 1]),
    "Trilu": call((4, 4)),
    "Unsqueeze": call(S, ints(0)),
    "Where": call(BOOL, S, S),
    "com.microsoft.BiasGelu": call(S, normal(4)),
    "com.microsoft.FastGelu": call(S, normal(4)),
    "com.microsoft.Gelu": call(S),
    "com.microsoft.SkipLayerNormalization": call(S, S, normal(4), normal(4), normal(4)),
    "com.microsoft.Attention": call((1, 3, 8), normal(8, 24), normal(24), None, None, ("float32", (1, 2, 3, 3)), num_heads=2),
    "com.microsoft.EmbedLayerNormalization": call(
        ("int32", (1, 3)),
        ("int32", (1, 3)),
        normal(9, 4),
        normal(5, 4),
        normal(2, 4),
        normal(4),
        normal(4),
        ("int32", (1, 3)),
        outputs=(("float32", (1, 3, 4)), ("int32", (1,))),
    ),
    "com.microsoft.MatMulInteger16": call(("int16", (3, 4)), ("int16", (4, 5)), outputs=(("int32", (3, 5)),)),
}
"""Operator → a call of it, with shapes that show its kind: no extent of 1, and no order of axes that moves nothing."""


def model_of(op: str, described: Call | None = None) -> SubModel:
    """Return a call of `op`, that of `CALLS` or another, as a model.

    The types of its outputs are those of ONNX's inference, or that of its first input.
    """
    described = described or CALLS[op]
    names = [f"x{index}" if given is not None else "" for index, given in enumerate(described.inputs)]
    inputs, weights = [], {}
    for name, given in zip(names, described.inputs, strict=True):
        if isinstance(given, np.ndarray):
            weights[name] = given
        elif given is not None:
            dtype, shape = given if given and isinstance(given[0], str) else ("float32", given)
            inputs.append(tensor(name, shape, dtype))
    domain, _, plain = op.rpartition(".")
    made_types = described.outputs if isinstance(described.outputs, tuple) else ()
    outputs = [f"y{index}" for index in range(len(made_types) or described.outputs)]  # type: ignore[arg-type]
    made = helper.make_node(plain, names, outputs, domain=domain, **described.attributes)
    if made_types:
        known = [tensor(name, shape, dtype) for name, (dtype, shape) in zip(outputs, made_types, strict=True)]
    else:
        types = {
            value.name: value.type.tensor_type for value in _inferred(sub_model([made], inputs, [], weights, described.opset), outputs)
        }
        known = [_typed(name, types.get(name), inputs[0].type if inputs else TensorType((), "float32")) for name in outputs]
    return sub_model([made], inputs, known, weights, described.opset)


def _inferred(model: SubModel, outputs: list[str]) -> list[onnx.ValueInfoProto]:
    proto = onnx.load_model_from_string(model.onnx)
    proto.graph.output.extend(onnx.ValueInfoProto(name=name) for name in outputs)
    return list(shape_inference.infer_shapes(proto, data_prop=True).graph.output)


def _typed(name: str, found: Any, otherwise: TensorType) -> Tensor:
    if found is None or not found.elem_type or not found.HasField("shape"):
        return Tensor(name, otherwise)
    return Tensor(name, TensorType(tuple(dim.dim_value for dim in found.shape.dim), dtype_name(found.elem_type)))
