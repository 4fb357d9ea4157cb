"""`with_copies`: puts the copies between locations among the partitions of an artifact; nothing is built.

Entries of the manifest in their order enter and leave. A tensor is copied once to each location where it is read and is not made, just
before the first partition there that reads it; an output of the model to the host right after it is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..graph.dataflow_graph import Tensor
from ..rules.spec import HOST_TARGET
from ..toolchains.device_tensors import HOST_LOCATION
from .runtime.manifest import PartitionEntry
from .runtime.piece_calls import source_of


def with_copies(entries: Sequence[PartitionEntry], aliases: Mapping[str, str], outputs: Iterable[str]) -> list[PartitionEntry]:
    """Return `entries` with a copy for each tensor and location where it has to be.

    Args:
        aliases: Name of a tensor → the tensor whose value it is.
        outputs: Names of the model's outputs.
    """
    made_at: dict[str, str] = {}
    there: set[tuple[str, str]] = set()
    needed = {source_of(name, aliases) for name in outputs}
    ordered: list[PartitionEntry] = []

    def need(tensor: Tensor, location: str) -> None:
        name = source_of(tensor.name, aliases)
        maker = made_at.get(name, HOST_LOCATION)
        if maker == location or (name, location) in there:
            return
        there.add((name, location))
        end = (Tensor(name, tensor.type),)
        identity = f"copy:{name}:{location}"
        ordered.append(PartitionEntry(identity, HOST_TARGET, "", (), end, end, symbol=identity, location=location, copied_from=maker))

    for entry in entries:
        if entry.symbol:
            for tensor in entry.inputs:
                need(tensor, entry.location)
        ordered.append(entry)
        made_at |= {tensor.name: entry.location for tensor in entry.outputs}
        for tensor in entry.outputs:
            if tensor.name in needed:
                need(tensor, HOST_LOCATION)
    return ordered
