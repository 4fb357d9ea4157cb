"""Properties of a plan by their definitions: cost, transitions, the graph of its partitions, and cycles in that graph.

A plan is a sequence of candidate indices. Nothing here uses the sums of a searcher, so these functions can check every searcher.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..graph.cycles import shortest_cycle
from ..graph.dataflow_graph import HOST
from .boundaries import boundaries_of
from .problem import HOST_NAME, SearchProblem


def owners(problem: SearchProblem, chosen: Sequence[int]) -> dict[int, int]:
    """Return node → the candidate of `chosen` that holds it."""
    return {node: index for index in chosen for node in problem.candidates[index].inside}


def plan_total(problem: SearchProblem, chosen: Sequence[int]) -> int:
    """Return the total of a plan in femtoseconds: its known costs, and one transition for each (maker, reader, tensor)."""
    costs = sum(problem.candidates[index].cost or 0 for index in chosen)
    return costs + sum(cost for _, _, _, cost in plan_transitions(problem, chosen))


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
