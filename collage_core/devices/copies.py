"""Copies between devices: each tensor once for each memory where it is read, and light nodes moved to where fewer bytes are copied."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .device_problem import DeviceNode, DeviceProblem
from .virtual_device import VirtualDevice

OUTPUT = ""
"""Stands among the readers of a tensor for the model's outputs."""


@dataclass(frozen=True)
class DeviceCopy:
    """A copy of a tensor, for all that read it there.

    Attributes:
        tensor: Its name.
        source: Where it is made.
        destination: Where it is read.
        bytes: Its size; None where that is not known.
        readings: (Tensor, node or `OUTPUT`) of all that read it there; the tensor is the name by which the reader knows it.
    """

    tensor: str
    source: VirtualDevice
    destination: VirtualDevice
    bytes: int | None
    readings: tuple[tuple[str, str], ...]

    @property
    def readers(self) -> tuple[str, ...]:
        """The nodes that read it there, and `OUTPUT`, each once."""
        return tuple(dict.fromkeys(reader for _, reader in self.readings))


@dataclass(frozen=True)
class Devices:
    """The virtual device of each node, each tensor, and each reading by the tensor and the reader."""

    nodes: dict[str, VirtualDevice]
    tensors: dict[str, VirtualDevice]
    readings: dict[tuple[str, str], VirtualDevice]


def copies_of(problem: DeviceProblem, devices: Devices) -> tuple[DeviceCopy, ...]:
    """Return the copies that `devices` need. Those that `problem` holds are replaced by them, so none is redundant."""
    readers = _readers(problem, devices)
    return tuple(copy for tensor in problem.tensors for copy in _copies(problem, devices, tensor, readers.get(tensor, ())))


def with_light_nodes_moved(problem: DeviceProblem, devices: Devices, fixed: frozenset[str]) -> Devices:
    """Return `devices` with light nodes on the device of a neighbour, wherever that copies fewer bytes; none of `fixed` moves."""
    bound = {tensor for group in problem.same for tensor in group}
    movable = [
        node
        for node in problem.nodes
        if node.is_light
        and node.on_device is None
        and node.name not in fixed
        and not node.memory_scopes
        and node.inside is None
        and bound.isdisjoint((*node.reads, *node.makes))
        and all(name in problem.bytes for name in (*node.reads, *node.makes))
    ]
    readers = _readers(problem, devices)
    is_changed = True
    while is_changed:
        is_changed = False
        for node in movable:
            around = [devices.tensors[problem.origin[name]] for name in node.reads]
            around += [devices.readings[reading] for name in node.makes for reading in readers.get(name, ())]
            choices = {device.memory: device for device in (devices.nodes[node.name], *around)}
            moved = [_moved(devices, node, device) for device in choices.values()]
            tensors = dict.fromkeys(problem.origin[name] for name in (*node.reads, *node.makes))
            totals = [
                sum(copy.bytes or 0 for name in tensors for copy in _copies(problem, each, name, readers.get(name, ()))) for each in moved
            ]
            if min(totals) < totals[0]:
                devices, is_changed = moved[totals.index(min(totals))], True
    return devices


def _moved(devices: Devices, node: DeviceNode, device: VirtualDevice) -> Devices:
    """Return `devices` with `node` on `device`, and with it what it reads and makes there."""
    return Devices(
        {**devices.nodes, node.name: device},
        {**devices.tensors, **{name: device for name in node.makes if name not in node.host_makes}},
        {**devices.readings, **{(name, node.name): device for name in node.reads if name not in node.host_reads}},
    )


def _readers(problem: DeviceProblem, devices: Devices) -> dict[str, list[tuple[str, str]]]:
    """Return tensor → its readings in the order of the nodes; what reads a copy of it reads the tensor."""
    readers: dict[str, list[tuple[str, str]]] = {}
    for reading in devices.readings:
        readers.setdefault(problem.origin[reading[0]], []).append(reading)
    return readers


def _copies(problem: DeviceProblem, devices: Devices, tensor: str, readings: list[tuple[str, str]] | tuple[()]) -> Iterator[DeviceCopy]:
    source = devices.tensors[tensor]
    by_memory: dict[object, list[tuple[str, str]]] = {}
    for reading in readings:
        if devices.readings[reading].memory != source.memory:
            by_memory.setdefault(devices.readings[reading].memory, []).append(reading)
    for group in by_memory.values():
        yield DeviceCopy(tensor, source, devices.readings[group[0]], problem.bytes.get(tensor), tuple(group))
