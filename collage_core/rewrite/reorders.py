"""Puts reorders between partitions whose targets hold a tensor in different layouts, as partitions of their own; nothing is built.

Partitions enter and leave. A blocked tensor (`toolchains.blocked_layout`) gets a name of its own, so that the form that a partition
reads is found by name, and both forms can be there. A reorder runs just before the first partition that needs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ..graph.dataflow_graph import Tensor
from ..model.forms.cutting import renamed
from ..toolchains.abilities import layout_of
from ..toolchains.blocked_layout import NCHW16C, is_blocked
from ..toolchains.onnx_models.nchwc_models import REORDER_TARGET, reorder_model
from ..toolchains.toolchain import Toolchain
from .partition_models import PartitionModel

_BLOCKED = "@" + NCHW16C


def with_reorders(partitions: Sequence[PartitionModel], layouts: Mapping[str, str], outputs: Iterable[str]) -> list[PartitionModel]:
    """Return `partitions`, which are in their `run_order`, with every tensor in the layout in which it is read.

    Args:
        layouts: Layout by target; a target that is not named is plain.
        outputs: Names of the model's outputs, which are plain.
    """
    if not any(layouts.values()):
        return list(partitions)
    tensors: dict[str, Tensor] = {}
    there: set[str] = set()
    ordered: list[PartitionModel] = []

    def need(tensor: Tensor, name: str) -> None:
        """Make the form of `tensor` that is called `name`, unless it is there or comes from outside as it is."""
        other = tensor.name if name != tensor.name else tensor.name + _BLOCKED
        if name in there or (name == tensor.name and other not in there):
            return
        ordered.append(PartitionModel(REORDER_TARGET, (), reorder_model(tensor, other, name, name != tensor.name), f"reorder:{name}"))
        there.add(name)

    for partition in partitions:
        ends = (*partition.model.inputs, *partition.model.outputs) if layouts.get(partition.target) else ()
        names = {tensor.name: tensor.name + _BLOCKED for tensor in ends if is_blocked(tensor.type)}
        for tensor in partition.model.inputs:
            need(tensor, names.get(tensor.name, tensor.name))
        ordered.append(replace(partition, model=renamed(partition.model, names)))
        tensors |= {tensor.name: tensor for tensor in partition.model.outputs}
        there |= {names.get(tensor.name, tensor.name) for tensor in partition.model.outputs}
    for name in outputs:
        if name in tensors:
            need(tensors[name], name)
    return ordered


def layouts_of(tools: Mapping[str, Toolchain]) -> dict[str, str]:
    """Return the layout of each of `tools` that has one, by name."""
    return {name: layout for name, tool in tools.items() if (layout := layout_of(tool))}
