"""Which integers and element types OpenVINO computes exactly on the CPU, as a table that its rule reads. OpenVINO is not imported.

Measured with OpenVINO 2026.4 against ONNX Runtime. Its CPU kernels have 32 bits for int64, float32 for float64 and for much arithmetic
on integers, and saturate where ONNX wraps around. `exact_values` says how limits are read.
"""

from __future__ import annotations

from ..exact_values import EXACT, SATURATES, Contract, rows, types

_WIDE = types("int64 uint64", 31)
_SIGNED_32_BITS = types("int32", EXACT) | types("uint32", 31) | _WIDE
_32_BITS = types("int32 uint32", EXACT) | _WIDE
_FLOAT32 = types("int32 uint32 int64 uint64", 24)
_SMALL = types("int8 uint8 int16 uint16", EXACT)
_UNSATURATED = "as the identity, without its saturation"

_CALLS = rows(
    (
        """
        BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Compress Concat ConstantOfShape DepthToSpace Expand EyeLike Flatten Gather GatherElements
        GatherND Identity OneHot Pad Reshape ScatterElements ScatterND Slice SpaceToDepth Split Squeeze Tile Transpose Trilu
        Unique Unsqueeze Where
        """,
        _SMALL | _32_BITS,
    ),
    ("ArgMax ArgMin Clip CumSum Max Min NonMaxSuppression NonZero Shape Sign Size TopK", _SMALL | _SIGNED_32_BITS),
    ("Add Mul Neg Sub", types("int8 uint8", SATURATES) | types("int16 uint16", EXACT) | _32_BITS),
    ("Abs", types("int8", SATURATES) | types("uint8 int16 uint16", EXACT) | _SIGNED_32_BITS),
    ("Div Equal Greater GreaterOrEqual Less LessOrEqual", _SMALL | _FLOAT32),
    ("MaxPool ReduceMax ReduceMin Relu Resize ReverseSequence", _SMALL | _FLOAT32),
    ("If Loop Scan", types("int32 uint32", 24) | _WIDE),
    ("Mod", _SMALL | types("int32 uint32 int64 uint64", 20)),
    ("Pow", types("int8 uint8 int16 uint16 int32 uint32 int64 uint64", "in float32")),
    ("BitShift", types("int8 uint8 int16 uint16", SATURATES) | types("int32 uint32 int64 uint64", "with 32 bits or in float32")),
    ("Cast:int8 Cast:uint8 Cast:int16 Cast:uint16 Cast:int32 Cast:uint32", _SMALL | types("int32 uint32 int64 uint64", EXACT)),
    ("Cast:bool Cast:float16 Cast:float32", _SMALL | _32_BITS),
    ("Cast:int64 Cast:uint64", _SMALL | _SIGNED_32_BITS),
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
    _CALLS,
    others=types("int8 uint8 int16 uint16", SATURATES) | _FLOAT32 | types("float64", "in float32"),
    in_bits={
        31: "in 32 bits with a sign",
        24: "through float32, exactly to 2^24",
        20: "through float32, exactly to 2^20",
    },
    reads_inputs=frozenset({"Cast:bool", "Cast:float32"}),
)
