"""Writes a plan into an ONNX model for viewers of such files, and removes large weights from a model.

A model and a plan enter; an ONNX message leaves, whose ``metadata_props`` name the partition, target, cost and regrets of each node (Netron
lists them in its sidebar): the model as the plan cuts it, with the type of every tensor, or the user's own file, otherwise as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableSequence

from onnx import ModelProto, NodeProto, StringStringEntryProto, TensorProto

from ...base.durations import milliseconds
from ...documents.plan import PlanPartition
from ...documents.statement_text import predicted_text
from ...graph.dataflow_graph import HOST
from ...graph.index_set import IndexSet
from ...model.files.external_data import is_external, tensors_of
from ...model.model import Model
from ...model.nodes import unique_names
from ...model.shapes.inference import value_info
from ..plan import Plan

PREFIX = "collage"
Regrets = Mapping[int, Mapping[str, str]]
"""Node → target → how much more the best plan costs that gives it the node, in words."""
NO_REGRETS: Regrets = {}
SMALL_BYTES = 1 << 10
"""Tensors up to this size are always kept, since they are shapes, axes and scales that a reader of the graph wants to see."""


def annotated(model: Model, plan: Plan, regrets: Regrets = NO_REGRETS) -> ModelProto:
    """Return `model` with the totals of `plan` in the model's metadata, and with its partition in the metadata of each node."""
    proto = ModelProto.FromString(model.cut(IndexSet(range(len(model.graph)))).onnx)
    proto.graph.name = plan.model.name
    outer = {value.name for value in (*proto.graph.input, *proto.graph.output)}
    proto.graph.value_info.extend(value_info(name, known) for name, known in model.graph.types.items() if name not in outer)
    _describe(proto.metadata_props, _totals(plan))
    for index, facts in _facts_by_node(plan, regrets).items():
        _describe(proto.graph.node[index].metadata_props, facts)
    return proto


def annotate_original(original: ModelProto, model: Model, plan: Plan, regrets: Regrets = NO_REGRETS) -> None:
    """Write the same into `original`, the content of the user's file that `model` was loaded from, which is otherwise left as it is.

    A node that folding fused into another has the facts of that node; a constant or a node without effect is marked as gone.
    """
    facts_of = _facts_by_node(plan, regrets)
    gone = {node.name: node.into for node in model.folded}
    _describe(original.metadata_props, _totals(plan))
    for node, name, index in original_nodes(original, model):
        facts = {} if index is None else facts_of.get(index, {})
        if name in gone:
            facts = {**facts, "folded": f"into {gone[name]}" if gone[name] else "constant, or without effect"}
        _describe(node.metadata_props, facts)


def original_nodes(original: ModelProto, model: Model) -> Iterator[tuple[NodeProto, str, int | None]]:
    """Yield each node of the user's file with its name and the index of the node of `model` that computes it; None where it is gone."""
    graph, gone = model.graph, {node.name: node.into for node in model.folded}
    for node, name in zip(original.graph.node, unique_names(original.graph.node), strict=True):
        index = next((graph.producer[output] for output in node.output if graph.producer.get(output, HOST) != HOST), None)
        into = gone.get(name)
        if index is None and into is not None:
            index = graph.index_by_name.get(into)
        yield node, name, graph.index_by_name.get(name) if index is None else index


def without_weights(model: ModelProto, most_bytes: int) -> int:
    """Remove the values of the largest tensors of `model` until `most_bytes` are left, and return how many were removed.

    Names, shapes and types stay. Data in files beside the model counts as removed, since it is not sent with the model.
    """
    held = sorted((tensor for tensor in tensors_of(model) if not is_external(tensor)), key=lambda tensor: -tensor.ByteSize())
    left = sum(tensor.ByteSize() for tensor in held)
    outside = [tensor for tensor in tensors_of(model) if is_external(tensor)]
    for tensor in outside:
        if any(entry.key == "location" and entry.value.startswith("/") for entry in tensor.external_data):
            _empty(tensor)  # A path on this machine is nobody's business; one as the user's file has it stays.
    taken = len(outside)
    for tensor in held:
        size = tensor.ByteSize()
        if left <= most_bytes or size <= SMALL_BYTES:
            break
        _empty(tensor)
        left -= size
        taken += 1
    return taken


def _empty(tensor: TensorProto) -> None:
    name, dims, kind = tensor.name, list(tensor.dims), tensor.data_type
    tensor.Clear()
    tensor.name, tensor.data_type, tensor.data_location = name, kind, TensorProto.EXTERNAL
    tensor.dims.extend(dims)
    tensor.external_data.add(key="location", value="weights left out")


def _totals(plan: Plan) -> dict[str, str]:
    targets = dict.fromkeys(partition.target for partition in plan.partitions)
    predicted = predicted_text(plan, milliseconds).removeprefix("predicted ")
    totals = {"predicted": predicted, "partitions": str(len(plan.partitions)), "targets": ", ".join(targets)}
    return {**totals, "measured on": plan.machine}


def _facts_by_node(plan: Plan, regrets: Regrets) -> dict[int, dict[str, str]]:
    found = {}
    for number, partition in enumerate(plan.partitions, 1):
        facts = _facts(number, partition)
        for index in partition.nodes:
            others = {f"regret of {target}": regret for target, regret in regrets.get(index, {}).items()}
            found[index] = {**facts, **others}
    return found


def _facts(number: int, partition: PlanPartition) -> dict[str, str]:
    facts = {"partition": f"{number} of {len(partition.nodes)} nodes", "target": partition.target}
    if partition.cost_s is None:
        return {**facts, "cost": "unknown"}
    cost = milliseconds(partition.cost_s, interval_s=partition.interval_s)
    return {**facts, "cost": f"{cost} for the partition", "cost from": partition.source}


def _describe(entries: MutableSequence[StringStringEntryProto], facts: Mapping[str, str]) -> None:
    """Add `facts`, in place of those that an earlier plan left there."""
    kept = [entry for entry in entries if not entry.key.startswith(f"{PREFIX} ")]
    del entries[:]
    entries.extend(kept)
    entries.extend(StringStringEntryProto(key=f"{PREFIX} {name}", value=value) for name, value in facts.items() if value)
