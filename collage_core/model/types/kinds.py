"""The kind (`OpPatternKind`) of every ONNX operator: how freely TVM may fuse it.

The table agrees with TVM's analysis (`AnnotateTIROpPattern` over the legalised operator); an operator that becomes several functions
there has the greatest of their kinds. `DEPARTURES` gives the reason for each difference; a test compares the table with TVM. `Slice`
and `Transpose` are injective here even where they move nothing and TVM calls them element-wise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...graph.dataflow_graph import OpPatternKind, TensorType

_E = OpPatternKind.ELEMWISE
_B = OpPatternKind.BROADCAST
_I = OpPatternKind.INJECTIVE
_R = OpPatternKind.COMM_REDUCE
_A = OpPatternKind.OUT_EWISE_FUSABLE
_O = OpPatternKind.OPAQUE

# Each output element is computed from one element of each input. With several inputs TVM requires only that one of them has the
# shape of the output: the others (a bias, a scale, a scalar) are broadcast.
_ELEMENT_WISE = """
    Abs Acos Acosh Add And Asin Asinh Atan Atanh BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast CastLike Ceil Celu
    Clip Cos Cosh DequantizeLinear Div Dropout Elu Equal Erf Exp EyeLike Floor Gelu Greater GreaterOrEqual HardSigmoid
    HardSwish Identity IsInf IsNaN LeakyRelu Less LessOrEqual Log Max Mean Min Mish Mod Mul Neg Not Or PRelu Pow
    QuantizeLinear Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Sub Sum Swish Tan Tanh
    ThresholdedRelu Trilu Where Xor
    com.microsoft.BiasAdd com.microsoft.BiasGelu com.microsoft.DequantizeLinear com.microsoft.FastGelu com.microsoft.Gelu
    com.microsoft.QLinearAdd com.microsoft.QLinearLeakyRelu com.microsoft.QLinearMul com.microsoft.QLinearSigmoid
    com.microsoft.QuantizeLinear com.microsoft.QuickGelu
"""
# Every element is copied to one or more known positions. BatchNormalization is a scale and a shift whose parameters are broadcast
# along the channels.
_BROADCAST = "BatchNormalization ConstantOfShape Expand OneHot Squeeze Unsqueeze"
# Each output element is read from one position of the input, which follows from the index. A resize reads a few such positions.
_INJECTIVE = """
    AffineGrid CenterCropPad Concat DepthToSpace Flatten Pad Reshape Resize ReverseSequence Slice SpaceToDepth Split Tile
    Transpose Upsample com.microsoft.QLinearConcat
"""
# A plain commutative reduction, which fuses with element-wise operators before and after it.
_REDUCE = """
    DynamicQuantizeLinear GlobalLpPool GlobalMaxPool ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMin
    ReduceProd ReduceSum ReduceSumSquare
"""
# A reduction that multiplies (convolutions and matrix products), goes over a window, or has more steps after it (softmax,
# normalisations, the division of a mean, the two values of an argmax): only operators after it fuse.
_OUT_FUSABLE = """
    ArgMax ArgMin AveragePool Conv ConvInteger ConvTranspose DeformConv Einsum Gemm GlobalAveragePool GroupNormalization
    Hardmax InstanceNormalization LRN LayerNormalization LogSoftmax LpNormalization LpPool MatMul MatMulInteger MaxPool
    MaxRoiPool MeanVarianceNormalization QLinearConv QLinearMatMul RMSNormalization ReduceMean Softmax
    com.microsoft.BiasSoftmax com.microsoft.ConvTransposeWithDynamicPads com.microsoft.DynamicQuantizeMatMul
    com.microsoft.FusedConv com.microsoft.FusedGemm com.microsoft.FusedMatMul com.microsoft.GroupNorm
    com.microsoft.MatMulInteger16 com.microsoft.MatMulIntegerToFloat com.microsoft.MatMulNBits com.microsoft.NhwcConv
    com.microsoft.NhwcFusedConv com.microsoft.NhwcMaxPool com.microsoft.QGemm com.microsoft.QLinearAveragePool
    com.microsoft.QLinearConv com.microsoft.QLinearGlobalAveragePool com.microsoft.QLinearReduceMean
    com.microsoft.QLinearSoftmax com.microsoft.SimplifiedLayerNormalization com.microsoft.SkipLayerNormalization
    com.microsoft.SkipSimplifiedLayerNormalization com.microsoft.TransposeMatMul SimplifiedLayerNormalization
"""
# Positions that are read or written depend on data.
_BY_DATA = """
    Col2Im Compress Gather GatherElements GatherND GridSample MaxUnpool NonMaxSuppression NonZero RoiAlign Scatter
    ScatterElements ScatterND TensorScatter TfIdfVectorizer TopK Unique
"""
# Each element depends on the one before (scans and recurrent layers), or the result depends on more than the inputs.
_IN_TURN = """
    Bernoulli CumProd CumSum DFT Det GRU LSTM Multinomial RNN RandomNormal RandomNormalLike RandomUniform RandomUniformLike STFT
"""
# Many operators in one; no toolchain fuses them with others.
_WHOLE_LAYERS = """
    Attention CausalConvWithState LinearAttention NegativeLogLikelihoodLoss RotaryEmbedding SoftmaxCrossEntropyLoss SwiGLU
"""
# Depends on no input, or only on a shape.
_SOURCES = "BitCast BlackmanWindow Constant HammingWindow HannWindow ImageDecoder MelWeightMatrix Range Shape Size"
# Works on graphs, sequences, optional values or texts: no tensor expression exists.
_NO_TENSORS = """
    ConcatFromSequence If Loop Optional OptionalGetElement OptionalHasElement RegexFullMatch Scan SequenceAt SequenceConstruct
    SequenceEmpty SequenceErase SequenceInsert SequenceLength SequenceMap SplitToSequence StringConcat StringNormalizer
    StringSplit
"""
_OPAQUE = _BY_DATA + _IN_TURN + _WHOLE_LAYERS + _SOURCES + _NO_TENSORS

_KINDS: dict[str, OpPatternKind] = {
    op: kind
    for ops, kind in ((_ELEMENT_WISE, _E), (_BROADCAST, _B), (_INJECTIVE, _I), (_REDUCE, _R), (_OUT_FUSABLE, _A), (_OPAQUE, _O))
    for op in ops.split()
}
"""Operator → kind. An operator that is not listed is opaque."""

_STACKED = "the importer stacks the inputs and reduces the stack; in itself one output element comes from one of each input"
DEPARTURES: Mapping[str, tuple[str, str]] = {
    "Identity": ("O", "TVM drops it, so there is no function to analyse; in itself it is element-wise"),
    "Max": ("R", _STACKED),
    "Mean": ("A", _STACKED),
    "Min": ("R", _STACKED),
    "PRelu": ("I", "the importer reshapes the slope, which is a weight; the operator itself is element-wise"),
    "Size": ("R", "the importer multiplies the extents of the shape; no toolchain gains by fusing that"),
    "Sum": ("R", _STACKED),
    "com.microsoft.Attention": ("A", "the importer takes it apart into products and a softmax; to the others it is one kernel"),
}
"""Operator → (kind by TVM's analysis, O where there is no function; reason for the table's other kind)."""


def kind_of(op: str, input_types: Sequence[TensorType | None], output_types: Sequence[TensorType], has_inner_graph: bool) -> OpPatternKind:
    """Return the kind of one call of `op`.

    Args:
        op: As in `Node.op`, with the domain in front where that is not ONNX's own.
        input_types: Types of its inputs; None for one that is absent or not known.
        output_types: Types of its outputs.
        has_inner_graph: Whether the call has inner graphs (`If`, `Loop`, `Scan`), which makes it opaque.
    """
    if has_inner_graph:
        return _O
    kind = _KINDS.get(op, _O)
    if kind is not _E or not output_types:
        return kind
    shapes = [known.shape for known in input_types if known is not None]
    return _E if not shapes or output_types[0].shape in shapes else _B
