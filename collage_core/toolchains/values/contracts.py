"""The value contract of each library: which calls it computes right, on which integers and floats. No library is imported.

Tables beside this file (``openvino_values.json`` …) are measured (`make value-contract`); `exact_values` says how limits are read.
"""

from __future__ import annotations

from pathlib import Path

from .exact_values import ABSENT, EXACT, SATURATES, Contract, measured_empty, measured_floats, measured_rows, rows, types


def _table(library: str) -> Path:
    return Path(__file__).with_name(f"{library}_values.json")


# OpenVINO's CPU kernels have 32 bits for int64, float32 for float64 and for much arithmetic on integers, and saturate where ONNX wraps
# around.
_WIDE = types("int64 uint64", 31)
_SIGNED_32_BITS = types("int32", EXACT) | types("uint32", 31) | _WIDE
_32_BITS = types("int32 uint32", EXACT) | _WIDE
_FLOAT32 = types("int32 uint32 int64 uint64", 24)
_SMALL = types("int8 uint8 int16 uint16", EXACT)
_UNSATURATED = "as the identity, without its saturation"

_STATED = rows(
    # Shapes or outputs of these depend on values, so that they are not measured as single calls.
    ("Compress ConstantOfShape OneHot Unique", _SMALL | _32_BITS),
    ("NonMaxSuppression NonZero Shape", _SMALL | _SIGNED_32_BITS),
    ("Resize ReverseSequence", _SMALL | _FLOAT32),
    # The type that is made; the types that are read are measured.
    ("Cast:int64 Cast:uint64", _WIDE),
    # The limit is on what a body reads and makes; the body itself is not looked at.
    ("If Loop Scan", types("int32 uint32", 24) | _WIDE),
    # Numbers drawn at random seldom show these faults: a power that is not a square, a remainder by a large number, a shift by many bits.
    ("Pow", types("int32 int64", "in float32")),
    ("Mod", _SMALL | types("int32 uint32 int64 uint64", 20)),
    ("BitShift", types("int8 uint8 int16 uint16", SATURATES) | types("int32 uint32 int64 uint64", "with 32 bits or in float32")),
    ("ReduceProd", _FLOAT32),
    # Quantised numbers saturate in ONNX too. OpenVINO leaves out pairs of 16 bits, where each alone is right.
    (
        """
        ConvInteger DequantizeLinear DynamicQuantizeLinear MatMulInteger QLinearConv QLinearMatMul QuantizeLinear
        com.microsoft.DequantizeLinear com.microsoft.DynamicQuantizeLSTM com.microsoft.DynamicQuantizeMatMul
        com.microsoft.MatMulIntegerToFloat com.microsoft.MatMulNBits com.microsoft.QAttention com.microsoft.QGemm
        com.microsoft.QLinearAdd com.microsoft.QLinearAveragePool com.microsoft.QLinearConcat com.microsoft.QLinearGlobalAveragePool
        com.microsoft.QLinearLeakyRelu com.microsoft.QLinearMul com.microsoft.QLinearSigmoid com.microsoft.QLinearSoftmax
        com.microsoft.QuantizeLinear
        """,
        types("int8 uint8 int32", EXACT) | types("int16 uint16", _UNSATURATED),
    ),
)

OPENVINO_VALUES = Contract(
    "OpenVINO",
    measured_rows(_table("openvino"), _STATED),
    others=types("int8 uint8 int16 uint16", SATURATES) | _FLOAT32 | types("float64", "in float32"),
    in_bits={
        31: "in 32 bits with a sign",
        24: "through float32, exactly to 2^24",
        20: "through float32, exactly to 2^20",
    },
    reads_inputs=frozenset({"Cast:bool", "Cast:float32"}),
    floats=measured_floats(_table("openvino")),
    empty=measured_empty(_table("openvino")),
    # It rounds halves after it has added the zero point. That is one step of quantised numbers, which their accuracy allows for.
    bears=frozenset((op, name) for op in ("DynamicQuantizeLinear", "QuantizeLinear") for name in ("ties", "halves")),
)

# TVM's kernels compute in the type of the model, and wrap integers around as ONNX does: what the table lacks is exact.
TVM_VALUES = Contract(
    "TVM",
    measured_rows(_table("tvm")),
    # Its importer copies weights of less than a byte by the size of their packed bytes, and fails.
    others=types("int4 uint4 int2 uint2 float4e2m1 float6e2m3 float6e3m2", ABSENT),
    floats=measured_floats(_table("tvm")),
    empty=measured_empty(_table("tvm")),
)

# Measured against ONNX Runtime unoptimised, which is the reference: what its optimisations change of NaN and infinities. On finite values
# the two agree.
ONNXRUNTIME_VALUES = Contract("ONNX Runtime", {}, floats=measured_floats(_table("onnxruntime")), is_reference=True)

# ncnn takes float32 alone, and of few operators (`ncnn_operators`).
NCNN_VALUES = Contract("ncnn", {}, floats=measured_floats(_table("ncnn")), empty=measured_empty(_table("ncnn")))
