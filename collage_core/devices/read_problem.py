"""`read_device_problem`: a `DeviceProblem` from a JSON file (docs/devices.md).

A file of nodes and annotations enters, or one of annotations alone with the graph of a model, and a checked problem leaves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from ..base.json_file import read_json
from ..base.validation import first_mistake
from ..errors import CollageError
from ..graph.control_flow import CONTROL_OPS
from ..graph.dataflow_graph import DataflowGraph, Node, OpPatternKind
from ..model.shapes.open_axes import OF_SHAPES, SETTINGS
from .device_problem import DeviceNode, DeviceProblem, DeviceTarget
from .virtual_device import FREE, PROCESSOR, VirtualDevice, device_from_text

_CODE = "bad_devices"
_HINT = "docs/devices.md shows such a file"
_STRICT = ConfigDict(extra="forbid")


def _device(value: Any) -> Any:
    """Return the virtual device of a text such as ``cuda:0``; an object with its fields stays for the next validator."""
    if not isinstance(value, str):
        return value
    device = device_from_text(value)
    if device is None:
        raise ValueError("a device such as cuda:0, or an object with some of type, number, target and memory_scope")
    return device


Device = Annotated[VirtualDevice, BeforeValidator(_device)]


@dataclass(frozen=True)
class _Copy:
    """The ends of a copy; an end that is left out is free."""

    __pydantic_config__ = _STRICT
    source: Annotated[Device, Field(alias="from")] = FREE
    destination: Annotated[Device, Field(alias="to")] = FREE


@dataclass(frozen=True)
class _Node:
    """A node of the file, with the keys of `DeviceNode`."""

    __pydantic_config__ = _STRICT
    name: str
    reads: tuple[str, ...] = ()
    makes: tuple[str, ...] = ()
    on_device: Device | None = None
    copy: _Copy | None = None
    host_reads: frozenset[str] = frozenset()
    host_makes: frozenset[str] = frozenset()
    memory_scopes: dict[str, str] = field(default_factory=dict)
    inside: str | None = None
    light: bool = False


@dataclass(frozen=True)
class _Tensor:
    """A size in bytes, and the device that the tensor's declaration names."""

    __pydantic_config__ = _STRICT
    bytes: Annotated[int, Field(ge=0, le=1 << 50)] | None = None
    device: Device | None = None


@dataclass(frozen=True)
class _Annotation:
    """An annotation of all nodes that its other keys select."""

    __pydantic_config__ = _STRICT
    on_device: Device
    node: str | None = None
    name: str | None = None
    op: str | None = None


@dataclass(frozen=True)
class _File:
    """The whole file."""

    __pydantic_config__ = _STRICT
    schema: Literal[1] = 1
    targets: dict[str, Device] = field(default_factory=dict)
    default: Device | None = None
    host: Device = PROCESSOR
    annotations: tuple[_Annotation, ...] = ()
    nodes: tuple[_Node, ...] | None = None
    outputs: dict[str, Device | None] = field(default_factory=dict)
    tensors: dict[str, _Tensor] = field(default_factory=dict)
    constants: frozenset[str] = frozenset()
    same: tuple[tuple[str, ...], ...] = ()


@cache
def _adapter() -> TypeAdapter[_File]:
    return TypeAdapter(_File)


def read_device_problem(path: Path, graph: DataflowGraph | None = None) -> DeviceProblem:
    """Return the problem of the file `path`; with `graph`, that of its nodes under the file's annotations."""
    return device_problem(read_json(path, _CODE, _HINT)[1], graph)


def device_problem(data: Any, graph: DataflowGraph | None = None) -> DeviceProblem:
    """Return the problem that `data` states, with the nodes of `graph` if that is given.

    Raises:
        CollageError: `data` is no problem; the message names the key and quotes the value (code ``bad_devices``).
    """
    try:
        read = _adapter().validate_python(data)
    except ValidationError as error:
        raise CollageError(f"the device problem is wrong: {first_mistake(error)}", _HINT, _CODE) from None
    if (read.nodes is None) == (graph is None):
        raise CollageError(
            "a device problem has nodes of its own or those of a model" + ("" if graph is None else ", not both"),
            "leave the key nodes out and name a model, or the other way round",
            _CODE,
        )
    targets = tuple(DeviceTarget(name, device) for name, device in read.targets.items())
    default = read.default or (targets[0].device if targets else read.host)
    settings = DeviceProblem((), read.outputs, targets=targets, default=default, host=read.host)
    problem = _of_graph(graph, settings) if graph is not None else replace(settings, **_own(read))
    ops = {node.name: node.op for node in graph.nodes} if graph is not None else {}
    return _annotated(problem, read.annotations, ops)


def _own(read: _File) -> dict[str, Any]:
    """Return the fields of the problem that the file's own nodes and tensors give."""
    nodes = tuple(
        DeviceNode(
            node.name,
            node.reads,
            node.makes,
            node.on_device,
            None if node.copy is None else (node.copy.source, node.copy.destination),
            node.host_reads,
            node.host_makes,
            node.memory_scopes,
            node.inside,
            node.light,
        )
        for node in read.nodes or ()
    )
    _check_nodes(nodes)
    named = {tensor for node in nodes for tensor in (*node.reads, *node.makes)}
    for key, names in (("tensors", read.tensors), ("outputs", read.outputs), ("constants", read.constants), ("same", sum(read.same, ()))):
        for name in names:
            if name not in named:
                raise CollageError(f"{key} names the tensor {name!r}, which no node reads or makes", _HINT, _CODE)
    return {
        "nodes": nodes,
        "annotations": {name: tensor.device for name, tensor in read.tensors.items() if tensor.device is not None},
        "bytes": {name: tensor.bytes for name, tensor in read.tensors.items() if tensor.bytes is not None},
        "constants": read.constants,
        "same": read.same,
    }


def _check_nodes(nodes: tuple[DeviceNode, ...]) -> None:
    """Raise CollageError where nodes are not in order, a name comes twice, or a key names a tensor that is none of the node's."""
    makers = {tensor: node.name for node in reversed(nodes) for tensor in node.makes}
    known: set[str] = set()
    made: set[str] = set()
    for node in nodes:
        where = f"node {node.name!r}"
        late = next((tensor for tensor in node.reads if tensor in makers and tensor not in made), None)
        strange = (node.host_reads - set(node.reads)) | ({*node.host_makes, *node.memory_scopes} - {*node.reads, *node.makes})
        twice = next((tensor for tensor in node.makes if tensor in made), None)
        if not node.name or node.name in known:
            raise CollageError(f"two nodes are called {node.name!r}" if node.name else "a node has no name", _HINT, _CODE)
        if late is not None:
            raise CollageError(f"{where} reads {late!r}, which {makers[late]!r} makes after it", "list the nodes in running order", _CODE)
        if twice is not None:
            raise CollageError(f"{where} makes {twice!r}, which {makers[twice]!r} makes too", _HINT, _CODE)
        if strange:
            raise CollageError(f"{where} says something of {min(strange)!r}, which it neither reads nor makes", _HINT, _CODE)
        if node.copy is not None and (len(node.reads), len(node.makes)) != (1, 1):
            raise CollageError(f"{where} is a copy and must read one tensor and make one", _HINT, _CODE)
        if node.inside is not None and node.inside not in {other.name for other in nodes}:
            raise CollageError(f"{where} is inside {node.inside!r}, which is no node", _HINT, _CODE)
        known.add(node.name)
        made.update(node.makes)


def _of_graph(graph: DataflowGraph, settings: DeviceProblem) -> DeviceProblem:
    """Return the problem of a model's nodes. Its inputs and outputs are on the host."""
    bytes_of = {name: kind.bytes for name, kind in graph.types.items()}
    return replace(
        settings,
        nodes=tuple(_node_of(node) for node in graph.nodes),
        outputs=dict.fromkeys(graph.outputs, settings.host),
        annotations={tensor.name: settings.host for tensor in graph.inputs},
        bytes={**bytes_of, **{name: constant.type.bytes for name, constant in graph.constants.items()}},
        constants=frozenset(graph.constants),
    )


def _node_of(node: Node) -> DeviceNode:
    slots = {"If": (0,), "Loop": (0, 1)}.get(node.op, SETTINGS.get(node.op, ()))
    makes = tuple(tensor.name for tensor in node.outputs if tensor.name)
    return DeviceNode(
        node.name,
        tuple(dict.fromkeys(name for name in node.inputs if name)),
        makes,
        host_reads=frozenset(node.inputs[at] for at in (*slots, *node.index_slots) if at < len(node.inputs) and node.inputs[at]),
        host_makes=frozenset(makes if node.op in OF_SHAPES else ()),
        is_light=node.op not in CONTROL_OPS and node.kind <= OpPatternKind.INJECTIVE,
    )


def _annotated(problem: DeviceProblem, annotations: tuple[_Annotation, ...], ops: Mapping[str, str]) -> DeviceProblem:
    """Return `problem` with the devices that `annotations` give to the nodes that they select; of several, the last one counts."""
    nodes = list(problem.nodes)
    for index, annotation in enumerate(annotations):
        selected = [at for at, node in enumerate(nodes) if node.copy is None and _selects(annotation, node.name, ops.get(node.name, ""))]
        if not selected:
            raise CollageError(f"annotations[{index}] selects no node", "check its node, name or op", _CODE)
        for at in selected:
            nodes[at] = replace(nodes[at], on_device=annotation.on_device)
    return replace(problem, nodes=tuple(nodes))


def _selects(annotation: _Annotation, name: str, op: str) -> bool:
    return (
        annotation.node in (None, name) and annotation.op in (None, op) and (annotation.name is None or fnmatchcase(name, annotation.name))
    )
