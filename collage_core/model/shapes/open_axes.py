"""Finds the tensors whose shapes may depend on data: those that a detector's `NonMaxSuppression` makes, those of a `Reshape` by a computed
shape, and what is computed from them.

The nodes of a model enter; names of tensors leave. Which of their dimensions are open is a question for shape inference.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from onnx import GraphProto, NodeProto

from ..naming import op_name
from ..randomness import is_random
from ..scopes import inner_graphs, read_by

OPERATORS = frozenset({"Compress", "If", "Loop", "NonMaxSuppression", "NonZero", "SequenceAt", "StringSplit", "Unique"})
"""Operators that decide by the values of their inputs how many elements they make, or in which shape."""

SETTINGS: Mapping[str, tuple[int, ...]] = {
    "AffineGrid": (1,),
    "BlackmanWindow": (0,),
    "CenterCropPad": (1,),
    "Col2Im": (1, 2),
    "ConstantOfShape": (0,),
    "DFT": (1, 2),
    "Expand": (1,),
    "HammingWindow": (0,),
    "HannWindow": (0,),
    "MaxUnpool": (2,),
    "MelWeightMatrix": (0, 1),
    "OneHot": (1,),
    "Pad": (1, 3),
    "Range": (0, 1, 2),
    "ReduceL1": (1,),
    "ReduceL2": (1,),
    "ReduceLogSum": (1,),
    "ReduceLogSumExp": (1,),
    "ReduceMax": (1,),
    "ReduceMean": (1,),
    "ReduceMin": (1,),
    "ReduceProd": (1,),
    "ReduceSum": (1,),
    "ReduceSumSquare": (1,),
    "Reshape": (1,),
    "Resize": (1, 2, 3),
    "STFT": (1, 3),
    "Slice": (1, 2, 3, 4),
    "Split": (1,),
    "SplitToSequence": (1,),
    "Squeeze": (1,),
    "Tile": (1,),
    "TopK": (1,),
    "Unsqueeze": (1,),
    "Upsample": (1,),
}
"""Operator → positions of the inputs whose values decide the shape of its outputs. Where these are constants the shape is known."""


_OF_SHAPES = ("Shape", "Size")


def names_after_data(graph: GraphProto) -> frozenset[str]:
    """Return the tensors that are made by an operator whose data decides their shape, or computed from such tensors.

    A sequence or an optional that is an input counts as such a tensor: its elements have any shape.
    A value that is computed from the shape of such a tensor may decide the shape of another, so every path counts. Values that are
    computed from constants and from fixed shapes alone are the same at each call: they decide nothing.
    """
    return _divided(graph)[0]


def names_without_data(graph: GraphProto) -> frozenset[str]:
    """Return the constants, and the tensors that are computed from constants and from fixed shapes alone: the same at each call."""
    return _divided(graph)[1]


def _divided(graph: GraphProto) -> tuple[frozenset[str], frozenset[str]]:
    """Return `names_after_data` and `names_without_data`; most tensors are in neither."""
    found = {value.name for value in graph.input if value.type.WhichOneof("value") not in (None, "tensor_type")}
    fixed = {"", *(tensor.name for tensor in graph.initializer)}
    for node in graph.node:
        made, read = [name for name in node.output if name], read_by(node)
        if _decides(node, fixed) or not found.isdisjoint(read):
            found.update(made)
        elif op_name(node) in _OF_SHAPES or (any(read) and fixed.issuperset(read) and not is_random(node)):
            fixed.update(made)
    return frozenset(found), frozenset(fixed)


def _decides(node: NodeProto, fixed: Collection[str]) -> bool:
    """Return whether values that are not `fixed` decide the shape of what `node` makes."""
    op = op_name(node)
    if op in OPERATORS:
        return True
    read = [node.input[at] for at in SETTINGS.get(op, ()) if at < len(node.input)]
    return any(name and name not in fixed for name in read) or any(map(_holds_one, inner_graphs(node)))


def _holds_one(graph: GraphProto) -> bool:
    """Return whether an inner graph has an operator whose shape is always decided by data."""
    return any(op_name(node) in OPERATORS or any(map(_holds_one, inner_graphs(node))) for node in graph.node)
