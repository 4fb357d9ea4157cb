"""The operators that TVM's ONNX importer takes, listed so that TVM need not be imported; a test compares the list with TVM.

Operators whose output shapes depend on data, operators on sequences, and long deprecated ones are left out.
"""

from __future__ import annotations

MICROSOFT = frozenset({"Attention", "BiasGelu", "EmbedLayerNormalization", "FastGelu", "Gelu", "MatMulInteger16", "SkipLayerNormalization"})
"""Operators of the domain ``com.microsoft``. The importer ignores domains, and takes every ``Attention`` for that of this domain."""

_ONNX = """
    Abs Acos Acosh Add AffineGrid And ArgMax ArgMin Asin Asinh Atan Atanh AveragePool BatchNormalization BitShift BitwiseAnd
    BitwiseNot BitwiseOr BitwiseXor Cast CastLike Ceil Clip Concat Constant ConstantOfShape Conv ConvTranspose Cos Cosh CumSum
    DepthToSpace DequantizeLinear Div Dropout DynamicQuantizeLinear Einsum Elu Equal Erf Exp Expand EyeLike Flatten Floor
    Gather GatherElements GatherND Gelu Gemm GlobalAveragePool GlobalLpPool GlobalMaxPool Greater GreaterOrEqual GridSample
    GroupNormalization HardSigmoid HardSwish Hardmax Identity If InstanceNormalization IsInf IsNaN LRN LayerNormalization
    LeakyRelu Less LessOrEqual Log LogSoftmax LpPool MatMul MatMulInteger Max MaxPool MaxRoiPool MaxUnpool Mean
    MeanVarianceNormalization Min Mish Mod Mul Neg Not OneHot Or PRelu Pad Pow QuantizeLinear RMSNormalization Range
    Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum
    ReduceSumSquare Relu Reshape Resize RoiAlign Round ScatterElements ScatterND Selu Shape Shrink Sigmoid Sign Sin Sinh Size
    Slice Softmax Softplus Softsign SpaceToDepth Split Sqrt Squeeze Sub Sum Tan Tanh ThresholdedRelu Tile TopK Transpose Trilu
    Unsqueeze Where Xor
"""

OPERATORS = tuple(sorted(_ONNX.split()) + sorted(f"com.microsoft.{op}" for op in MICROSOFT))
"""Operators as in `Node.op`."""
