"""`read_scopes`: the graphs of a model's file, as it has them: the model's own, those of bodies at any depth, and those of local functions.

A `ModelProto` as it was read enters; `Scope`s leave. A file may be broken: a tensor that is made twice, by nobody or too late, a name that
two nodes have, an attribute of an unknown type. All of this is shown as far as it can be, and nothing of it is an error.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from onnx import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    SparseTensorProto,
    TensorProto,
    TensorShapeProto,
    TypeProto,
    ValueInfoProto,
)

from ...errors import CollageError
from ...graph.dataflow_graph import Constant, DataflowGraph, Node, Tensor, TensorType
from ...graph.topological_order import topological_order
from ..files.external_data import is_external
from ..nodes import all_nodes, check_size, domain_of, free_names, has_inner_graph, inner_names, op_name, read_by, unique_names
from ..shapes.inference import inferred_graph
from ..types.attributes import attributes_of, constant_of
from ..types.dtypes import dtype_name, type_name
from ..types.kinds import kind_of

Shape = tuple[int | str, ...]
"""A size, a symbol, or ``?`` for each dimension."""

ROOT = ""
"""Id of the model's own graph."""
UNRANKED: Shape = ("…",)
"""The shape of a tensor of unknown rank."""
MOST_SHOWN = 16
"""Most elements of a tensor in an attribute that are shown with it."""


@dataclass(frozen=True)
class Body:
    """A graph in an attribute of a node, or the function that the node calls: then the attribute is empty."""

    attribute: str
    scope: str
    nodes: int


@dataclass(frozen=True)
class Scope:
    """A graph in the file.

    Attributes:
        id: `ROOT`; index and attribute of the node that holds it, behind the id of the scope around it; or ``function`` and its name.
        title: What it is called where the path to it is shown.
        parent: Id of the scope around it; None of `ROOT` and of functions.
        graph: Its nodes in an order in which each reads what is before it, where there is such an order. A tensor from the scope around it
            is an input behind the graph's own ones. Sizes that are no numbers are dynamic dimensions.
        shapes: Tensor → its shape with symbols, of those that are no constants.
        bodies: Index of a node → the graphs in it.
        docs: Tensor → what the file says of it.
        is_sound: Each tensor is made once, before it is read.
    """

    id: str
    title: str
    parent: str | None
    graph: DataflowGraph
    shapes: Mapping[str, Shape]
    bodies: Mapping[int, tuple[Body, ...]]
    docs: Mapping[str, str]
    is_sound: bool


def read_scopes(model: ModelProto, *, infers: bool = True) -> list[Scope]:
    """Return the graphs of `model`, its own first.

    Args:
        infers: Whether shapes that the file does not say are inferred. ONNX's inference may end the process on a broken model.

    Raises:
        CollageError: it has too many nodes.
    """
    check_size(sum(1 for graph in (model.graph, *model.functions) for _ in all_nodes(graph)))
    reader = _Reader({_key(function): function for function in model.functions})
    inferred = inferred_graph(model) if infers else None
    reader.read(ROOT, model.graph.name or "model", None, model.graph, inferred, {})
    for key, function in reader.functions.items():
        reader.read(_function_id(key), function.name, None, function, None, {})
    return reader.scopes


def shown_type(kind: TypeProto) -> tuple[str, Shape]:
    """Return the dtype and the shape that `kind` says; ``undefined`` where it says none."""
    dtype = type_name(kind) or "undefined"
    if kind.WhichOneof("value") not in ("tensor_type", "sparse_tensor_type"):
        return dtype, () if "(" in dtype else UNRANKED
    tensor = getattr(kind, kind.WhichOneof("value"))
    if not tensor.HasField("shape"):
        return dtype, UNRANKED
    return dtype, tuple(_size(dim) for dim in tensor.shape.dim)


def _size(dim: TensorShapeProto.Dimension) -> int | str:
    if dim.HasField("dim_value"):
        return dim.dim_value
    return "?" if dim.dim_param.startswith(_INFERRED) else dim.dim_param or "?"


_INFERRED = "unk__"
"""Beginning of the symbols that inference makes up."""


def _key(called: FunctionProto | NodeProto) -> tuple[str, str, str]:
    name = called.name if isinstance(called, FunctionProto) else called.op_type
    return domain_of(called), name, getattr(called, "overload", "")


def _function_id(key: tuple[str, str, str]) -> str:
    return "function " + ":".join(filter(None, key))


class _Reader:
    """Reads scopes, each before those in it."""

    def __init__(self, functions: Mapping[tuple[str, str, str], FunctionProto]):
        self.functions = functions
        self.scopes: list[Scope] = []

    def read(
        self,
        scope: str,
        title: str,
        parent: str | None,
        graph: GraphProto | FunctionProto,
        inferred: GraphProto | None,
        outside: Mapping[str, Constant | tuple[str, Shape]],
    ) -> None:
        """Add a graph and those in its nodes.

        Args:
            inferred: The same graph with inferred types.
            outside: What the graphs around it make: tensor → its type, or the constant that it is.
        """
        is_function = isinstance(graph, FunctionProto)
        constants = {} if is_function else _constants(graph)
        known = _known_types(graph, inferred)
        own = [name if isinstance(name, str) else name.name for name in graph.input]
        captured = [] if is_function else [name for name in dict.fromkeys(free_names(graph)) if name in outside]
        constants |= {name: value for name in captured if isinstance(value := outside[name], Constant)}
        known |= {name: value for name in captured if not isinstance(value := outside[name], Constant)}
        inputs = [name for name in dict.fromkeys((*own, *captured)) if name and name not in constants]
        order = _order(graph.node)
        names = unique_names(graph.node)
        nodes, bodies, inside = [], {}, []
        inner_inferred = list(inferred.node) if inferred is not None and len(inferred.node) == len(graph.node) else None
        visible = {**outside, **{name: _type_of(known, name) for name in (*inputs, *known)}, **constants}
        for index, position in enumerate(order):
            node = graph.node[position]
            nodes.append(_node(index, names[position], node, known, constants))
            links = []
            typed = {} if inner_inferred is None else {attribute.name: attribute for attribute in inner_inferred[position].attribute}
            for attribute, number, body in _bodies(node):
                inner = f"{scope}/{index}.{attribute}".lstrip("/") + (f".{number}" if number else "")
                links.append(Body(attribute, inner, len(body.node)))
                inferred_body = typed[attribute].g if attribute in typed else None
                inside.append((inner, f"{names[position]} · {attribute}", scope, body, inferred_body, visible))
            called = self.functions.get(_key(node))
            if called is not None:
                links.append(Body("", _function_id(_key(node)), len(called.node)))
            if links:
                bodies[index] = tuple(links)
        outputs = tuple(dict.fromkeys(name if isinstance(name, str) else name.name for name in graph.output))
        dataflow = DataflowGraph(tuple(nodes), tuple(_tensor(name, known) for name in inputs), outputs, constants)
        shapes = {name: _type_of(known, name)[1] for name in dataflow.types}
        docs = (
            {}
            if is_function
            else {value.name: value.doc_string for value in (*graph.input, *graph.output, *graph.initializer) if value.doc_string}
        )
        self.scopes.append(Scope(scope, title, parent, dataflow, shapes, bodies, docs, _is_sound(dataflow)))
        for arguments in inside:
            self.read(*arguments)


def _bodies(node: NodeProto) -> Iterator[tuple[str, int, GraphProto]]:
    """Yield the graphs in the attributes of `node`: attribute, number in it, graph."""
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH or attribute.HasField("g"):
            yield attribute.name, 0, attribute.g
        for number, graph in enumerate(attribute.graphs):
            yield attribute.name, number, graph


def _constants(graph: GraphProto) -> dict[str, Constant]:
    sparse = {
        tensor.values.name: Constant(TensorType(tuple(tensor.dims), dtype_name(tensor.values.data_type)))
        for tensor in graph.sparse_initializer
    }
    return {tensor.name: _constant(tensor) for tensor in graph.initializer} | sparse


def _constant(tensor: TensorProto) -> Constant:
    plain = Constant(TensorType(tuple(tensor.dims), dtype_name(tensor.data_type)))
    if is_external(tensor):
        return plain
    try:
        return constant_of(tensor)
    except CollageError:
        return plain  # Its data does not fit its shape: it is drawn as what it claims to be.


def _known_types(graph: GraphProto | FunctionProto, inferred: GraphProto | None) -> dict[str, tuple[str, Shape]]:
    """Return tensor → dtype and shape, as the file says, else as they were inferred."""
    values: list[ValueInfoProto] = list(graph.value_info)
    if not isinstance(graph, FunctionProto):
        values += [*graph.input, *graph.output]
    types = {value.name: shown_type(value.type) for value in values}
    for value in () if inferred is None else (*inferred.value_info, *inferred.output):
        dtype, shape = shown_type(value.type)
        known = types.get(value.name, ("undefined", UNRANKED))
        is_better = known[1] == UNRANKED or (len(shape) == len(known[1]) and _open(shape) < _open(known[1]))
        if shape != UNRANKED and is_better:
            types[value.name] = dtype, shape
    return types


def _open(shape: Shape) -> int:
    return sum(isinstance(size, str) for size in shape)


def _type_of(known: Mapping[str, tuple[str, Shape]], name: str) -> tuple[str, Shape]:
    return known.get(name, ("undefined", UNRANKED))


def _tensor(name: str, known: Mapping[str, tuple[str, Shape]]) -> Tensor:
    dtype, shape = _type_of(known, name)
    open_axes = tuple(axis for axis, size in enumerate(shape) if isinstance(size, str))
    return Tensor(name, TensorType(tuple(0 if isinstance(size, str) else size for size in shape), dtype, open_axes))


def _node(index: int, name: str, node: NodeProto, known: Mapping[str, tuple[str, Shape]], constants: Mapping[str, Constant]) -> Node:
    inputs, op = tuple(read_by(node)), op_name(node)
    outputs = tuple(_tensor(output, known) for output in node.output if output)
    types = [constants[read].type if read in constants else _tensor(read, known).type if read in known else None for read in inputs]
    return Node(
        index=index,
        name=name,
        op=op,
        kind=kind_of(op, types, [output.type for output in outputs], has_inner_graph(node)),
        inputs=inputs,
        outputs=outputs,
        attributes=shown_attributes(node),
        inner=tuple(inner_names(node)),
        captured=len(inputs) - len(node.input),
    )


def shown_attributes(node: NodeProto) -> dict[str, Any]:
    """Return the attributes of `node` as `attributes_of` does, with what a person wants to see of a tensor, a type, or a reference."""
    return {attribute.name: _shown(attribute) for attribute in node.attribute}


def _shown(attribute: AttributeProto) -> Any:
    if attribute.ref_attr_name:
        return f"@{attribute.ref_attr_name}"  # In a function: the attribute of its call.
    if attribute.type == AttributeProto.TENSOR or attribute.HasField("t"):
        return _shown_tensor(attribute.t)
    if attribute.type == AttributeProto.SPARSE_TENSOR:
        return _shown_sparse(attribute.sparse_tensor)
    if attribute.type == AttributeProto.TENSORS:
        return [_shown_tensor(tensor) for tensor in attribute.tensors]
    if attribute.type == AttributeProto.SPARSE_TENSORS:
        return [_shown_sparse(tensor) for tensor in attribute.sparse_tensors]
    if attribute.type == AttributeProto.TYPE_PROTO:
        return _written(attribute.tp)
    if attribute.type == AttributeProto.TYPE_PROTOS:
        return [_written(kind) for kind in attribute.type_protos]
    try:
        return attributes_of(NodeProto(attribute=[attribute]))[attribute.name]
    except (ValueError, AttributeError):
        return "a value of an unknown type"


def _written(kind: TypeProto) -> str:
    dtype, shape = shown_type(kind)
    return dtype if not shape else f"{dtype} {'×'.join(map(str, shape))}"


def _shown_tensor(tensor: TensorProto) -> dict[str, Any]:
    """Return a tensor as JSON: its type, and its first values where they are in the file."""
    known = _constant(tensor)
    digest = hashlib.sha256(tensor.SerializeToString(deterministic=True)).hexdigest()[:16]
    value = list(known.value[:MOST_SHOWN]) if known.value is not None else None
    return {"tensor": digest, "shape": list(known.type.shape), "dtype": known.type.dtype, "value": value}


def _shown_sparse(tensor: SparseTensorProto) -> dict[str, Any]:
    return {**_shown_tensor(tensor.values), "shape": list(tensor.dims), "value": None}


def _order(nodes: Sequence[NodeProto]) -> list[int]:
    """Return the positions of `nodes` in a topological order near to that of the file; those in a cycle come last."""
    maker: dict[str, int] = {}
    for index, node in enumerate(nodes):
        for name in filter(None, node.output):
            maker.setdefault(name, index)
    order = topological_order([{maker[name] for name in read_by(node) if name in maker} for node in nodes])
    return [*order, *sorted(set(range(len(nodes))) - set(order))]


def _is_sound(graph: DataflowGraph) -> bool:
    known = {tensor.name for tensor in graph.inputs} | set(graph.constants)
    for node in graph.nodes:
        if not known.issuperset(filter(None, node.inputs)):
            return False
        outputs = [tensor.name for tensor in node.outputs]
        if len(set(outputs)) < len(outputs) or not known.isdisjoint(outputs):
            return False
        known.update(outputs)
    return known.issuperset(graph.outputs)


def tensor_json(tensor: Tensor, shapes: Mapping[str, Shape]) -> dict[str, Any]:
    """Return a tensor of a scope as JSON: a dimension without a size is null, and ``symbols`` say what the file calls each."""
    shape = shapes[tensor.name]
    known = {"name": tensor.name, "shape": [None if isinstance(size, str) else size for size in shape], "dtype": tensor.type.dtype}
    return {**known, "symbols": [str(size) for size in shape]} if _open(shape) else known


def scope_json(scope: Scope) -> dict[str, Any]:
    """Return the graph of `scope` as `DataflowGraph.to_json` does, with the symbols of its file and the bodies of its nodes."""
    document = replace(scope.graph, nodes=()).to_json()
    nodes = []
    for node in scope.graph.nodes:
        bodies = [{"attribute": body.attribute, "scope": body.scope, "nodes": body.nodes} for body in scope.bodies.get(node.index, ())]
        outputs = [tensor_json(tensor, scope.shapes) for tensor in node.outputs]
        nodes.append({**node.to_json(), "outputs": outputs, **({"bodies": bodies} if bodies else {})})
    return {**document, "nodes": nodes, "inputs": [tensor_json(tensor, scope.shapes) for tensor in scope.graph.inputs]}
