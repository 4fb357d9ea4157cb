"""Finds the tensors whose shapes may depend on data, and bounds of their sizes.

The nodes of a model enter; names of tensors leave: those that a detector's `NonMaxSuppression` makes, those of a `Reshape` by a computed
shape, and what is computed from them. Which of their dimensions are open is a question for shape inference. With what inference says of
them `largest_sizes` gives bounds: a `NonMaxSuppression` keeps no more boxes than it was given, `NonZero` finds no more than all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from math import prod

from onnx import GraphProto, NodeProto, helper, numpy_helper

from ...graph.dataflow_graph import TensorType
from ..files.external_data import is_external
from ..nodes import inner_graphs, is_random, op_name, read_by
from .inference import Inferred

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


OF_SHAPES = ("Shape", "Size")


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
        elif op_name(node) in OF_SHAPES or (any(read) and fixed.issuperset(read) and not is_random(node)):
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


Sizes = tuple[int | None, ...]
"""The largest size of every dimension of a tensor; None where it is not known."""


def largest_sizes(graph: GraphProto, types: Mapping[str, TensorType], inferred: Inferred) -> dict[str, Sizes]:
    """Return the largest sizes of each tensor of ``inferred.open_shapes`` that has a bounded open axis.

    Args:
        types: Of the tensors whose shapes are fixed, constants included.
    """
    bounds = _Bounds(graph, types, inferred)
    for node in graph.node:
        for name in node.output:
            if name in inferred.open_shapes:
                bounds.learn(node, name)
    return {
        name: sizes for name, sizes in bounds.found.items() if any(sizes[axis] is not None for axis in inferred.open_axes(name, len(sizes)))
    }


class _Bounds:
    """Bounds that are known so far: one that an operator gives holds for every dimension of the same symbol."""

    def __init__(self, graph: GraphProto, types: Mapping[str, TensorType], inferred: Inferred):
        self._types, self._shapes = types, inferred.open_shapes
        self._numbers = {tensor.name: tensor for tensor in graph.initializer if prod(tensor.dims) == 1 and not is_external(tensor)}
        self._of_symbol: dict[str, int] = {}
        self.found: dict[str, Sizes] = {}

    def learn(self, node: NodeProto, name: str) -> None:
        """Find the largest sizes of `name`, which `node` makes."""
        sizes: list[int | None] = []
        for axis, size in enumerate(self._shapes[name]):
            if isinstance(size, str):
                bound = self._of_symbol.get(size) if size else None
                sizes.append(self._by_operator(node, name, axis) if bound is None else bound)
                if size and sizes[-1] is not None:
                    self._of_symbol[size] = sizes[-1]
            else:
                sizes.append(size)
        self.found[name] = tuple(sizes)

    def _by_operator(self, node: NodeProto, name: str, axis: int) -> int | None:
        rule = _RULES.get(op_name(node))
        return rule(self, node, axis, self._shapes[name]) if rule else None

    def sizes(self, name: str) -> Sizes | None:
        """Return the largest sizes of a tensor; None where not even their number is known."""
        return self._types[name].shape if name in self._types else self.found.get(name)

    def elements(self, name: str) -> int | None:
        """Return how many elements a tensor has at most."""
        return _product(self.sizes(name))

    def number(self, name: str) -> int | None:
        """Return a constant of one element."""
        return int(numpy_helper.to_array(self._numbers[name]).reshape(-1)[0]) if name in self._numbers else None


Rule = Callable[[_Bounds, NodeProto, int, tuple[int | str, ...]], int | None]
"""The bound of one dimension of what a node makes, from the dimension's number and what inference says of all."""


def _product(sizes: Sizes | None) -> int | None:
    return None if sizes is None or None in sizes else prod(size for size in sizes if size is not None)


def _attribute(node: NodeProto, name: str) -> int | None:
    return next((helper.get_attribute_value(one) for one in node.attribute if one.name == name), None)


def _kept_boxes(known: _Bounds, node: NodeProto, axis: int, shape: tuple[int | str, ...]) -> int | None:
    """Number of boxes that each class keeps of scores ``[batch, classes, boxes]``; none if the operator has no limit."""
    scores = known.sizes(node.input[1])
    count = known.number(node.input[2]) if len(node.input) > 2 and node.input[2] else 0
    if scores is None or len(scores) != 3 or axis != 0:
        return None
    kept = scores[2] if count is None else count if scores[2] is None else min(count, scores[2])
    return _product((*scores[:2], kept))


def _found_elements(known: _Bounds, node: NodeProto, axis: int, shape: tuple[int | str, ...]) -> int | None:
    return known.elements(node.input[0])


def _of_one_axis(known: _Bounds, node: NodeProto, axis: int, shape: tuple[int | str, ...]) -> int | None:
    """At most as many as the input has along the attribute ``axis``, or elements where there is none; indices of them are one row."""
    along, sizes = _attribute(node, "axis"), known.sizes(node.input[0])
    if along is None:
        return known.elements(node.input[0])
    if sizes is None or not -len(sizes) <= along < len(sizes):
        return None
    return sizes[axis if len(shape) == len(sizes) else along]


def _no_more_than_before(known: _Bounds, node: NodeProto, axis: int, shape: tuple[int | str, ...]) -> int | None:
    sizes = known.sizes(node.input[0])
    return sizes[axis] if sizes is not None and len(sizes) == len(shape) else None


def _joined(known: _Bounds, node: NodeProto, axis: int, shape: tuple[int | str, ...]) -> int | None:
    parts = [known.sizes(name) for name in node.input]
    if (_attribute(node, "axis") or 0) % len(shape) != axis:
        return next((sizes[axis] for sizes in parts if sizes and sizes[axis] is not None), None)
    each = [sizes[axis] if sizes else None for sizes in parts]
    return None if None in each else sum(size for size in each if size is not None)


def _what_is_left(known: _Bounds, node: NodeProto, axis: int, shape: tuple[int | str, ...]) -> int | None:
    """The elements stay as many, so the only data-dependent dimension is what the others leave."""
    others = prod(size for size in shape if not isinstance(size, str))
    elements = known.elements(node.input[0])
    is_alone = sum(isinstance(size, str) for size in shape) == 1
    return elements // others if elements is not None and is_alone and others else None


_RULES: Mapping[str, Rule] = {
    "Compress": _of_one_axis,
    "Concat": _joined,
    "NonMaxSuppression": _kept_boxes,
    "NonZero": _found_elements,
    "Reshape": _what_is_left,
    "Slice": _no_more_than_before,
    "TopK": _no_more_than_before,
    "Unique": _of_one_axis,
}
