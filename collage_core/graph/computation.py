"""The identity of a computation: sub-graphs with equal keys do the same work, wherever they lie in the model.

The key covers structure, operators, attributes, shapes and dtypes. Of weights only the shape counts, except for the few values
that `Constant.value` keeps because they determine the computation. `Computations` numbers the computations of one graph, which
is cheap where structure repeats. `computation_key` is a digest that is equal in every process and on every machine; it is
computed only for what is stored.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Hashable
from functools import cached_property
from itertools import compress
from typing import Any, TypeVar

from .dataflow_graph import HOST, DataflowGraph, Node, TensorType
from .index_set import IndexSet
from .sub_graph import SubGraph


def computation_key(graph: DataflowGraph, inside: IndexSet) -> str:
    """Return a hex digest that is equal for equal computations, in every process and on every machine.

    Tensors are named by their origin (the k-th input from outside, the k-th constant, an output of the k-th inside node), so
    that the model's own names do not matter.
    """
    sub_graph = SubGraph(graph, inside)
    alias: dict[str, str] = {"": ""}
    boundary: list[Any] = []
    for name in sub_graph.input_tensors():
        alias[name] = f"in{len(boundary)}"
        boundary.append(_type_key(graph.types[name]))
    constants: list[Any] = []
    body: list[Any] = []
    for position, index in enumerate(inside):
        node = graph.nodes[index]
        for name in node.inputs:
            if name not in alias:
                alias[name] = f"const{len(constants)}"
                constants.append(graph.constants[name].to_json())
        for slot, tensor in enumerate(node.outputs):
            alias[tensor.name] = f"n{position}.{slot}"
        body.append([node.op, dict(node.attributes), [alias[name] for name in node.inputs], [_type_key(t.type) for t in node.outputs]])
    leaving = [alias[name] for name in sub_graph.output_tensors()]
    text = json.dumps([boundary, constants, body, leaving], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _type_key(kind: TensorType) -> dict[str, Any]:
    """Return the part of a type that tells computations apart. Costs are kept under it, so its form never changes."""
    known = {"shape": list(kind.shape), "dtype": kind.dtype}
    return {**known, "open_axes": list(kind.open_axes)} if kind.open_axes else known


T = TypeVar("T")

_FEW_READERS = 8
_ABSENT = -1
"""An absent input in a canonical form; there tensors from outside count down from -2, those from inside up from 0."""


class Computations:
    """Numbers the sub-graphs of `graph`: two have the same number exactly when they are the same computation.

    A sub-graph that was met before, on another target, has its number. Sub-graphs whose nodes have equal contexts (`_contexts`) are
    equal, which needs no look at their tensors. A sub-graph whose node signatures (`_signatures`), in order, were never met is new.
    Any other is brought into a canonical form that does not depend on where it lies, and compared by that.
    """

    def __init__(self, graph: DataflowGraph):
        self._graph = graph
        self._by_position: dict[tuple[int, int], int] = {}
        self._by_contexts: dict[Hashable, int] = {}
        self._by_signatures: dict[tuple[int, ...], int | dict[tuple[int, ...], int]] = {}
        self._examples: list[IndexSet] = []
        self._digests: dict[int, str] = {}
        self._interned: dict[Hashable, int] = {}

    def __len__(self) -> int:
        """Return how many computations were met so far."""
        return len(self._examples)

    def of(self, inside: IndexSet) -> int:
        """Return the number of the computation of `inside`; numbers ascend in the order of the first requests."""
        position = inside.base, inside.rel
        number = self._by_position.get(position)
        if number is None:
            contexts = (inside.rel, values_at(inside, self._contexts))
            number = self._by_contexts.get(contexts)
            if number is None:
                number = self._by_contexts[contexts] = self._number(inside)
            self._by_position[position] = number
        return number

    def key(self, inside: IndexSet) -> str:
        """Return the `computation_key` of `inside`, which is computed once for each computation."""
        number = self.of(inside)
        digest = self._digests.get(number)
        if digest is None:
            digest = self._digests[number] = computation_key(self._graph, self._examples[number])
        return digest

    def _number(self, inside: IndexSet) -> int:
        signatures = values_at(inside, self._signatures)
        known = self._by_signatures.get(signatures)
        if known is None:
            self._by_signatures[signatures] = self._new(inside)
            return len(self._examples) - 1
        if isinstance(known, int):
            known = self._by_signatures[signatures] = {self._canonical_form(self._examples[known]): known}
        form = self._canonical_form(inside)
        if form not in known:
            known[form] = self._new(inside)
        return known[form]

    def _new(self, inside: IndexSet) -> int:
        self._examples.append(inside)
        return len(self._examples) - 1

    def _canonical_form(self, inside: IndexSet) -> tuple[int, ...]:
        """Return the edges of `inside`, with its tensors numbered in the order in which its nodes name them.

        Together with the signatures of the nodes this is all that `computation_key` covers.
        """
        graph = self._graph
        alias: dict[str, int] = {"": _ABSENT}
        form: list[int] = []
        outside, produced = -1, 0
        for index in inside:
            node = graph.nodes[index]
            for name in node.inputs:
                known = alias.get(name)
                if known is None:
                    outside -= 1
                    known = alias[name] = outside
                form.append(known)
            for tensor in node.outputs:
                alias[tensor.name] = produced
                produced += 1
        form += [alias[name] for name in SubGraph(graph, inside).output_tensors()]
        return tuple(form)

    def _intern(self, value: Hashable) -> int:
        """Return the number of `value`; equal values have equal numbers."""
        return self._interned.setdefault(value, len(self._interned))

    def _intern_tensor(self, name: str) -> int:
        """Return the number of the tensor's type, or of the constant with its value."""
        known = self._graph.types.get(name)
        return self._intern(known if known is not None else self._graph.constants[name])

    @cached_property
    def _signatures(self) -> tuple[int, ...]:
        """For each node the number of its operator, attributes, and types of inputs and outputs."""
        return tuple(self._intern(self._signature(node)) for node in self._graph.nodes)

    def _signature(self, node: Node) -> Hashable:
        attributes = json.dumps(dict(node.attributes), sort_keys=True) if node.attributes else ""
        inputs = tuple(self._intern_tensor(name) if name else _ABSENT for name in node.inputs)
        return node.op, attributes, inputs, tuple(tensor.type for tensor in node.outputs)

    @cached_property
    def _contexts(self) -> tuple[int, ...]:
        """For each node the number of its signature and of its distances to the nodes that it reads and that read it."""
        origins = {tensor.name: (node.index, slot) for node in self._graph.nodes for slot, tensor in enumerate(node.outputs)}
        shared: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for node in self._graph.nodes:
            for position, name in enumerate(node.inputs):
                if name and name not in origins:
                    shared[name].append((node.index, position))
        return tuple(self._intern(self._context(node, origins, shared)) for node in self._graph.nodes)

    def _context(self, node: Node, origins: dict[str, tuple[int, int]], shared: dict[str, list[tuple[int, int]]]) -> Hashable:
        context: list[Hashable] = [self._signatures[node.index]]
        for name in node.inputs:
            if name in origins:
                producer, slot = origins[name]
                context.append((node.index - producer, slot))
            elif name:
                reads = shared[name]
                readers = tuple((reader - node.index, at) for reader, at in reads) if len(reads) <= _FEW_READERS else name
                context.append((self._graph.producer.get(name) == HOST, readers))
        for tensor in node.outputs:
            distances = tuple(reader - node.index for reader in self._graph.readers[tensor.name])
            context.append((distances, tensor.name in self._model_outputs))
        return tuple(context)

    @cached_property
    def _model_outputs(self) -> frozenset[str]:
        return frozenset(self._graph.outputs)


_DENSE = 4
_TO_FLAGS = bytes.maketrans(b"01", b"\0\1")


def values_at(inside: IndexSet, values: tuple[T, ...]) -> tuple[T, ...]:
    """Return the values of the nodes `inside`, in order; `values` has one for each node of the graph.

    If the nodes are close together this is much faster than one look-up a node.
    """
    base, rel = inside.base, inside.rel
    span = rel.bit_length()
    if not rel & (rel + 1):
        return values[base : base + span]
    if span > _DENSE * rel.bit_count():
        return tuple([values[index] for index in inside])
    return tuple(compress(values[base : base + span], f"{rel:b}"[::-1].encode().translate(_TO_FLAGS)))
