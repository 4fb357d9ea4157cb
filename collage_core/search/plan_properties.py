"""Properties of a plan by their definitions: cost, transitions, the graph of its partitions, its cycles and order, and the peak memory.

A plan is a sequence of candidate indices. Nothing here uses the sums of a searcher, so these functions can check every searcher.

The partitions run one after another; of those that are ready, the one with the least first node is next. A tensor between partitions is
held from its maker until its last reader has run, a model input from the start, a model output to the end. Memory inside a partition and
constants are not counted: only the toolchain knows them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from ..graph.dataflow_graph import HOST
from ..graph.topological_order import shortest_cycle, topological_order
from .boundaries import boundaries_of
from .copies import HOST_LOCATION, copy_costs_of
from .problem import HOST_NAME, FlowTensor, SearchProblem


def owners(problem: SearchProblem, chosen: Sequence[int]) -> dict[int, int]:
    """Return node → the candidate of `chosen` that holds it."""
    return {node: index for index in chosen for node in problem.candidates[index].inside}


def plan_total(problem: SearchProblem, chosen: Sequence[int]) -> int:
    """Return the total of a plan in femtoseconds: its known costs, one transition for each (maker, reader, tensor), and its copies."""
    costs = sum(problem.candidates[index].cost or 0 for index in chosen)
    transitions = sum(cost for _, _, _, cost in plan_transitions(problem, chosen))
    return costs + transitions + sum(copy.cost for copy in plan_copies(problem, chosen))


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of a tensor from one location to another.

    Attributes:
        tensor: Index of the tensor.
        cost: Femtoseconds.
    """

    tensor: int
    source: str
    destination: str
    cost: int


def plan_copies(problem: SearchProblem, chosen: Sequence[int]) -> list[Copy]:
    """Return the copies of a plan, tensor by tensor; each comes after the copy that it reads."""
    if not problem.needs_copies:
        return []
    owner, costs = owners(problem, chosen), copy_costs_of(problem)
    copies = []
    for index, tensor in enumerate(problem.tensors):
        maker, reached = ends_of(problem, tensor, owner)
        direct = costs.direct(tensor.bytes)
        arcs = costs.arcs(tensor.bytes, maker, reached)
        copies += [Copy(index, costs.names[a], costs.names[b], direct[a, b]) for a, b in arcs]
    return copies


def ends_of(problem: SearchProblem, tensor: FlowTensor, owner: Mapping[int, int]) -> tuple[int, int]:
    """Return the location where `tensor` is made and, as bits, those where it is read outside of the partition that makes it.

    Locations are numbers of `copy_costs_of(problem)`.

    Args:
        owner: Node → its partition.
    """
    costs, candidates = copy_costs_of(problem), problem.candidates
    source = None if tensor.maker == HOST else owner[tensor.maker]
    locations = {costs.location(candidates[owner[node]].target) for node in tensor.readers if owner[node] != source}
    if tensor.is_output:
        locations.add(HOST_LOCATION)
    made_at = HOST_LOCATION if source is None else costs.location(candidates[source].target)
    assert made_at is not None
    return made_at, sum(1 << location for location in locations if location is not None)


def is_copied(problem: SearchProblem, chosen: Sequence[int]) -> bool:
    """Return whether the plan copies a tensor that has to stay; where there is no plan, it does not."""
    return bool(problem.staying and chosen) and any(copy.tensor in problem.staying for copy in plan_copies(problem, chosen))


def plan_transitions(problem: SearchProblem, chosen: Sequence[int]) -> list[tuple[str, str, int, int]]:
    """Return (maker's target, reader's target, tensor, femtoseconds) for each tensor between partitions, in the tensors' order."""
    owner = owners(problem, chosen)
    target = {index: problem.candidates[index].target for index in chosen}
    transitions: list[tuple[str, str, int, int]] = []
    for index, tensor in enumerate(problem.tensors):
        source = None if tensor.maker == HOST else owner[tensor.maker]
        maker = HOST_NAME if source is None else target[source]
        readers = dict.fromkeys(owner[node] for node in tensor.readers)
        ends = [target[reader] for reader in readers if reader != source]
        if tensor.is_output and source is not None:
            ends.append(HOST_NAME)
        transitions += [(maker, end, index, problem.transition(maker, end, tensor.bytes)) for end in ends]
    return transitions


def partition_graph(problem: SearchProblem, chosen: Sequence[int]) -> dict[int, set[int]]:
    """Return for each partition of `chosen` the partitions that read from it; nodes that none of them holds are left out."""
    owner = owners(problem, chosen)
    boundaries = boundaries_of(problem)
    readers: dict[int, set[int]] = {index: set() for index in chosen}
    for node, maker in owner.items():
        for tensor in boundaries.makes[node]:
            readers[maker].update(owner[reader] for reader in boundaries.readers[tensor] if owner.get(reader, maker) != maker)
    return readers


def may_loop(problem: SearchProblem, usable: Sequence[int]) -> set[int]:
    """Return the candidates of `usable` that have several exits; a cycle between partitions has at least one of these.

    A partition with one exit is left through that node alone, and all its nodes lead there, since a node that nobody reads is
    an exit too. A cycle of such partitions would lead from exit to exit, and so be a cycle of nodes, which the graph has not.
    """
    boundaries = boundaries_of(problem)
    return {index for index in usable if boundaries.has_several_exits(problem.candidates[index].inside)}


def cycle(problem: SearchProblem, chosen: Sequence[int]) -> frozenset[int] | None:
    """Return the partitions of one cycle of a plan; None when its partitions can run one after another."""
    return shortest_cycle(partition_graph(problem, chosen))


def execution_order(problem: SearchProblem, chosen: Sequence[int]) -> list[int]:
    """Return the candidates `chosen`, a plan without a cycle, in the order in which they run."""
    listed = sorted(chosen, key=lambda index: problem.candidates[index].inside.base)
    number = {index: at for at, index in enumerate(listed)}
    needs: list[list[int]] = [[] for _ in listed]
    for maker, readers in partition_graph(problem, chosen).items():
        for reader in readers:
            needs[number[reader]].append(number[maker])
    return [listed[at] for at in topological_order(needs)]


def peak_bytes(problem: SearchProblem, chosen: Sequence[int]) -> int:
    """Return the most bytes that are held at once while the plan runs."""
    step_of = {index: step for step, index in enumerate(execution_order(problem, chosen))}
    steps = {node: step_of[index] for index in chosen for node in problem.candidates[index].inside}
    last_step = len(chosen) - 1
    change = [0] * (len(chosen) + 1)
    for tensor in problem.tensors:
        made = 0 if tensor.maker == HOST else steps[tensor.maker]
        read = max((steps[node] for node in tensor.readers), default=made)
        if tensor.maker != HOST and not tensor.is_output and read == made:
            continue
        change[made] += tensor.bytes
        change[(last_step if tensor.is_output else read) + 1] -= tensor.bytes
    return max(accumulate(change))
