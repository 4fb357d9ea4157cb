"""`SearchProblem`: all that phase 3 needs, as plain data, and its JSON form (design, `collage search`).

What enters: nodes, the tensors between them, candidates with their costs, transitions between targets, exclusions.
Costs are integers of femtoseconds from here on. Nothing here reads files or knows a toolchain.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from ..errors import CollageError
from ..graph import HOST, IndexSet

FEMTOSECONDS = 10**15
HOST_NAME = "host"


def femtoseconds(seconds: float) -> int:
    """Seconds as the integer that the search adds up."""
    return round(seconds * FEMTOSECONDS)


@dataclass(frozen=True, slots=True)
class FlowTensor:
    """A tensor that crosses between nodes, or between the host and nodes.

    Attributes:
        name: For people.
        maker: Index of the node that makes it, or `HOST`.
        readers: The nodes that read it, ascending.
        is_output: The host reads it too.
        bytes: Its size.
    """

    name: str
    maker: int
    readers: tuple[int, ...]
    is_output: bool
    bytes: int


class Named(Protocol):
    """Something that has an id."""

    @property
    def id(self) -> str: ...


@dataclass(frozen=True, slots=True)
class SearchCandidate:
    """A candidate as the search sees it.

    Attributes:
        inside: Its nodes.
        target: Name of its target.
        cost: Femtoseconds; None where it is unknown.
        named: Its id, or what knows it: an id is made only when one asks for it.
    """

    inside: IndexSet
    target: str
    cost: int | None
    named: str | Named

    @property
    def id(self) -> str:
        """The candidate's id; its index in the problem where the problem was given as JSON."""
        return self.named if isinstance(self.named, str) else self.named.id

    @property
    def bits(self) -> int:
        """Its nodes, as bits over the whole model."""
        return self.inside.bits


@dataclass(frozen=True, slots=True)
class Transition:
    """What handing a tensor over costs: femtoseconds, and femtoseconds per byte."""

    fixed: float = 0.0
    per_byte: float = 0.0

    def cost(self, size: int) -> int:
        """Femtoseconds for `size` bytes."""
        return round(self.fixed + self.per_byte * size)


FREE = Transition()


@dataclass(frozen=True, eq=False)
class SearchProblem:
    """A cover problem with pairwise transition costs.

    Attributes:
        nodes: How many nodes there are; all of them must be covered.
        tensors: What crosses between them.
        candidates: Usable candidates; an invalid one is simply not here.
        transitions: (maker's target, reader's target) → cost; an absent pair costs nothing. ``host`` is the host.
        exclusive: Pairs of targets that must not meet in one plan.
        priorities: Targets, the preferred one first; decides between unknown costs.
        names, ops: Of the nodes, for constraints; made up from the index where the problem has none.
    """

    nodes: int
    tensors: tuple[FlowTensor, ...]
    candidates: tuple[SearchCandidate, ...]
    transitions: Mapping[tuple[str, str], Transition] = field(default_factory=dict)
    exclusive: tuple[tuple[str, str], ...] = ()
    priorities: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    ops: tuple[str, ...] = ()

    def transition(self, maker: str, reader: str, size: int) -> int:
        """Femtoseconds to hand `size` bytes from target `maker` to target `reader`."""
        return self.transitions.get((maker, reader), FREE).cost(size)

    def priority(self, target: str) -> int:
        """Rank of `target`; targets that were not ranked come last."""
        return self.priorities.index(target) if target in self.priorities else len(self.priorities)

    def with_candidates(self, candidates: Sequence[SearchCandidate]) -> SearchProblem:
        """The same problem over other candidates."""
        return replace(self, candidates=tuple(candidates))

    def to_json(self) -> dict[str, Any]:
        """As `collage search` reads it."""
        edges: list[list[Any]] = []
        for tensor in self.tensors:
            edges += [[tensor.maker, reader, tensor.bytes, tensor.name] for reader in tensor.readers]
            if tensor.is_output:
                edges.append([tensor.maker, HOST, tensor.bytes, tensor.name])
        return {
            "schema": 1,
            "nodes": self.nodes,
            "names": list(self.names),
            "ops": list(self.ops),
            "edges": edges,
            "candidates": [{"nodes": list(c.inside), "target": c.target, "cost_s": _seconds(c.cost), "id": c.id} for c in self.candidates],
            "transitions": {
                f"{a}->{b}": {"fixed_s": t.fixed / FEMTOSECONDS, "per_byte_s": t.per_byte / FEMTOSECONDS}
                for (a, b), t in self.transitions.items()
            },
            "exclusive": [list(pair) for pair in self.exclusive],
            "priorities": list(self.priorities),
        }


def _seconds(cost: int | None) -> float | None:
    return None if cost is None else cost / FEMTOSECONDS


def problem_from_json(data: Any) -> SearchProblem:
    """The problem that `data` states.

    Raises:
        CollageError: it is not a problem; the message says where (``candidates[3].cost_s``) and what was found.
    """
    if not isinstance(data, dict):
        raise _mistake("the problem", data, "a JSON object")
    if data.get("schema", 1) != 1:
        raise _mistake("schema", data["schema"], "1")
    nodes = _integer(data, "nodes", "nodes", low=1)
    names = _strings(data.get("names", []), "names") or tuple(str(index) for index in range(nodes))
    ops = _strings(data.get("ops", []), "ops") or ("",) * nodes
    if len(names) != nodes or len(ops) != nodes:
        raise _mistake("names", len(names), f"as many names and ops as nodes ({nodes})")
    problem = SearchProblem(
        nodes=nodes,
        tensors=_tensors(data.get("edges", []), nodes),
        candidates=tuple(_candidate(item, index, nodes) for index, item in enumerate(_list(data, "candidates"))),
        transitions=_transitions(data.get("transitions", {})),
        exclusive=tuple(_pair(item, f"exclusive[{index}]") for index, item in enumerate(data.get("exclusive", []))),
        priorities=_strings(data.get("priorities", []), "priorities"),
        names=names,
        ops=ops,
    )
    _check_acyclic(problem)
    return problem


def _mistake(where: str, found: Any, wanted: str) -> CollageError:
    return CollageError(f"{where} is {found!r}, it must be {wanted}", "docs/files.md shows a problem", "bad_problem")


def _list(data: Mapping[str, Any], key: str) -> list[Any]:
    value = data.get(key, [])
    if not isinstance(value, list):
        raise _mistake(key, value, "a list")
    return value


def _strings(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise _mistake(where, value, "a list of strings")
    return tuple(value)


def _integer(data: Mapping[str, Any], key: str, where: str, low: int) -> int:
    value = data.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < low:
        raise _mistake(where, value, f"a whole number of at least {low}")
    return value


def finite_cost(value: Any, where: str) -> float:
    """`value` as a cost in seconds. Raises CollageError where it is no number, NaN, infinite or negative."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise _mistake(where, value, "a finite number of seconds, not negative")
    return float(value)


def _pair(item: Any, where: str) -> tuple[str, str]:
    if not isinstance(item, list) or len(item) != 2 or not all(isinstance(name, str) for name in item):
        raise _mistake(where, item, "a pair of targets")
    return item[0], item[1]


def _candidate(item: Any, index: int, nodes: int) -> SearchCandidate:
    where = f"candidates[{index}]"
    if not isinstance(item, dict):
        raise _mistake(where, item, "an object")
    inside = item.get("nodes")
    if not isinstance(inside, list) or not inside:
        raise _mistake(f"{where}.nodes", inside, "a list of nodes")
    for node in inside:
        if not isinstance(node, int) or isinstance(node, bool) or not 0 <= node < nodes:
            raise _mistake(f"{where}.nodes", node, f"nodes from 0 to {nodes - 1}")
    if not isinstance(item.get("target"), str) or not item["target"]:
        raise _mistake(f"{where}.target", item.get("target"), "the name of a target")
    cost = item.get("cost_s")
    seconds = None if cost is None else finite_cost(cost, f"{where}.cost_s")
    return SearchCandidate(IndexSet(inside), item["target"], None if seconds is None else femtoseconds(seconds), str(item.get("id", index)))


def _transitions(data: Any) -> dict[tuple[str, str], Transition]:
    if not isinstance(data, dict):
        raise _mistake("transitions", data, 'an object such as {"a->b": {"fixed_s": 0.0, "per_byte_s": 0.0}}')
    made = {}
    for key, value in data.items():
        maker, arrow, reader = key.partition("->")
        if not (maker and arrow and reader) or not isinstance(value, dict):
            raise _mistake(f"transitions[{key!r}]", value, 'an entry such as "a->b": {"fixed_s": 0.0, "per_byte_s": 0.0}')
        fixed = finite_cost(value.get("fixed_s", 0.0), f"transitions[{key!r}].fixed_s")
        per_byte = finite_cost(value.get("per_byte_s", 0.0), f"transitions[{key!r}].per_byte_s")
        made[maker, reader] = Transition(fixed * FEMTOSECONDS, per_byte * FEMTOSECONDS)
    return made


def _tensors(edges: Any, nodes: int) -> tuple[FlowTensor, ...]:
    if not isinstance(edges, list):
        raise _mistake("edges", edges, "a list of [producer, consumer, bytes]")
    grouped: dict[tuple[int, str], FlowTensor] = {}
    for index, edge in enumerate(edges):
        where = f"edges[{index}]"
        if (
            not isinstance(edge, list)
            or len(edge) not in (3, 4)
            or not all(isinstance(v, int) and not isinstance(v, bool) for v in edge[:3])
        ):
            raise _mistake(where, edge, "[producer, consumer, bytes] or [producer, consumer, bytes, tensor]")
        maker, reader, size = edge[:3]
        if not HOST <= maker < nodes or not HOST <= reader < nodes or size < 0 or maker == reader:
            raise _mistake(where, edge, f"an edge between nodes -1 to {nodes - 1}, of 0 bytes or more")
        name = str(edge[3]) if len(edge) == 4 else (f"host#{index}" if maker == HOST else f"{maker}")
        known = grouped.get((maker, name)) or FlowTensor(name, maker, (), False, size)
        if known.bytes != size:
            raise _mistake(where, size, f"{known.bytes} bytes as in the other edges of tensor {name!r}")
        known = replace(known, is_output=True) if reader == HOST else replace(known, readers=tuple(sorted({*known.readers, reader})))
        grouped[maker, name] = known
    return tuple(grouped.values())


def _check_acyclic(problem: SearchProblem) -> None:
    """Nodes need not be numbered in order in a problem from outside, but there may be no cycle."""
    readers: dict[int, set[int]] = {node: set() for node in range(problem.nodes)}
    waiting = dict.fromkeys(range(problem.nodes), 0)
    for tensor in problem.tensors:
        if tensor.maker != HOST:
            readers[tensor.maker].update(tensor.readers)
    for ends in readers.values():
        for node in ends:
            waiting[node] += 1
    ready = [node for node, count in waiting.items() if not count]
    done = 0
    while ready:
        done += 1
        for node in readers[ready.pop()]:
            waiting[node] -= 1
            if not waiting[node]:
                ready.append(node)
    if done < problem.nodes:
        stuck = sorted(node for node, count in waiting.items() if count)
        raise CollageError(f"the edges make a cycle through the nodes {stuck[:8]}", "a dataflow graph has no cycle", "bad_problem")
