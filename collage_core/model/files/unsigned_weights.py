"""`with_unsigned_weights`: the same model with uint8 for int8 weights, where the processor's products of uint8 by int8 saturate.

A model enters and one leaves that computes the same. ONNX Runtime adds two such products in 16 bits on x86-64 processors without VNNI, so
that results are wrong where weights are large; its products of uint8 by uint8 are right everywhere. Weights and their zero points are
moved by 128 together. Only constant weights of operators that multiply integers themselves are moved.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, numpy_helper

from ...base import processor

_SHIFT = 128


@dataclass(frozen=True)
class _Operator:
    """Positions of the weights of an operator, each with that of its zero points.

    Attributes:
        activation: Position of the zero point of what is multiplied with them; None for an operator that makes it uint8 itself.
    """

    weights: tuple[tuple[int, int], ...]
    activation: int | None = None


_OPERATORS = {
    "ConvInteger": _Operator(((1, 3),), 2),
    "DynamicQuantizeLSTM": _Operator(((1, 9), (2, 11))),
    "DynamicQuantizeMatMul": _Operator(((1, 3),)),
    "MatMulInteger": _Operator(((1, 3),), 2),
    "MatMulIntegerToFloat": _Operator(((1, 5),), 4),
    "QAttention": _Operator(((1, 7),), 6),
    "QGemm": _Operator(((3, 5),), 2),
    "QLinearConv": _Operator(((3, 5),), 2),
    "QLinearMatMul": _Operator(((3, 5),), 2),
}

INTEGER_PRODUCTS = frozenset(_OPERATORS)
"""Operators whose weights are moved."""


def with_unsigned_weights(model: ModelProto) -> ModelProto:
    """Return `model`, or a copy with uint8 weights where that changes what this processor computes."""
    if not processor.products_saturate() or not any(node.op_type in INTEGER_PRODUCTS for node in model.graph.node):
        return model
    copy = ModelProto()
    copy.CopyFrom(model)
    _Rewriting(copy).run()
    return copy


@dataclass
class _Rewriting:
    """One model while its weights are moved, in place; a tensor that several nodes read as weights is moved once."""

    model: ModelProto
    moved: dict[str, str] = field(default_factory=dict)

    def run(self) -> None:
        graph = self.model.graph
        given = {value.name for value in graph.input}
        self.constants = {tensor.name: tensor for tensor in graph.initializer if tensor.name not in given}
        self.names = {name for node in graph.node for name in (*node.input, *node.output)} | {one.name for one in graph.initializer}
        self.dynamic = {name for node in graph.node if node.op_type == "DynamicQuantizeLinear" for name in node.output}
        for node in graph.node:
            operator = _OPERATORS.get(node.op_type)
            if operator is not None and self._is_unsigned(node, operator):
                self._move_weights(node, operator)
        self._drop_unread()

    def _is_unsigned(self, node: NodeProto, operator: _Operator) -> bool:
        if operator.activation is None:
            return True
        name = _input(node, operator.activation)
        constant = self.constants.get(name)
        return name in self.dynamic or (constant is not None and constant.data_type == TensorProto.UINT8)

    def _move_weights(self, node: NodeProto, operator: _Operator) -> None:
        """Move all weights of `node`, or none: an operator may ask that they are of one type."""
        read = [(_input(node, weight), _input(node, zero)) for weight, zero in operator.weights]
        if not all(self._is_signed(weight) and (not zero or self._is_signed(zero)) for weight, zero in read):
            return
        for (weight, zero), (weight_at, zero_at) in zip(read, operator.weights, strict=True):
            node.input.extend([""] * (zero_at + 1 - len(node.input)))
            node.input[weight_at] = self._moved(weight)
            node.input[zero_at] = self._moved(zero) if zero else self._store(np.uint8(_SHIFT), f"{weight}_zero_point")

    def _is_signed(self, name: str) -> bool:
        return name in self.constants and self.constants[name].data_type == TensorProto.INT8

    def _moved(self, name: str) -> str:
        if name not in self.moved:
            values = numpy_helper.to_array(self.constants[name]).astype(np.int16) + _SHIFT
            self.moved[name] = self._store(values.astype(np.uint8), name)
        return self.moved[name]

    def _store(self, values: np.ndarray | np.uint8, name: str) -> str:
        free = f"{name}_unsigned"
        while free in self.names:
            free += "_"
        self.names.add(free)
        self.model.graph.initializer.append(numpy_helper.from_array(np.asarray(values), free))
        return free

    def _drop_unread(self) -> None:
        """Remove the weights that were moved and that nothing else reads."""
        graph = self.model.graph
        read = {name for node in graph.node for name in node.input} | {value.name for value in (*graph.input, *graph.output)}
        gone = {name for name in self.moved if name not in read}
        kept = [tensor for tensor in graph.initializer if tensor.name not in gone]
        del graph.initializer[:]
        graph.initializer.extend(kept)


def _input(node: NodeProto, index: int) -> str:
    return node.input[index] if index < len(node.input) else ""
