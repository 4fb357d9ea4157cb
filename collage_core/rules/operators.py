"""Tables of ONNX's operators and of the defaults of their attributes, and the lookup of an attribute of a node.

This room may not import `onnx`, so the tables are here as plain data; a test compares them with every opset of `onnx`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..graph.dataflow_graph import DataflowGraph, Node, TensorType

_ONNX = """
    Abs Acos Acosh Add AffineGrid And ArgMax ArgMin Asin Asinh Atan Atanh Attention AveragePool BatchNormalization
    Bernoulli BitCast BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor BlackmanWindow Cast CastLike
    CausalConvWithState Ceil Celu CenterCropPad Clip Col2Im Compress Concat ConcatFromSequence Constant
    ConstantOfShape Conv ConvInteger ConvTranspose Cos Cosh CumProd CumSum DFT DeformConv DepthToSpace
    DequantizeLinear Det Div Dropout DynamicQuantizeLinear Einsum Elu Equal Erf Exp Expand EyeLike Flatten Floor GRU
    Gather GatherElements GatherND Gelu Gemm GlobalAveragePool GlobalLpPool GlobalMaxPool Greater GreaterOrEqual
    GridSample GroupNormalization HammingWindow HannWindow HardSigmoid HardSwish Hardmax Identity If ImageDecoder
    InstanceNormalization IsInf IsNaN LRN LSTM LayerNormalization LeakyRelu Less LessOrEqual LinearAttention Log
    LogSoftmax Loop LpNormalization LpPool MatMul MatMulInteger Max MaxPool MaxRoiPool MaxUnpool Mean
    MeanVarianceNormalization MelWeightMatrix Min Mish Mod Mul Multinomial Neg NegativeLogLikelihoodLoss
    NonMaxSuppression NonZero Not OneHot Optional OptionalGetElement OptionalHasElement Or PRelu Pad Pow QLinearConv
    QLinearMatMul QuantizeLinear RMSNormalization RNN RandomNormal RandomNormalLike RandomUniform RandomUniformLike
    Range Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd
    ReduceSum ReduceSumSquare RegexFullMatch Relu Reshape Resize ReverseSequence RoiAlign RotaryEmbedding Round STFT
    Scan Scatter ScatterElements ScatterND Selu SequenceAt SequenceConstruct SequenceEmpty SequenceErase
    SequenceInsert SequenceLength SequenceMap Shape Shrink Sigmoid Sign Sin Sinh Size Slice Softmax
    SoftmaxCrossEntropyLoss Softplus Softsign SpaceToDepth Split SplitToSequence Sqrt Squeeze StringConcat
    StringNormalizer StringSplit Sub Sum SwiGLU Swish Tan Tanh TensorScatter TfIdfVectorizer ThresholdedRelu Tile TopK
    Transpose Trilu Unique Unsqueeze Upsample Where Xor
"""
# Operators of ONNX Runtime that it keeps in ONNX's domain.
_ONNX_RUNTIME = "Affine Crop DynamicSlice GivenTensorFill ImageScaler ParametricSoftplus Scale ScaledTanh SimplifiedLayerNormalization"

OPERATORS = frozenset((_ONNX + _ONNX_RUNTIME).split())
"""Operators of ONNX's domain, of every opset."""

# Defaults in ONNX's schemas, except those that differ between opsets, since a graph does not know its opset:
# the axis of Softmax, LogSoftmax and Hardmax, the mode of GridSample, and how Resize and RoiAlign find their coordinates.
_DEFAULTS = """
    AffineGrid: align_corners=0
    ArgMax ArgMin: axis=0 keepdims=1 select_last_index=0
    Attention: is_causal=0 left_window_size=-1 qk_matmul_output_mode=0 right_window_size=-1 softcap=0.0
    AveragePool: auto_pad=NOTSET ceil_mode=0 count_include_pad=0
    BatchNormalization: epsilon=1e-05 momentum=0.9 training_mode=0
    BlackmanWindow HammingWindow HannWindow: output_datatype=1 periodic=1
    Cast CastLike: round_mode=up saturate=1
    CausalConvWithState: activation=none
    Celu Elu SwiGLU Swish ThresholdedRelu: alpha=1.0
    ConcatFromSequence: new_axis=0
    Conv ConvInteger ConvTranspose QLinearConv: auto_pad=NOTSET group=1
    CumProd CumSum: exclusive=0 reverse=0
    DFT: inverse=0 onesided=0
    DeformConv: group=1 offset_group=1
    DepthToSpace SpaceToDepth: mode=DCR
    DequantizeLinear: axis=1 block_size=0 output_dtype=0
    EyeLike: k=0
    Flatten: axis=1
    GRU: direction=forward layout=0 linear_before_reset=0
    Gather GatherElements Scatter Split: axis=0
    GatherND: batch_dims=0
    Gelu: approximate=none
    Gemm: alpha=1.0 beta=1.0 transA=0 transB=0
    GlobalLpPool: p=2
    GridSample: align_corners=0 padding_mode=zeros
    GroupNormalization: epsilon=1e-05 stash_type=1
    HardSigmoid: alpha=0.2 beta=0.5
    ImageDecoder: pixel_format=RGB
    InstanceNormalization: epsilon=1e-05
    IsInf: detect_negative=1 detect_positive=1
    LRN: alpha=0.0001 beta=0.75 bias=1.0
    LSTM: direction=forward input_forget=0 layout=0
    LayerNormalization RMSNormalization: axis=-1 epsilon=1e-05 stash_type=1
    LeakyRelu: alpha=0.01
    LinearAttention: chunk_size=64 scale=0.0 update_rule=gated_delta
    LpNormalization: axis=-1 p=2
    LpPool: auto_pad=NOTSET ceil_mode=0 p=2
    MaxPool: auto_pad=NOTSET ceil_mode=0 storage_order=0
    MaxRoiPool: spatial_scale=1.0
    MeanVarianceNormalization: axes=[0,2,3]
    MelWeightMatrix: output_datatype=1
    Mod: fmod=0
    Multinomial: dtype=6 sample_size=1
    NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss: reduction=mean
    NonMaxSuppression: center_point_box=0
    OneHot: axis=-1
    Pad: mode=constant
    QuantizeLinear: axis=1 block_size=0 output_dtype=0 precision=0 saturate=1
    RNN: activations=["Tanh","Tanh"] direction=forward layout=0
    RandomNormal: dtype=1 mean=0.0 scale=1.0
    RandomNormalLike: mean=0.0 scale=1.0
    RandomUniform: dtype=1 high=1.0 low=0.0
    RandomUniformLike: high=1.0 low=0.0
    Range: stash_type=1
    ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax: keepdims=1 noop_with_empty_axes=0
    ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare: keepdims=1 noop_with_empty_axes=0
    Reshape: allowzero=0
    Resize: antialias=0 cubic_coeff_a=-0.75 exclude_outside=0 extrapolation_value=0.0 keep_aspect_ratio_policy=stretch
    Resize: mode=nearest
    ReverseSequence: batch_axis=1 time_axis=0
    RoiAlign: mode=avg output_height=1 output_width=1 sampling_ratio=0 spatial_scale=1.0
    RotaryEmbedding: interleaved=0 rotary_embedding_dim=0
    STFT: onesided=1
    ScatterElements: axis=0 reduction=none
    ScatterND: reduction=none
    Selu: alpha=1.6732632 gamma=1.050701
    Shape: start=0
    Shrink: bias=0.0 lambd=0.5
    SplitToSequence: axis=0 keepdims=1
    StringNormalizer: case_change_action=NONE is_case_sensitive=0
    TensorScatter: axis=-2 mode=linear
    TopK: axis=-1 largest=1 sorted=1
    Trilu: upper=1
    Unique: sorted=1
    Upsample: mode=nearest
"""


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _read(table: str) -> dict[tuple[str, str], Any]:
    read = {}
    for line in filter(str.strip, table.splitlines()):
        ops, _, pairs = line.partition(":")
        for op in ops.split():
            for pair in pairs.split():
                name, _, text = pair.partition("=")
                read[op, name] = _value(text)
    return read


DEFAULTS: Mapping[tuple[str, str], Any] = _read(_DEFAULTS)
"""(operator, attribute) → default, where it is the same in every opset from 7 on."""

_WEIGHT_SLOT = {"Conv": 1, "ConvInteger": 1, "ConvTranspose": 1, "DeformConv": 1, "QLinearConv": 3}
_WINDOWED = {*_WEIGHT_SLOT, "AveragePool", "LpPool", "MaxPool"}


def type_of(graph: DataflowGraph, name: str) -> TensorType | None:
    """Return the type of the tensor `name`, a constant included; None for an absent input."""
    constant = graph.constants.get(name)
    return constant.type if constant is not None else graph.types.get(name)


def attribute_of(graph: DataflowGraph, node: Node, name: str) -> Any:
    """Return the attribute `name` of `node`: the value in the node, else ONNX's default, else None.

    Attributes of a window (`strides`, `dilations`, `pads`, `output_padding`, and the `kernel_shape` of a convolution) have no
    default in the schemas; their default follows the text of the operator's definition.
    """
    if name in node.attributes:
        return node.attributes[name]
    if (node.op, name) in DEFAULTS:
        return DEFAULTS[node.op, name]
    return _of_window(graph, node, name) if node.op in _WINDOWED else None


def _of_window(graph: DataflowGraph, node: Node, name: str) -> list[int] | None:
    data = type_of(graph, node.inputs[0]) if node.inputs else None
    if data is None:
        return None
    axes = len(data.shape) - 2
    if name in ("strides", "dilations"):
        return [1] * axes
    if name == "output_padding" and node.op == "ConvTranspose":
        return [0] * axes
    if name == "pads":
        is_explicit = node.attributes.get("auto_pad", "NOTSET") == "NOTSET" and "output_shape" not in node.attributes
        return [0] * (2 * axes) if is_explicit else None
    if name == "kernel_shape" and node.op in _WEIGHT_SLOT and len(node.inputs) > _WEIGHT_SLOT[node.op]:
        weight = type_of(graph, node.inputs[_WEIGHT_SLOT[node.op]])
        return list(weight.shape[2:]) if weight is not None else None
    return None
