"""`Net`: writes an ONNX model node by node, with weights from a seeded generator.

Enters: calls that each add a node and give the name of what it makes. Leaves: a `ModelProto` whose bytes are the same on
every machine: weights are uniform draws of the generator's own bits, scaled by exact arithmetic, with no library function
that may round differently elsewhere.
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
    """A model in the making.

    Args:
        name: Becomes the graph's name.
        seed: Of all weights, in the order in which they are asked for.
    """

    def __init__(self, name: str, seed: int):
        self._name = name
        self._random = np.random.default_rng(seed)
        self._graph = helper.make_graph([], name, [], [])

    def input(self, name: str, shape: Sequence[int | str], elem_type: int = TensorProto.FLOAT) -> str:
        """Add an input; a dimension that is a word is symbolic."""
        self._graph.input.append(helper.make_tensor_value_info(name, elem_type, shape))
        return name

    def output(self, name: str, shape: Sequence[int | str], elem_type: int = TensorProto.FLOAT) -> None:
        """Say that the tensor `name` is an output."""
        self._graph.output.append(helper.make_tensor_value_info(name, elem_type, shape))

    def constant(self, name: str, values: Any, dtype: Any = np.float32) -> str:
        """Add an initializer with these values."""
        self._graph.initializer.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def draw(self, shape: Sequence[int], least: float, most: float) -> np.ndarray:
        """Float32 values, uniform between the two."""
        return self._random.random(tuple(shape), dtype=np.float32) * np.float32(most - least) + np.float32(least)

    def draw_balanced(self, shape: Sequence[int], bound: float) -> np.ndarray:
        """Float32 values, uniform within ± `bound`, that add up to zero along all axes but the first.

        After a ReLU everything is positive. Weights that add up to zero look at the differences, so that what tells one
        input from another is not drowned, layer by layer, by what all inputs have in common.
        """
        drawn = self._random.integers(-(2**20), 2**20, tuple(shape)).reshape(shape[0], -1)
        drawn -= drawn.sum(1, keepdims=True) // drawn.shape[1]
        return drawn.reshape(shape).astype(np.float32) * np.float32(bound / 2**20)

    def uniform(self, name: str, shape: Sequence[int], least: float, most: float) -> str:
        """Add an initializer of values uniform between the two."""
        return self.constant(name, self.draw(shape, least, most))

    def weight(self, name: str, shape: Sequence[int], inputs: int, gain: float = 1.0) -> str:
        """Add a weight of variance ``gain / inputs``: with 1 a linear layer keeps the size of what it gets."""
        bound = math.sqrt(3 * gain / inputs)
        return self.uniform(name, shape, -bound, bound)

    def balanced_weight(self, name: str, shape: Sequence[int], gain: float = 3.0) -> str:
        """Add a weight, outputs first, that adds up to zero for each; with a gain of 3 a layer after a ReLU keeps the size."""
        return self.constant(name, self.draw_balanced(shape, math.sqrt(3 * gain / math.prod(shape[1:]))))

    def node(self, op: str, inputs: Sequence[str], name: str, *, made: str | None = None, **attributes: Any) -> str:
        """Add a node with one output, called as the node unless `made` says otherwise; gives the output's name."""
        output = made or f"{name}:0"
        self._graph.node.append(helper.make_node(op, list(inputs), [output], name, **attributes))
        return output

    def nodes(self, op: str, inputs: Sequence[str], name: str, count: int, **attributes: Any) -> list[str]:
        """Add a node with `count` outputs; gives their names."""
        outputs = [f"{name}:{place}" for place in range(count)]
        self._graph.node.append(helper.make_node(op, list(inputs), outputs, name, **attributes))
        return outputs

    def model(self) -> ModelProto:
        """The finished model."""
        return helper.make_model(
            self._graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR_VERSION, producer_name="collage-explorer"
        )
