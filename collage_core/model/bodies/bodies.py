"""The bodies of `If`, `Loop` and `Scan` as models of their own: their signatures, and the `ModelProto` of a body.

A node of a model enters; a `ControlFlow`, or the body with the types of its inputs, leaves. What the body reads from around it becomes an
input of it, or an initializer where it is a constant. Nothing is run here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto

from ...errors import CollageError
from ...graph.control_flow import CONTROL_OPS, IF, LOOP, SCAN, BodySignature, ControlFlow
from ...graph.dataflow_graph import Tensor
from ..files.external_weights import MOST_BYTES
from ..forms.normalising import constant_value
from ..naming import ONNX_DOMAINS, opset_versions
from ..scopes import free_names
from ..shapes.inference import value_info

ATTRIBUTES = ("body", "then_branch", "else_branch")
_OLDEST_SCAN = 9
"""Before this opset a `Scan` had a batch and lengths of sequences."""


def control_flow(model: ModelProto, node: NodeProto) -> ControlFlow | None:
    """Return what `node` says about its bodies; None where it is no `If`, `Loop` or `Scan` that the host could run."""
    if node.op_type not in CONTROL_OPS or node.domain not in ONNX_DOMAINS:
        return None
    if node.op_type == SCAN and opset_versions(model).get("", 1) < _OLDEST_SCAN:
        return None
    graphs = {attribute.name: attribute.g for attribute in node.attribute if attribute.HasField("g")}
    options = {attribute.name: tuple(attribute.ints) for attribute in node.attribute if attribute.ints}
    scanned = next((attribute.i for attribute in node.attribute if attribute.name == "num_scan_inputs"), 0)
    bodies = {name: _signature(graphs[name]) for name in ATTRIBUTES if name in graphs}
    flow = ControlFlow(node.op_type, _padded(node), tuple(node.output), bodies, int(scanned), options)
    return flow if _fits(flow) else None


def _padded(node: NodeProto) -> tuple[str, ...]:
    """Return the inputs of `node`; a `Loop` has two of them at least, which may be absent."""
    least = 2 if node.op_type == LOOP else 0
    return (*node.input, *[""] * max(0, least - len(node.input)))


def _signature(graph: GraphProto) -> BodySignature:
    captured = tuple(dict.fromkeys(free_names(graph)))
    return BodySignature(tuple(value.name for value in graph.input), captured, tuple(value.name for value in graph.output))


def _fits(flow: ControlFlow) -> bool:
    """Return whether each body takes as many tensors as the node hands over, and makes as many as it wants back."""
    wanted = {IF: ("then_branch", "else_branch")}.get(flow.op, ("body",))
    if set(flow.bodies) != set(wanted) or (flow.op == IF and not flow.inputs):
        return False
    extra = 1 if flow.op == LOOP else 0
    handed = {IF: 0, LOOP: 2 + flow.carried}.get(flow.op, len(flow.inputs))
    return (
        0 <= flow.carried <= len(flow.inputs)
        and all(len(body.inputs) == handed for body in flow.bodies.values())
        and all(len(flow.outputs) <= len(body.outputs) - extra for body in flow.bodies.values())
        and all(len(body.outputs) - extra >= flow.carried for body in flow.bodies.values())
    )


def body_graph(node: NodeProto, attribute: str) -> GraphProto:
    """Return the graph in the attribute `attribute` of `node`."""
    return next(found.g for found in node.attribute if found.name == attribute)


def passed_on(model: ModelProto, node: NodeProto, attribute: str) -> dict[str, str | TensorProto] | None:
    """Return, for a branch of an `If` that computes nothing, each output → the tensor around the node, or the constant, that it is.

    None where it computes something, and for bodies of other operators.
    """
    graph = body_graph(node, attribute)
    if node.op_type != IF or any(inner.op_type not in ("Constant", "Identity") for inner in graph.node):
        return None
    known: dict[str, str | TensorProto] = {tensor.name: tensor for tensor in graph.initializer}
    for inner in graph.node:
        value = constant_value(inner) if inner.op_type == "Constant" else known.get(inner.input[0], inner.input[0])
        if value is None:
            return None
        known[inner.output[0]] = value
    around = {tensor.name: tensor for tensor in model.graph.initializer}
    found = {value.name: known.get(value.name, value.name) for value in graph.output}
    return {name: around.get(source, source) if isinstance(source, str) else source for name, source in found.items()}


def body_proto(model: ModelProto, node: NodeProto, attribute: str, inputs: Iterable[Tensor]) -> ModelProto:
    """Return a body of `node`, a node of `model`, as a model of its own.

    Args:
        inputs: The body's inputs in order, and then those tensors that it captures and that are no constants of `model`.

    Raises:
        CollageError: the body computes nothing, or its weights are larger than an ONNX message can be.
    """
    graph = body_graph(node, attribute)
    if not graph.node:
        raise CollageError(f"the body {attribute!r} of {node.name!r} has no nodes", "", "no_nodes")
    made = ModelProto(ir_version=model.ir_version, producer_name="collage")
    made.opset_import.extend(model.opset_import)
    made.graph.CopyFrom(graph)
    del made.graph.input[:], made.graph.output[:], made.graph.value_info[:]
    made.graph.name = f"{node.name}.{attribute}"
    made.graph.input.extend(value_info(tensor.name, tensor.type) for tensor in inputs)
    made.graph.output.extend(ValueInfoProto(name=value.name) for value in graph.output)
    constants = _captured_constants(model, graph)
    size = graph.ByteSize() + sum(tensor.ByteSize() for tensor in constants)
    if size > MOST_BYTES:
        raise CollageError(f"the body {attribute!r} of {node.name!r} reads {size / 2**30:.1f} GiB of weights", "", "too_big")
    made.graph.initializer.extend(constants)
    return made


def _captured_constants(model: ModelProto, graph: GraphProto) -> list[TensorProto]:
    known: Mapping[str, TensorProto] = {tensor.name: tensor for tensor in model.graph.initializer}
    return [known[name] for name in dict.fromkeys(free_names(graph)) if name in known]
