"""`DeviceProblem`: the nodes, the tensors and the annotations that device planning starts from.

Plain data. A tensor that no node makes is an input or a constant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from ..errors import CollageError
from .virtual_device import PROCESSOR, VirtualDevice

_CODE = "bad_devices"


@dataclass(frozen=True)
class DeviceNode:
    """A node, and what is known of its device.

    Attributes:
        name: Its name.
        reads: Names of the tensors that it reads.
        makes: Names of the tensors that it makes.
        on_device: The user's annotation, with all its fields free where it only separates the node from its readers; None for none.
        copy: For a copy, the virtual devices that it copies from and to.
        host_reads: Those of `reads` that it reads on the host: shapes and conditions.
        host_makes: Those of `makes` that it makes on the host, whatever its device: shapes.
        memory_scopes: Tensor → the memory scope in which the node reads or makes it, for a node whose buffers are decided.
        inside: Name of the node whose body it is in; it is on that node's device unless it has an annotation of its own.
        is_light: Whether it may be computed on another device than its neighbours' if that copies fewer bytes.
    """

    name: str
    reads: tuple[str, ...] = ()
    makes: tuple[str, ...] = ()
    on_device: VirtualDevice | None = None
    copy: tuple[VirtualDevice, VirtualDevice] | None = None
    host_reads: frozenset[str] = frozenset()
    host_makes: frozenset[str] = frozenset()
    memory_scopes: Mapping[str, str] = field(default_factory=dict)
    inside: str | None = None
    is_light: bool = False


@dataclass(frozen=True)
class DeviceTarget:
    """A target, and the device type, or the one device, that it computes on."""

    name: str
    device: VirtualDevice


@dataclass(frozen=True)
class DeviceProblem:
    """The problem that `plan_devices` solves.

    Attributes:
        nodes: In an order in which none reads what a later one makes.
        outputs: Tensor → the virtual device where it has to be at the end; None for wherever it is.
        annotations: Tensor → the virtual device that its declaration names.
        bytes: Tensor → its size, where it is known.
        constants: The tensors whose values are fixed. A node that reads shapes and constants alone is computed on the host.
        same: Groups of tensors that share memory, such as the state of a loop before, inside and after it.
        targets: The targets that there are, the preferred ones first.
        default: What free fields are taken from.
        host: Where shapes and control are.
    """

    nodes: tuple[DeviceNode, ...]
    outputs: Mapping[str, VirtualDevice | None] = field(default_factory=dict)
    annotations: Mapping[str, VirtualDevice] = field(default_factory=dict)
    bytes: Mapping[str, int] = field(default_factory=dict)
    constants: frozenset[str] = frozenset()
    same: tuple[tuple[str, ...], ...] = ()
    targets: tuple[DeviceTarget, ...] = ()
    default: VirtualDevice = PROCESSOR
    host: VirtualDevice = PROCESSOR

    @cached_property
    def maker(self) -> dict[str, DeviceNode]:
        """Tensor → the node that makes it."""
        return {tensor: node for node in self.nodes for tensor in node.makes}

    @cached_property
    def tensors(self) -> tuple[str, ...]:
        """Every tensor, those that no node makes first."""
        read = [tensor for node in self.nodes for tensor in node.reads]
        return tuple(dict.fromkeys(name for name in (*read, *self.outputs) if name not in self.maker)) + tuple(self.maker)

    @cached_property
    def origin(self) -> dict[str, str]:
        """Tensor → the tensor that it is a copy of, through any number of copies; itself where it is none."""
        origins: dict[str, str] = {}
        for tensor in self.tensors:
            maker = self.maker.get(tensor)
            origins[tensor] = origins[maker.reads[0]] if maker is not None and maker.copy is not None else tensor
        return origins

    def canonical(self, device: VirtualDevice, where: str) -> VirtualDevice:
        """Return `device` with the type, and the number if it has one, of the target that it names.

        Raises:
            CollageError: there is no such target, or it computes on another device; the error names `where` that was said.
        """
        if device.target is None:
            return device
        target = next((target for target in self.targets if target.name == device.target), None)
        if target is None:
            listed = ", ".join(target.name for target in self.targets) or "none"
            raise CollageError(f"{where} names the target {device.target!r}, which is not among the targets", f"they are {listed}", _CODE)
        joined = device.join(target.device)
        if joined is None:
            plain = replace(device, target=None)
            message = f"{where} names the target {device.target!r} on {plain}, and that target computes on {target.device}"
            raise CollageError(message, "leave the device out, or name another target", _CODE)
        return joined

    def completed(self, device: VirtualDevice, where: str) -> VirtualDevice:
        """Return `device` with every field fixed: free ones are the default's, and a free target is the first one for that device.

        Raises:
            CollageError: there are targets, and none is for that device; the error names `where` it is needed.
        """
        filled = device.filled(self.canonical(self.default, "the default"))
        if filled.target is not None or not self.targets:
            return filled
        target = next((target for target in self.targets if filled.refines(replace(target.device, target=None))), None)
        if target is None:
            listed = ", ".join(f"{target.name} on {target.device}" for target in self.targets)
            raise CollageError(f"{where} is on {filled}, and no target computes there", f"the targets are {listed}", _CODE)
        return replace(filled, target=target.name)
