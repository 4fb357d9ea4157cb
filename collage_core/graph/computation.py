"""The identity of a computation: sub-graphs of equal key are the same work, wherever in the model they stand.

Design, "Candidates that are the same computation". The key covers structure, operators, attributes, shapes and dtypes;
weights count by shape, except for the few values that `Constant.value` keeps because they shape the computation.
`Computations` numbers the computations of one graph, which costs little where structure repeats; the digest, which holds
for every process and machine, is made only of what somebody stores.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Hashable
from functools import cached_property
from itertools import compress
from typing import Any, TypeVar

from .dataflow_graph import HOST, DataflowGraph, Node
from .index_set import IndexSet
from .sub_graph import SubGraph


def computation_key(graph: DataflowGraph, inside: IndexSet) -> str:
    """A hex digest that is equal for equal computations, in every process and on every machine.

    Tensors are named by where they come from (the k-th input from outside, the k-th constant, an output of the k-th
    inside node), so that the model's own names do not matter.
    """
    sub_graph = SubGraph(graph, inside)
    alias: dict[str, str] = {"": ""}
    boundary: list[Any] = []
    for name in sub_graph.input_tensors():
        alias[name] = f"in{len(boundary)}"
        boundary.append(graph.types[name].to_json())
    constants: list[Any] = []
    body: list[Any] = []
    for place, index in enumerate(inside):
        node = graph.nodes[index]
        for name in node.inputs:
            if name not in alias:
                alias[name] = f"const{len(constants)}"
                constants.append(graph.constants[name].to_json())
        for slot, tensor in enumerate(node.outputs):
            alias[tensor.name] = f"n{place}.{slot}"
        body.append([node.op, dict(node.attributes), [alias[name] for name in node.inputs], [t.type.to_json() for t in node.outputs]])
    leaving = [alias[name] for name in sub_graph.output_tensors()]
    text = json.dumps([boundary, constants, body, leaving], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


T = TypeVar("T")

_FEW_READERS = 8
_ABSENT = -1
"""Stands in a form for an input that is left out; tensors from outside count down from -2, those made inside up from 0."""


class Computations:
    """Numbers the sub-graphs of `graph`: equal numbers are equal computations, and no others.

    Two sub-graphs that look alike in all that their nodes see (`_views`) are equal, which is found without looking at their
    tensors. What looks new is new if its nodes are of other crafts (`_crafts`), in their order, than all before it. Only
    what is still in doubt is brought into a form that does not depend on where it stands, and compared by that.
    """

    def __init__(self, graph: DataflowGraph):
        self._graph = graph
        self._by_view: dict[Hashable, int] = {}
        self._by_crafts: dict[tuple[int, ...], int | dict[tuple[int, ...], int]] = {}
        self._examples: list[IndexSet] = []
        self._digests: dict[int, str] = {}
        self._words: dict[Hashable, int] = {}

    def __len__(self) -> int:
        """How many computations were met so far."""
        return len(self._examples)

    def of(self, inside: IndexSet) -> int:
        """The number of the computation that `inside` is, in the order in which they were first asked for."""
        view = (inside.rel, values_at(inside, self._views))
        number = self._by_view.get(view)
        if number is None:
            number = self._by_view[view] = self._number(inside)
        return number

    def key(self, inside: IndexSet) -> str:
        """`computation_key` of `inside`, made once for each computation."""
        number = self.of(inside)
        digest = self._digests.get(number)
        if digest is None:
            digest = self._digests[number] = computation_key(self._graph, self._examples[number])
        return digest

    def _number(self, inside: IndexSet) -> int:
        crafts = values_at(inside, self._crafts)
        alike = self._by_crafts.get(crafts)
        if alike is None:
            self._by_crafts[crafts] = self._new(inside)
            return len(self._examples) - 1
        if isinstance(alike, int):
            alike = self._by_crafts[crafts] = {self._form(self._examples[alike]): alike}
        form = self._form(inside)
        if form not in alike:
            alike[form] = self._new(inside)
        return alike[form]

    def _new(self, inside: IndexSet) -> int:
        self._examples.append(inside)
        return len(self._examples) - 1

    def _form(self, inside: IndexSet) -> tuple[int, ...]:
        """What `computation_key` digests besides the crafts: tensors are counted in the order in which they come up."""
        graph = self._graph
        alias: dict[str, int] = {"": _ABSENT}
        form: list[int] = []
        outside, made = -1, 0
        for index in inside:
            node = graph.nodes[index]
            for name in node.inputs:
                known = alias.get(name)
                if known is None:
                    outside -= 1
                    known = alias[name] = outside
                form.append(known)
            for tensor in node.outputs:
                alias[tensor.name] = made
                made += 1
        form += [alias[name] for name in SubGraph(graph, inside).output_tensors()]
        return tuple(form)

    def _word(self, meaning: Hashable) -> int:
        """A number for `meaning`, the same whenever it comes up."""
        return self._words.setdefault(meaning, len(self._words))

    def _word_of_tensor(self, name: str) -> int:
        """What can be said of the tensor `name` wherever it comes from: its type, and a constant's value."""
        known = self._graph.types.get(name)
        return self._word(known if known is not None else self._graph.constants[name])

    @cached_property
    def _crafts(self) -> tuple[int, ...]:
        """For each node a number for its operator, its attributes, and the types of what it reads and makes."""
        return tuple(self._word(self._craft(node)) for node in self._graph.nodes)

    def _craft(self, node: Node) -> Hashable:
        attributes = json.dumps(dict(node.attributes), sort_keys=True) if node.attributes else ""
        read = tuple(self._word_of_tensor(name) if name else _ABSENT for name in node.inputs)
        return node.op, attributes, read, tuple(tensor.type for tensor in node.outputs)

    @cached_property
    def _views(self) -> tuple[int, ...]:
        """For each node a number for all that it sees: its craft, and from how far away it reads and is read."""
        places = {tensor.name: (node.index, slot) for node in self._graph.nodes for slot, tensor in enumerate(node.outputs)}
        shared: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for node in self._graph.nodes:
            for position, name in enumerate(node.inputs):
                if name and name not in places:
                    shared[name].append((node.index, position))
        return tuple(self._word(self._view(node, places, shared)) for node in self._graph.nodes)

    def _view(self, node: Node, places: dict[str, tuple[int, int]], shared: dict[str, list[tuple[int, int]]]) -> Hashable:
        here = node.index
        seen: list[Hashable] = [self._crafts[here]]
        for name in node.inputs:
            if name in places:
                maker, slot = places[name]
                seen.append((here - maker, slot))
            elif name:
                reads = shared[name]
                who = tuple((reader - here, at) for reader, at in reads) if len(reads) <= _FEW_READERS else name
                seen.append((self._graph.producer.get(name) == HOST, who))
        for tensor in node.outputs:
            distances = tuple(reader - here for reader in self._graph.readers[tensor.name])
            seen.append((distances, tensor.name in self._model_outputs))
        return tuple(seen)

    @cached_property
    def _model_outputs(self) -> frozenset[str]:
        return frozenset(self._graph.outputs)


_DENSE = 4
_TO_FLAGS = bytes.maketrans(b"01", b"\0\1")


def values_at(inside: IndexSet, values: tuple[T, ...]) -> tuple[T, ...]:
    """Of one value for each node of a graph those of the nodes `inside`, in order; where these stand close, much faster than one by one."""
    base, rel = inside.base, inside.rel
    span = rel.bit_length()
    if not rel & (rel + 1):
        return values[base : base + span]
    if span > _DENSE * rel.bit_count():
        return tuple([values[index] for index in inside])
    return tuple(compress(values[base : base + span], f"{rel:b}"[::-1].encode().translate(_TO_FLAGS)))
