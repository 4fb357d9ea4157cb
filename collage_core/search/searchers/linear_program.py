"""`CoverProgram`: a problem as rows and columns of whole numbers, for a solver of mixed-integer programs.

One column of 0 or 1 for each candidate, and each node held once. A hand-over is paid for where a partition reads a tensor
that another makes. For a tensor and each node that reads it, "the partition whose first reader this is, and which does not
hold the maker" is one partition at most, on one target; columns of flow from the maker's target to its target carry the
cost. With whole candidates the flows are whole by themselves, and the relaxation is as tight as that of an assignment.

What is minimised is a list of measures, each a `Measure`: additive over candidates and hand-overs, in whole numbers. Cycles
between partitions are left to rows that are added when a solution has one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...graph.dataflow_graph import HOST
from ..boundaries import boundaries_of
from ..constraints.exclusion import rivals_of
from ..problem import HOST_NAME, SearchProblem


@dataclass(frozen=True)
class Measure:
    """Something that a plan has less or more of, as a sum.

    Attributes:
        own: Of a candidate, by its index.
        handed: Of a hand-over of some bytes from one target to another, ``host`` included.
    """

    own: Callable[[int], int]
    handed: Callable[[str, str, int], int] = field(default=lambda maker, reader, size: 0)


Row = tuple[Sequence[int], Sequence[float], float, float]
"""(columns, their factors, least, most)."""


class CoverProgram:
    """The rows of a problem over the candidates `usable`, and the factors of each measure.

    Attributes:
        usable: The candidate of each of the first columns.
        columns: How many columns there are; those after the candidates are flows and the targets that exclude others.
        whole: For each column whether it must be whole.
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
        self.rows += [(held, [1] * len(held), 1.0, 1.0) for held in self._holding]
        self._add_host()
        self._add_hand_overs()
        self._add_exclusions()

    @property
    def columns(self) -> int:
        return len(self.whole)

    def chosen(self, x: np.ndarray) -> tuple[int, ...]:
        """The candidates that a solution takes, by their first nodes."""
        candidates = self.problem.candidates
        taken = (index for index, value in zip(self.usable, x, strict=False) if value > 0.5)
        return tuple(sorted(taken, key=lambda index: candidates[index].inside.base))

    def forbid(self, together: frozenset[int]) -> None:
        """No plan may hold all of these candidates."""
        columns = [column for column, index in enumerate(self.usable) if index in together]
        self.rows.append((columns, [1] * len(columns), 0.0, len(columns) - 1.0))

    def _target(self, column: int) -> str:
        return self.problem.candidates[self.usable[column]].target

    def _add_host(self) -> None:
        """What is taken from the host and given to it depends on the candidate alone."""
        frame, tensors = boundaries_of(self.problem), self.problem.tensors
        for column, index in enumerate(self.usable):
            boundary = frame.boundary(self.problem.candidates[index].inside)
            target = self._target(column)
            outputs = [tensor for tensor, _, to_host in boundary.makes if to_host and tensor < len(tensors)]
            for factors, measure in zip(self.factors, self._measures, strict=True):
                factors[column] += sum(measure.handed(HOST_NAME, target, tensors[tensor].bytes) for tensor in boundary.host_reads)
                factors[column] += sum(measure.handed(target, HOST_NAME, tensors[tensor].bytes) for tensor in outputs)

    def _add_hand_overs(self) -> None:
        for tensor in self.problem.tensors:
            if tensor.maker == HOST or not tensor.readers:
                continue
            prices = {
                (a, b): tuple(measure.handed(a, b, tensor.bytes) for measure in self._measures)
                for a in self._targets
                for b in self._targets
            }
            if any(any(price) for price in prices.values()):
                self._add_flows(tensor.maker, tensor.readers, prices)

    def _add_flows(self, maker: int, readers: Sequence[int], prices: dict[tuple[str, str], tuple[int, ...]]) -> None:
        candidates, seen = self.problem.candidates, set[int]()
        makers = self._by_target(self._holding[maker])
        for reader in readers:
            columns = [
                column for column in self._holding[reader] if column not in seen and maker not in candidates[self.usable[column]].inside
            ]
            seen.update(columns)
            self._add_flow(makers, self._by_target(columns), prices)

    def _by_target(self, columns: Sequence[int]) -> dict[str, list[int]]:
        made: dict[str, list[int]] = {}
        for column in columns:
            made.setdefault(self._target(column), []).append(column)
        return made

    def _add_flow(
        self, makers: dict[str, list[int]], readers: dict[str, list[int]], prices: dict[tuple[str, str], tuple[int, ...]]
    ) -> None:
        """Columns of flow between every pair of targets; what enters a reader's target came from the maker's."""
        flows: dict[tuple[str, str], int] = {}
        for b, columns in readers.items():
            if not any(any(prices[a, b]) for a in makers):
                continue
            for a in makers:
                flows[a, b] = self._add_column(prices[a, b])
            entering = [flows[a, b] for a in makers]
            self.rows.append(([*entering, *columns], [*[1] * len(entering), *[-1] * len(columns)], 0.0, 0.0))
        for a, columns in makers.items():
            leaving = [column for (source, _), column in flows.items() if source == a]
            if leaving:
                self.rows.append(([*leaving, *columns], [*[1] * len(leaving), *[-1] * len(columns)], -np.inf, 0.0))

    def _add_column(self, price: Sequence[int], whole: int = 0) -> int:
        for factors, factor in zip(self.factors, price, strict=True):
            factors.append(factor)
        self.whole.append(whole)
        return self.columns - 1

    def _add_exclusions(self) -> None:
        rivals = rivals_of(self.problem, self._targets)
        nothing = [0] * len(self._measures)
        used = {target: self._add_column(nothing, whole=1) for target, others in rivals.items() if others}
        for held in self._holding:
            for target, columns in self._by_target(held).items():
                if target in used:
                    self.rows.append(([*columns, used[target]], [*[1] * len(columns), -1], -np.inf, 0.0))
        for target, others in rivals.items():
            self.rows += [([used[target], used[other]], [1, 1], 0.0, 1.0) for other in others if target < other]
