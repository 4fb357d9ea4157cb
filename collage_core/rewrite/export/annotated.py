"""Models as viewers of ONNX files show them: the plan written beside each node, and no more weights than are wanted.

Enters: a model and a plan for it. Leaves: an ONNX message whose ``metadata_props`` say who runs what and at which cost (Netron
lists them in its sidebar), with the type of every tensor.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableSequence

from onnx import ModelProto, StringStringEntryProto, TensorProto

from ...graph.index_set import IndexSet
from ...model.base import Model
from ...model.external_data import is_external, tensors_of
from ...model.inference import value_info
from ..plan import PlacedPartition, Plan

PREFIX = "collage"
SMALL_BYTES = 1 << 10
"""Tensors up to this size are always kept: they are shapes, axes and scales, which one wants to read."""


def annotated(model: Model, plan: Plan) -> ModelProto:
    """The whole of `model` with what `plan` says about it: in the model's metadata the totals, in each node's its partition."""
    made = ModelProto.FromString(model.cut(IndexSet(range(len(model.graph)))).onnx)
    made.graph.name = plan.model.name
    outer = {value.name for value in (*made.graph.input, *made.graph.output)}
    made.graph.value_info.extend(value_info(name, known) for name, known in model.graph.types.items() if name not in outer)
    targets = dict.fromkeys(partition.target for partition in plan.partitions)
    totals = {"total": _milliseconds(plan.total_s), "partitions": str(len(plan.partitions)), "targets": ", ".join(targets)}
    _describe(made.metadata_props, {**totals, "measured on": plan.machine})
    for number, partition in enumerate(plan.partitions, 1):
        facts = _facts(number, partition)
        for index in partition.nodes:
            _describe(made.graph.node[index].metadata_props, facts)
    return made


def without_weights(model: ModelProto, most_bytes: int) -> int:
    """Take the values of the largest tensors out of `model` until `most_bytes` are left; gives how many were taken.

    Names, shapes and types stay. Data in files beside the model counts as taken: it is not sent with it.
    """
    held = sorted((tensor for tensor in tensors_of(model) if not is_external(tensor)), key=lambda tensor: -tensor.ByteSize())
    left = sum(tensor.ByteSize() for tensor in held)
    taken = sum(1 for tensor in tensors_of(model) if is_external(tensor))
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


def _facts(number: int, partition: PlacedPartition) -> dict[str, str]:
    facts = {"partition": f"{number} of {len(partition.nodes)} nodes", "target": partition.target}
    if partition.cost_s is None:
        return {**facts, "cost": "unknown"}
    off = f" ± {partition.interval_s * 1e3:.4g}" if partition.interval_s is not None else ""
    return {**facts, "cost": f"{partition.cost_s * 1e3:.4g}{off} ms for the partition", "cost from": partition.source}


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.4g} ms"


def _describe(entries: MutableSequence[StringStringEntryProto], facts: Mapping[str, str]) -> None:
    entries.extend(StringStringEntryProto(key=f"{PREFIX} {name}", value=value) for name, value in facts.items() if value)
