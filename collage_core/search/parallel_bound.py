"""`parallel_bound`: how much a decided plan can gain at most if its partitions and copies run at the same time where they can.

A plan enters, a bound leaves; nothing is scheduled. However it is scheduled, a plan takes at least as long as its longest chain of
partitions and copies that wait for each other, and as long as all the work of any one resource. The resources are the host and each device,
with whatever computes there, and each link between two locations in one direction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ..graph.dataflow_graph import HOST
from .boundaries import boundaries_of
from .plan_properties import Copy, execution_order, owners, plan_copies, plan_total
from .problem import HOST_NAME, SearchProblem


@dataclass(frozen=True, slots=True)
class ParallelBound:
    """The least time of a plan, however its partitions are scheduled; in femtoseconds of the known costs.

    Attributes:
        total: The time of the plan one partition after another.
        critical_path: The longest chain of partitions and copies that wait for each other.
        work: Resource → all the time for which it is busy.
    """

    total: int
    critical_path: int
    work: dict[str, int]

    @property
    def least(self) -> int:
        """No schedule takes less."""
        return max(self.critical_path, *self.work.values())

    @property
    def gain_at_most(self) -> float:
        """The share of the total that running partitions at the same time can save at most."""
        return 1 - self.least / self.total if self.total else 0.0


def parallel_bound(problem: SearchProblem, chosen: Sequence[int]) -> ParallelBound:
    """Return the bound of the plan `chosen`, which has no cycle."""
    owner, boundaries = owners(problem, chosen), boundaries_of(problem)
    target = {index: problem.candidates[index].target for index in chosen}
    work = Counter({HOST_NAME: 0})
    spent = {index: problem.candidates[index].cost or 0 for index in chosen}
    read_by_host: dict[int, int] = {}
    for index, tensor in enumerate(problem.tensors):
        source = None if tensor.maker == HOST else owner[tensor.maker]
        maker = HOST_NAME if source is None else target[source]
        for reader in {owner[node] for node in tensor.readers} - {source}:
            spent[reader] += problem.transition(maker, target[reader], tensor.bytes)
        if tensor.is_output and source is not None:
            read_by_host[index] = problem.transition(maker, HOST_NAME, tensor.bytes)
    work[HOST_NAME] += sum(read_by_host.values())
    for index in chosen:
        work[_device(problem.location(target[index]))] += spent[index]
    copies: dict[int, list[Copy]] = {}
    for copy in plan_copies(problem, chosen):
        work[f"{copy.source}->{copy.destination}"] += copy.cost
        copies.setdefault(copy.tensor, []).append(copy)
    exists_at: dict[tuple[int, str], int] = {}

    def make(tensor: int, location: str, at: int) -> None:
        exists_at[tensor, location] = at
        for copy in copies.get(tensor, ()):
            exists_at[tensor, copy.destination] = exists_at[tensor, copy.source] + copy.cost

    for index, tensor in enumerate(problem.tensors):
        if tensor.maker == HOST:
            make(index, HOST_NAME, 0)
    ends = [0]
    for index in execution_order(problem, chosen):
        boundary, location = boundaries.boundary(problem.candidates[index].inside), problem.location(target[index])
        reads = (*boundary.host_reads, *(tensor for tensor, _ in boundary.reads))
        end = max((exists_at[tensor, location] for tensor in reads), default=0) + spent[index]
        ends.append(end)
        for made, _, _ in boundary.makes:
            make(made, location, end)
    ends += [exists_at[index, HOST_NAME] + cost for index, cost in read_by_host.items()]
    return ParallelBound(plan_total(problem, chosen), max(ends), dict(work))


def _device(location: str) -> str:
    """Return the device of a location: the forms of its memory (``host/nchw16c``) are on one."""
    return location.partition("/")[0]
