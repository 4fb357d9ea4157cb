"""Finds which nodes of the user's model each node of the folded model came from, and which nodes are gone.

The user's model, whose nodes are named, and its folded form enter. The folded nodes get names and the user's order; the names that
each absorbed and a list of the user's nodes that are gone leave.

Tensors are compared. The user's node that makes a tensor of a folded node is the last node of that fusion and gives its name. The
user's nodes between that tensor and the tensors that the folded node reads were fused into it, unless they are constants, identities
or duplicates of a node that stayed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import onnx.defs
from onnx import AttributeProto, ModelProto, NodeProto

from ...graph.topological_order import topological_order
from ..model import FoldedNode
from ..nodes import domain_of, has_inner_graph, name_nodes, op_name, opset_versions, read_by

_DROPPED = frozenset({"Identity", "Dropout", "Slice", "Expand"})
"""Operators that are removed when they do nothing; they are never fused into another."""


@dataclass(frozen=True)
class Provenance:
    """The origin of the folded nodes.

    Attributes:
        absorbed: Name of a folded node → names of the user's other nodes in it, in the user's order.
        gone: The user's nodes that are not in the folded model.
    """

    absorbed: Mapping[str, tuple[str, ...]]
    gone: tuple[FoldedNode, ...]


def find_provenance(user: ModelProto, folded: ModelProto) -> Provenance:
    """Name and order the nodes of `folded`, in place, and return what became of each node of `user`."""
    return _ProvenanceFinder(user, folded).result()


class _ProvenanceFinder:
    def __init__(self, user: ModelProto, folded: ModelProto):
        self.user = list(user.graph.node)
        self.graph = folded.graph
        self.inputs = {value.name for value in user.graph.input}
        self.versions = opset_versions(user)
        self.maker = {name: index for index, node in enumerate(self.user) for name in node.output if name}
        self.index_by_name = {node.name: index for index, node in enumerate(self.user)}
        made = {name for node in self.graph.node for name in node.output}
        self.available = made | self.inputs | {tensor.name for tensor in self.graph.initializer}

    def result(self) -> Provenance:
        origin = [self._origin(node) for node in self.graph.node]
        present = {index for index in origin if index is not None}
        duplicates = self._duplicates(present)
        explained = present | duplicates.keys()
        members = [self._between(index, explained) if index is not None else [] for index in origin]
        for node, index in zip(self.graph.node, origin, strict=True):
            if index is not None:
                node.name = self.user[index].name
        self._sort(origin, members)
        return Provenance(*self._named(members, present, duplicates))

    def _origin(self, node: NodeProto) -> int | None:
        """Return the user's node that `node` is, or that is last in its fusion; None for a node that ONNX Runtime added."""
        ends = [self.maker[name] for name in node.output if name in self.maker]
        if not ends:
            same = self.index_by_name.get(node.name)
            return same if same is not None and self._is_same(self.user[same], node) else None
        last = ends[0]
        # If the node itself is unchanged, nodes after it, up to the tensor that it makes now, were dropped and not fused.
        named = self.index_by_name.get(node.name)
        if named is not None and named in self._between(last, set()) and self._is_same(self.user[named], node):
            return named
        while self.user[last].op_type in _DROPPED and self.user[last].op_type != node.op_type:
            before = self.maker.get(self.user[last].input[0])
            if before is None:
                break
            last = before
        return last

    def _is_same(self, user: NodeProto, node: NodeProto) -> bool:
        """Return whether nothing was fused into `node`: operator, attributes and weights are still those of `user`."""
        if op_name(user) != op_name(node) or len(user.input) != len(node.input):
            return False
        weights = [(old, new) for old, new in zip(user.input, node.input, strict=True) if old not in self.maker and old not in self.inputs]
        return all(old == new for old, new in weights) and self._written_out(user) == self._written_out(node)

    def _written_out(self, node: NodeProto) -> dict[str, bytes]:
        """Return the attributes of `node`, those that it leaves at their defaults included, as ONNX Runtime writes them."""
        try:
            schema = onnx.defs.get_schema(node.op_type, self.versions.get(domain_of(node), 1), domain_of(node))
            found = {name: attribute.default_value for name, attribute in schema.attributes.items() if attribute.default_value.name}
        except onnx.defs.SchemaError:
            found = {}
        found |= {attribute.name: attribute for attribute in node.attribute}
        return {name: _value(attribute) for name, attribute in found.items()}

    def _between(self, last: int, stop: Iterable[int]) -> list[int]:
        """Return the user's nodes between tensors of the folded graph and the node `last`, without `last` and without any of `stop`."""
        between: set[int] = set()
        waiting = [last]
        while waiting:
            for name in read_by(self.user[waiting.pop()]):
                index = self.maker.get(name)
                if index is None or index in between or name in self.available or index in self.constant or index in stop:
                    continue
                between.add(index)
                waiting.append(index)
        return sorted(between)

    @cached_property
    def constant(self) -> set[int]:
        """The user's nodes that depend on no input; since shapes are fixed, those that read a shape are among them."""
        indices: set[int] = set()
        for index, node in enumerate(self.user):
            reads = [self.maker.get(name) for name in read_by(node) if name in self.maker or name in self.inputs]
            if node.op_type in ("Shape", "Size") or all(source in indices for source in reads):
                indices.add(index)
        return indices

    def _duplicates(self, present: set[int]) -> dict[int, int]:
        """Return the user's nodes that are gone because an equal node computes the same: index → index of that node."""
        first: dict[tuple[object, ...], int] = {}
        same: dict[str, str] = {}
        duplicates = {}
        for index, node in enumerate(self.user):
            if has_inner_graph(node):
                continue
            if op_name(node) == "Identity":
                same[node.output[0]] = same.get(node.input[0], node.input[0])
                continue
            reads = tuple(same.get(name, name) for name in node.input)
            key = (op_name(node), tuple(sorted(_value(attribute) for attribute in node.attribute)), reads, len(node.output))
            original = first.setdefault(key, index)
            if original == index:
                continue
            same.update((mine, same.get(other, other)) for mine, other in zip(node.output, self.user[original].output, strict=True))
            if index in present and original not in present:
                first[key] = index
                duplicates[original] = index
            elif index not in present:
                duplicates[index] = original
        return duplicates

    def _sort(self, origin: list[int | None], members: list[list[int]]) -> None:
        """Put the folded nodes, and `members` with them, into the user's order."""
        nodes = list(self.graph.node)
        maker = {name: index for index, node in enumerate(nodes) for name in node.output if name}
        needs = [{maker[name] for name in read_by(node) if name in maker} for node in nodes]
        keys: dict[int, tuple[int, int]] = {}
        for index in topological_order(needs):
            # A node that ONNX Runtime added comes right after those that it reads.
            known = origin[index]
            keys[index] = (known if known is not None else max((keys[source][0] for source in needs[index]), default=-1), index)
        by_key = sorted(range(len(nodes)), key=lambda index: keys[index])
        rank = {index: position for position, index in enumerate(by_key)}
        order = [by_key[position] for position in topological_order([{rank[source] for source in needs[index]} for index in by_key])]
        members[:] = [members[index] for index in order]
        del self.graph.node[:]
        self.graph.node.extend(nodes[index] for index in order)
        name_nodes(self.graph.node)

    def _named(
        self, members: list[list[int]], present: set[int], duplicates: Mapping[int, int]
    ) -> tuple[dict[str, tuple[str, ...]], tuple[FoldedNode, ...]]:
        absorbed: dict[str, tuple[str, ...]] = {}
        into: dict[int, str] = {}
        for node, indices in zip(self.graph.node, members, strict=True):
            fused = [index for index in indices if self.user[index].op_type not in _DROPPED]
            absorbed[node.name] = tuple(self.user[index].name for index in fused)
            for index in fused:
                into.setdefault(index, node.name)
        for index, other in duplicates.items():
            name = self.user[other].name if other in present else into.get(other)
            if name is not None:
                into[index] = name
        gone = tuple(FoldedNode(node.name, op_name(node), into.get(index)) for index, node in enumerate(self.user) if index not in present)
        return absorbed, gone


def _value(attribute: AttributeProto) -> bytes:
    """Return the name and value of `attribute` as bytes, without its doc string."""
    made = AttributeProto()
    made.CopyFrom(attribute)
    made.ClearField("doc_string")
    return made.SerializeToString(deterministic=True)
