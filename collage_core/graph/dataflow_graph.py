"""`DataflowGraph`: the model's nodes and tensors as plain data, numbered so that a later node cannot influence an earlier one.

Seeds: RFC 62 (0.81), "Util Datatypes"; design, "Node". What enters is what a `Model` read from its file; what leaves is
JSON. Nothing here knows ONNX, TVM or the server.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any, TypeVar, cast

import numpy as np

from .index_set import bits_of
from .op_pattern_kind import OpPatternKind

T = TypeVar("T")

HOST = -1
"""Stands for the host where a producer or a consumer is asked for (design, "Cost of a plan")."""


@dataclass(frozen=True, slots=True)
class TensorType:
    """A shape (all dimensions known) and a numpy dtype name (``float32``, ``int64``, ``bool``, ``bfloat16`` …)."""

    shape: tuple[int, ...]
    dtype: str

    @property
    def bytes(self) -> int:
        """Size of the tensor's data; strings count 8 bytes an element."""
        return prod(self.shape) * item_bytes(self.dtype)

    def to_json(self) -> dict[str, Any]:
        return {"shape": list(self.shape), "dtype": self.dtype}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TensorType:
        return cls(tuple(data["shape"]), data["dtype"])


_ODD_ITEM_BYTES = {"bfloat16": 2, "string": 8}
_SMALL = ("float8", "float6", "float4", "int4", "uint4", "int2", "uint2")


def item_bytes(dtype: str) -> int:
    """Bytes of one element of `dtype`; what ONNX packs into less than a byte counts one."""
    if dtype.startswith(_SMALL):
        return 1
    return _ODD_ITEM_BYTES.get(dtype) or np.dtype(dtype).itemsize


@dataclass(frozen=True, slots=True)
class Tensor:
    """A named tensor that a node or the host makes."""

    name: str
    type: TensorType

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, **self.type.to_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Tensor:
        return cls(data["name"], TensorType.from_json(data))


@dataclass(frozen=True, slots=True)
class Constant:
    """A weight or other constant: its type, and its values (flat) where they are few and shape the computation.

    `value` is kept for integers of up to 64 elements (axes, shapes, pads, slices) and for scalars, else None.
    """

    type: TensorType
    value: tuple[int | float | bool, ...] | None = None

    def to_json(self) -> dict[str, Any]:
        return {**self.type.to_json(), "value": None if self.value is None else list(self.value)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Constant:
        value = data.get("value")
        return cls(TensorType.from_json(data), None if value is None else tuple(value))


@dataclass(frozen=True, slots=True)
class Node:
    """One operator call of the model.

    Attributes:
        index: Its place in the order (`PostDfsIndex`).
        name: The model's name for it, unique; made up as the design says where the model has none.
        op: Operator, such as ``Conv``; with its domain in front where that is not ONNX's own (``com.microsoft.FusedConv``).
        kind: How it may be fused.
        inputs: Names of the tensors it reads (activations, constants and model inputs; ``""`` where absent), those that
            its inner graphs capture included, after its own.
        outputs: The tensors it makes; unused optional outputs are left out.
        attributes: JSON values; an inner graph is ``{"graph": digest, "nodes": count}``, a tensor ``{"tensor": digest}``.
        absorbed: Names of the user's other nodes that folding fused into this one.
        is_host: It only reshuffles references and is left to the host.
    """

    index: int
    name: str
    op: str
    kind: OpPatternKind
    inputs: tuple[str, ...]
    outputs: tuple[Tensor, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    absorbed: tuple[str, ...] = ()
    is_host: bool = False

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.index,
            "name": self.name,
            "op": self.op,
            "kind": self.kind.letter,
            "inputs": list(self.inputs),
            "outputs": [tensor.to_json() for tensor in self.outputs],
            "attributes": dict(self.attributes),
            "absorbed": list(self.absorbed),
            "host": self.is_host,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Node:
        return cls(
            index=data["id"],
            name=data["name"],
            op=data["op"],
            kind=OpPatternKind.from_letter(data["kind"]),
            inputs=tuple(data["inputs"]),
            outputs=tuple(Tensor.from_json(tensor) for tensor in data["outputs"]),
            attributes=dict(data.get("attributes", {})),
            absorbed=tuple(data.get("absorbed", ())),
            is_host=bool(data.get("host", False)),
        )


@dataclass(frozen=True)
class DataflowGraph:
    """Nodes in order, the host's tensors, and the constants; edges follow from the tensors' names.

    Attributes:
        nodes: ``nodes[i].index == i``.
        inputs: What the host makes: the model's inputs.
        outputs: Names of the tensors that the host reads: the model's outputs. May name an input or a constant.
        constants: Initializers by name.
    """

    nodes: tuple[Node, ...]
    inputs: tuple[Tensor, ...]
    outputs: tuple[str, ...]
    constants: Mapping[str, Constant] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.nodes)

    @cached_property
    def types(self) -> Mapping[str, TensorType]:
        """The type of every tensor that the host or a node makes (constants are not among them)."""
        made = {tensor.name: tensor.type for tensor in self.inputs}
        made.update({tensor.name: tensor.type for node in self.nodes for tensor in node.outputs})
        return made

    @cached_property
    def producer(self) -> Mapping[str, int]:
        """Tensor name → the node that makes it, or `HOST` for a model input."""
        made = {tensor.name: HOST for tensor in self.inputs}
        made.update({tensor.name: node.index for node in self.nodes for tensor in node.outputs})
        return made

    @cached_property
    def readers(self) -> Mapping[str, tuple[int, ...]]:
        """Tensor name → the nodes that read it, ascending; the host's reading is in `outputs`."""
        readers: dict[str, list[int]] = {name: [] for name in self.producer}
        for node in self.nodes:
            for name in dict.fromkeys(node.inputs):
                if name in readers:
                    readers[name].append(node.index)
        return {name: tuple(indices) for name, indices in readers.items()}

    @cached_property
    def sources(self) -> tuple[tuple[int, ...], ...]:
        """For each node the nodes whose tensors it reads, ascending."""
        producer = self.producer
        made = []
        for node in self.nodes:
            found = {producer.get(name, HOST) for name in node.inputs}
            found.discard(HOST)
            made.append(tuple(sorted(found)))
        return tuple(made)

    @cached_property
    def consumers(self) -> tuple[tuple[int, ...], ...]:
        """For each node the nodes that read its tensors, ascending."""
        made: list[list[int]] = [[] for _ in self.nodes]
        for index, sources in enumerate(self.sources):
            for source in sources:
                made[source].append(index)
        return tuple(map(tuple, made))

    @cached_property
    def ends(self) -> tuple[bool, ...]:
        """For each node whether what it makes leaves every sub-graph: a model output, or a tensor that nobody reads."""
        made = [not consumers for consumers in self.consumers]
        for name in self.outputs:
            index = self.producer.get(name, HOST)
            if index != HOST:
                made[index] = True
        return tuple(made)

    def derive(self, make: Callable[[DataflowGraph], T]) -> T:
        """``make(self)``, made at the first call and kept with the graph."""
        if make not in self._derived:
            self._derived[make] = make(self)
        return cast(T, self._derived[make])

    @cached_property
    def _derived(self) -> dict[Callable[[DataflowGraph], Any], Any]:
        return {}

    @cached_property
    def predecessors(self) -> tuple[int, ...]:
        """For each node the bits of the nodes whose tensors it reads."""
        return tuple(bits_of(sources) for sources in self.sources)

    @cached_property
    def downstream(self) -> tuple[int, ...]:
        """For each node the bits of every node that it can influence, itself not included."""
        made = [0] * len(self.nodes)
        for index in range(len(self.nodes) - 1, -1, -1):
            bits = 0
            for reader in self.consumers[index]:
                bits |= made[reader] | 1 << reader
            made[index] = bits
        return tuple(made)

    @cached_property
    def index_by_name(self) -> Mapping[str, int]:
        """Node name → index."""
        return {node.name: node.index for node in self.nodes}

    def to_json(self) -> dict[str, Any]:
        return {
            "nodes": [node.to_json() for node in self.nodes],
            "inputs": [tensor.to_json() for tensor in self.inputs],
            "outputs": list(self.outputs),
            "constants": {name: constant.to_json() for name, constant in self.constants.items()},
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> DataflowGraph:
        return cls(
            nodes=tuple(Node.from_json(node) for node in data["nodes"]),
            inputs=tuple(Tensor.from_json(tensor) for tensor in data["inputs"]),
            outputs=tuple(data["outputs"]),
            constants={name: Constant.from_json(constant) for name, constant in data["constants"].items()},
        )
