"""`DataflowGraph`: the model's nodes and tensors as plain data, numbered so that a later node cannot influence an earlier one.

RFC 62 (Collage), "Util Datatypes". `OnnxModel` builds it from a file; it is written to and read from JSON. Nothing here knows
ONNX, TVM or the server.

The kinds of operators (`OpPatternKind`) are TVM's (RFC 62 (Collage), `OpCallByKindPartitionRule`); documents show letters.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from math import prod
from typing import Any, TypeVar, cast

import numpy as np

from .index_set import bits_of


class OpPatternKind(IntEnum):
    """Kinds in TVM's order; a sub-graph has the greatest kind of its nodes."""

    ELEMWISE = 0
    BROADCAST = 1
    INJECTIVE = 2
    COMM_REDUCE = 3
    OUT_EWISE_FUSABLE = 4
    OPAQUE = 8

    @property
    def letter(self) -> str:
        """The letter of the kind: E, B, I, R, A or O."""
        return _LETTERS[self]

    @classmethod
    def from_letter(cls, letter: str) -> OpPatternKind:
        """Return the kind of `letter`. Raises KeyError when no kind has it."""
        return _KINDS[letter]


_LETTERS = {
    OpPatternKind.ELEMWISE: "E",
    OpPatternKind.BROADCAST: "B",
    OpPatternKind.INJECTIVE: "I",
    OpPatternKind.COMM_REDUCE: "R",
    OpPatternKind.OUT_EWISE_FUSABLE: "A",
    OpPatternKind.OPAQUE: "O",
}
_KINDS = {letter: kind for kind, letter in _LETTERS.items()}


T = TypeVar("T")

HOST = -1
"""The host in place of a node index: it produces the model's inputs and reads its outputs."""


@dataclass(frozen=True, slots=True)
class TensorType:
    """A shape, and a numpy dtype name (``float32``, ``int64``, ``bool``, ``bfloat16`` …).

    A value that is no tensor has ONNX's own name of its type as its dtype, such as ``seq(tensor(float))``.

    Attributes:
        shape: The size of every dimension; of an open one that of the reference run. Of a sequence or an optional, the shape of an element
            where the model declares one, else none.
        open_axes: The dimensions whose size depends on data and may be another at each call, such as the boxes of a detector.
        largest_shape: The largest size of every dimension, None where that is not known; empty where none of `open_axes` has a bound.
    """

    shape: tuple[int, ...]
    dtype: str
    open_axes: tuple[int, ...] = ()
    largest_shape: tuple[int | None, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        return self.dtype if self.is_container else f"{self.dtype}[{', '.join(map(str, self.declared_shape))}]"

    @property
    def is_container(self) -> bool:
        """Return whether it is no tensor, but a sequence, an optional or a map."""
        return "(" in self.dtype

    @property
    def is_opaque(self) -> bool:
        """Return whether its value is no plain memory: strings, elements of less than a byte, and all that is no tensor.

        Such a value is passed as an object of Python, and only a toolchain that says so takes it.
        """
        return self.is_container or self.dtype == "string" or self.dtype in _PACKED

    @property
    def has_buffer(self) -> bool:
        """Return whether memory for it can be allocated before a run: its shape is fixed and its value is plain memory."""
        return not self.open_axes and not self.is_opaque

    @property
    def bytes(self) -> int:
        """Size of the tensor's data; a string counts 8 bytes, and so does an element of a sequence or an optional."""
        return prod(self.shape) * item_bytes(self.dtype)

    @property
    def declared_shape(self) -> tuple[int | str, ...]:
        """The shape with ``?`` for every data-dependent dimension."""
        return tuple("?" if axis in self.open_axes else size for axis, size in enumerate(self.shape))

    def with_open(self, axes: Iterable[int]) -> TensorType:
        """Return the type with these dimensions open; bounds that were found at one shape do not hold at every one."""
        return TensorType(self.shape, self.dtype, tuple(axes))

    def to_json(self) -> dict[str, Any]:
        """Return the type; in ``shape`` a data-dependent dimension is null, and has its size of the reference run in ``measured_shape``."""
        if not self.open_axes:
            return {"shape": list(self.shape), "dtype": self.dtype}
        sizes = [None if axis in self.open_axes else size for axis, size in enumerate(self.shape)]
        seen = {"shape": sizes, "dtype": self.dtype, "measured_shape": list(self.shape)}
        return {**seen, "largest_shape": list(self.largest_shape)} if self.largest_shape else seen

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TensorType:
        """Read what `to_json` made.

        Raises:
            KeyError, TypeError, ValueError: no tensor can have such a type; what is read may be anybody's.
        """
        shape = data["shape"]
        opened = tuple(axis for axis, size in enumerate(shape) if size is None)
        measured = tuple(map(operator.index, data.get("measured_shape") or shape))
        largest = tuple(None if size is None else operator.index(size) for size in data.get("largest_shape") or ())
        dtype = data["dtype"]
        if not isinstance(dtype, str):
            raise TypeError(f"the dtype {dtype!r:.80}")
        if not is_addressable(measured, item_bytes(dtype)):
            raise ValueError(f"the shape {list(measured)!s:.80}")
        if len(shape) != len(measured) or len(largest) not in (0, len(measured)):
            raise ValueError(f"the data-dependent dimensions of the shape {list(measured)!s:.80}")
        return cls(measured, dtype, opened, largest)


MOST_DIMENSIONS = 64
"""Most dimensions that numpy's arrays can have."""


def is_addressable(shape: Sequence[int], item_size: int) -> bool:
    """Return whether an array can have this shape.

    As numpy does, it also bounds the strides of an array without elements, by counting empty dimensions as 1.
    """
    is_small = len(shape) <= MOST_DIMENSIONS and all(0 <= size < 1 << 63 for size in shape)
    return is_small and prod(size or 1 for size in shape) * item_size < 1 << 63


_ODD_ITEM_BYTES = {"bfloat16": 2, "string": 8, "undefined": 8}
_PACKED = frozenset({"float6e2m3", "float6e3m2", "float4e2m1", "int4", "uint4", "int2", "uint2"})
"""Dtypes whose elements ONNX packs into parts of a byte; by their whole names, since ``float64`` begins like ``float6e2m3``."""


def item_bytes(dtype: str) -> int:
    """Return the bytes of one element of `dtype`; a type that ONNX packs into less than a byte counts one."""
    if dtype in _PACKED or dtype.startswith("float8"):
        return 1
    if "(" in dtype:
        return 8
    return _ODD_ITEM_BYTES.get(dtype) or np.dtype(dtype).itemsize


@dataclass(frozen=True, slots=True)
class Tensor:
    """A named tensor that a node or the host produces."""

    name: str
    type: TensorType

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, **self.type.to_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Tensor:
        if not isinstance(data["name"], str):
            raise TypeError(f"the name {data['name']!r:.80} of a tensor")
        return cls(data["name"], TensorType.from_json(data))


@dataclass(frozen=True, slots=True)
class Constant:
    """A weight or other constant: its type, and its values where they are few and determine the computation.

    Attributes:
        value: The flat values; kept for integers of up to 64 elements (axes, shapes, pads, slices) and for scalars, else None.
        range: The least and the largest of a million values at most, where none is NaN. It says which toolchains compute with them right,
            and not what they cost: it is not compared, and JSON does not hold it.
    """

    type: TensorType
    value: tuple[int | float | bool, ...] | None = None
    range: tuple[float, float] | None = field(default=None, compare=False)

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
        index: Its index in the order of the graph (`PostDfsIndex` in the RFC).
        name: The model's name for it; unique. `OnnxModel` makes one up where the model has none.
        op: Operator, such as ``Conv``; prefixed by its domain unless that is ONNX's own (``com.microsoft.FusedConv``).
        kind: How it may be fused.
        inputs: Names of the tensors it reads (activations, constants, model inputs; ``""`` where absent), followed by those
            that its inner graphs capture.
        outputs: The tensors it produces; unused optional outputs are left out.
        attributes: JSON values; an inner graph is ``{"graph": digest, "nodes": count}``, a tensor ``{"tensor": digest}``.
        absorbed: Names of the nodes of the user's model that folding fused into this one.
        is_host: It only rearranges references and is left to the host.
        inner: Name and operator of each node in its inner graphs, those of inner graphs of these included.
        index_slots: Positions of inputs that its inner graphs read as indices or as a shape. JSON does not hold it.
        captured: How many of its last inputs only its inner graphs read.
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
    inner: tuple[tuple[str, str], ...] = ()
    index_slots: tuple[int, ...] = field(default=(), compare=False)
    captured: int = field(default=0, compare=False)

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
            **({"inner": [list(pair) for pair in self.inner]} if self.inner else {}),
            **({"captured": self.captured} if self.captured else {}),
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
            inner=tuple((name, op) for name, op in data.get("inner", ())),
            captured=data.get("captured", 0),
        )


@dataclass(frozen=True)
class DataflowGraph:
    """Nodes in order, the model's inputs and outputs, and the constants; edges follow from the tensors' names.

    Attributes:
        nodes: ``nodes[i].index == i``.
        inputs: The model's inputs, which the host produces.
        outputs: Names of the model's outputs, which the host reads; an input or a constant may be among them.
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
        """Tensor name → type, for every tensor that the host or a node produces; constants are not among them."""
        types = {tensor.name: tensor.type for tensor in self.inputs}
        types.update({tensor.name: tensor.type for node in self.nodes for tensor in node.outputs})
        return types

    @cached_property
    def has_open_shapes(self) -> bool:
        """Return whether the shape of some tensor depends on data (`TensorType.open_axes`)."""
        return any(kind.open_axes for kind in self.types.values())

    @cached_property
    def has_unbuffered(self) -> bool:
        """Return whether memory for some value can be allocated only when it is made (`TensorType.has_buffer`)."""
        return self.has_open_shapes or any(kind.is_opaque for kind in self.types.values())

    @cached_property
    def producer(self) -> Mapping[str, int]:
        """Tensor name → index of its node, or `HOST` for a model input."""
        makers = {tensor.name: HOST for tensor in self.inputs}
        makers.update({tensor.name: node.index for node in self.nodes for tensor in node.outputs})
        return makers

    @cached_property
    def readers(self) -> Mapping[str, tuple[int, ...]]:
        """Tensor name → the nodes that read it, ascending; `outputs` says what the host reads."""
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
        readers: list[list[int]] = [[] for _ in self.nodes]
        for index, sources in enumerate(self.sources):
            for source in sources:
                readers[source].append(index)
        return tuple(map(tuple, readers))

    @cached_property
    def ends(self) -> tuple[bool, ...]:
        """For each node whether its tensors leave any sub-graph: one is a model output, or no node reads them."""
        is_end = [not consumers for consumers in self.consumers]
        for name in self.outputs:
            index = self.producer.get(name, HOST)
            if index != HOST:
                is_end[index] = True
        return tuple(is_end)

    def derive(self, make: Callable[[DataflowGraph], T]) -> T:
        """Return ``make(self)``, which is computed at the first call and kept with the graph."""
        if make not in self._derived:
            self._derived[make] = make(self)
        return cast(T, self._derived[make])

    @cached_property
    def _derived(self) -> dict[Callable[[DataflowGraph], Any], Any]:
        return {}

    @cached_property
    def predecessors(self) -> tuple[int, ...]:
        """For each node the nodes whose tensors it reads, as bits."""
        return tuple(bits_of(sources) for sources in self.sources)

    @cached_property
    def downstream(self) -> tuple[int, ...]:
        """For each node all nodes that it can influence, as bits; itself not included."""
        reached = [0] * len(self.nodes)
        for index in range(len(self.nodes) - 1, -1, -1):
            bits = 0
            for reader in self.consumers[index]:
                bits |= reached[reader] | 1 << reader
            reached[index] = bits
        return tuple(reached)

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
