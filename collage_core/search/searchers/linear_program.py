"""`CoverProgram`: a problem as the rows and columns of a mixed-integer program, and the measures that it can minimise.

There is one binary column for each candidate, and each node is held once. A transition is paid where a partition reads a tensor
of another. For a tensor and each node that reads it, "the partition whose first reader this node is, and which does not hold the
maker" is one partition at most, on one target; columns of flow from the maker's target to its target carry the cost. When the
candidates' columns are whole the flows are whole too, and the relaxation is as tight as that of an assignment problem.

Where a tensor may be copied, there is a whole column for each copy between two locations, and for each location where it may be read a
flow of one from the location of its maker, which passes over copies that are made. So a copy is paid once, whoever reads it.

A `Measure` is a sum over candidates and transitions, in whole numbers. Cycles between partitions are not excluded here: a row is
added for each solution that has one (`CoverProgram.forbid`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...graph.dataflow_graph import HOST
from ..boundaries import boundaries_of
from ..constraints.constraints import exclusions_of
from ..copies import HOST_LOCATION, Arc, copy_costs_of
from ..objectives import is_moved
from ..problem import HOST_NAME, SearchProblem


@dataclass(frozen=True)
class Measure:
    """A quantity of a plan that is a sum over its candidates, transitions and copies.

    Attributes:
        own: Value of a candidate, given by its index.
        transition: Value of handing some bytes from one target to another; ``host`` is a target here.
        copy: Factor of the femtoseconds of copies.
    """

    own: Callable[[int], int]
    transition: Callable[[str, str, int], int] = field(default=lambda maker, reader, size: 0)
    copy: int = 0


def unknown_measures(problem: SearchProblem, usable: Sequence[int]) -> list[Measure]:
    """Return the measure of the nodes of unknown cost; none when every cost is known."""
    candidates = problem.candidates

    def unknown(index: int) -> int:
        return len(candidates[index].inside) if candidates[index].is_unknown else 0

    return [Measure(unknown)] if any(candidates[index].is_unknown for index in usable) else []


def time_measure(problem: SearchProblem) -> Measure:
    """Return the measure of femtoseconds: the known costs, the transitions and the copies."""
    return Measure(lambda index: problem.candidates[index].cost or 0, problem.transition, copy=1)


def bytes_measure() -> Measure:
    """Return the measure of bytes moved between targets."""
    return Measure(lambda index: 0, lambda maker, reader, size: size if is_moved(maker, reader) else 0)


def priority_measure(problem: SearchProblem) -> Measure:
    """Return the measure of the priorities of the targets of unknown cost, counted for each node."""

    def priority(index: int) -> int:
        candidate = problem.candidates[index]
        return len(candidate.inside) * problem.priority(candidate.target) if candidate.is_unknown else 0

    return Measure(priority)


def partitions_measure() -> Measure:
    """Return the measure of the number of partitions."""
    return Measure(lambda index: 1)


Row = tuple[Sequence[int], Sequence[float], float, float]
"""(columns, their factors, least, most)."""


class CoverProgram:
    """The rows of a problem over the candidates `usable`, and the factors of each measure.

    Attributes:
        usable: The candidate of each of the first columns; flows and targets that exclude others have the later columns.
        whole: For each column 1 when it must be whole, else 0.
        factors: For each measure the factor of every column.
    """

    def __init__(self, problem: SearchProblem, usable: Sequence[int], measures: Sequence[Measure]):
        self.problem = problem
        self.usable = list(usable)
        self.whole = [1] * len(self.usable)
        self.factors = [[measure.own(index) for index in self.usable] for measure in measures]
        self.rows: list[Row] = []
        self._measures = list(measures)
        self._targets = list(dict.fromkeys(problem.candidates[index].target for index in self.usable))
        self._holding: list[list[int]] = [[] for _ in range(problem.nodes)]
        for column, index in enumerate(self.usable):
            for node in problem.candidates[index].inside:
                self._holding[node].append(column)
        self.rows += [(holding, [1] * len(holding), 1.0, 1.0) for holding in self._holding]
        self._add_host()
        self._add_transitions()
        if problem.needs_copies:
            self._add_copies()
        self._add_exclusions()

    @property
    def columns(self) -> int:
        """Number of columns."""
        return len(self.whole)

    def chosen(self, x: np.ndarray) -> tuple[int, ...]:
        """Return the candidates that the solution `x` takes, by their first nodes."""
        candidates = self.problem.candidates
        taken = (index for index, value in zip(self.usable, x, strict=False) if value > 0.5)
        return tuple(sorted(taken, key=lambda index: candidates[index].inside.base))

    def forbid(self, together: frozenset[int]) -> None:
        """Add a row by which no plan holds all candidates of `together`."""
        columns = [column for column, index in enumerate(self.usable) if index in together]
        self.rows.append((columns, [1] * len(columns), 0.0, len(columns) - 1.0))

    def _target(self, column: int) -> str:
        return self.problem.candidates[self.usable[column]].target

    def _add_host(self) -> None:
        """Add the transitions from and to the host to the candidates' factors, since they depend on one candidate alone."""
        boundaries, tensors = boundaries_of(self.problem), self.problem.tensors
        for column, index in enumerate(self.usable):
            boundary = boundaries.boundary(self.problem.candidates[index].inside)
            target = self._target(column)
            outputs = [tensor for tensor, _, to_host in boundary.makes if to_host and tensor < len(tensors)]
            for factors, measure in zip(self.factors, self._measures, strict=True):
                factors[column] += sum(measure.transition(HOST_NAME, target, tensors[tensor].bytes) for tensor in boundary.host_reads)
                factors[column] += sum(measure.transition(target, HOST_NAME, tensors[tensor].bytes) for tensor in outputs)

    def _add_transitions(self) -> None:
        for tensor in self.problem.tensors:
            if tensor.maker == HOST or not tensor.readers:
                continue
            costs = {
                (a, b): tuple(measure.transition(a, b, tensor.bytes) for measure in self._measures)
                for a in self._targets
                for b in self._targets
            }
            if any(any(cost) for cost in costs.values()):
                self._add_flows(tensor.maker, tensor.readers, costs)

    def _add_flows(self, maker: int, readers: Sequence[int], costs: dict[tuple[str, str], tuple[int, ...]]) -> None:
        candidates, seen = self.problem.candidates, set[int]()
        makers = self._by_target(self._holding[maker])
        for reader in readers:
            columns = [
                column for column in self._holding[reader] if column not in seen and maker not in candidates[self.usable[column]].inside
            ]
            seen.update(columns)
            self._add_flow(makers, self._by_target(columns), costs)

    def _by_target(self, columns: Sequence[int]) -> dict[str, list[int]]:
        by_target: dict[str, list[int]] = {}
        for column in columns:
            by_target.setdefault(self._target(column), []).append(column)
        return by_target

    def _add_flow(self, makers: dict[str, list[int]], readers: dict[str, list[int]], costs: dict[tuple[str, str], tuple[int, ...]]) -> None:
        """Add columns of flow between every pair of targets; flow into a reader's target comes from the maker's."""
        flows: dict[tuple[str, str], int] = {}
        for b, columns in readers.items():
            if not any(any(costs[a, b]) for a in makers):
                continue
            for a in makers:
                flows[a, b] = self._add_column(costs[a, b])
            entering = [flows[a, b] for a in makers]
            self.rows.append(([*entering, *columns], [*[1] * len(entering), *[-1] * len(columns)], 0.0, 0.0))
        for a, columns in makers.items():
            leaving = [column for (source, _), column in flows.items() if source == a]
            if leaving:
                self.rows.append(([*leaving, *columns], [*[1] * len(leaving), *[-1] * len(columns)], -np.inf, 0.0))

    def _add_column(self, values: Sequence[int], whole: int = 0) -> int:
        """Add a column with a factor for each measure, and return its number."""
        for factors, factor in zip(self.factors, values, strict=True):
            factors.append(factor)
        self.whole.append(whole)
        return self.columns - 1

    def _add_copies(self) -> None:
        costs = copy_costs_of(self.problem)
        location: dict[str, int] = {}
        for target in self._targets:
            at = costs.location(target)
            assert at is not None
            location[target] = at
        for index, tensor in enumerate(self.problem.tensors):
            made: dict[int, list[int]] = {}
            for column in () if tensor.maker == HOST else self._holding[tensor.maker]:
                made.setdefault(location[self._target(column)], []).append(column)
            makers = {column for columns in made.values() for column in columns}
            read: dict[int, list[list[int]]] = {}
            for reader in tensor.readers:
                reading: dict[int, list[int]] = {}
                for column in self._holding[reader]:
                    if column not in makers:
                        reading.setdefault(location[self._target(column)], []).append(column)
                for end, columns in reading.items():
                    read.setdefault(end, []).append(columns)
            copied: dict[Arc, int] = {}
            for arc, cost in costs.direct(tensor.bytes).items():
                copied[arc] = self._add_column([measure.copy * cost for measure in self._measures], whole=1)
                if index in self.problem.staying:
                    self.rows.append(([copied[arc]], [1], 0.0, 0.0))
            for end in dict.fromkeys((*read, *((HOST_LOCATION,) if tensor.is_output else ()))):
                always = tensor.is_output and end == HOST_LOCATION
                self._add_route(end, [] if always else read[end], made if tensor.maker != HOST else None, copied, range(len(costs.names)))

    def _add_route(
        self, end: int, read: Sequence[Sequence[int]], made: Mapping[int, list[int]] | None, copied: Mapping[Arc, int], locations: range
    ) -> None:
        """Add the flow of one tensor to the location `end`, from where it is made, over copies that are made.

        Args:
            read: For each node that reads the tensor the columns that may read it at `end`; empty where it is read there in any plan.
            made: The columns of its makers by their location; None where the host makes it.
            copied: The column of each copy.
        """
        nothing = [0] * len(self._measures)
        flow = {arc: self._add_column(nothing) for arc in copied}
        begin = {at: self._add_column(nothing) for at in ((HOST_LOCATION,) if made is None else made)}
        self.rows += [([flow[arc], copied[arc]], [1, -1], -np.inf, 0.0) for arc in copied]
        for at, column in begin.items():
            if made is not None:
                self.rows.append(([column, *made[at]], [1, *[-1] * len(made[at])], -np.inf, 0.0))
        is_read = self._add_column(nothing)
        for columns in read:
            self.rows.append(([*columns, is_read], [*[1] * len(columns), -1], -np.inf, 0.0))
        if not read:
            self.rows.append(([is_read], [1], 1.0, 1.0))
        for at in locations:
            entering = [*(flow[arc] for arc in flow if arc[1] == at), *([begin[at]] if at in begin else [])]
            leaving = [*(flow[arc] for arc in flow if arc[0] == at), *([is_read] if at == end else [])]
            if entering or leaving:
                self.rows.append(([*entering, *leaving], [*[1] * len(entering), *[-1] * len(leaving)], 0.0, 0.0))

    def _add_exclusions(self) -> None:
        excluded_by = exclusions_of(self.problem, self._targets)
        nothing = [0] * len(self._measures)
        used = {target: self._add_column(nothing, whole=1) for target, others in excluded_by.items() if others}
        for holding in self._holding:
            for target, columns in self._by_target(holding).items():
                if target in used:
                    self.rows.append(([*columns, used[target]], [*[1] * len(columns), -1], -np.inf, 0.0))
        for target, others in excluded_by.items():
            self.rows += [([used[target], used[other]], [1, 1], 0.0, 1.0) for other in others if target < other]
