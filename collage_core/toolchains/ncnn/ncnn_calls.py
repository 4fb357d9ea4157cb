"""`ImportCall`: a call that is being converted to layers of ncnn, with the tensors and weights that it reads.

`Conversion` is the state of one import. The functions that convert each operator are in `ncnn_elementwise`, `ncnn_shapes`,
`ncnn_windows`, `ncnn_norms` and `ncnn_products`; `ncnn_import` calls them. A tensor is a Mat of any shape with its elements in ONNX's
order, so reshaping is left to whoever reads the tensor, and costs nothing where the shapes of Mats agree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from onnx import TensorProto, numpy_helper

from ...graph.dataflow_graph import DataflowGraph
from .ncnn_mats import usual_shape
from .ncnn_network import MatShape, Network, Parameter, Value
from .ncnn_operators import Call, refusal

LARGEST = 3.402823466e38
"""The largest float32, for no bound."""


@dataclass
class Conversion:
    """The state of one import.

    Attributes:
        weights: The constants of `graph`, by name.
        opset: Version of ONNX's operators in the model.
        tensors: The tensors made so far, by their names in the model.
        fused: Nodes that a layer before them computes too → the tensor that they pass on.
    """

    graph: DataflowGraph
    weights: Mapping[str, TensorProto]
    opset: int
    network: Network = field(default_factory=Network)
    tensors: dict[str, Value] = field(default_factory=dict)
    fused: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ImportCall(Call):
    """A call with the tensors and weights that it reads."""

    conversion: Conversion

    @property
    def network(self) -> Network:
        return self.conversion.network

    @property
    def opset(self) -> int:
        return self.conversion.opset

    def array(self, slot: int) -> np.ndarray:
        """Return the values of a constant input."""
        return numpy_helper.to_array(self.conversion.weights[self.node.inputs[slot]])

    def data(self, shape: MatShape | None = None, slot: int = 0) -> Value:
        """Return an input as a Mat, of the given shape or of any."""
        name = self.node.inputs[slot]
        if name in self.graph.constants:
            return self.network.constant(self.array(slot), shape or usual_shape(self.shape(slot)))
        value = self.conversion.tensors[name]
        return value if shape is None else self.network.view(value, shape)

    def layer(self, type: str, parameters: Mapping[int, Parameter] | None = None) -> list[Value]:
        """Add a layer that keeps the shape of the Mat, whatever it is."""
        value = self.data()
        return [self.network.add(type, [value], value.shape, parameters)]

    def number(self, name: str) -> float:
        """Return an attribute that is a float."""
        return float(self.attribute(name))

    def activation(self) -> dict[int, Parameter]:
        """Return the parameters by which this layer applies the activation that alone reads it; empty where there is none."""
        reader = self.only_reader()
        if reader is None or reader.node.op not in _ACTIVATIONS or reader.node.inputs[0] != self.node.outputs[0].name:
            return {}
        number, numbers = _ACTIVATIONS[reader.node.op](reader)
        self.pass_through(reader)
        return {9: number, 10: numbers} if numbers else {9: number}

    def only_reader(self) -> ImportCall | None:
        """Return the call that alone reads what this one makes, unless ncnn does not take it; None where there is no such call."""
        name = self.node.outputs[0].name
        readers = self.graph.readers[name]
        if len(readers) != 1 or name in self.graph.outputs or refusal(self.graph, self.graph.nodes[readers[0]]):
            return None
        return ImportCall(self.graph, self.graph.nodes[readers[0]], self.conversion)

    def pass_through(self, *later: ImportCall) -> None:
        """Let each of `later`, which read one another, pass on what this call makes: a layer of this call computes them too."""
        name = self.node.outputs[0].name
        for call in later:
            self.conversion.fused[call.node.index] = name
            name = call.node.outputs[0].name

    def constant_operand(self) -> np.ndarray | None:
        """Return the constant of a call of two operands, of which one is constant; None for another call."""
        slots = [slot for slot in range(len(self.node.inputs)) if self.is_constant(slot)]
        return self.array(slots[0]) if len(slots) == 1 and len(self.node.inputs) == 2 else None


_BOUNDS = ((1, "min", -LARGEST), (2, "max", LARGEST))

Emitter = Callable[[ImportCall], list[Value]]
"""A function that adds the layers of a call and returns the tensors that it makes."""


def bounds(call: ImportCall) -> tuple[float, float]:
    """Return the bounds of a Clip; in opset 6 they are attributes."""
    low, high = (call.scalar(slot, float(call.attribute(name, fallback))) for slot, name, fallback in _BOUNDS)
    return max(low, -LARGEST), min(high, LARGEST)


_ACTIVATIONS: Mapping[str, Callable[[ImportCall], tuple[int, tuple[float, ...]]]] = {
    "Relu": lambda call: (1, ()),
    "LeakyRelu": lambda call: (2, (call.number("alpha"),)),
    "Clip": lambda call: (3, bounds(call)),
    "Sigmoid": lambda call: (4, ()),
    "Mish": lambda call: (5, ()),
    "HardSwish": lambda call: (6, (1 / 6, 0.5)),
}
"""Operator → ncnn's number and parameters of it as the activation of another layer."""
