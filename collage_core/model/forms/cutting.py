"""`Cutter`: cuts a sub-graph out of a model as a model of its own, with the weights that it reads.

The folded model and its graph enter and are indexed once; a `SubModel` leaves for any set of nodes, in time linear in its size.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from onnx import GraphProto, ModelProto

from ...errors import CollageError
from ...graph.dataflow_graph import DataflowGraph, Tensor
from ...graph.index_set import IndexSet
from ...graph.sub_graph import SubGraph
from ..files.external_data import MOST_BYTES
from ..model import SubModel
from ..shapes.inference import value_info


class Cutter:
    """Cuts sub-graphs of one model.

    Args:
        model: The model; its nodes are those of `graph`, in order.
        graph: Its dataflow graph.
    """

    def __init__(self, model: ModelProto, graph: DataflowGraph):
        self._model = model
        self._graph = graph
        self._nodes = list(model.graph.node)
        self._constants = {tensor.name: tensor for tensor in model.graph.initializer}

    def cut(self, inside: IndexSet, also: Collection[str] = ()) -> SubModel:
        """Return the sub-graph `inside` as a model of its own.

        Args:
            also: Tensors that it makes and returns, though nothing outside reads them.

        Raises:
            CollageError: `inside` is empty, or its weights are larger than an ONNX message can be.
        """
        if not inside:
            raise CollageError("a sub-graph with no nodes cannot be cut out", "", "empty")
        sub_graph = SubGraph(self._graph, inside)
        types = self._graph.types
        inputs = tuple(Tensor(name, types[name]) for name in sub_graph.input_tensors())
        names = list(dict.fromkeys([*sub_graph.output_tensors(), *also]))
        outputs = tuple(Tensor(name, types[name]) for name in names)
        proto = ModelProto(ir_version=self._model.ir_version, producer_name="collage")
        proto.opset_import.extend(self._model.opset_import)
        graph = proto.graph
        graph.name = self._nodes[inside.first()].name
        graph.node.extend(self._nodes[index] for index in inside)
        graph.input.extend(value_info(tensor.name, tensor.type) for tensor in inputs)
        graph.output.extend(value_info(tensor.name, tensor.type) for tensor in outputs)
        read = dict.fromkeys(name for index in inside for name in self._graph.nodes[index].inputs)
        graph.initializer.extend(self._constants[name] for name in read if name in self._constants)
        return SubModel(_serialised(proto), inputs, outputs)


def _serialised(model: ModelProto) -> bytes:
    size = sum(len(tensor.raw_data) for tensor in model.graph.initializer)
    if size > MOST_BYTES:
        raise CollageError(f"the sub-graph holds {size / 2**30:.1f} GiB of weights, more than one ONNX message can", "", "too_big")
    return model.SerializeToString()


def renamed(model: SubModel, names: Mapping[str, str]) -> SubModel:
    """Return `model` with its tensors renamed: old name → new name. The other names stay."""
    if not names:
        return model
    proto = ModelProto.FromString(model.onnx)
    rename_tensors(proto.graph, names)
    for value in (*proto.graph.input, *proto.graph.output):
        value.name = names.get(value.name, value.name)
    inputs, outputs = (
        tuple(replace(tensor, name=names.get(tensor.name, tensor.name)) for tensor in side) for side in (model.inputs, model.outputs)
    )
    return replace(model, onnx=proto.SerializeToString(), inputs=inputs, outputs=outputs)


def rename_tensors(graph: GraphProto, names: Mapping[str, str]) -> None:
    """Rename, in place, what the nodes of `graph` read and make, but not its inputs and outputs."""
    for node in graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]
        for attribute in node.attribute:
            for body in (attribute.g, *attribute.graphs):
                rename_tensors(body, names)
                for value in body.output:
                    value.name = names.get(value.name, value.name)
    for value in graph.value_info:
        value.name = names.get(value.name, value.name)
