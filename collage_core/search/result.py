"""What a plan costs by the definition itself, and the check that it is well-formed. Plain data."""

from __future__ import annotations

from collections.abc import Sequence

from ..graph.dataflow_graph import HOST
from .boundaries import boundaries_of
from .problem import SearchProblem


def plan_total(problem: SearchProblem, chosen: Sequence[int]) -> int:
    """Femtoseconds of a plan by the definition itself: partitions, and one transition for each (maker, reader, tensor).

    Unknown costs count nothing. Independent of how any searcher adds up.
    """
    owner: dict[int, int] = {}
    for index in chosen:
        for node in problem.candidates[index].inside:
            owner[node] = index
    total = sum(problem.candidates[index].cost or 0 for index in chosen)
    for _, _, _, cost in plan_transitions(problem, chosen):
        total += cost
    return total


def plan_transitions(problem: SearchProblem, chosen: Sequence[int]) -> list[tuple[str, str, int, int]]:
    """(maker's target, reader's target, tensor, femtoseconds) for each tensor that changes partitions, in order."""
    owner = {node: index for index in chosen for node in problem.candidates[index].inside}
    name = {index: problem.candidates[index].target for index in chosen}
    made: list[tuple[str, str, int, int]] = []
    for place, tensor in enumerate(problem.tensors):
        source = None if tensor.maker == HOST else owner[tensor.maker]
        maker = "host" if source is None else name[source]
        readers = dict.fromkeys(owner[node] for node in tensor.readers)
        ends = [name[reader] for reader in readers if reader != source]
        if tensor.is_output and source is not None:
            ends.append("host")
        made += [(maker, end, place, problem.transition(maker, end, tensor.bytes)) for end in ends]
    return made


def may_loop(problem: SearchProblem, usable: Sequence[int]) -> set[int]:
    """Those of `usable` that have several exits: a cycle between partitions needs at least one such.

    A partition of one exit is left through that node alone, and every node inside leads to it (one that nobody reads is an exit
    too). So a cycle through such
    partitions only would lead from exit to exit and be a cycle of nodes, which there is not.
    """
    frame = boundaries_of(problem)
    return {index for index in usable if frame.boundary(problem.candidates[index].inside).exits > 1}


def cycle(problem: SearchProblem, chosen: Sequence[int]) -> frozenset[int] | None:
    """The partitions of one cycle between the partitions of a plan, or None when they can be run one after another."""
    owner = {node: index for index in chosen for node in problem.candidates[index].inside}
    after: dict[int, set[int]] = {index: set() for index in chosen}
    for tensor in problem.tensors:
        if tensor.maker != HOST:
            maker = owner.get(tensor.maker)
            if maker is not None:
                after[maker].update(owner[node] for node in tensor.readers if owner.get(node, maker) != maker)
    return _find_cycle(after)


def _find_cycle(after: dict[int, set[int]]) -> frozenset[int] | None:
    """Nodes of a shortest cycle through the first node that is on one."""
    waiting = dict.fromkeys(after, 0)
    for ends in after.values():
        for end in ends:
            waiting[end] += 1
    ready = [index for index, count in waiting.items() if not count]
    while ready:
        index = ready.pop()
        del waiting[index]
        for end in after[index]:
            waiting[end] -= 1
            if not waiting[end]:
                ready.append(end)
    for index in waiting:
        found = _back_to(index, after)
        if found:
            return found
    return None


def _back_to(start: int, after: dict[int, set[int]]) -> frozenset[int] | None:
    came: dict[int, int] = {}
    queue = [start]
    for index in queue:
        for end in sorted(after[index]):
            if end == start:
                path = {start}
                while index != start:
                    path.add(index)
                    index = came[index]
                return frozenset(path)
            if end not in came:
                came[end] = index
                queue.append(end)
    return None
