"""A tiny model, built by code, with which toolchains are probed. It is never shown to the user."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from ..graph.dataflow_graph import Tensor, TensorType
from .model import SubModel

_WIDTH = 16


def relu_model(elements: int, given: str = "given", made: str = "made", shape: tuple[int, ...] = ()) -> SubModel:
    """Return a model of one Relu from the tensor `given` to `made`, both float32 of shape (1, `elements`), or of `shape`."""
    shape = shape or (1, elements)
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in (given, made)]
    graph = helper.make_graph([helper.make_node("Relu", [given], [made])], "relu", ends[:1], ends[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    kind = TensorType(shape, "float32")
    return SubModel(model.SerializeToString(), (Tensor(given, kind),), (Tensor(made, kind),))


def product_model(elements: int, given: str = "given", made: str = "made") -> SubModel:
    """Return a model of one matrix product from the tensor `given` to `made`, both float32 of shape (`elements` / 16, 16).

    It stands for `relu_model` where the toolchain is a library of calls: those have products, and none has a Relu by itself.
    """
    kind = TensorType((elements // _WIDTH, _WIDTH), "float32")
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, kind.shape) for name in (given, made)]
    weights = numpy_helper.from_array(np.eye(_WIDTH, dtype=np.float32), "weights")
    graph = helper.make_graph([helper.make_node("MatMul", [given, "weights"], [made])], "product", ends[:1], ends[1:], [weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return SubModel(model.SerializeToString(), (Tensor(given, kind),), (Tensor(made, kind),))
