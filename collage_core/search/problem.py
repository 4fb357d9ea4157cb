"""`SearchProblem`: all that the search needs, as plain data.

A problem holds nodes, the tensors between them, candidates with their costs, transition costs, locations and exclusions. Costs are
integers of femtoseconds from here on. Nothing here reads files or knows a toolchain; `problem_json` reads the JSON form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from ..graph.dataflow_graph import HOST
from ..graph.index_set import IndexSet

FEMTOSECONDS = 10**15
HOST_NAME = "host"
"""Name of the host as a target, and of its plain memory as a location."""
NOWHERE = ""
"""Location of a target whose reading needs no copy, such as the one that stands for the rest of a model."""

BILLION = 10**9


def billionths(error: float) -> int:
    """Return `error` in whole billionths, in which the search adds up."""
    return round(error * BILLION)


def femtoseconds(seconds: float) -> int:
    """Return `seconds` in whole femtoseconds, in which the search adds up."""
    return round(seconds * FEMTOSECONDS)


@dataclass(frozen=True, slots=True)
class FlowTensor:
    """A tensor between nodes, or between the host and nodes.

    Attributes:
        name: Shown to users; the search does not look at it.
        maker: Index of the node that makes the tensor, or `HOST`.
        readers: Indices of the nodes that read it, ascending.
        is_output: Whether the host reads it too.
        bytes: Its size.
    """

    name: str
    maker: int
    readers: tuple[int, ...]
    is_output: bool
    bytes: int


class Named(Protocol):
    """An object that can state a candidate's id."""

    @property
    def id(self) -> str: ...


@dataclass(frozen=True, slots=True)
class SearchCandidate:
    """A candidate partition, reduced to what the search needs.

    Attributes:
        inside: Its nodes.
        target: Name of its target.
        cost: Femtoseconds; None when unknown.
        named: Its id, or an object that computes the id on request, since most ids are never asked for.
        error: What it adds to the error of a plan, in billionths; 0 where that does not count, or the cost is unknown.
        weight_bytes: (name, bytes) of each initializer that it needs at its location, where it states them itself; else those of its
            nodes count (`SearchProblem.weights_of`). What several name there is held once.
    """

    inside: IndexSet
    target: str
    cost: int | None
    named: str | Named
    error: int = 0
    weight_bytes: tuple[tuple[str, int], ...] = ()

    @property
    def id(self) -> str:
        """The candidate's id; its index in the problem where the problem was given as JSON."""
        return self.named if isinstance(self.named, str) else self.named.id

    @property
    def bits(self) -> int:
        """Its nodes, as bits over all nodes of the problem."""
        return self.inside.bits

    @property
    def is_unknown(self) -> bool:
        """Return whether its cost is unknown; a candidate of the host costs nothing, so its cost is always known."""
        return self.cost is None and self.target != HOST_NAME


@dataclass(frozen=True, slots=True)
class Transition:
    """Cost of handing a tensor from one target to another, or of copying it: femtoseconds, and femtoseconds per byte."""

    fixed: float = 0.0
    per_byte: float = 0.0

    def cost(self, size: int) -> int:
        """Return femtoseconds for `size` bytes."""
        return round(self.fixed + self.per_byte * size)


FREE = Transition()


@dataclass(frozen=True, eq=False)
class SearchProblem:
    """An exact-cover problem with transition costs between pairs of targets.

    Attributes:
        nodes: Number of nodes; a plan covers each of them once.
        tensors: The tensors between them.
        candidates: The valid candidates.
        transitions: (maker's target, reader's target) → cost; an absent pair costs nothing. ``host`` is the host.
        exclusive: Pairs of targets that must not be in one plan.
        priorities: Targets, the preferred one first; decides between unknown costs.
        names, ops: Name and operator of each node, for constraints.
        error_budget: What the errors of a plan's candidates may add up to, in billionths; None for no limit.
        lowered: Targets that compute in less precision than the model asks for, and whose errors therefore count.
        inner: Index of a node with bodies → name and operator of each node in them, for constraints.
        locations: Location → how many bytes it may hold; None for no limit. ``host`` is a location even where it is absent.
        target_locations: Target → the location where it reads and makes its tensors; ``host`` where it is absent.
        copies: (location, other location) → cost of a direct copy; there is none between the locations of an absent pair.
        staying: Indices of the tensors that must not be copied.
        weights: For each node, name → bytes of the initializers that it reads. Empty where nothing is known of them.
    """

    nodes: int
    tensors: tuple[FlowTensor, ...]
    candidates: tuple[SearchCandidate, ...]
    transitions: Mapping[tuple[str, str], Transition] = field(default_factory=dict)
    exclusive: tuple[tuple[str, str], ...] = ()
    priorities: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    ops: tuple[str, ...] = ()
    error_budget: int | None = None
    lowered: tuple[str, ...] = ()
    inner: Mapping[int, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    locations: Mapping[str, int | None] = field(default_factory=dict)
    target_locations: Mapping[str, str] = field(default_factory=dict)
    copies: Mapping[tuple[str, str], Transition] = field(default_factory=dict)
    staying: frozenset[int] = frozenset()
    weights: tuple[Mapping[str, int], ...] = ()

    @property
    def needs_copies(self) -> bool:
        """Return whether a tensor of some plan may have to be copied: some target is not at the host."""
        return any(location not in (HOST_NAME, NOWHERE) for location in self.target_locations.values())

    @property
    def limits_memory(self) -> bool:
        """Return whether some location may hold only so many bytes."""
        return any(limit is not None for limit in self.locations.values())

    def location(self, target: str) -> str:
        """Return the location where `target` reads and makes its tensors."""
        return self.target_locations.get(target, HOST_NAME)

    @property
    def counts_errors(self) -> bool:
        """Return whether errors can decide which plan is best."""
        return self.error_budget is not None and any(candidate.error for candidate in self.candidates)

    def transition(self, maker: str, reader: str, size: int) -> int:
        """Return femtoseconds to hand `size` bytes from target `maker` to target `reader`."""
        return self.transitions.get((maker, reader), FREE).cost(size)

    def priority(self, target: str) -> int:
        """Return the rank of `target`, 0 for the preferred one; targets without a priority come last."""
        return self.priorities.index(target) if target in self.priorities else len(self.priorities)

    def with_candidates(self, candidates: Sequence[SearchCandidate]) -> SearchProblem:
        """Return the same problem with other candidates."""
        return replace(self, candidates=tuple(candidates))

    def weights_of(self, candidate: SearchCandidate) -> dict[str, int]:
        """Return initializer → bytes of each one that `candidate` needs at its location."""
        if candidate.weight_bytes or not self.weights:
            return dict(candidate.weight_bytes)
        return {name: size for node in candidate.inside for name, size in self.weights[node].items()}

    def to_json(self) -> dict[str, Any]:
        """Return the problem as JSON data, as `collage search` reads it."""
        edges: list[list[Any]] = []
        for tensor in self.tensors:
            edges += [[tensor.maker, reader, tensor.bytes, tensor.name] for reader in tensor.readers]
            if tensor.is_output:
                edges.append([tensor.maker, HOST, tensor.bytes, tensor.name])
        return {
            "schema": 2 if self.locations or self.target_locations else 1,
            "nodes": self.nodes,
            "names": list(self.names),
            "ops": list(self.ops),
            "edges": edges,
            "candidates": [_candidate_json(candidate) for candidate in self.candidates],
            "transitions": _costs_json(self.transitions),
            "exclusive": [list(pair) for pair in self.exclusive],
            "priorities": list(self.priorities),
            **({} if self.error_budget is None else {"error_budget": self.error_budget / BILLION}),
            **({"lowered": list(self.lowered)} if self.lowered else {}),
            **({"inner": [[index, name, op] for index, found in self.inner.items() for name, op in found]} if self.inner else {}),
            **(self._locations_json() if self.locations or self.target_locations else {}),
        }

    def _locations_json(self) -> dict[str, Any]:
        return {
            "locations": {name: {} if limit is None else {"bytes": limit} for name, limit in self.locations.items()},
            "targets": {target: {"location": location} for target, location in self.target_locations.items()},
            "copies": _costs_json(self.copies),
            **({"weights": [dict(held) for held in self.weights]} if self.weights else {}),
        }


def _costs_json(costs: Mapping[tuple[str, str], Transition]) -> dict[str, dict[str, float]]:
    return {
        f"{a}->{b}": {"fixed_s": cost.fixed / FEMTOSECONDS, "per_byte_s": cost.per_byte / FEMTOSECONDS} for (a, b), cost in costs.items()
    }


def _candidate_json(candidate: SearchCandidate) -> dict[str, Any]:
    return {
        "nodes": list(candidate.inside),
        "target": candidate.target,
        "cost_s": _seconds(candidate.cost),
        "id": candidate.id,
        **({"error": candidate.error / BILLION} if candidate.error else {}),
        **({"weight_bytes": dict(candidate.weight_bytes)} if candidate.weight_bytes else {}),
    }


def _seconds(cost: int | None) -> float | None:
    return None if cost is None else cost / FEMTOSECONDS
