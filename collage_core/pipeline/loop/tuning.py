"""`TuningStep`: the step ``tune`` of a run: kernels are tuned slice by slice, first what could make the plan faster by most.

It takes a plan and the table of costs, and gives costs that became less, slice by slice, until the seconds for tuning are over or
nothing could gain much any more. It searches nothing, and measures only through the function that it is given.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, field, replace

from ...base.durations import milliseconds
from ...cost.cost import Cost
from ...cost.estimator import TunedCosts
from ...errors import CollageError
from ...events import Emit, Note
from ...rules.candidate import CandidatePartition
from ...search.problem import FEMTOSECONDS
from ...toolchains.abilities import Tunes
from ...toolchains.toolchain import Toolchain
from ..record.record import CostedCandidate
from .budget import Budget
from .cost_table import CostTable
from .measuring_policy import MeasuringPolicy
from .search_and_merge import Planned, SearchOver

Tune = Callable[[CandidatePartition, float, float | None], TunedCosts | None]
"""Tunes a candidate for about so many seconds; a plan of so many seconds is known. None where the time was over."""
SLICE_SHARE = 0.125
"""Most of the time for tuning that one slice takes."""
MOST_TIMES = 5.0
"""No schedule is hoped to make a kernel more times as fast: one that is slower than its parts by more is no kernel to begin with."""
FOR_REPETITIONS = 0.2
"""Share of the time for tuning that is left for measuring once more what tuning changed."""


@dataclass
class TuningStep:
    """The tuning of one run.

    Attributes:
        tune: Does one slice.
        targets: Targets that tune.
        seconds: For all of it.
        floor_s: The least that a candidate could ever take (a roofline).
        trials: Number of schedules that were tried.
    """

    tune: Tune
    targets: Collection[str]
    seconds: float
    floor_s: Callable[[CandidatePartition], float]
    budget: Budget
    emit: Emit
    trials: int = 0
    _slices: dict[Hashable, float] = field(default_factory=dict)
    _fruitless: Counter[frozenset[str]] = field(default_factory=Counter)
    _began_s: float | None = None
    _until_s: float = 0.0

    @property
    def spent_s(self) -> float:
        """Seconds of its time that were spent, repetitions of what it changed among them; 0 before it began."""
        return 0.0 if self._began_s is None else min(self.budget.spent_s - self._began_s, self.seconds)

    def begin(self) -> None:
        """Add the time for tuning to the budget, and count it from now on."""
        self.budget.extend(self.seconds)
        self._began_s = self.budget.spent_s
        self._until_s = self._began_s + (1 - FOR_REPETITIONS) * self.seconds

    def next(self, policy: MeasuringPolicy, table: CostTable, planned: Planned, search: SearchOver) -> CandidatePartition | None:
        """Return the candidate that is tuned next; None where the time is over, or nothing could gain much.

        It is one of the best plan if tuning brought what can be hoped for. So kernels are found that only together make a better plan.
        """
        if self.budget.is_over() or self.budget.spent_s >= self._until_s:
            return None
        could_gain_s: dict[Hashable, float] = {}
        hoped: list[CostedCandidate] = []
        for item in planned.costed:
            gain_s = self._could_gain_s(table, item)
            if gain_s > 0 and item.cost.seconds is not None and isinstance(item.held, CandidatePartition):
                could_gain_s[table.key(item.held)] = gain_s
                item = CostedCandidate(item.held, replace(item.cost, seconds=item.cost.seconds - gain_s))
            hoped.append(item)
        return policy.to_tune(table, planned, search(hoped), could_gain_s) if could_gain_s else None

    def _could_gain_s(self, table: CostTable, item: CostedCandidate) -> float:
        """Return what can be hoped for: all above the floor at first, less with each slice, and with each that brought nothing for a
        computation with the same main operators: where the default schedule is good for one convolution, it is for others."""
        if item.target not in self.targets or item.cost.seconds is None or not isinstance(item.held, CandidatePartition):
            return 0.0
        if not table.is_known(item.held):
            return 0.0
        least_s = max(self.floor_s(item.held), item.cost.seconds / MOST_TIMES)
        above_s = max(0.0, item.cost.seconds - least_s)
        return above_s / (1 + self._slices.get(table.key(item.held), 0.0)) / (1 + self._fruitless[_main_operators(item.held)])

    def slice(self, table: CostTable, candidate: CandidatePartition) -> Mapping[CandidatePartition, Cost]:
        """Tune `candidate` for a slice, and return the costs that changed by that."""
        key = table.key(candidate)
        seconds = min(self._until_s - self.budget.spent_s, SLICE_SHARE * self.seconds)
        found = self.tune(candidate, seconds, table.best_s)
        if found is None:
            self._slices[key] = math.inf
            return {}
        self.trials += found.trials
        self._slices[key] = math.inf if found.is_done else self._slices.get(key, 0.0) + (1.0 if found.trials else 0.0)
        if found.note:
            self.emit(Note(found.note))
        before_s = table.seconds(candidate) or math.inf
        if any((cost.seconds or math.inf) < before_s for cost in found.costs.values()):
            self._fruitless[_main_operators(candidate)] = 0
        elif found.trials:
            self._fruitless[_main_operators(candidate)] += 1
        return found.costs

    def summary(self, before_s: float, planned: Planned) -> str:
        """Return what tuning brought to a plan that took `before_s`, as one line."""
        tuned = sum(item.cost.tuned is not None for item in planned.partitions)
        tried = f"{self.trials} schedules were tried for {len(self._slices)} computations"
        after_s = planned.final.total / FEMTOSECONDS
        said = f"{tuned} of {len(planned.partitions)} partitions are tuned, the plan is predicted {milliseconds(before_s)} before"
        return f"{tried}: {said} and {milliseconds(after_s)} after"


def _main_operators(candidate: CandidatePartition) -> frozenset[str]:
    """Return the operators of the greatest kind: a kernel is scheduled by what they compute."""
    kind = candidate.sub_graph.kind
    nodes = [candidate.graph.nodes[index] for index in candidate.inside]
    return frozenset(node.op for node in nodes if node.kind is kind)


def check_tunes(toolchains: Mapping[str, Toolchain], tune_s: float) -> None:
    """Raise CollageError where no target tunes in the `tune_s` seconds that are asked for."""
    if not any(isinstance(toolchain, Tunes) for toolchain in toolchains.values()):
        said = f"--tune is {tune_s:g}, and no target tunes: {', '.join(toolchains)}"
        raise CollageError(said, "add tvm@fusion or tvm to --targets, or leave --tune out", "bad_option")
