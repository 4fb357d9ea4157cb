"""The order in which the partitions of a plan run, and the memory that the tensors between them take.

The partitions run one after another; of those that are ready, the one with the least first node is next. A tensor between
partitions is held from its maker until its last reader has run, a model input from the start, a model output to the end.
Memory inside a partition and constants are not counted: only the toolchain knows them.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import accumulate

from ..graph.dataflow_graph import HOST
from .plan_properties import partition_graph
from .problem import SearchProblem


def execution_order(problem: SearchProblem, chosen: Sequence[int]) -> list[int]:
    """Return the candidates `chosen`, a plan without a cycle, in the order in which they run."""
    readers_of = partition_graph(problem, chosen)
    waiting = dict.fromkeys(chosen, 0)
    for readers in readers_of.values():
        for reader in readers:
            waiting[reader] += 1
    ready = [(problem.candidates[index].inside.base, index) for index in chosen if not waiting[index]]
    heapq.heapify(ready)
    order = []
    while ready:
        _, index = heapq.heappop(ready)
        order.append(index)
        for reader in readers_of[index]:
            waiting[reader] -= 1
            if not waiting[reader]:
                heapq.heappush(ready, (problem.candidates[reader].inside.base, reader))
    return order


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
