"""Element-wise operators, comparisons, casts and selection."""

from __future__ import annotations

import numpy as np
import tvm

from ...types.dtypes import elem_type
from .call_writer import CallWriter, Untranslatable, Written
from .table import renamed, translates

renamed(
    {
        "abs": "Abs", "acos": "Acos", "acosh": "Acosh", "asin": "Asin", "asinh": "Asinh", "atan": "Atan", "atanh": "Atanh",
        "bitwise_and": "BitwiseAnd", "bitwise_not": "BitwiseNot", "bitwise_or": "BitwiseOr", "bitwise_xor": "BitwiseXor",
        "ceil": "Ceil", "cos": "Cos", "cosh": "Cosh", "erf": "Erf", "exp": "Exp", "floor": "Floor", "log": "Log",
        "negative": "Neg", "round": "Round", "sigmoid": "Sigmoid", "sign": "Sign", "sin": "Sin", "sinh": "Sinh", "sqrt": "Sqrt",
        "tan": "Tan", "tanh": "Tanh", "nn.relu": "Relu", "isnan": "IsNaN", "isinf": "IsInf", "logical_not": "Not",
        "add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "Div", "power": "Pow", "maximum": "Max", "minimum": "Min",
        "equal": "Equal", "less": "Less", "less_equal": "LessOrEqual", "greater": "Greater", "greater_equal": "GreaterOrEqual",
        "logical_and": "And", "logical_or": "Or", "logical_xor": "Xor", "where": "Where",
    }
)  # fmt: skip


@translates("rsqrt")
def rsqrt(call: CallWriter) -> Written:
    return str(call.emit("Reciprocal", [call.emit("Sqrt", [call.tensor(0)])]))


@translates("square")
def square(call: CallWriter) -> Written:
    return str(call.emit("Mul", [call.tensor(0), call.tensor(0)]))


@translates("not_equal")
def not_equal(call: CallWriter) -> Written:
    return str(call.emit("Not", [call.emit("Equal", [call.tensor(0), call.tensor(1)])]))


@translates("floor_divide")
def floor_divide(call: CallWriter) -> Written:
    """Of integers ONNX divides towards zero."""
    if not call.out_dtype.startswith("float"):
        raise Untranslatable("divides integers downwards")
    return str(call.emit("Floor", [call.emit("Div", [call.tensor(0), call.tensor(1)])]))


@translates("floor_mod", "mod")
def floor_mod(call: CallWriter) -> Written:
    """Of floats ONNX has only the remainder with the sign of the dividend."""
    if call.out_dtype.startswith("float"):
        raise Untranslatable("takes the remainder of floats")
    return str(call.emit("Mod", [call.tensor(0), call.tensor(1)]))


@translates("astype")
def astype(call: CallWriter) -> Written:
    return str(call.emit("Cast", [call.tensor(0)], to=elem_type(call.out_dtype)))


@translates("clip")
def clip(call: CallWriter) -> Written:
    low, high = (call.constant(call.number(index), role, call.dtype(0)) for index, role in ((1, "min"), (2, "max")))
    return str(call.emit("Clip", [call.tensor(0), low, high]))


@translates("nn.relu6")
def relu6(call: CallWriter) -> Written:
    low, high = (call.constant(value, role, call.dtype(0)) for value, role in ((0, "min"), (6, "max")))
    return str(call.emit("Clip", [call.tensor(0), low, high]))


@translates("nn.silu")
def silu(call: CallWriter) -> Written:
    return str(call.emit("Mul", [call.tensor(0), call.emit("Sigmoid", [call.tensor(0)])]))


@translates("nn.gelu")
def gelu(call: CallWriter) -> Written:
    return str(call.emit("Gelu", [call.tensor(0)]))


@translates("nn.gelu_tanh")
def gelu_tanh(call: CallWriter) -> Written:
    return str(call.emit("Gelu", [call.tensor(0)], approximate="tanh"))


@translates("nn.leakyrelu")
def leaky_relu(call: CallWriter) -> Written:
    return str(call.emit("LeakyRelu", [call.tensor(0)], alpha=float(call.attr("alpha"))))


@translates("nn.selu")
def selu(call: CallWriter) -> Written:
    return str(call.emit("Selu", [call.tensor(0)]))


@translates("nn.softplus")
def softplus(call: CallWriter) -> Written:
    """Beyond its threshold Relax's is the identity, which this is too but for a rounding error."""
    if float(call.attr("beta")) != 1.0 or float(call.attr("threshold")) < 20:
        raise Untranslatable("has a beta other than 1, or a threshold below 20")
    return str(call.emit("Softplus", [call.tensor(0)]))


@translates("nn.prelu")
def prelu(call: CallWriter) -> Written:
    rank, axis = len(call.shape(0)), int(call.attr("axis")) % len(call.shape(0))
    shape = np.ones(rank - axis, np.int64)
    shape[0] = -1
    return str(call.emit("PRelu", [call.tensor(0), call.emit("Reshape", [call.tensor(1), call.constant(shape, "shape")])]))


@translates("nn.dropout")
def dropout(call: CallWriter) -> Written:
    """Pass the input on: inference drops nothing, and the mask is unused."""
    return (call.tensor(0), call.tensor(0))


@translates("hint_on_device")
def hint_on_device(call: CallWriter) -> Written:
    """All toolchains that take an ONNX graph here run on the processor; hints at that one are gone before."""
    device = tvm.device(int(call.attr("device_type")), int(call.attr("index")))
    raise Untranslatable(f"binds its value to the device {device}, on which no toolchain here runs")


@translates("quantize")
def quantize(call: CallWriter) -> Written:
    return _quantised(call, "QuantizeLinear", call.out_dtype)


@translates("dequantize")
def dequantize(call: CallWriter) -> Written:
    return _quantised(call, "DequantizeLinear", call.dtype(0))


def _quantised(call: CallWriter, op: str, quantised: str) -> str:
    """ONNX wants the zero point in the quantised dtype."""
    zero = call.tensor(2)
    if call.dtype(2) != quantised:
        zero = call.emit("Cast", [zero], to=elem_type(quantised))
    return str(call.emit(op, [call.tensor(0), call.tensor(1), zero], axis=int(call.attr("axis")) if call.shape(1) else None))
