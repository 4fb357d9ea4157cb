"""Finds bounds of sizes that depend on data: a `NonMaxSuppression` keeps no more boxes than it was given, `NonZero` finds no more than all.

The nodes of a model and what inference says of their tensors enter; the largest sizes of tensors of open shape leave.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

from onnx import GraphProto, NodeProto, helper, numpy_helper

from ...graph.dataflow_graph import TensorType
from ..files.external_data import is_external
from ..naming import op_name
from .inference import Inferred

Sizes = tuple[int | None, ...]
"""The largest size of every dimension of a tensor; None where it is not known."""


def largest_sizes(graph: GraphProto, types: Mapping[str, TensorType], inferred: Inferred) -> dict[str, Sizes]:
    """Return the largest sizes of each tensor of ``inferred.open_shapes`` of which some open axis has a bound.

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
        made: list[int | None] = []
        for axis, size in enumerate(self._shapes[name]):
            if isinstance(size, str):
                bound = self._of_symbol.get(size) if size else None
                made.append(self._by_operator(node, name, axis) if bound is None else bound)
                if size and made[-1] is not None:
                    self._of_symbol[size] = made[-1]
            else:
                made.append(size)
        self.found[name] = tuple(made)

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
    """Of scores of ``[batch, classes, boxes]`` each class keeps so many boxes; none where the operator is not told how many."""
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
