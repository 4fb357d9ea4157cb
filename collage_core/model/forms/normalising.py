"""Normalises a model: inlines local functions, turns constants into initializers, names and orders nodes, and drops dead ones.

A `ModelProto` as it was read enters and is changed in place. Afterwards every node has a unique name, none reads a tensor of a later
one, and every output is read. The model computes the same as before.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import onnx.defs
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from ...errors import CollageError
from ...graph.dataflow_graph import TensorType
from ...graph.topological_order import topological_order
from ..files.local_functions import inline_functions
from ..model import FoldedNode
from ..nodes import ONNX_DOMAINS, all_nodes, check_size, domain_of, name_nodes, op_name, opset_versions, read_by
from ..refusals import error_text
from ..types.dtypes import dtype_name

_OLDEST_IR, _NEWEST_IR = 4, 10
"""IR versions that all toolchains read. From 4 on initializers need not be inputs; newer ones than 10 only add element types that no
toolchain computes with."""


def normalise(model: ModelProto) -> tuple[ModelProto, tuple[FoldedNode, ...]]:
    """Normalise `model`, in place where it has no local functions.

    Returns:
        The model (a new one where functions were inlined), and the nodes that were dropped: constants, and nodes that nothing reads.

    Raises:
        CollageError: the graph is broken: no nodes, no outputs, a cycle, a tensor made twice or by nobody; or it is too large.
    """
    if model.functions:
        model = inline_functions(model)
    graph = model.graph
    check_size(sum(1 for _ in all_nodes(graph)))
    if not graph.node:
        raise CollageError("the model has no nodes", "there is nothing to partition in it", "no_nodes")
    if not graph.output:
        raise CollageError("the model has no outputs", "mark what it computes as its outputs and save it again", "broken_model")
    model.ir_version = min(max(model.ir_version, _OLDEST_IR), _NEWEST_IR)
    if not any(entry.domain in ONNX_DOMAINS for entry in model.opset_import):
        model.opset_import.add(domain="", version=1)
    del graph.value_info[:]
    model.ClearField("training_info")
    name_nodes(graph.node)
    _make_dense(graph)
    gone = _take_constants(graph)
    _drop_initializer_inputs(graph)
    _check_names(graph)
    _keep(graph, _ordered(graph))
    gone += _drop_dead(graph)
    _make_opaque_outputs(graph)
    _drop_unused_outputs(model)
    return model, tuple(gone)


def _keep(graph: GraphProto, nodes: Iterable[NodeProto]) -> None:
    kept = list(nodes)
    del graph.node[:]
    graph.node.extend(kept)


def _make_dense(graph: GraphProto) -> None:
    for sparse in graph.sparse_initializer:
        graph.initializer.append(_dense(sparse, sparse.values.name))
    del graph.sparse_initializer[:]


def _dense(sparse: onnx.SparseTensorProto, name: str) -> TensorProto:
    try:
        values, indices = numpy_helper.to_array(sparse.values), numpy_helper.to_array(sparse.indices)
        full = np.zeros(tuple(sparse.dims), values.dtype)
        positions = tuple(indices.T) if indices.ndim == 2 else np.unravel_index(indices, full.shape)
        full[positions] = values
    except (ValueError, IndexError, TypeError) as error:
        raise CollageError(f"the sparse tensor {name!r} makes no sense: {error_text(error)}", "export it dense", "broken_model") from error
    return numpy_helper.from_array(full, name)


def _take_constants(graph: GraphProto) -> list[FoldedNode]:
    """Turn `Constant` nodes and identities of constants into initializers, and return them; none where the model has no others."""
    constants = {tensor.name: tensor for tensor in graph.initializer}
    gone, rest, values = [], [], []
    for node in graph.node:
        constant = _constant_of(node, constants)
        if constant is None:
            rest.append(node)
            continue
        gone.append(FoldedNode(node.name, op_name(node), None))
        values.append(constant)
        constants[constant.name] = constant
    if not rest:
        return []
    graph.initializer.extend(values)
    _keep(graph, rest)
    return gone


def _constant_of(node: NodeProto, constants: dict[str, TensorProto]) -> TensorProto | None:
    """Return the value of `node` as an initializer, where it is known without running anything."""
    if node.domain not in ONNX_DOMAINS or len(node.output) != 1:
        return None
    name = node.output[0]
    if node.op_type == "Identity" and len(node.input) == 1 and node.input[0] in constants:
        tensor = TensorProto()
        tensor.CopyFrom(constants[node.input[0]])
    elif node.op_type == "Constant" and len(node.attribute) == 1:
        value = constant_value(node)
        if value is None:
            return None
        tensor = value
    else:
        return None
    tensor.name = name
    return tensor


def constant_value(node: NodeProto) -> TensorProto | None:
    """Return the value of the `Constant` that `node` is; None where it has a form that is not known."""
    attribute = node.attribute[0]
    kinds = {"value_float": TensorProto.FLOAT, "value_int": TensorProto.INT64, "value_string": TensorProto.STRING}
    if attribute.name == "value" and attribute.HasField("t"):
        tensor = TensorProto()
        tensor.CopyFrom(attribute.t)
        return tensor
    if attribute.name == "sparse_value" and attribute.HasField("sparse_tensor"):
        return _dense(attribute.sparse_tensor, node.output[0])
    kind = kinds.get(attribute.name.removesuffix("s"))
    try:
        value = helper.get_attribute_value(attribute)
        many = isinstance(value, list)
        return None if kind is None else helper.make_tensor("", kind, (len(value),) if many else (), list(value) if many else [value])
    except (ValueError, TypeError) as error:
        raise CollageError(
            f"the constant {node.name!r} makes no sense: {error_text(error)}", "export the model again", "broken_model"
        ) from error


def _drop_initializer_inputs(graph: GraphProto) -> None:
    """Drop inputs that are initializers, as old IR versions list them: they are constants."""
    constants = {tensor.name for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in constants]
    del graph.input[:]
    graph.input.extend(inputs)


def _check_names(graph: GraphProto) -> None:
    """Raise CollageError where a tensor is made twice, or read and not made."""
    made: dict[str, str] = {}
    makers = [(value.name, "the inputs") for value in graph.input]
    makers += [(tensor.name, "the initializers") for tensor in graph.initializer]
    makers += [(name, f"node {node.name!r}") for node in graph.node for name in node.output if name]
    for name, maker in makers:
        if name in made:
            message = f"the tensor {name!r} is made twice: by {made[name]} and by {maker}"
            raise CollageError(message, "the model is broken: export it again", "broken_model")
        made[name] = maker
    readers = [(name, f"node {node.name!r}") for node in graph.node for name in read_by(node) if name]
    readers += [(value.name, "the model's outputs") for value in graph.output]
    for name, reader in readers:
        if name not in made:
            message = f"the tensor {name!r} is read by {reader}, but nothing makes it"
            raise CollageError(message, "the model is broken: export it again", "broken_model")


def _ordered(graph: GraphProto) -> list[NodeProto]:
    """Return the nodes in the file's order where it is topological, else in the topological order nearest to it."""
    maker = {name: index for index, node in enumerate(graph.node) for name in node.output if name}
    needs = [{maker[name] for name in read_by(node) if name in maker} for node in graph.node]
    order = topological_order(needs)
    if len(order) < len(graph.node):
        stuck = [graph.node[index].name for index in sorted(set(range(len(graph.node))) - set(order))]
        shown = ", ".join(repr(name) for name in stuck[:3]) + (" …" if len(stuck) > 3 else "")
        raise CollageError(
            f"the graph has a cycle: nodes {shown} wait for each other", "the model is broken: export it again", "broken_model"
        )
    return [graph.node[index] for index in order]


def _drop_dead(graph: GraphProto) -> list[FoldedNode]:
    """Remove nodes and initializers whose tensors nothing reads, and return the nodes."""
    wanted = {value.name for value in graph.output}
    alive, gone = [], []
    for node in reversed(graph.node):
        if wanted.isdisjoint(node.output):
            gone.append(FoldedNode(node.name, op_name(node), None))
        else:
            alive.append(node)
            wanted.update(read_by(node))
    _keep(graph, reversed(alive))
    constants = [tensor for tensor in graph.initializer if tensor.name in wanted]
    if len(constants) < len(graph.initializer):
        del graph.initializer[:]
        graph.initializer.extend(constants)
    return gone[::-1]


def _make_opaque_outputs(graph: GraphProto) -> None:
    """Turn constants that are outputs into nodes where they are no plain memory: no module holds such, so a partition makes them."""
    returned = {value.name for value in graph.output}
    odd = [one for one in graph.initializer if one.name in returned and TensorType((), dtype_name(one.data_type)).is_opaque]
    if not odd:
        return
    nodes = [helper.make_node("Constant", [], [one.name], f"Constant:{one.name}", value=one) for one in odd]
    rest = [one for one in graph.initializer if one not in odd]
    _keep(graph, [*nodes, *graph.node])
    del graph.initializer[:]
    graph.initializer.extend(rest)


def _drop_unused_outputs(model: ModelProto) -> None:
    """Remove optional outputs that nothing reads (a dropout's mask, a recurrent layer's last state)."""
    versions = opset_versions(model)
    graph = model.graph
    wanted = {value.name for value in graph.output}
    for node in graph.node:
        wanted.update(read_by(node))
    for node in graph.node:
        # In old opsets the number of outputs tells a batch norm whether it trains.
        if len(node.output) < 2 or node.op_type == "BatchNormalization" or wanted.issuperset(node.output):
            continue
        optional = _optional_outputs(node, versions)
        names = ["" if index in optional and name not in wanted else name for index, name in enumerate(node.output)]
        while not names[-1]:
            names.pop()
        node.output[:] = names


def _optional_outputs(node: NodeProto, versions: dict[str, int]) -> set[int]:
    domain = domain_of(node)
    try:
        schema = onnx.defs.get_schema(node.op_type, versions.get(domain, 1), domain)
    except onnx.defs.SchemaError:
        return set()
    optional = onnx.defs.OpSchema.FormalParameterOption.Optional
    return {index for index, output in enumerate(schema.outputs) if output.option == optional}
