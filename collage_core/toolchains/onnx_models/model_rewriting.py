"""`ModelRewriting`: an ONNX model that is changed in place, with who makes and who reads each tensor, and with nodes and constants to add.

A model enters; it is changed by who asks. What is known of its tensors is as the model was given, whatever was changed since.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from onnx import ModelProto, NodeProto, numpy_helper

from ...model.nodes import FreeNames


class ModelRewriting:
    """One model while it is rewritten.

    Args:
        model: It is changed in place.

    Attributes:
        graph: What is changed.
        nodes: Those of the model as it was given.
        constants: The initializers, by name.
        outputs: Names of the model's outputs.
        free: A name that nothing in the model has, made of a given one.
    """

    def __init__(self, model: ModelProto):
        self.graph = model.graph
        self.nodes = list(model.graph.node)
        self.constants = {tensor.name: tensor for tensor in model.graph.initializer}
        self.outputs = {value.name for value in model.graph.output}
        self.free = FreeNames(model)
        self._makers = {name: node for node in self.nodes for name in node.output}
        self._readers: dict[str, list[NodeProto]] = {}
        for node in self.nodes:
            for name in dict.fromkeys(node.input):
                self._readers.setdefault(name, []).append(node)

    def maker(self, name: str) -> NodeProto | None:
        """Return the node that makes a tensor; None for inputs and constants."""
        return self._makers.get(name)

    def readers(self, name: str) -> list[NodeProto]:
        """Return the nodes that read a tensor, each once."""
        return self._readers.get(name, [])

    def has_one_reader(self, name: str) -> bool:
        """Return whether one node reads a tensor, and the model's user does not."""
        return len(self.readers(name)) == 1 and name not in self.outputs

    def scalar(self, node: NodeProto, index: int) -> np.ndarray | None:
        """Return the constant of one element that is the input `index` of `node`; None where it is something else, or not given."""
        constant = self.constants.get(node.input[index]) if index < len(node.input) else None
        values = None if constant is None else numpy_helper.to_array(constant)
        return values.reshape(()) if values is not None and values.size == 1 else None

    def add_constant(self, name: str, values: np.ndarray) -> str:
        """Add an initializer, and return its name: `name`, or one made of it that is free."""
        free = self.free(name)
        self.graph.initializer.append(numpy_helper.from_array(values, free))
        return free

    def put_nodes(
        self,
        before: Mapping[int, Sequence[NodeProto]],
        after: Mapping[int, Sequence[NodeProto]],
        left_out: Collection[int] = (),
    ) -> None:
        """Put nodes before and after those that the model was given with, and leave some of these out; each is named by its ``id()``."""
        kept = [node for node in self.nodes if id(node) not in left_out]
        del self.graph.node[:]
        for node in kept:
            self.graph.node.extend([*before.get(id(node), ()), node, *after.get(id(node), ())])
