"""`MeasuringLoop`: the one loop of a run in which costs get known and a plan is found, through steps that have names.

    largest first ─▶ settle ─▶ search ─▶ merge ─▶ repeat ─▶ decide
                       ▲                            │
                       └────────────────────────────┘

* **largest first** measures the largest candidate of each target: the plans to beat.
* **settle** searches under lower bounds for what is not measured, and measures what the best plan rests on, until that is everything.
* **search** finds the best plan over the rules' candidates.
* **merge** tries neighbours on one target as one, and searches again, until nothing changes.
* **repeat** measures once more what the plan rests on, and what might have been left out by bad luck; then the loop goes back.
* **decide** is the caller's: ties, baselines, certainty.

It takes plain functions that measure and that search; a `CostTable` holds the known costs, and a `MeasuringPolicy` says what is
measured next. It gives a plan whose costs are known, as far as the time allowed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace

from ..cost.cost import Cost
from ..errors import Cancelled
from ..events import Emit, Note, StepStarted, ignore
from ..graph.index_set import IndexSet
from ..rules.candidate import CandidatePartition
from ..rules.spec import HOST_TARGET
from ..search.plan_properties import plan_total
from .cost_table import CostTable, is_settled
from .measuring_policy import MeasuringPolicy
from .record import CostedCandidate, usable
from .search_and_merge import Planned, considered_event, merge_rounds, plan_event

Costs = Mapping[CandidatePartition, Cost]
Measure = Callable[[Sequence[CandidatePartition], float | None], Costs]
"""Measures candidates; a plan of so many seconds is known, None while there is none. One missing in the answer came too late."""
Repeat = Callable[[Sequence[CandidatePartition], float | None, float], Costs]
"""As `Measure`, once more; no repetition begins after the seconds that come last."""
Search = Callable[[list[CostedCandidate], Emit], Planned]
"""Finds a best plan. Its errors are passed on: where there is no plan, nothing need be measured."""


class MeasuringLoop:
    """The loop of one run. `costs` and `plan` go through its steps, `without` comes back to them.

    Args:
        repeat: None where costs are not measured: repeating tells nothing.

    Attributes:
        is_cut_off: The time was over before the plan rested on known costs alone.
    """

    def __init__(
        self,
        table: CostTable,
        policy: MeasuringPolicy,
        measure: Measure,
        search: Search,
        emit: Emit,
        repeat: Repeat | None = None,
    ):
        self.table = table
        self.policy = policy
        self.is_cut_off = False
        self._measure = measure
        self._search = search
        self._emit = emit
        self._repeat = repeat
        self._quantile = next(iter(policy.quantiles), 0.0)
        self._least: int | None = None
        self._best: int | None = None
        self._repeated: set[Hashable] = set()

    def costs(self) -> None:
        """Steps ``largest first`` and ``settle``."""
        self._enter("largest first")
        try:
            self._ask(self.policy.first(self.table))
        except Cancelled:
            self._cut_off()
        self._settle()

    def search(self) -> Planned:
        """Step ``search``: the best plan over the rules' candidates, all of it known."""
        self._enter("search")
        self.table.restart_merging()
        planned = self._searched()
        self._emit(plan_event(planned.problem, planned.first, 0))
        return planned

    def merge(self, planned: Planned) -> Planned:
        """Step ``merge``."""
        self._enter("merge")
        return merge_rounds(planned, lambda costed: self._searched(), self._merged, self._emit)

    def repeat(self, planned: Planned, costs_s: float) -> Planned:
        """Step ``repeat``, and the others after it: the best plan when what it rests on is known surely, or the time is over.

        Args:
            costs_s: Seconds that costs took; repetitions may take about as long.
        """
        deadline = time.monotonic() + self.policy.repeat_s(costs_s)
        while (left_s := deadline - time.monotonic()) > 0 and self._repeat_for(planned, left_s):
            self.table.restart_merging()
            self._settle()
            self._enter("search")
            planned = self.merge(self._searched())
        return planned

    def without(self, planned: Planned, index: int, cost: Cost) -> Planned:
        """The best plan where candidate `index` of ``planned.costed`` is invalid, as `cost` says."""
        held = planned.costed[index].held
        assert isinstance(held, CandidatePartition)
        self.table.exclude(held, cost)
        self._enter("search")
        return self.merge(replace(self._searched(), first=planned.first))

    def _enter(self, step: str) -> None:
        self._emit(StepStarted(step))

    def _settle(self) -> None:
        """Step ``settle``: under safer and safer bounds; the boldest must do where there is no room for more."""
        if self.is_cut_off or not self.policy.quantiles:
            return
        self._enter("settle")
        try:
            for quantile in self.policy.quantiles:
                self._settle_under(quantile)
                if not self.policy.room(self.table):
                    self._settle_under(self.policy.quantiles[0])
                    return
        except Cancelled:
            self._cut_off()

    def _settle_under(self, quantile: float) -> None:
        self._quantile = quantile
        while True:
            self.table.set_bounds(quantile)
            planned = self._search(self.table.costed(), ignore)
            self._tell_considered(planned)
            wanted = self.policy.next(self.table, planned.partitions, quantile)
            if not wanted:
                return
            self._ask(wanted)

    def _searched(self) -> Planned:
        """Return the best plan over all candidates of the table: search, measure what the plan rests on, and search again."""
        while True:
            planned = self._search(self.table.costed(), self._emit)
            wanted = [] if self.is_cut_off else self.policy.open(self.table, planned.partitions)
            if not wanted:
                return self._bounded(planned)
            try:
                self._ask(wanted)
            except Cancelled:
                self._cut_off()

    def _bounded(self, planned: Planned) -> Planned:
        """`planned` as what it is where the time was over: no proof, with the bound that was known then."""
        if self._least is None:
            return planned
        final = replace(planned.final, optimal=False, stopped=True, lower_bound=min(self._least, planned.final.total))
        return replace(planned, first=final, final=final)

    def _ask(self, candidates: Sequence[CandidatePartition]) -> None:
        """Measure. Raises Cancelled where the time was over before all of them were."""
        if not candidates:
            return
        answered = self._measure(candidates, self.table.best_s)
        self.table.learn(answered)
        if any(candidate not in answered for candidate in candidates):
            raise Cancelled

    def _merged(self, wanted: Sequence[tuple[str, int]]) -> list[CostedCandidate]:
        """Neighbours as one, given as (target, nodes as bits), with their costs."""
        graph = self.table.graph
        made = [CandidatePartition(graph, target, IndexSet.from_bits(bits), f"{target}.merged") for target, bits in wanted]
        self.table.add_merged(made)
        open_ = [candidate for candidate in made if not self.table.is_known(candidate)]
        try:
            self._ask(open_)
        except Cancelled:
            self._note_late(sum(not self.table.is_known(candidate) for candidate in open_), len(open_))
        return self.table.costed_of(made)

    def _repeat_for(self, planned: Planned, left_s: float) -> bool:
        """Measure once more what a plan rests on; return whether there was anything to measure.

        A plan is chosen since its costs are low, so by chance some of them are too low. Each is asked for once more in a run, and
        then what was left out because of them may matter. When all were asked for, it is the turn of what was left out because of
        costs that may be too high by chance: what the best plan would hold if each were as low as its interval allows.
        """
        if self._repeat is None:
            return False
        wanted = self.policy.to_repeat(self.table, planned.partitions, self._repeated)
        if not wanted:
            hopeful = self._search(self.table.at_their_lowest(), ignore)
            wanted = self.policy.to_repeat(self.table, hopeful.partitions, self._repeated)
        if not wanted:
            return False
        self._enter("repeat")
        self._repeated.update(self.table.key(candidate) for candidate in wanted)
        self.table.learn(self._repeat(wanted, self.table.best_s, left_s))
        self._best = None  # It was the total of costs that are known better now.
        return True

    def _cut_off(self) -> None:
        """The time is over: what is not known stays unknown."""
        self.is_cut_off = True
        if self.policy.quantiles:
            self.table.set_bounds(self._quantile)
            self._least = self._search(self.table.costed(), ignore).final.total
        missing = self.table.drop_bounds()
        self._note_late(missing, sum(candidate.target != HOST_TARGET for candidate in self.table.candidates))

    def _note_late(self, missing: int, asked: int) -> None:
        if missing:
            self._emit(Note(f"the time limit was over: {missing} of {asked} candidates have no known cost"))

    def _tell_considered(self, planned: Planned) -> None:
        """Tell the best plan as far as one can tell, and the least total that rests on known costs alone."""
        problem, chosen = planned.problem, planned.final.chosen
        possible = usable(planned.costed)
        whole = [(index,) for index, candidate in enumerate(problem.candidates) if len(candidate.inside) == problem.nodes]
        settled = [plan for plan in (chosen, *whole) if all(is_settled(possible[index].cost) for index in plan)]
        totals = [plan_total(problem, plan) for plan in settled]
        self._best = min([*totals, *([] if self._best is None else [self._best])], default=None)
        self._emit(considered_event(planned, [is_settled(possible[index].cost) for index in chosen], self._best))
