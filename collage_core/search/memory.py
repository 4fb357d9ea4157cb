"""Memory of a plan at each location: the weights of its partitions, and the tensors that are live while it runs.

A plan enters; bytes leave. Partitions run in the order of `execution_order`. A model input is at the host from the start, an output to the
end; any other tensor is held where it is made until its last reader has run there and its last copy was made. A copy is made when the
first reader at its location needs it, or the first copy further on, and one to the host for an output as soon as the output is made.
An initializer that several partitions of a location share is held once. Memory inside a partition is not counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from ..graph.dataflow_graph import HOST
from .copies import HOST_LOCATION, Arc, CopyCosts, copy_costs_of
from .plan_properties import ends_of, execution_order, owners
from .problem import FlowTensor, SearchProblem

Span = tuple[int, int]
"""The first and the last partition, in the order of execution, during which a tensor is held."""


@dataclass(frozen=True, slots=True)
class LocationMemory:
    """The bytes of a plan at one location.

    Attributes:
        weights: Those of the initializers, each once.
        peak: The most that is held at once, the weights among them.
        at_node: The first node of the partition that runs then.
    """

    weights: int
    peak: int
    at_node: int


@dataclass(frozen=True, slots=True)
class Shortfall:
    """The bytes by which a plan exceeds a location, where they are most."""

    location: str
    bytes: int
    at_node: int


def plan_memory(problem: SearchProblem, chosen: Sequence[int]) -> dict[str, LocationMemory]:
    """Return location → what the plan holds there, for the host and each other location where it holds anything."""
    order, owner, costs = execution_order(problem, chosen), owners(problem, chosen), copy_costs_of(problem)
    step_of = {index: step for step, index in enumerate(order)}
    change = [[0] * (len(order) + 1) for _ in costs.names]
    for tensor in problem.tensors:
        if tensor.maker != HOST and not tensor.is_output and all(owner[node] == owner[tensor.maker] for node in tensor.readers):
            continue
        for location, (first, last) in _held(problem, costs, tensor, owner, step_of).items():
            change[location][first] += tensor.bytes
            change[location][last + 1] -= tensor.bytes
    weights: list[dict[str, int]] = [{} for _ in costs.names]
    for index in chosen:
        location_of = costs.location(problem.candidates[index].target)
        assert location_of is not None
        weights[location_of].update(problem.weights_of(problem.candidates[index]))
    memory = {}
    for number, name in enumerate(costs.names):
        live = list(accumulate(change[number][:-1]))
        own, most = sum(weights[number].values()), max(live)
        if number == HOST_LOCATION or own or most:
            memory[name] = LocationMemory(own, own + most, problem.candidates[order[live.index(most)]].inside.base)
    return memory


def shortfall(problem: SearchProblem, chosen: Sequence[int]) -> Shortfall | None:
    """Return the largest shortfall of the plan; None where it fits into every location."""
    if not problem.limits_memory:
        return None
    over = []
    for name, held in plan_memory(problem, chosen).items():
        limit = problem.locations.get(name)
        if limit is not None and held.peak > limit:
            over.append(Shortfall(name, held.peak - limit, held.at_node))
    return max(over, key=lambda item: item.bytes, default=None)


def _held(problem: SearchProblem, costs: CopyCosts, tensor: FlowTensor, owner: dict[int, int], step_of: dict[int, int]) -> dict[int, Span]:
    """Return location → when `tensor` is held there."""
    maker, reached = ends_of(problem, tensor, owner)
    made = 0 if tensor.maker == HOST else step_of[owner[tensor.maker]]
    used: dict[int, list[int]] = {maker: [made]}
    for node in tensor.readers:
        location = costs.location(problem.candidates[owner[node]].target)
        assert location is not None
        used.setdefault(location, []).append(step_of[owner[node]])
    if tensor.is_output:
        used.setdefault(HOST_LOCATION, []).extend((made, len(step_of) - 1))
    arcs: list[Arc] = costs.arcs(tensor.bytes, maker, reached)
    for source, destination in reversed(arcs):
        used.setdefault(source, []).append(min(used[destination]))
    return {location: (min(steps), max(steps)) for location, steps in used.items()}
