"""`graph_of`: the dataflow graph of a sub-model, for toolchains that go by its nodes. No toolchain's library is imported."""

from __future__ import annotations

from collections.abc import Sequence

from onnx import ModelProto

from ..errors import CollageError
from ..graph.dataflow_graph import DataflowGraph, Tensor
from ..model.shapes.inference import proto_graph
from .toolchain import ToolchainError


def graph_of(proto: ModelProto, outputs: Sequence[Tensor]) -> DataflowGraph:
    """Return the graph of a model that was cut out, as plain data; the kinds of its nodes are not worked out.

    Raises:
        ToolchainError: the shape of a tensor is not known.
    """
    try:
        return proto_graph(proto, outputs)
    except CollageError as error:
        raise ToolchainError("import", error.message) from error
