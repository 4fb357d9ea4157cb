"""ONNX's operators, the attributes of their calls, and `where` conditions on these and on the dtype, rank and shape of tensors.

The tables of operators and of defaults are plain data, since this room may not import `onnx`; a test compares them with every opset. A
table of a TOML or JSON file enters, such as ``{"Conv.group" = 1, "Conv.out0.shape" = ["*", 64, ">=7", "*"]}``; `Condition`s leave, and
for a set of nodes the first condition that fails, in words. docs/rules.md defines the form.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import CollageError
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


def _default(text: str) -> Any:
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
                read[op, name] = _default(text)
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


Value = int | float | str | tuple[int | float | str, ...]

DTYPES = frozenset(
    """
    bfloat16 bool complex64 complex128 float16 float32 float64 float4e2m1 float6e2m3 float6e3m2 float8e4m3fn float8e4m3fnuz
    float8e5m2 float8e5m2fnuz float8e8m0 int2 int4 int8 int16 int32 int64 string uint2 uint4 uint8 uint16 uint32 uint64
    """.split()  # noqa: SIM905 - a list of words reads better as words
)
"""The dtypes that a tensor of a graph may have."""

_HINT = 'conditions are written as "Conv.group" = 1 or "Conv.in0.shape" = ["*", 64, ">=7", "*"]; docs/rules.md has them all'
_SUBJECT = re.compile(
    r"(?P<op>\*|[A-Za-z_][\w.]*?)\."
    r"(?:(?P<side>in|out)(?P<slot>\d{1,3})\.(?P<of>dtype|rank|shape)|(?P<first>dtype|rank|shape)|attr\.(?P<plain>\w+)|(?P<attribute>\w+))"
)
_TERM = re.compile(r"(>=|<=|!=|>|<)?(.*)", re.DOTALL)
_COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    ">=": lambda found, bound: found >= bound,
    "<=": lambda found, bound: found <= bound,
    ">": lambda found, bound: found > bound,
    "<": lambda found, bound: found < bound,
}


@dataclass(frozen=True, slots=True)
class Condition:
    """One entry of a `where` table.

    Attributes:
        subject: The key, such as ``Conv.in0.dtype``.
        wanted: A number, a text of terms, or a tuple with one of these for each element of a list.
    """

    subject: str
    wanted: Value

    @property
    def op(self) -> str:
        """The operator that the condition applies to; ``*`` for every one."""
        return _parts(self.subject)["op"] or ""

    def failure(self, graph: DataflowGraph, node: Node) -> str | None:
        """Return why `node` fails the condition, or None; a node of another operator never fails."""
        if self.op not in ("*", node.op):
            return None
        value = _value(graph, node, self.subject)
        if value is not None and _holds(value, self.wanted):
            return None
        text = "not there" if value is None else _written(value)
        return f"{self.subject} of {node.name!r} is {text}, it must be {_written(self.wanted)}"


def parse_where(data: Any) -> tuple[Condition, ...]:
    """Return the conditions of a `where` table.

    Raises:
        CollageError: a subject or a value has no meaning; the message quotes it.
    """
    if not isinstance(data, Mapping):
        raise _mistake(f"where is {data!r}, it must be a table of conditions")
    return tuple(_condition(str(subject), wanted) for subject, wanted in data.items())


def first_failure(graph: DataflowGraph, inside: Iterable[int], conditions: Sequence[Condition]) -> str | None:
    """Return the first condition that a node of `inside` fails, in words; None when all hold."""
    if not conditions:
        return None
    failures = (condition.failure(graph, graph.nodes[index]) for index in inside for condition in conditions)
    return next(filter(None, failures), None)


def _condition(subject: str, wanted: Any) -> Condition:
    parts = _parts(subject)
    if not parts:
        raise _mistake(f"where names {subject!r}, which is no OPERATOR.ATTRIBUTE and no OPERATOR.in0.dtype, .rank or .shape")
    if re.search(r"\.(in|out)\d+$", parts["op"] or ""):
        raise _mistake(f"where names {subject!r}: of a tensor it may ask for dtype, rank and shape")
    is_list = isinstance(wanted, list | tuple)
    what = parts["of"] or parts["first"]
    for value in wanted if is_list else [wanted]:
        _check(subject, what, value)
    if (what == "shape" and not is_list) or (what in ("dtype", "rank") and is_list):
        raise _mistake(f"where has {_written(wanted)} for {subject!r}, it must be {'a list' if what == 'shape' else 'one value'}")
    return Condition(subject, tuple(wanted) if is_list else wanted)


def _check(subject: str, what: str | None, value: Any) -> None:
    """Raise CollageError for a single value that nothing can ever equal."""
    if isinstance(value, bool) or not isinstance(value, int | float | str) or (isinstance(value, float) and not math.isfinite(value)):
        raise _mistake(f"where has {value!r} for {subject!r}, it must be a number, a text or a list of these")
    for term in value.split("|") if isinstance(value, str) else []:
        sign, operand = _term(term)
        is_word = operand != "*" and _number(operand) is None
        if not operand or (sign and operand == "*") or (is_word and (sign not in ("", "!=") or what in ("rank", "shape"))):
            raise _mistake(f"where has {value!r} for {subject!r}, and {term!r} says nothing there")
        if what == "dtype" and operand != "*" and operand not in DTYPES:
            raise _mistake(f"where has {value!r} for {subject!r}, and {operand!r} is no dtype")
    if what == "dtype" and not isinstance(value, str):
        raise _mistake(f"where has {value!r} for {subject!r}, it must name a dtype")


def _mistake(message: str) -> CollageError:
    return CollageError(message, _HINT, "bad_where")


def _parts(subject: str) -> dict[str, str | None]:
    match = _SUBJECT.fullmatch(subject)
    return match.groupdict() if match else {}


def _value(graph: DataflowGraph, node: Node, subject: str) -> Any:
    """Return the value of `subject` at `node`; None where the node has none."""
    parts = _parts(subject)
    what = parts["of"] or parts["first"]
    if what is None:
        return attribute_of(graph, node, parts["plain"] or parts["attribute"] or "")
    slot = int(parts["slot"] or 0)
    names = node.inputs if parts["side"] == "in" else tuple(tensor.name for tensor in node.outputs)
    known = type_of(graph, names[slot]) if slot < len(names) else None
    if known is None:
        return None
    return {"dtype": known.dtype, "rank": len(known.shape), "shape": known.declared_shape}[what]


def _holds(found: Any, wanted: Value) -> bool:
    if wanted == "*":
        return True
    if isinstance(wanted, tuple):
        same_length = isinstance(found, list | tuple) and len(found) == len(wanted)
        return same_length and all(_holds(item, want) for item, want in zip(found, wanted, strict=True))
    if isinstance(found, list | tuple | Mapping):
        return False
    if isinstance(wanted, str):
        return any(_term_holds(found, *_term(term)) for term in wanted.split("|"))
    return bool(found == wanted)


def _term(text: str) -> tuple[str, str]:
    """Return the sign and the operand of one term: ``>=7`` is (``>=``, ``7``)."""
    match = _TERM.fullmatch(text.strip())
    return (match.group(1) or "", match.group(2).strip()) if match else ("", "")


def _term_holds(found: Any, sign: str, operand: str) -> bool:
    if operand == "*":
        return True
    number = _number(operand)
    is_number = isinstance(found, int | float)
    if sign in _COMPARE:
        return is_number and number is not None and _COMPARE[sign](found, number)
    is_equal = found == number if is_number else str(found) == operand
    return is_equal != (sign == "!=")


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _written(value: Any) -> str:
    """Return a value as a message shows it, the same for a list and a tuple."""
    return repr(list(value)) if isinstance(value, tuple) else repr(value)
