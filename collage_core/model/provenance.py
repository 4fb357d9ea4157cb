"""Who became of whom when a model was folded: names for the folded nodes, and what became of the user's others.

Enters: the user's model, every node named, and its folded form. Leaves: the folded form with its nodes named and in the
user's order, the names that each absorbed, and a list of the user's nodes that are gone (design, "Node").

It is worked out from tensors. A folded node makes a tensor that the user's model has too: the user's maker of it is the last
node of the fusion and gives its name. What lies between that tensor and what the folded node reads was fused into it, where
it has no other explanation: being a constant, an identity, or the twin of a node that stayed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import onnx.defs
from onnx import AttributeProto, ModelProto, NodeProto

from .base import FoldedNode
from .naming import ONNX_DOMAINS, name_nodes, op_name
from .normalising import topological
from .scopes import has_inner_graph, read_by

_DROPPED = frozenset({"Identity", "Dropout", "Slice", "Expand"})
"""Operators that vanish when they do nothing; they are never fused into another."""


@dataclass(frozen=True)
class Provenance:
    """What `trace` found.

    Attributes:
        absorbed: Folded node name → names of the user's other nodes in it, in the user's order.
        gone: The user's nodes that are no nodes of the folded model.
    """

    absorbed: Mapping[str, tuple[str, ...]]
    gone: tuple[FoldedNode, ...]


def trace(user: ModelProto, folded: ModelProto) -> Provenance:
    """Name and order the nodes of `folded`, in place, and say what became of each node of `user`."""
    return _Trace(user, folded).result()


class _Trace:
    def __init__(self, user: ModelProto, folded: ModelProto):
        self.user = list(user.graph.node)
        self.graph = folded.graph
        self.inputs = {value.name for value in user.graph.input}
        self.versions = {entry.domain: entry.version for entry in user.opset_import}
        self.maker = {name: place for place, node in enumerate(self.user) for name in node.output if name}
        self.place = {node.name: place for place, node in enumerate(self.user)}
        made = {name for node in self.graph.node for name in node.output}
        self.available = made | self.inputs | {tensor.name for tensor in self.graph.initializer}

    def result(self) -> Provenance:
        origin = [self._origin(node) for node in self.graph.node]
        present = {place for place in origin if place is not None}
        twins = self._twins(present)
        explained = present | twins.keys()
        members = [self._between(place, explained) if place is not None else [] for place in origin]
        for node, place in zip(self.graph.node, origin, strict=True):
            if place is not None:
                node.name = self.user[place].name
        self._sort(origin, members)
        return Provenance(*self._named(members, present, twins))

    def _origin(self, node: NodeProto) -> int | None:
        """The user's node that a folded node is or ends in; None for one that ONNX Runtime added."""
        ends = [self.maker[name] for name in node.output if name in self.maker]
        if not ends:
            same = self.place.get(node.name)
            return same if same is not None and self._is_same(self.user[same], node) else None
        last = ends[0]
        # What comes after a node that is as it was, up to the tensor that it now makes, was dropped and not fused.
        named = self.place.get(node.name)
        if named is not None and named in self._between(last, set()) and self._is_same(self.user[named], node):
            return named
        while self.user[last].op_type in _DROPPED and self.user[last].op_type != node.op_type:
            before = self.maker.get(self.user[last].input[0])
            if before is None:
                break
            last = before
        return last

    def _is_same(self, user: NodeProto, node: NodeProto) -> bool:
        """Whether nothing was fused into `node`: operator, attributes and weights are still those of `user`."""
        if op_name(user) != op_name(node) or len(user.input) != len(node.input):
            return False
        weights = [(old, new) for old, new in zip(user.input, node.input, strict=True) if old not in self.maker and old not in self.inputs]
        return all(old == new for old, new in weights) and self._written_out(user) == self._written_out(node)

    def _written_out(self, node: NodeProto) -> dict[str, bytes]:
        """The attributes of `node`, those that it leaves at their defaults included, as ONNX Runtime writes them."""
        try:
            schema = onnx.defs.get_schema(node.op_type, self.versions.get(node.domain, 1), node.domain)
            found = {name: attribute.default_value for name, attribute in schema.attributes.items() if attribute.default_value.name}
        except onnx.defs.SchemaError:
            found = {}
        found |= {attribute.name: attribute for attribute in node.attribute}
        return {name: _value(attribute) for name, attribute in found.items()}

    def _between(self, last: int, stop: Iterable[int]) -> list[int]:
        """The user's nodes from what the folded graph has up to the node `last`, itself left out; none of `stop`."""
        found: set[int] = set()
        waiting = [last]
        while waiting:
            for name in read_by(self.user[waiting.pop()]):
                place = self.maker.get(name)
                if place is None or place in found or name in self.available or place in self.constant or place in stop:
                    continue
                found.add(place)
                waiting.append(place)
        return sorted(found)

    @cached_property
    def constant(self) -> set[int]:
        """The user's nodes that follow from no input; with fixed shapes, what reads a shape is one of them."""
        found: set[int] = set()
        for place, node in enumerate(self.user):
            reads = [self.maker.get(name) for name in read_by(node) if name in self.maker or name in self.inputs]
            if node.op_type in ("Shape", "Size") or all(source in found for source in reads):
                found.add(place)
        return found

    def _twins(self, present: set[int]) -> dict[int, int]:
        """User's nodes that are gone because an equal one does their work: place → place of that one."""
        first: dict[tuple[object, ...], int] = {}
        same: dict[str, str] = {}
        twins = {}
        for place, node in enumerate(self.user):
            if has_inner_graph(node):
                continue
            if node.op_type == "Identity" and node.domain in ONNX_DOMAINS:
                same[node.output[0]] = same.get(node.input[0], node.input[0])
                continue
            reads = tuple(same.get(name, name) for name in node.input)
            twin = first.setdefault((op_name(node), _attributes(node), reads, len(node.output)), place)
            if twin == place:
                continue
            same.update((mine, same.get(other, other)) for mine, other in zip(node.output, self.user[twin].output, strict=True))
            if place in present and twin not in present:
                first[(op_name(node), _attributes(node), reads, len(node.output))] = place
                twins[twin] = place
            elif place not in present:
                twins[place] = twin
        return twins

    def _sort(self, origin: list[int | None], members: list[list[int]]) -> None:
        """Put the folded nodes into the user's order, carrying `members` along."""
        nodes = list(self.graph.node)
        maker = {name: place for place, node in enumerate(nodes) for name in node.output if name}
        needs = [{maker[name] for name in read_by(node) if name in maker} for node in nodes]
        keys: dict[int, tuple[int, int]] = {}
        for place in topological(needs):
            # What ONNX Runtime added comes right after what it reads.
            known = origin[place]
            keys[place] = (known if known is not None else max((keys[source][0] for source in needs[place]), default=-1), place)
        by_key = sorted(range(len(nodes)), key=lambda place: keys[place])
        rank = {place: at for at, place in enumerate(by_key)}
        order = [by_key[at] for at in topological([{rank[source] for source in needs[place]} for place in by_key])]
        members[:] = [members[place] for place in order]
        del self.graph.node[:]
        self.graph.node.extend(nodes[place] for place in order)
        name_nodes(self.graph.node)

    def _named(
        self, members: list[list[int]], present: set[int], twins: Mapping[int, int]
    ) -> tuple[dict[str, tuple[str, ...]], tuple[FoldedNode, ...]]:
        absorbed: dict[str, tuple[str, ...]] = {}
        into: dict[int, str] = {}
        for node, places in zip(self.graph.node, members, strict=True):
            fused = [place for place in places if self.user[place].op_type not in _DROPPED]
            absorbed[node.name] = tuple(self.user[place].name for place in fused)
            for place in fused:
                into.setdefault(place, node.name)
        for place, twin in twins.items():
            name = self.user[twin].name if twin in present else into.get(twin)
            if name is not None:
                into[place] = name
        gone = tuple(FoldedNode(node.name, op_name(node), into.get(place)) for place, node in enumerate(self.user) if place not in present)
        return absorbed, gone


def _attributes(node: NodeProto) -> tuple[bytes, ...]:
    return tuple(sorted(_value(attribute) for attribute in node.attribute))


def _value(attribute: AttributeProto) -> bytes:
    """An attribute's name and value alone: what else may stand in it (a doc string) does not count."""
    made = AttributeProto()
    made.CopyFrom(attribute)
    made.ClearField("doc_string")
    return made.SerializeToString(deterministic=True)
