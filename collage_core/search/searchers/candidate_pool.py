"""`CandidatePool`: the usable candidates, prepared for the searchers that build whole plans and compare them.

A problem and the candidates that may be used enter; well-formed plans and their values leave. `op_dp`, `evolutionary` and
`random` use it; the exact searchers do not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ...graph.dataflow_graph import HOST
from ...graph.topological_order import downstream_of_cycles
from ..constraints.constraints import exclusions_of
from ..plan_properties import is_copied, may_loop, partition_graph, plan_copies
from ..problem import HOST_NAME, FlowTensor, SearchProblem

Value = tuple[int, int, int, int]
"""The key by which plans are compared: nodes of unknown cost, femtoseconds, priorities of the unknown, partitions."""

Pick = Callable[[list[int]], int]
"""Chooses one of the candidates that fit, which are sorted by cost for each node, the cheapest first."""

REPAIRS = 12
"""Attempts to rebuild a plan with a cycle without the partitions of several exits on it."""


class CandidatePool:
    """The candidates `usable` of a problem.

    Attributes:
        by_first: For each node, the candidates that begin there, the cheapest for each of its nodes first.
        holding: For each node, the candidates that hold it.
    """

    def __init__(self, problem: SearchProblem, usable: Sequence[int]):
        self.problem = problem
        targets = list(dict.fromkeys(problem.candidates[index].target for index in usable))
        self._excluded_by = exclusions_of(problem, targets)
        self._priority = {target: problem.priority(target) for target in targets}
        self.by_first: list[list[int]] = [[] for _ in range(problem.nodes)]
        self.holding: list[list[int]] = [[] for _ in range(problem.nodes)]
        for index in sorted(usable, key=self._cost_by_node):
            inside = problem.candidates[index].inside
            self.by_first[inside.base].append(index)
            for node in inside:
                self.holding[node].append(index)
        self._transition_costs: dict[tuple[str, str, int], int] = {}

    def _cost_by_node(self, index: int) -> tuple[bool, float, int, int]:
        """Return a sort key: known costs first, then the cost for each node, the priority, and the larger candidate."""
        candidate = self.problem.candidates[index]
        nodes = len(candidate.inside)
        return candidate.is_unknown, (candidate.cost or 0) / nodes, self._priority[candidate.target], -nodes

    def value(self, chosen: Sequence[int]) -> Value:
        """Return the value of the plan `chosen`; the least is best."""
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
            total += sum(self._transitions_of(tensor, owner) for tensor in self.problem.tensors)
        if self.problem.needs_copies:
            total += sum(copy.cost for copy in plan_copies(self.problem, chosen))
        return unknown, total, priority, len(chosen)

    def _transitions_of(self, tensor: FlowTensor, owner: Sequence[int]) -> int:
        """Return what a plan pays for handing `tensor` on; `owner` has the partition of each node."""
        candidates = self.problem.candidates
        source = -1 if tensor.maker == HOST else owner[tensor.maker]
        maker = HOST_NAME if source < 0 else candidates[source].target
        paid = 0
        for reader in {owner[node] for node in tensor.readers}:
            if reader != source:
                paid += self._transition(maker, candidates[reader].target, tensor.bytes)
        if tensor.is_output and source >= 0:
            paid += self._transition(maker, HOST_NAME, tensor.bytes)
        return paid

    def _transition(self, maker: str, reader: str, size: int) -> int:
        key = (maker, reader, size)
        known = self._transition_costs.get(key)
        if known is None:
            known = self._transition_costs[key] = self.problem.transition(maker, reader, size)
        return known

    def complete(self, kept: Iterable[int], pick: Pick) -> tuple[int, ...] | None:
        """Return a well-formed plan with those of `kept` that fit together, in the order given; None when none was found.

        Args:
            pick: Chooses a candidate for every node that is still open.
        """
        wanted, banned = list(kept), set[int]()
        for _ in range(REPAIRS):
            plan = self._filled((index for index in wanted if index not in banned), pick, banned)
            if plan is None:
                return None
            suspects = may_loop(self.problem, plan)
            looping = _on_cycles(self.problem, plan) & suspects if suspects else set()
            if not looping:
                return None if is_copied(self.problem, plan) else plan
            banned |= looping
            wanted = [index for index in plan if index not in banned]
        return None

    def _filled(self, kept: Iterable[int], pick: Pick, banned: set[int]) -> tuple[int, ...] | None:
        """Return a cover of all nodes, without those of `banned`, that may have cycles; None when an open node has no candidate."""
        candidates = self.problem.candidates
        taken = bytearray(self.problem.nodes)
        excluded: set[str] = set()
        chosen: list[int] = []

        def fits(index: int) -> bool:
            candidate = candidates[index]
            return candidate.target not in excluded and not any(taken[node] for node in candidate.inside)

        def put(index: int) -> None:
            candidate = candidates[index]
            for node in candidate.inside:
                taken[node] = 1
            excluded.update(self._excluded_by[candidate.target])
            chosen.append(index)

        for index in kept:
            if fits(index):
                put(index)
        node = taken.find(0)
        while node >= 0:
            fitting = [index for index in self.by_first[node] if index not in banned and fits(index)]
            if not fitting:
                return None
            put(pick(fitting))
            node = taken.find(0, node)
        return tuple(sorted(chosen, key=lambda index: candidates[index].inside.base))


def _on_cycles(problem: SearchProblem, chosen: Sequence[int]) -> set[int]:
    """Return the partitions of a plan that are on cycles or on paths between cycles."""
    readers = partition_graph(problem, chosen)
    downstream = set(downstream_of_cycles(readers))
    makers: dict[int, set[int]] = {index: set() for index in downstream}
    for index in downstream:
        for reader in readers[index] & downstream:
            makers[reader].add(index)
    return set(downstream_of_cycles(makers))
