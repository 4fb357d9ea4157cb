"""A tiny model, built by code, with which toolchains are probed. It is never shown to the user."""

from __future__ import annotations

from onnx import TensorProto, helper

from ..graph.dataflow_graph import Tensor, TensorType
from .base import SubModel


def relu_model(elements: int, given: str = "given", made: str = "made", shape: tuple[int, ...] = ()) -> SubModel:
    """Return a model of one Relu from the tensor `given` to `made`, both float32 of shape (1, `elements`), or of `shape`."""
    shape = shape or (1, elements)
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in (given, made)]
    graph = helper.make_graph([helper.make_node("Relu", [given], [made])], "relu", ends[:1], ends[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    kind = TensorType(shape, "float32")
    return SubModel(model.SerializeToString(), (Tensor(given, kind),), (Tensor(made, kind),))
