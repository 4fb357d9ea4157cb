"""`plan_devices`: every node and tensor of a `DeviceProblem` gets exactly one virtual device, and copies stand only where two differ.

A problem enters, a `DevicePlan` leaves. Positions that nothing separates agree: a node with what it reads and makes, and a tensor with
its readings. An annotation of a node separates it from its readers, one of a tensor separates the tensor from its readers, and a reading on
the host is separate. Inputs and constants agree with their readers as far as these agree with each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..errors import CollageError
from .copies import OUTPUT, DeviceCopy, Devices, copies_of, with_light_nodes_moved
from .device_problem import DeviceNode, DeviceProblem
from .domains import Clash, Domains
from .virtual_device import VirtualDevice

FIXED, HOST, DEFAULT, MOVED = "annotation", "host", "default", "moved"
"""Why a node is on its device: an annotation reaches it, shapes and control are on the host, nothing does, or fewer bytes are copied so."""


@dataclass(frozen=True)
class DevicePlan:
    """The virtual device of every node and tensor, and the copies between them.

    Attributes:
        nodes: Node → its virtual device; the copies of the problem are not among them.
        tensors: Tensor → its virtual device; what a copy made is the tensor that was copied.
        why: Node → `FIXED`, `HOST`, `DEFAULT` or `MOVED`.
        copies: Each copy once, for all that read the tensor there.
        unused: Names of the problem's targets on whose devices no node is.
    """

    nodes: Mapping[str, VirtualDevice]
    tensors: Mapping[str, VirtualDevice]
    why: Mapping[str, str]
    copies: tuple[DeviceCopy, ...]
    unused: tuple[str, ...]

    def to_json(self, problem: DeviceProblem) -> dict[str, Any]:
        """Return the document of `collage devices` for `problem`, of which this is the plan."""
        host = problem.completed(problem.host, "the host")

        def entry(device: VirtualDevice) -> dict[str, Any]:
            return {**device.fixed, "location": device.location(host)}

        return {
            "schema": 1,
            "nodes": [{"name": name, "why": self.why[name], **entry(device)} for name, device in self.nodes.items()],
            "tensors": {name: entry(device) for name, device in self.tensors.items()},
            "copies": [
                {
                    "tensor": copy.tensor,
                    "from": copy.source.location(host),
                    "to": copy.destination.location(host),
                    "bytes": copy.bytes,
                    "readers": list(copy.readers),
                }
                for copy in self.copies
            ],
            "unused": list(self.unused),
        }

    def constraints(self, problem: DeviceProblem) -> list[dict[str, str]]:
        """Return the pins that keep each annotated node at its location. What an annotation only reaches is the search's to decide."""
        host = problem.completed(problem.host, "the host")
        annotated = [node.name for node in problem.nodes if node.on_device is not None and node.on_device.fixed]
        return [{"kind": "pin", "node": name, "location": self.nodes[name].location(host)} for name in annotated]


def plan_devices(problem: DeviceProblem) -> DevicePlan:
    """Return the devices of `problem`.

    Raises:
        CollageError: annotations clash, or a device has no target (code ``device_conflict`` or ``bad_devices``).
    """
    unified = _Unified(problem)
    nodes = [node for node in problem.nodes if node.copy is None]
    readings = [(name, node.name) for node in nodes for name in node.reads] + [(name, OUTPUT) for name in problem.outputs]
    devices = Devices(
        {node.name: unified.device(("node", node.name), f"node {node.name!r}") for node in nodes},
        {name: unified.device(("tensor", name), f"tensor {name!r}") for name in problem.tensors},
        {reading: unified.device(("reading", *reading), f"a reader of {reading[0]!r}") for reading in readings},
    )
    on_host = unified.on_host
    why = {
        node.name: HOST if node.name in on_host else FIXED if unified.devices.is_constrained(("node", node.name)) else DEFAULT
        for node in nodes
    }
    moved = with_light_nodes_moved(problem, devices, frozenset(on_host))
    why |= {name: MOVED for name, device in moved.nodes.items() if device != devices.nodes[name]}
    used = {(device.type, device.number) for device in moved.nodes.values()}
    unused = [target.name for target in problem.targets if not any(_is_on(pair, target.device) for pair in used)]
    tensors = {name: device for name, device in moved.tensors.items() if problem.origin[name] == name}
    return DevicePlan(moved.nodes, tensors, why, copies_of(problem, moved), tuple(unused))


def planned(problem: DeviceProblem, plan: DevicePlan) -> DeviceProblem:
    """Return `problem` as `plan` leaves it: every node annotated, and its copies as nodes. Planning it again changes nothing."""
    host = problem.completed(problem.host, "the host")
    copy_nodes: dict[str, list[DeviceNode]] = {}
    read_as: dict[tuple[str, str], str] = {}
    for copy in plan.copies:
        name = f"{copy.tensor}@{copy.destination.location(host)}"
        node = DeviceNode(f"copy:{name}", (copy.tensor,), (name,), copy=(copy.source, copy.destination))
        copy_nodes.setdefault(copy.tensor, []).append(node)
        read_as |= dict.fromkeys(copy.readings, name)
    nodes = [node for tensor in problem.tensors if tensor not in problem.maker for node in copy_nodes.get(tensor, ())]
    outputs: dict[str, VirtualDevice | None] = {}
    for node in problem.nodes:
        if node.copy is None:
            names = {tensor: read_as.get((tensor, node.name), problem.origin[tensor]) for tensor in node.reads}
            nodes.append(
                replace(
                    node,
                    reads=tuple(names[tensor] for tensor in node.reads),
                    on_device=plan.nodes[node.name],
                    host_reads=frozenset(names[tensor] for tensor in node.host_reads),
                    memory_scopes={names.get(tensor, tensor): scope for tensor, scope in node.memory_scopes.items()},
                )
            )
            nodes += [copy for tensor in node.makes for copy in copy_nodes.get(tensor, ())]
    for tensor, device in problem.outputs.items():
        outputs[read_as.get((tensor, OUTPUT), problem.origin[tensor])] = device
    annotations = {name: device for name, device in plan.tensors.items() if name not in problem.maker or name in problem.annotations}
    return replace(problem, nodes=tuple(nodes), outputs=outputs, annotations=annotations)


class _Unified:
    """The domains of a problem: one of devices (type, number, target), and one of memory scopes, over the same positions.

    Attributes:
        devices: Of positions ``("node", name)``, ``("tensor", name)`` and ``("reading", tensor, reader)``.
        scopes: Of the same positions. Scopes that disagree are a copy, never a conflict, except at one position.
        on_host: Names of the nodes that compute shapes.
    """

    def __init__(self, problem: DeviceProblem):
        self.problem = problem
        self.devices, self.scopes = Domains(), Domains()
        self.on_host: set[str] = set()
        self._host_tensors = {name for node in problem.nodes for name in node.host_makes}
        for node in problem.nodes:
            self._node(node)
        for name, device in problem.annotations.items():
            self._constrain(("tensor", name), device, f"the annotation of tensor {name!r}")
        for name, device in ((name, device) for name, device in problem.outputs.items() if device is not None):
            self._constrain(("reading", name, OUTPUT), device, f"the annotation of output {name!r}")
        for group in problem.same:
            for name in group[1:]:
                self._unify(("tensor", group[0]), ("tensor", name))
        self._edges()

    def device(self, position: tuple[str, ...], where: str) -> VirtualDevice:
        """Return the virtual device of `position`, every field of which is fixed; an error names `where` that is."""
        scope = self.scopes.device(position).memory_scope
        return self.problem.completed(replace(self.devices.device(position), memory_scope=scope), where)

    def _node(self, node: DeviceNode) -> None:
        """Let `node` agree with what it reads and makes, except on the host and where a buffer is decided."""
        position, name = ("node", node.name), f"node {node.name!r}"
        if node.copy is not None:
            for end, device in zip((("reading", node.reads[0], node.name), ("tensor", node.makes[0])), node.copy, strict=True):
                self._constrain(end, device, f"the copy {node.name!r}")
            return
        if node.on_device is not None:
            self._constrain(position, node.on_device, f"the annotation of {name}")
        elif self._computes_shapes(node):
            self.on_host.add(node.name)
            self._host_tensors.update(node.makes)
            self._constrain(position, self.problem.host, f"{name}, which computes shapes on the host,")
        elif node.inside is not None:
            self._unify(("node", node.inside), position)
        operands = [("reading", tensor, node.name) for tensor in node.reads] + [("tensor", tensor) for tensor in node.makes]
        for operand in operands:
            tensor = operand[1]
            if tensor in (node.host_reads if operand[0] == "reading" else node.host_makes):
                self._constrain(operand, self.problem.host, f"{name}, which has {tensor!r} on the host,")
                continue
            self._check(self.devices.unify(position, operand), operand)
            if tensor in node.memory_scopes:
                scope = VirtualDevice(memory_scope=node.memory_scopes[tensor])
                self._check(self.scopes.constrain(operand, scope, f"the buffer of {tensor!r} in {name}"), operand)
            elif not node.memory_scopes:
                self._check(self.scopes.unify(position, operand), operand)

    def _computes_shapes(self, node: DeviceNode) -> bool:
        """Return whether all that `node` reads is on the host already or constant."""
        read = set(node.reads) - self.problem.constants
        return bool(read) and read <= self._host_tensors

    def _edges(self) -> None:
        """Let each tensor agree with its readings, unless an annotation or the host stands between."""
        soft: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
        for name, device in self.problem.outputs.items():
            if device is None:
                self._unify(("tensor", name), ("reading", name, OUTPUT))
        readings = [(name, node.name, name in node.host_reads) for node in self.problem.nodes for name in node.reads]
        for name, reader, is_on_host in readings:
            maker = self.problem.maker.get(name)
            tensor, reading = ("tensor", name), ("reading", name, reader)
            is_separate = maker is not None and (maker.on_device is not None or maker.copy is not None or is_on_host)
            if is_separate or name in self.problem.annotations or name in self._host_tensors:
                continue
            if maker is None:
                soft.append((tensor, reading))
            else:
                self._check(self.devices.unify(tensor, reading), reading)
                self.scopes.unify(tensor, reading)
        for first, second in soft:
            if self.devices.unify(first, second) is None:
                self.scopes.unify(first, second)

    def _constrain(self, position: tuple[str, ...], device: VirtualDevice, source: str) -> None:
        device = self.problem.canonical(device, source)
        self._check(self.devices.constrain(position, replace(device, memory_scope=None), source), position)
        self._check(self.scopes.constrain(position, VirtualDevice(memory_scope=device.memory_scope), source), position)

    def _unify(self, first: tuple[str, ...], second: tuple[str, ...]) -> None:
        self._check(self.devices.unify(first, second), second)
        self._check(self.scopes.unify(first, second), second)

    def _check(self, clash: Clash | None, position: tuple[str, ...]) -> None:
        if clash is not None:
            raise CollageError(
                f"{position[0]} {position[1]!r} would have to be on two devices: {clash.first_source} fixes its {clash.field} to "
                f"{clash.first!r}, {clash.second_source} to {clash.second!r}",
                "annotate a node between the two: its readers then get a copy",
                "device_conflict",
            )


def _is_on(pair: tuple[str | None, int | None], device: VirtualDevice) -> bool:
    return VirtualDevice(*pair).refines(VirtualDevice(device.type, device.number))
