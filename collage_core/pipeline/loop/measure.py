"""`MeasuringLoop`: the one loop of a run in which costs get known and a plan is found, through steps that have names.

    largest first ─▶ profile ─▶ settle ─▶ search ─▶ merge ─▶ repeat ─▶ tune ─▶ decide
                                  ▲                            │  ▲       │
                                  └────────────────────────────┘  └───────┘

* **largest first** measures the largest candidate of each target, and the groups of partitionings: the plans to beat. With the first
  of them there is a plan.
* **profile** asks each toolchain's own profiler where the time of its largest parts goes, if more is open than can be measured.
  The largest candidates of targets without a profiler come after it: they have a share of the time, and the rest of it when better plans
  were looked for.
* **settle** searches under lower bounds for what is not measured, and measures what the best plan rests on, until that is everything.
* **search** finds the best plan over the rules' candidates.
* **merge** tries to fuse adjacent partitions of one target, and searches again, until nothing changes.
* **repeat** measures once more what could decide between the plan and its rivals; where the plan changes, the loop goes back.
* **tune** looks for faster schedules of what could make the plan faster by most, where that was asked for, and searches again.
* **decide** is the caller's: ties, baselines, certainty.

It takes plain functions that measure and that search; a `CostTable` holds the known costs, a `MeasuringPolicy` says what is
measured next, and a `Budget` when it must end. It gives a plan whose costs are known, as far as the time allowed; what is not known by
then counts with what profiles let expect of it.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

from ...cost.cost import Cost
from ...cost.error_limit import ErrorLimit
from ...cost.profile import ProfiledPart
from ...errors import Cancelled, InfeasibleError
from ...events import Emit, Event, Note, SearchProgress, StepStarted, TargetAlone, ignore
from ...graph.dataflow_graph import DataflowGraph
from ...graph.index_set import IndexSet
from ...rules.candidate import CandidatePartition
from ...rules.spec import HOST_TARGET
from ...search.problem import FEMTOSECONDS
from ..record.record import CostedCandidate, merged_rule, usable
from .budget import Budget
from .cost_table import CostTable, is_settled
from .measuring_policy import MeasuringPolicy
from .rivals import Rival, rivals_of
from .search_and_merge import PAUSE_S, Planned, considered_event, merge_rounds, plan_event
from .tuning import TuningStep

Costs = Iterable[tuple[CandidatePartition, Cost]]
"""As they get known."""
Measure = Callable[[Sequence[CandidatePartition], float | None], Costs]
"""Measures candidates; a plan of so many seconds is known, None while there is none. One missing in the answer came too late."""
Repeat = Callable[[Sequence[CandidatePartition], float | None], Costs]
"""As `Measure`, once more; one missing in the answer cannot be known any better, unless the time is over."""
Profile = Callable[[CandidatePartition], ProfiledPart | None]
"""Profiles a candidate; None where it cannot be built or profiled, or the time was over."""
Limits = Callable[[CandidatePartition, Sequence[int]], Iterable[ErrorLimit]]
"""Finds up to which of some nodes a target may compute a candidate that errs too much, and so on behind it, as far as there is time."""
Calls = Callable[[Sequence[str]], Costs]
"""Measures calls of some targets in the assembled module; costs that were told before and are others now."""
SETTLE_S = 3.0
"""Longest search under bounds: many plans may be alike under them, and which of these is measured next matters little."""


class Search(Protocol):
    """Finds a best plan; one that is not proven where that takes longer than `limit_s` seconds.

    Its errors are passed on: where there is no plan, nothing need be measured.
    """

    def __call__(self, costed: list[CostedCandidate], emit: Emit, limit_s: float | None = None) -> Planned: ...


class SearchStates:
    """Passes the states of searches on that decide what is measured, and of rivals; at most every `PAUSE_S` over all of them.

    It leaves their totals out: they rest on bounds, or on a part of the candidates, so they are no totals of the run.
    """

    def __init__(self, emit: Emit, clock: Callable[[], float] = time.monotonic):
        self._emit = emit
        self._clock = clock
        self._next_s = -math.inf

    def __call__(self, event: Event) -> None:
        if isinstance(event, SearchProgress) and self._clock() >= self._next_s:
            self._emit(replace(event, lower_bound_s=None, best_s=None))
            self._next_s = self._clock() + PAUSE_S


class MeasuringLoop:
    """The loop of one run. `costs` and `plan` go through its steps, `without` and `again` come back to them.

    Args:
        repeat: None where costs are not measured: repeating tells nothing.
        calls: None where calls count as free.
        budget: Ends measuring; without limit unless given. Whoever measures asks it, too.
        profile: None where no toolchain has a profiler.
        profiled_targets: Targets whose toolchains have one.
        limits: None where errors are not looked for.
        build_ahead: Begins to build what is measured later; None where nothing is.
        tuning: Tunes; None where that was not asked for.
        singles: Targets of which no two partitions are fused: each candidate is one call of a library.

    Attributes:
        is_cut_off: The plan rests on known costs and on estimates from profiles, and bounds say no longer what might be better: the
            time for that was over, or no search could tell it in its time.
    """

    def __init__(
        self,
        table: CostTable,
        policy: MeasuringPolicy,
        measure: Measure,
        search: Search,
        emit: Emit,
        repeat: Repeat | None = None,
        calls: Calls | None = None,
        budget: Budget | None = None,
        tuning: TuningStep | None = None,
        singles: Collection[str] = (),
        profile: Profile | None = None,
        profiled_targets: Collection[str] = (),
        limits: Limits | None = None,
        build_ahead: Callable[[CandidatePartition], None] | None = None,
    ):
        self.table = table
        self.policy = policy
        self.budget = budget or Budget()
        self.is_cut_off = False
        self._measure = measure
        self._search = search
        self._emit = emit
        self._tell_states = ignore if emit is ignore else SearchStates(emit)
        self._repeat = repeat
        self._calls = calls
        self._tuning = tuning
        self._singles = frozenset(singles)
        self._profile = profile
        self._profiled_targets = profiled_targets
        self._limits = limits
        self._build_ahead = build_ahead
        self._quantile = next(iter(policy.quantiles), 0.0)
        self._least: int | None = None
        self._best: int | None = None
        self._explore = policy.explore if repeat else 1.0
        self._repeated: Counter[Hashable] = Counter()
        self._exhausted: set[Hashable] = set()
        self._slow: set[str] = set()
        self._untold = {
            name: max(candidates, key=lambda one: len(one.inside)) for name, candidates in table.by_target.items() if candidates
        }

    def costs(self) -> None:
        """Steps ``largest first``, ``profile`` and ``settle``."""
        self._enter("largest first")
        tell = self._tell_first_plan if self._repeat is not None else None
        is_known, others = True, list[CandidatePartition]()
        if self._repeat is not None:
            self._tell_alone()  # An earlier run may have measured all that is asked for here.
            self._tell_first_plan()
            largest = self.policy.largest(self.table)
            # Another target than the profiled ones may be slow to build (TVM).
            others = [candidate for candidate in largest if self._profiled_targets and candidate.target not in self._profiled_targets]
            if self._build_ahead is not None and self.policy.profiles(self.table):
                for candidate in others:
                    self._build_ahead(candidate)
            is_known = self._ask([candidate for candidate in largest if candidate not in others], tell)
        self._profile_parts()
        if self._repeat is not None:
            if others:
                self._enter("largest first")
            with self.budget.within(self.policy.largest_share):
                is_known = self._ask(others, tell) and is_known
            if not self.budget.is_over():
                self._slow.update(candidate.target for candidate in others if not self.table.is_known(candidate))
                is_known = is_known or bool(self._slow)
        self._learn_limits()
        first = [candidate for candidate in self.policy.first(self.table) if candidate.target not in self._slow]
        is_known = is_known and self._ask(first) and self._ask(self.policy.grouped(self.table), tell)
        if not is_known:
            self._cut_off()
        self.budget.begin_shares()
        self.budget.has_plan = True
        self._settle()
        if self._slow and not self.is_cut_off:
            self._cut_off()

    def _profile_parts(self) -> None:
        """Step ``profile``: of each target the whole model, or the largest parts that it can take."""
        if self._profile is None or not self.policy.profiles(self.table):
            return
        self._enter("profile")
        began = self.budget.share_spent
        for target in self._profiled_targets:
            tried: dict[CandidatePartition, bool] = {}
            while self.budget.share_spent - began < self.policy.profiling and not self.budget.is_over():
                part = self.policy.next_to_profile(self.table, target, tried)
                if part is None:
                    break
                told = self._profile(part)
                tried[part] = told is not None
                if told is not None:
                    self.table.learn_profile(told)

    def _learn_limits(self) -> None:
        """Find out of each target that takes the model and errs too much which of its parts do not."""
        if self._limits is None:
            return
        most = self.budget.share_spent + self.policy.profiling
        with self.budget.within(most):
            for target, candidates in self.table.by_target.items():
                largest = max(candidates, key=lambda one: len(one.inside))
                if not self.table.errs(largest) or target in self._slow or self.budget.is_over() or self.budget.share_spent >= most:
                    continue
                limits = []
                ends = sorted({candidate.inside.last() for candidate in self.policy.coarse(self.table) if candidate.target == target})
                for limit in self._limits(largest, ends):
                    self.table.learn_limit(limit)
                    limits.append(limit)
                    if self.budget.share_spent >= most:
                        break
                # One that errs only where its kernels are fused has no limit, and trials tell of its parts.
                if limits and limits[0].last != largest.inside.last():
                    self._emit(Note(limits_text(self.table.graph, target, limits)))

    def check_plan(self) -> None:
        """Raise Cancelled where the user has stopped the run before what is known made a plan: there is nothing to keep."""
        if self.budget.should_stop() and self._known_plan() is None:
            raise Cancelled

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

    def repeat(self, planned: Planned) -> Planned:
        """Step ``repeat``, and the others where the plan changes: the plan when no rival matters any more, or the time is over."""
        planned = self._decided(planned)
        if self.is_cut_off and self._repeat is not None and not self.budget.is_over():
            # Looking for better plans had its share of the budget, and what decides between those that are known left some.
            self.is_cut_off, self._least, self._explore = False, None, 1.0
            planned = self._decided(self._search_once_more(planned))
        return planned

    def _decided(self, planned: Planned) -> Planned:
        """Repeat what decides, and search again, until nothing is worth repeating.

        As long as the plan stays the best one of known costs, no others are searched: with thousands of them that takes a second each time.
        """
        while wanted := self._to_repeat(planned):
            self._enter("repeat")
            known = planned
            while wanted:
                self._repeat_once(known, wanted)
                best = self._known_plan()
                if best is None or _held(best) != _held(planned):
                    break
                known, wanted = best, self._to_repeat(best)
            before, planned = planned, replace(self._searched(), first=planned.first)
            if _held(before) != _held(planned):
                planned = self._search_once_more(planned)
            self._emit(plan_event(planned.problem, planned.final, 0))
        return planned

    def _search_once_more(self, planned: Planned) -> Planned:
        self.table.restart_merging()
        self._best = planned.final.total
        self._settle()
        self._enter("search")
        return self.merge(replace(self._searched(), first=planned.first))

    def tune(self, planned: Planned) -> Planned:
        """Step ``tune``, and ``repeat`` again for what it changed: the plan when nothing could gain much, or the time is over."""
        if self._tuning is None or self.budget.should_stop():
            return planned
        self._tuning.begin()
        self._enter("tune")
        before_s = planned.final.total / FEMTOSECONDS

        def search(costed: list[CostedCandidate]) -> Planned:
            return self._search(costed, self._tell_states, SETTLE_S)

        while (candidate := self._tuning.next(self.policy, self.table, planned, search)) is not None:
            costs = self._tuning.slice(self.table, candidate)
            is_faster = any(cost.seconds != self.table.seconds(one) for one, cost in costs.items())
            self.table.learn(costs)
            if is_faster:
                del self._repeated[self.table.key(candidate)]
                planned = replace(self._searched(), first=planned.first)
                self._emit(plan_event(planned.problem, planned.final, 0))
        self._best = None  # Plans of costs that are others now.
        planned = self._decided(replace(self._searched(), first=planned.first))
        self._emit(Note(self._tuning.summary(before_s, planned)))
        return planned

    @property
    def tuned_s(self) -> float:
        """Seconds that were spent of the time for tuning."""
        return 0.0 if self._tuning is None else self._tuning.spent_s

    def undecided(self, planned: Planned) -> list[Rival]:
        """The rivals of a plan that could make it faster by more than anybody cares, those that could gain most first.

        They are looked for after the budget is over, too, for they are what it left undecided.
        """
        return self._undecided(planned, self.budget.should_stop)

    def _undecided(self, planned: Planned, should_stop: Callable[[], bool]) -> list[Rival]:
        if self._repeat is None or should_stop():
            return []
        rivals = rivals_of(planned, lambda costed, limit_s: self._search(costed, self._tell_states, limit_s), self.table.key, should_stop)
        return self.policy.undecided(rivals, planned.final.total / FEMTOSECONDS)

    def get_known(self, candidates: Sequence[CandidatePartition]) -> None:
        """Measure those of `candidates` whose costs are not known, as far as the budget allows, however slow they are.

        Plans of other shapes hold them, and what these lose here is of interest.
        """
        wanted = [candidate for candidate in candidates if self.table.is_open(candidate)]
        if wanted:
            self.table.learn(dict(self._measure(wanted, None)))

    def with_costs(self, planned: Planned, costs: Mapping[int, Cost]) -> Planned:
        """The best plan where some candidates have other `costs`, or are invalid; the keys are indices in ``planned.costed``."""
        for index, cost in costs.items():
            held = planned.costed[index].held
            assert isinstance(held, CandidatePartition)
            self.table.set_own(held, cost)
        return self.again(planned)

    def again(self, planned: Planned) -> Planned:
        """The best plan after `planned`, under other terms of the search."""
        self._enter("search")
        planned = self.merge(replace(self._searched(), first=planned.first))
        self._emit(plan_event(planned.problem, planned.final, 0))
        return planned

    def _enter(self, step: str) -> None:
        self._emit(StepStarted(step, self.budget.left_s(None) if self._repeat is not None else None))

    def _settle(self) -> None:
        """Step ``settle``: under safer and safer bounds; the boldest must do where there is no room for more."""
        if self.is_cut_off or not self.policy.quantiles:
            return
        self._enter("settle")
        if not self._settle_under_all():
            self._cut_off()

    def _settle_under_all(self) -> bool:
        """Measure what the best plan rests on under each bound in turn; return whether all of that is known."""
        boldest = self.policy.quantiles[0]
        with suppress(InfeasibleError):  # The coarse candidates alone need not make a plan.
            if not self._settle_under(boldest, self.policy.coarse):
                return False
        for quantile in self.policy.quantiles:
            if not self._settle_under(quantile):
                return False
            if not self.policy.room(self.table) or self.budget.share_spent > self._explore:
                return self._settle_under(boldest)
        return True

    def _settle_under(self, quantile: float, among: Callable[[CostTable], list[CandidatePartition]] | None = None) -> bool:
        """Measure what the best plan rests on under the bounds of `quantile`; of some candidates `among` those of the table if given.

        Return whether all of that is known: not where the time is over, or no search can tell in its time what may be better.
        """
        self._quantile = quantile
        while True:
            self.table.set_bounds(quantile)
            costed = self.table.costed_of(among(self.table)) if among else self.table.costed()
            most = self.policy.slow_share * len(self.table.graph)
            quick = [item for item in costed if item.target not in self._slow or len(item.inside) <= most]
            planned = self._search(quick, self._tell_states, SETTLE_S)
            self._tell_considered(planned)
            if planned.final.stopped and self._best is not None and planned.final.total >= self._best:
                # It is slower than the known plan even under bounds, so what it rests on need not be measured.
                self._least = None if among else planned.final.lower_bound
                return False
            wanted = self.policy.next(self.table, planned.partitions, quantile)
            if not wanted:
                return True
            if self.budget.share_spent > self._explore or not self._ask(wanted):
                return False

    def _searched(self) -> Planned:
        """Return the best plan over all candidates of the table: search, measure what the plan rests on, and search again."""
        is_late = False
        while True:
            planned = self._search(self.table.costed(), self._emit)
            wanted = [] if is_late or self._must_do(planned) else self.policy.open(self.table, planned.partitions)
            if not wanted:
                return self._bounded(planned)
            if not self.is_cut_off:
                if not self._ask(wanted):
                    is_late = True
                    self._cut_off()
            elif self.policy.is_gain(planned, self._known_plan()):
                is_late = not self._ask(self.policy.dearest(self.table, planned.partitions))
                self.table.set_estimates()  # A trial tells of others on its target.
            else:
                self.table.drop_estimates()

    def _must_do(self, planned: Planned) -> bool:
        """Return whether a plan must do as it is: there is no time to measure what it rests on, or nothing in it is an estimate."""
        if not self.is_cut_off:
            return False
        return self.budget.is_over() or not any(item.cost.is_guess for item in planned.partitions)

    def _bounded(self, planned: Planned) -> Planned:
        """`planned` as what it is where the time was over: no proof, with the bound that was known then."""
        if self._least is None:
            return planned
        final = replace(planned.final, optimal=False, stopped=True, lower_bound=min(self._least, planned.final.total))
        return replace(planned, first=final, final=final)

    def _ask(self, candidates: Sequence[CandidatePartition], on_cost: Callable[[], None] | None = None) -> bool:
        """Measure; `on_cost` is called after each cost. Return whether all got known before the time was over."""
        if not candidates:
            return True
        answered: set[CandidatePartition] = set()
        for known in _one_by_one(self._measure(candidates, self.table.best_s), on_cost is not None):
            self.table.learn(known)
            answered.update(known)
            self._tell_alone()
            if on_cost is not None:
                on_cost()
        return answered.issuperset(candidates)

    def _tell_alone(self) -> None:
        """Tell what targets take alone whose largest candidates have got known."""
        known = [
            (name, candidate) for name, candidate in self._untold.items() if self._repeat is not None and self.table.is_known(candidate)
        ]
        for name, candidate in known:
            (item,) = self.table.costed_of([self._untold.pop(name)])
            cost, nodes, of = item.cost, len(candidate.inside), len(self.table.graph)
            self._emit(TargetAlone(name, nodes, of, cost.seconds, cost.interval_s, "" if cost.seconds is not None else cost.reason))

    def _tell_first_plan(self) -> None:
        """Tell the best plan of what is known so far, if that is a plan at all; how long it takes says how long measuring may take."""
        self.budget.add_inferences(self.table.best_s)
        planned = self._known_plan()
        if planned is not None:
            self.budget.has_plan = not self._lacks_groups()
            self._tell_better(planned)

    def _lacks_groups(self) -> bool:
        """Return whether some groups of partitionings have no known cost, and no other target has a plan to beat.

        Then the partitioning is the plan to beat: TVM's fusion mode must not be behind the kernels of `FuseOps`, whatever the budget.
        """
        others = set(self.table.by_target) - {HOST_TARGET} - {candidate.target for candidate in self.table.grouped}
        return not others and bool(self.policy.grouped(self.table))

    def _known_plan(self) -> Planned | None:
        """The best plan of known costs; None where they make no plan."""
        known = [candidate for candidate in (*self.table.candidates, *self.table.merged) if self.table.is_known(candidate)]
        with suppress(InfeasibleError):
            return self._search(self.table.costed_of(known), self._tell_states, SETTLE_S)
        return None

    def _merged(self, wanted: Sequence[tuple[str, int]]) -> list[CostedCandidate]:
        """Return fused partitions, given as (target, nodes as bits), with their costs.

        Where the budget is needed for what decides, they have estimates, and where there are none, nothing is fused.
        """
        is_late = self.budget.share_spent > self.policy.merge
        if is_late and not self.table.has_estimates:
            return []
        graph = self.table.graph
        fused = [(target, IndexSet.from_bits(bits)) for target, bits in wanted if target not in self._singles]
        made = [CandidatePartition(graph, target, inside, merged_rule(target)) for target, inside in fused]
        self.table.add_merged(made)
        open_ = [candidate for candidate in made if not is_late and not self.table.is_known(candidate)]
        if not self._ask(open_):
            self._note_late(sum(not self.table.is_known(candidate) for candidate in open_), len(open_))
        return self.table.costed_of(made)

    def _to_repeat(self, planned: Planned) -> list[CandidatePartition]:
        """The candidates to measure once more, the most valuable first; none where that would change nothing, or the time is over."""
        if self._repeat is None or self.budget.is_over():
            return []
        wanted = self.policy.to_confirm(self.table, planned, self._exhausted.union(self._repeated))
        exhausted = self._exhausted.union(key for key, times in self._repeated.items() if times >= self.policy.most_repeated)
        return wanted or self.policy.to_repeat(self.table, self._undecided(planned, self.budget.is_over), exhausted)

    def _repeat_once(self, planned: Planned, wanted: Sequence[CandidatePartition]) -> None:
        assert self._repeat is not None
        estimated = [candidate for candidate in wanted if not self.table.is_known(candidate)]
        self._ask(estimated)
        answered = dict(self._repeat([candidate for candidate in wanted if candidate not in estimated], self.table.best_s))
        self.table.learn(answered)
        self._repeated.update(self.table.key(candidate) for candidate in answered)
        if not self.budget.is_over():
            known = [candidate for candidate in estimated if self.table.is_known(candidate)]
            self._exhausted.update(self.table.key(candidate) for candidate in wanted if candidate not in (*answered, *known))
        targets = dict.fromkeys([*(item.target for item in planned.partitions), *(candidate.target for candidate in wanted)])
        if self._calls is not None and self.policy.calls_matter(planned.final.total):
            self.table.learn(dict(self._calls([name for name in targets if name != HOST_TARGET])))
        self._best = None  # It was the total of costs that are known better now.

    def _cut_off(self) -> None:
        """The time is over, or that for looking for better plans, or none can be found: what is not known stays unknown."""
        self.is_cut_off = True
        if self.policy.quantiles and self._least is None:
            self.table.set_bounds(self._quantile)
            self._least = self._search(self.table.costed(), self._tell_states, SETTLE_S).final.lower_bound
        missing = self.table.drop_bounds()
        if self._repeat is None or self.budget.is_over():
            self._note_late(missing, sum(candidate.target != HOST_TARGET for candidate in self.table.candidates))

    def _note_late(self, missing: int, asked: int) -> None:
        if missing:
            why = "the run was cancelled" if self.budget.should_stop() else "the budget was over"
            self._emit(Note(f"{why}: {missing} of {asked} candidates have no known cost"))

    def _tell_considered(self, planned: Planned) -> None:
        """Tell the best plan as far as one can tell; it is a better one than before where it rests on known costs alone."""
        possible = usable(planned.costed)
        settled = [is_settled(possible[index].cost) for index in planned.final.chosen]
        if all(settled):
            self._tell_better(planned)
        self._emit(considered_event(planned, settled, self._best))

    def _tell_better(self, planned: Planned) -> None:
        if self._best is None or planned.final.total < self._best:
            self._best = planned.final.total
            self._emit(plan_event(planned.problem, planned.final, 0))


def limits_text(graph: DataflowGraph, target: str, limits: Sequence[ErrorLimit]) -> str:
    """Say which parts of a model a target that errs too much computes right enough."""
    spans = [(limit.inside.first(), limit.last) for limit in limits if limit.last is not None]
    parts = [f"from {graph.nodes[first].name!r} to {graph.nodes[last].name!r}" for first, last in spans]
    right = f"it is right enough {' and '.join(parts)}" if parts else "no part from its beginning is right enough"
    return f"{target} errs too much on the whole model ({limits[0].error:.2g}, at most {limits[0].accuracy:g} may be): {right}"


def _one_by_one(costs: Costs, wanted: bool) -> Iterable[dict[CandidatePartition, Cost]]:
    """Yield each cost as it gets known; all at once, which takes less time, unless that is `wanted`."""
    if not wanted:
        yield dict(costs)
        return
    for candidate, cost in costs:
        yield {candidate: cost}


def _held(planned: Planned) -> set[object]:
    return {item.held for item in planned.partitions}
