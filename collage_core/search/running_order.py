"""The order in which a plan's partitions run, and the memory that this takes.

A plan runs its partitions one after another: of those whose inputs are all there, the one with the least first node. A
tensor between partitions is held from when it is made until its last reader has run, the model's inputs from the start,
its outputs to the end. What a partition needs inside itself, and constants, are not counted: nobody outside knows them.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from ..graph.dataflow_graph import HOST
from .problem import SearchProblem


def running_order(problem: SearchProblem, chosen: Sequence[int]) -> list[int]:
    """The candidates `chosen` in the order in which they run. They must be a plan without a cycle."""
    owner = {node: index for index in chosen for node in problem.candidates[index].inside}
    after: dict[int, set[int]] = {index: set() for index in chosen}
    for tensor in problem.tensors:
        if tensor.maker != HOST:
            maker = owner[tensor.maker]
            after[maker].update(owner[node] for node in tensor.readers if owner[node] != maker)
    waiting = dict.fromkeys(chosen, 0)
    for readers in after.values():
        for reader in readers:
            waiting[reader] += 1
    ready = [(problem.candidates[index].inside.base, index) for index in chosen if not waiting[index]]
    heapq.heapify(ready)
    made = []
    while ready:
        _, index = heapq.heappop(ready)
        made.append(index)
        for reader in after[index]:
            waiting[reader] -= 1
            if not waiting[reader]:
                heapq.heappush(ready, (problem.candidates[reader].inside.base, reader))
    return made


def peak_bytes(problem: SearchProblem, chosen: Sequence[int]) -> int:
    """The most bytes that are held at once while the plan runs."""
    turn_of = {index: turn for turn, index in enumerate(running_order(problem, chosen))}
    turns = {node: turn_of[index] for index in chosen for node in problem.candidates[index].inside}
    last_turn = len(chosen) - 1
    change = [0] * (len(chosen) + 1)
    for tensor in problem.tensors:
        made = 0 if tensor.maker == HOST else turns[tensor.maker]
        read = max((turns[node] for node in tensor.readers), default=made)
        if tensor.maker != HOST and not tensor.is_output and read == made:
            continue
        change[made] += tensor.bytes
        change[(last_turn if tensor.is_output else read) + 1] -= tensor.bytes
    held = peak = 0
    for step in change:
        held += step
        peak = max(peak, held)
    return peak
