"""`CandidatePool`: the usable candidates, ready for the searchers that put whole plans together and compare them.

What enters is a problem and the candidates that may be used; what leaves are well-formed plans, and what each is worth.
Used by `evolutionary` and `random`; the exact searchers do without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ...graph.dataflow_graph import HOST
from ..boundaries import boundaries_of
from ..constraints.exclusion import rivals_of
from ..problem import HOST_NAME, SearchProblem

Value = tuple[int, int, int, int]
"""What the design orders plans by: nodes of unknown cost, femtoseconds, priorities of the unknown, partitions."""

Pick = Callable[[list[int]], int]
"""Chooses one of the candidates that fit, given the cheapest for each node first."""

REPAIRS = 12
"""How often a plan with a cycle is put together anew without the partitions of several exits in it."""


@dataclass(frozen=True)
class _Flow:
    """A tensor with what `CandidatePool.value` asks of it."""

    place: int
    maker: int
    readers: tuple[int, ...]
    is_output: bool
    bytes: int


class CandidatePool:
    """The candidates `usable` of a problem.

    Attributes:
        by_first: For each node, the candidates that begin there, the cheapest for each of its nodes first.
        holding: For each node, the candidates that hold it.
    """

    def __init__(self, problem: SearchProblem, usable: Sequence[int]):
        self.problem = problem
        self._frame = boundaries_of(problem)
        targets = list(dict.fromkeys(problem.candidates[index].target for index in usable))
        self._rivals = rivals_of(problem, targets)
        self._priority = {target: problem.priority(target) for target in targets}
        self.by_first: list[list[int]] = [[] for _ in range(problem.nodes)]
        self.holding: list[list[int]] = [[] for _ in range(problem.nodes)]
        for index in sorted(usable, key=self._dearness):
            inside = problem.candidates[index].inside
            self.by_first[inside.base].append(index)
            for node in inside:
                self.holding[node].append(index)
        self._flows = [_Flow(place, t.maker, t.readers, t.is_output, t.bytes) for place, t in enumerate(problem.tensors)]
        self._handed: dict[tuple[str, str, int], int] = {}

    def _dearness(self, index: int) -> tuple[bool, float, int, int]:
        candidate = self.problem.candidates[index]
        nodes = len(candidate.inside)
        return candidate.is_unknown, (candidate.cost or 0) / nodes, self._priority[candidate.target], -nodes

    def value(self, chosen: Sequence[int]) -> Value:
        """What the whole plan `chosen` is worth; the least is best."""
        unknown = total = priority = 0
        candidates = self.problem.candidates
        owner = [-1] * self.problem.nodes
        for index in chosen:
            candidate = candidates[index]
            for node in candidate.inside:
                owner[node] = index
            total += candidate.cost or 0
            if candidate.is_unknown:
                unknown += len(candidate.inside)
                priority += len(candidate.inside) * self._priority[candidate.target]
        if self.problem.transitions:
            total += sum(self._handed_over(flow, owner) for flow in self._flows)
        return unknown, total, priority, len(chosen)

    def _handed_over(self, flow: _Flow, owner: Sequence[int]) -> int:
        candidates = self.problem.candidates
        source = -1 if flow.maker == HOST else owner[flow.maker]
        maker = HOST_NAME if source < 0 else candidates[source].target
        paid = 0
        for reader in {owner[node] for node in flow.readers}:
            if reader != source:
                paid += self._transition(maker, candidates[reader].target, flow.bytes)
        if flow.is_output and source >= 0:
            paid += self._transition(maker, HOST_NAME, flow.bytes)
        return paid

    def _transition(self, maker: str, reader: str, size: int) -> int:
        key = (maker, reader, size)
        known = self._handed.get(key)
        if known is None:
            known = self._handed[key] = self.problem.transition(maker, reader, size)
        return known

    def complete(self, kept: Iterable[int], pick: Pick) -> tuple[int, ...] | None:
        """A well-formed plan that holds those of `kept` that fit together, in the order given; None where none was found.

        Args:
            pick: Chooses for every node that is not covered yet.
        """
        wanted, banned = list(kept), set[int]()
        for _ in range(REPAIRS):
            plan = self._filled((index for index in wanted if index not in banned), pick, banned)
            if plan is None:
                return None
            loose = {index for index in plan if self._is_loose(index)}
            tangled = _tangled(self.problem, plan) & loose if loose else set()
            if not tangled:
                return plan
            banned |= tangled
            wanted = [index for index in plan if index not in banned]
        return None

    def _is_loose(self, index: int) -> bool:
        inside = self.problem.candidates[index].inside
        return inside.rel != 1 and self._frame.boundary(inside).exits > 1

    def _filled(self, kept: Iterable[int], pick: Pick, banned: set[int]) -> tuple[int, ...] | None:
        candidates = self.problem.candidates
        taken = bytearray(self.problem.nodes)
        excluded: set[str] = set()
        chosen: list[int] = []

        def fits(index: int) -> bool:
            candidate = candidates[index]
            return candidate.target not in excluded and not any(taken[node] for node in candidate.inside)

        def place(index: int) -> None:
            candidate = candidates[index]
            for node in candidate.inside:
                taken[node] = 1
            excluded.update(self._rivals[candidate.target])
            chosen.append(index)

        for index in kept:
            if fits(index):
                place(index)
        node = taken.find(0)
        while node >= 0:
            fitting = [index for index in self.by_first[node] if index not in banned and fits(index)]
            if not fitting:
                return None
            place(pick(fitting))
            node = taken.find(0, node)
        return tuple(sorted(chosen, key=lambda index: candidates[index].inside.base))


def _tangled(problem: SearchProblem, chosen: Sequence[int]) -> set[int]:
    """The partitions on cycles, and between cycles: what is left when those without an open input, or output, are taken off."""
    owner = {node: index for index in chosen for node in problem.candidates[index].inside}
    after: dict[int, set[int]] = {index: set() for index in chosen}
    before: dict[int, set[int]] = {index: set() for index in chosen}
    for tensor in problem.tensors:
        for node in tensor.readers if tensor.maker != HOST else ():
            maker, reader = owner[tensor.maker], owner[node]
            if maker != reader:
                after[maker].add(reader)
                before[reader].add(maker)
    left = set(chosen)
    for forth, back in ((after, before), (before, after)):
        waiting = {index: len(back[index] & left) for index in left}
        ready = [index for index, count in waiting.items() if not count]
        while ready:
            index = ready.pop()
            left.discard(index)
            for end in forth[index] & left:
                waiting[end] -= 1
                if not waiting[end]:
                    ready.append(end)
    return left
