"""`ElementTypes`: the element type of single tensors, by the signatures of the operators that make them.

A graph as it stands in a model enters; an element type leaves for a name. No shape is inferred, so that asking for a few tensors of a
large model is quick.
"""

from __future__ import annotations

from collections.abc import Mapping

import onnx.defs
from onnx import GraphProto, NodeProto, TensorProto

from ..naming import domain_of
from ..scopes import inner_graphs

_BY_ATTRIBUTE = {"Cast": "to", "EyeLike": "dtype", "Bernoulli": "dtype", "RandomNormalLike": "dtype", "RandomUniformLike": "dtype"}
"""Operators that say the element type of their output themselves."""
_CONSTANTS = {"value_float": TensorProto.FLOAT, "value_int": TensorProto.INT64, "value_string": TensorProto.STRING}
_BY_NAME = {f"tensor({TensorProto.DataType.Name(number).lower()})": number for number in TensorProto.DataType.values()}


class ElementTypes:
    """The element types of one graph.

    Args:
        versions: Domain → opset version of the model.
        outer: Those of the graph around it.
    """

    def __init__(self, graph: GraphProto, versions: Mapping[str, int], outer: ElementTypes | None = None):
        self._versions, self._outer = versions, outer
        typed = ((value.name, value.type.tensor_type.elem_type) for value in (*graph.input, *graph.value_info, *graph.output))
        self._known = {name: number for name, number in typed if number}
        self._known |= {tensor.name: tensor.data_type for tensor in graph.initializer}
        self._makers = {name: node for node in graph.node for name in node.output if name}

    def of(self, name: str) -> int | None:
        """Return the element type of a tensor; None where the signatures do not tell it."""
        passed: list[str] = []
        step: int | str | None = name
        while isinstance(step, str):
            if step in self._known:
                step = self._known[step]
            elif step in self._makers and step not in passed:
                passed.append(step)
                step = self._step(self._makers[step], step)
            else:
                step = self._outer.of(step) if self._outer is not None else None
        if step is not None:
            self._known |= dict.fromkeys(passed, step)
        return step

    def _step(self, node: NodeProto, name: str) -> int | str | None:
        """Return the type of an output of `node`, or the tensor that it has the type of; None where neither is known."""
        index = list(node.output).index(name)
        bodies = list(inner_graphs(node))
        if bodies:
            output = bodies[0].output[index + (node.op_type == "Loop")]
            return output.type.tensor_type.elem_type or ElementTypes(bodies[0], self._versions, self).of(output.name)
        attributes = {attribute.name: attribute for attribute in node.attribute}
        if node.op_type == "Constant":
            (value,) = attributes.values()
            return _CONSTANTS.get(value.name.removesuffix("s")) or int(value.t.data_type) or None
        if node.op_type == "ConstantOfShape":
            return int(attributes["value"].t.data_type) if "value" in attributes else TensorProto.FLOAT
        if node.op_type in _BY_ATTRIBUTE and _BY_ATTRIBUTE[node.op_type] in attributes:
            return int(attributes[_BY_ATTRIBUTE[node.op_type]].i)
        domain = domain_of(node)
        try:
            schema = onnx.defs.get_schema(node.op_type, self._versions.get(domain, 1), domain)
        except onnx.defs.SchemaError:
            return None
        made = schema.outputs[min(index, len(schema.outputs) - 1)]
        if len(made.types) == 1:
            return _BY_NAME.get(next(iter(made.types)))
        slots = range(min(len(node.input), len(schema.inputs)))
        return next((node.input[slot] for slot in slots if schema.inputs[slot].type_str == made.type_str and node.input[slot]), None)
