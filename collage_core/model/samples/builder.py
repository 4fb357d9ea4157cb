"""`Net`: builds an ONNX model node by node, with weights from a seeded generator.

The bytes of the model are the same on every machine: weights are uniform draws of the generator's own bits, scaled by exact
arithmetic, with no library function that may round differently elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

_OPSET = 17
_IR_VERSION = 8


class Net:
    """A model that is being built.

    Args:
        name: Name of the graph.
        seed: Seed of all weights, which are drawn in the order of the calls.
    """

    def __init__(self, name: str, seed: int):
        self._name = name
        self._random = np.random.default_rng(seed)
        self._graph = helper.make_graph([], name, [], [])

    def input(self, name: str, shape: Sequence[int | str], elem_type: int = TensorProto.FLOAT) -> str:
        """Add an input and return its name; a dimension that is a string is symbolic."""
        self._graph.input.append(helper.make_tensor_value_info(name, elem_type, shape))
        return name

    def output(self, name: str, shape: Sequence[int | str], elem_type: int = TensorProto.FLOAT) -> None:
        """Make the tensor `name` an output; a dimension that is a string depends on the data, or is the batch."""
        self._graph.output.append(helper.make_tensor_value_info(name, elem_type, shape))

    def constant(self, name: str, values: Any, dtype: Any = np.float32) -> str:
        """Add an initializer with these values and return its name."""
        self._graph.initializer.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def draw(self, shape: Sequence[int], least: float, most: float) -> np.ndarray:
        """Return float32 values, uniform from `least` to `most`."""
        return self._random.random(tuple(shape), dtype=np.float32) * np.float32(most - least) + np.float32(least)

    def draw_balanced(self, shape: Sequence[int], bound: float) -> np.ndarray:
        """Return float32 values, uniform within ± `bound`, that add up to zero along all axes but the first.

        After a ReLU all values are positive, and layer by layer the part that all inputs have in common would grow beyond their
        differences. Weights that add up to zero only pass the differences on.
        """
        drawn = self._random.integers(-(2**20), 2**20, tuple(shape)).reshape(shape[0], -1)
        drawn -= drawn.sum(1, keepdims=True) // drawn.shape[1]
        return drawn.reshape(shape).astype(np.float32) * np.float32(bound / 2**20)

    def integers_balanced(self, shape: Sequence[int]) -> np.ndarray:
        """Return integers, uniform from -100 to 100 but for a shift by which they add up to about zero along the last axis but one."""
        drawn = self._random.integers(-100, 101, tuple(shape))
        return drawn - (drawn.sum(-2, keepdims=True) + shape[-2] // 2) // shape[-2]

    def uniform(self, name: str, shape: Sequence[int], least: float, most: float) -> str:
        """Add an initializer of values uniform from `least` to `most` and return its name."""
        return self.constant(name, self.draw(shape, least, most))

    def weight(self, name: str, shape: Sequence[int], inputs: int, gain: float = 1.0) -> str:
        """Add a weight of variance ``gain / inputs`` and return its name; with a gain of 1 a linear layer keeps the size of its input."""
        bound = math.sqrt(3 * gain / inputs)
        return self.uniform(name, shape, -bound, bound)

    def balanced_weight(self, name: str, shape: Sequence[int], gain: float = 1.0) -> str:
        """Add a weight whose values for each output add up to zero; with a gain of 1 a layer after a ReLU keeps the size of its input."""
        return self.constant(name, self.draw_balanced(shape, math.sqrt(9 * gain / math.prod(shape[1:]))))

    def node(self, op: str, inputs: Sequence[str], name: str, *, made: str | None = None, **attributes: Any) -> str:
        """Add a node with one output and return its name: `made`, or the node's name and ``:0``."""
        output = made or f"{name}:0"
        self._graph.node.append(helper.make_node(op, list(inputs), [output], name, **attributes))
        return output

    def nodes(self, op: str, inputs: Sequence[str], name: str, count: int, *, made: Sequence[str] = (), **attributes: Any) -> list[str]:
        """Add a node with `count` outputs and return their names: those in `made`, then the node's name and ``:1``, or another index."""
        outputs = [*made, *(f"{name}:{index}" for index in range(len(made), count))]
        self._graph.node.append(helper.make_node(op, list(inputs), outputs, name, **attributes))
        return outputs

    def model(self) -> ModelProto:
        """Return the finished model."""
        opsets = [helper.make_opsetid("", _OPSET)]
        opsets += [helper.make_opsetid(domain, 1) for domain in sorted({node.domain for node in self._graph.node} - {""})]
        return helper.make_model(self._graph, opset_imports=opsets, ir_version=_IR_VERSION, producer_name="collage-explorer")
