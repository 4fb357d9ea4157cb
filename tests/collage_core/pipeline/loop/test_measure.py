"""`MeasuringLoop`: its steps in their order, what it does when the time is over, and that a plan rests on known costs."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from statistics import median
from typing import Any

import pytest
from recorded_costs import MEASURED_WHOLLY, RecordedCosts, computation_key

from collage_core.cost.cost import Cost
from collage_core.cost.error_limit import ErrorLimit
from collage_core.cost.profile import ProfiledPart
from collage_core.events import STEPS, Emit, Event, Note, PlanConsidered, PlanImproved, SearchProgress, StepStarted, TargetAlone, ignore
from collage_core.graph.dataflow_graph import DataflowGraph
from collage_core.graph.index_set import IndexSet
from collage_core.pipeline.loop.budget import INFERENCES, Budget
from collage_core.pipeline.loop.cost_table import TOO_LATE, CostTable
from collage_core.pipeline.loop.measure import MeasuringLoop, SearchStates
from collage_core.pipeline.loop.measuring_policy import MeasureEverything, MeasuringPolicy
from collage_core.pipeline.loop.search_and_merge import PAUSE_S, Planned
from collage_core.pipeline.record.record import CostedCandidate, RunRecord, flow_tensors, search_candidates
from collage_core.rules.candidate import CandidatePartition
from collage_core.rules.spec import HOST_TARGET
from collage_core.search.problem import FEMTOSECONDS, SearchProblem
from collage_core.search.solve import solve
from tests.helpers.graphs import graph
from tests.helpers.long_cases import mostly_long
from tests.helpers.rated_costs import RatedCosts
from tests.helpers.typed_graphs import alternating, speech


@cache
def record_of(name: str) -> RunRecord:
    return RunRecord.load(MEASURED_WHOLLY / f"{name}.json.gz")


def steps(events: Sequence[Event]) -> list[str]:
    return [event.step for event in events if isinstance(event, StepStarted)]


def test_the_steps_come_in_their_order_and_go_back_where_a_repetition_changes_the_plan() -> None:
    events: list[Event] = []
    recorded = RecordedCosts(record_of("mnist"), noise=0.3, seed=2)
    loop = recorded.loop(emit=events.append)
    loop.costs()
    loop.repeat(loop.merge(loop.search()))
    told = steps(events)
    assert told[:5] == ["largest first", "settle", "search", "merge", "repeat"]
    assert told[5:8] == ["settle", "search", "merge"]
    assert set(told) <= set(STEPS)


def test_while_costs_are_measured_the_states_of_searches_are_told_without_totals() -> None:
    events: list[Event] = []
    loop = RecordedCosts(record_of("squeezenet")).loop(emit=events.append)
    loop.costs()
    states = [event for event in events if isinstance(event, SearchProgress)]
    assert states
    assert any(event.placed for event in states), "a state of a search is the partitions that it has placed"
    assert {(event.lower_bound_s, event.best_s) for event in states} == {(None, None)}, "totals under bounds are none of the run's"
    assert any(isinstance(event, PlanConsidered) for event in events[events.index(states[0]) :])


def test_states_of_many_short_searches_are_no_more_than_can_be_drawn() -> None:
    now, events = [0.0], []
    tell = SearchStates(events.append, lambda: now[0])
    state = SearchProgress(7, 9, 3, 1, 4, 2.0, 5.0, (("a", (0, 1)),))
    for moment in (0.0, PAUSE_S / 2, PAUSE_S, 1.5 * PAUSE_S, 2 * PAUSE_S):
        now[0] = moment
        tell(state)
        tell(Note("of a search"))
    assert events == [replace(state, lower_bound_s=None, best_s=None)] * 3


class Turned:
    """A clock on which each measurement of `recorded` takes a second."""

    def __init__(self, recorded: RecordedCosts):
        self._recorded = recorded

    def __call__(self) -> float:
        return float(len(self._recorded.asked) + len(self._recorded.repeated))


def within(seconds: float, name: str, noise: float, seed: int = 0) -> tuple[RecordedCosts, MeasuringLoop, Planned, list[Event]]:
    """A whole loop that may take so many measurements."""
    events: list[Event] = []
    recorded = RecordedCosts(record_of(name), noise=noise, seed=seed)
    budget = Budget(seconds, Turned(recorded))
    recorded.is_over = budget.is_over
    loop = recorded.loop(emit=events.append, budget=budget)
    with budget.counting():
        loop.costs()
        planned = loop.repeat(loop.merge(loop.search()))
    return recorded, loop, planned, events


def test_a_budget_that_ends_at_once_still_gives_the_first_complete_plan() -> None:
    recorded, loop, planned, events = within(0.5, "squeezenet", noise=0.05)
    assert (len(recorded.asked), recorded.repeated, loop.is_cut_off) == (1, [], True)
    assert [item.held for item in planned.partitions] == recorded.asked
    improved = [event for event in events if isinstance(event, PlanImproved)]
    assert improved[0].total_s == planned.final.total / FEMTOSECONDS
    assert any(isinstance(event, Note) and event.text.startswith("the budget was over") for event in events)


def test_looking_for_plans_takes_half_of_the_budget_and_what_decides_between_them_the_rest() -> None:
    """With noise of 30 % a look at what else there might be would take all of the time."""
    recorded, _, planned, _ = within(40.0, "squeezenet", noise=0.3, seed=3)
    assert len(recorded.asked) + len(recorded.repeated) <= 41
    assert recorded.repeated
    assert all(item.cost.source == "measured" for item in planned.partitions)


def test_what_is_undecided_at_the_end_is_said_and_a_new_budget_goes_on_from_there() -> None:
    recorded, loop, planned, _ = within(30.0, "lstm", noise=0.3)
    left = loop.undecided(planned)
    assert left, "too little time for a machine like this one"
    assert {item.held for rival in left for item in rival.partitions} <= {item.held for item in planned.partitions}
    known = {item.held: item.cost for item in loop.table.costed() if item.cost.source == "measured"}
    again = recorded.loop(known=known, budget=Budget())  # type: ignore[arg-type]
    recorded.is_over = again.budget.is_over
    asked = len(recorded.asked)
    again.costs()
    further = again.repeat(again.merge(again.search()))
    well_known = {computation_key(one) for one, cost in known.items() if not cost.stopped_early}  # type: ignore[arg-type]
    assert not {computation_key(one) for one in recorded.asked[asked:]} & well_known
    assert sum(rival.could_gain_s for rival in again.undecided(further)) < sum(rival.could_gain_s for rival in left)


def test_each_target_alone_is_told_before_anything_else_and_once() -> None:
    """Its time, or why it has none; one that is slow to build comes when it is known."""
    events: list[Event] = []
    recorded = RecordedCosts(record_of("squeezenet"), noise=0.05)
    loop = recorded.loop(emit=events.append, is_profiled=True)
    loop.costs()
    told = [event for event in events if isinstance(event, TargetAlone)]
    assert {event.target for event in told} == set(loop.table.by_target)
    assert len(told) == len(loop.table.by_target)
    assert all((event.total_s is None) == bool(event.reason) and 0 < event.nodes <= event.of for event in told)
    first_profile = next(at for at, event in enumerate(events) if isinstance(event, StepStarted) and event.step == "profile")
    profiled = {candidate.target for candidate in recorded.profiled}
    assert all(events.index(event) < first_profile for event in told if event.target in profiled)
    again: list[Event] = []
    known = {item.held: item.cost for item in loop.table.costed() if item.cost.source in ("measured", "invalid")}
    recorded.loop(known=known, emit=again.append).costs()  # type: ignore[arg-type]
    assert sorted(event.target for event in again if isinstance(event, TargetAlone)) == sorted(loop.table.by_target)


class SlowSearch:
    """Searches over recorded costs, and a clock on which each of them takes a second; measuring takes none."""

    def __init__(self, recorded: RecordedCosts):
        self.searches = 0
        self._recorded = recorded

    def __call__(self, costed: list[CostedCandidate], emit: Emit, limit_s: float | None = None) -> Planned:
        self.searches += 1
        return self._recorded.search(costed, emit, limit_s)

    def loop(self, seconds: float, known: dict[CandidatePartition, Cost] | None = None, emit: Emit = ignore) -> MeasuringLoop:
        budget = Budget(seconds, lambda: float(self.searches), extend_run=lambda more_s: None)
        self._recorded.is_over = budget.is_over
        plain = self._recorded.loop(known=known)
        return MeasuringLoop(plain.table, plain.policy, self._recorded.measure, self, emit, self._recorded.repeat, budget=budget)


def test_looking_for_rivals_ends_with_the_budget_but_for_the_last_look() -> None:
    recorded = RecordedCosts(record_of("lstm"), noise=0.3)
    slow = SlowSearch(recorded)
    loop = slow.loop(3.0)
    with loop.budget.counting():
        loop.costs()
        planned = loop.merge(loop.search())
        assert loop.budget.is_over()
        before = slow.searches, len(recorded.repeated)
        assert loop.repeat(planned) is planned
        assert (slow.searches, len(recorded.repeated)) == before, "no search, and nothing is repeated"
        assert loop.undecided(planned), "what is left undecided is said all the same"
    assert slow.searches > before[0]


class HardSearch:
    """Searches over recorded costs, of which those under bounds (they have a limit) are stopped at a plan as bad as any."""

    def __init__(self, recorded: RecordedCosts):
        self.over: list[int] = []
        self._recorded = recorded

    def __call__(self, costed: list[CostedCandidate], emit: Emit, limit_s: float | None = None) -> Planned:
        self.over.append(len(costed))
        planned = self._recorded.search(costed, emit, limit_s)
        if limit_s is None or all(item.cost.source == "measured" or item.target == HOST_TARGET for item in costed):
            return planned
        singles = tuple(index for index, one in enumerate(planned.problem.candidates) if len(one.inside) == 1)
        least = planned.final.total // 2
        stopped = replace(planned.final, chosen=singles, total=10 * FEMTOSECONDS, optimal=False, lower_bound=least, stopped=True)
        return replace(planned, first=stopped, final=stopped)


def test_where_no_search_tells_in_its_time_what_may_be_better_the_known_plan_is_good_enough() -> None:
    events: list[Event] = []
    recorded = RecordedCosts(record_of("squeezenet"), noise=0.01)
    plain, hard = recorded.loop(), HardSearch(recorded)
    loop = MeasuringLoop(plain.table, plain.policy, recorded.measure, hard, events.append, recorded.repeat)
    loop.costs()
    assert loop.is_cut_off
    assert hard.over[-1] == len(loop.table.candidates), "the last search is the first one over all of them"
    assert hard.over.count(len(loop.table.candidates)) == 1
    before = len(recorded.asked)
    planned = loop.search()
    assert len(recorded.asked) == before, "the parts of the bad plan are not measured"
    assert all(item.cost.source == "measured" for item in planned.partitions)
    assert (planned.final.optimal, planned.final.lower_bound > 0) == (False, True)
    assert not [event for event in events if isinstance(event, Note)], "the budget was not over"


def test_while_a_plan_stays_the_best_of_the_known_ones_no_others_are_searched() -> None:
    recorded, over = RecordedCosts(record_of("lstm"), noise=0.1, seed=1), list[int]()

    def search(costed: list[CostedCandidate], emit: Emit, limit_s: float | None = None) -> Planned:
        over.append(len(costed))
        return recorded.search(costed, emit, limit_s)

    plain = recorded.loop()
    loop = MeasuringLoop(plain.table, plain.policy, recorded.measure, search, ignore, recorded.repeat)
    loop.costs()
    planned = loop.search()
    over.clear()
    assert {item.held for item in loop.repeat(planned).partitions} == {item.held for item in planned.partitions}
    assert sum(count >= len(loop.table.candidates) for count in over) == 1, "at the end"
    assert len(recorded.repeated) > 20


def test_what_is_known_already_makes_the_first_plan_at_once_and_its_time_the_budget() -> None:
    recorded, events = RecordedCosts(record_of("squeezenet"), noise=0.01), list[Event]()
    known = {candidate: cost for candidate, cost in recorded.costs.items() if candidate.target != HOST_TARGET}
    loop = SlowSearch(recorded).loop(30.0, known, events.append)
    loop.costs()
    assert not recorded.asked
    told = [type(event) for event in events if not isinstance(event, SearchProgress)]
    assert [kind for kind in told if kind is not TargetAlone][:2] == [StepStarted, PlanImproved]
    assert loop.table.best_s is not None
    assert loop.budget.limit_s == 30.0 + INFERENCES * loop.table.best_s


def test_each_better_plan_is_told_from_the_first_on() -> None:
    events: list[Event] = []
    recorded = RecordedCosts(record_of("squeezenet"), noise=0.01)
    loop = recorded.loop(emit=events.append)
    loop.costs()
    told = [event for event in events if isinstance(event, PlanImproved | StepStarted)]
    improved = [event for event in told if isinstance(event, PlanImproved)]
    assert [type(event) for event in told[:2]] == [StepStarted, PlanImproved], "the first plan comes with the first cost"
    assert [event.total_s for event in improved] == sorted((event.total_s for event in improved), reverse=True)


def test_calls_are_measured_when_small_plans_are_compared_and_not_before() -> None:
    recorded = RecordedCosts(record_of("mini_mnist"), noise=0.3)
    loop, asked = recorded.loop(), list[list[str]]()

    def calls(targets: Sequence[str]) -> list[tuple[CandidatePartition, Cost]]:
        asked.append(sorted(targets))
        return []

    loop = MeasuringLoop(loop.table, loop.policy, recorded.measure, recorded.search, ignore, recorded.repeat, calls)
    loop.costs()
    assert not asked
    loop.repeat(loop.search())
    assert asked
    assert all(name in record_of("mini_mnist").problem.priorities for names in asked for name in names)


def test_where_everything_is_measured_nothing_is_settled_under_bounds() -> None:
    events: list[Event] = []
    recorded = RecordedCosts(record_of("mnist"))
    loop = recorded.loop(MeasureEverything(), emit=events.append)
    loop.costs()
    assert loop.search().final.total == recorded.best().total
    assert steps(events) == ["largest first", "search"]
    assert len(recorded.asked) == sum(candidate.target != HOST_TARGET for candidate in recorded.candidates)


def test_what_was_not_measured_is_an_estimate_and_says_so() -> None:
    recorded = RecordedCosts(record_of("squeezenet"))
    loop = recorded.loop()
    loop.costs()
    measured = {computation_key(candidate) for candidate in recorded.asked}
    for candidate, item in zip(recorded.candidates, loop.table.costed(), strict=True):
        if candidate.target == HOST_TARGET or computation_key(candidate) in measured:
            assert item.cost == recorded.costs[candidate]
        else:
            assert (item.cost.source, item.cost.reason) == ("bound", Cost.bound(0.0).reason)


def test_what_is_known_is_not_asked_for() -> None:
    recorded = RecordedCosts(record_of("lstm"))
    loop = recorded.loop(known=recorded.costs)
    loop.costs()
    assert not recorded.asked
    assert [item.cost for item in loop.table.costed()] == list(recorded.costs.values())


def test_when_the_time_is_over_it_ends_with_what_it_has() -> None:
    events: list[Event] = []
    recorded = RecordedCosts(record_of("squeezenet"))
    recorded.most = 5
    loop = recorded.loop(emit=events.append)
    loop.costs()
    assert loop.is_cut_off
    assert len(recorded.asked) == 5
    costs = [item.cost for item in loop.table.costed()]
    assert sum(cost.source == "measured" for cost in costs) >= 5
    late, placed = costs.count(TOO_LATE), sum(candidate.target != HOST_TARGET for candidate in recorded.candidates)
    assert Note(f"the budget was over: {late} of {placed} candidates have no known cost") in events
    found = loop.search().final
    assert (found.stopped, found.optimal) == (True, False)
    assert found.lower_bound <= found.total


def test_the_time_that_is_over_while_a_plan_is_searched_leaves_a_plan() -> None:
    """All measured candidates are excluded; the best plan then calls for measurements for which there is no time left."""
    events: list[Event] = []
    recorded = RecordedCosts(record_of("squeezenet"))
    loop = recorded.loop(emit=events.append)
    loop.costs()
    exclude_measured(recorded, loop)
    recorded.most = len(recorded.asked)
    planned = loop.search()
    assert loop.is_cut_off
    assert (planned.final.stopped, planned.final.optimal) == (True, False)
    assert {item.cost for item in planned.partitions if item.target != HOST_TARGET} == {TOO_LATE}
    assert any(isinstance(event, Note) and event.text.startswith("the budget was over") for event in events)


def test_bounds_that_a_later_plan_holds_are_measured() -> None:
    recorded = RecordedCosts(record_of("squeezenet"))
    loop = recorded.loop()
    loop.costs()
    exclude_measured(recorded, loop)
    before = len(recorded.asked)
    planned = loop.search()
    assert {item.cost.source for item in planned.partitions} <= {"measured", "host"}
    assert len(recorded.asked) > before, "nothing in its place had been measured"


def exclude_measured(recorded: RecordedCosts, loop: MeasuringLoop) -> None:
    measured = {computation_key(candidate) for candidate in recorded.asked}
    for candidate in recorded.candidates:
        if computation_key(candidate) in measured:
            loop.table.set_own(candidate, Cost.invalid("numerics", "it errs"))


CHAIN = graph([f"n{k}: {'Conv' if k % 2 else 'Relu'} <- {'x' if k == 0 else f'n{k - 1}'}" for k in range(8)])


def test_nothing_is_measured_where_there_is_no_plan() -> None:
    candidates = [CandidatePartition(CHAIN, "a", IndexSet((node,)), "test") for node in range(8)]
    asked: list[CandidatePartition] = []

    def measure(wanted: Sequence[CandidatePartition], best_s: float | None) -> list[tuple[CandidatePartition, Cost]]:
        asked.extend(wanted)
        return [(candidate, Cost(1.0, "measured")) for candidate in wanted]

    def search(costed: list[CostedCandidate], emit: Emit, limit_s: float | None = None) -> Planned:
        raise ValueError("no plan")

    table = CostTable(CHAIN, candidates, lambda candidate: candidate.inside)
    with pytest.raises(ValueError, match="no plan"):
        MeasuringLoop(table, MeasuringPolicy(), measure, search, ignore).costs()
    assert len(asked) <= 1


def test_what_an_earlier_run_ended_early_is_good_enough_unless_the_plan_rests_on_it() -> None:
    recorded = RecordedCosts(record_of("squeezenet"))
    first = recorded.loop()
    first.costs()
    known = {item.held: item.cost for item in first.table.costed() if item.cost.source == "measured"}
    in_plan = {computation_key(item.held) for item in first.search().partitions}  # type: ignore[arg-type]
    rough = {one: replace(cost, stopped_early=computation_key(one) not in in_plan) for one, cost in known.items()}  # type: ignore[arg-type]
    recorded.asked.clear()
    recorded.loop(known=rough).costs()  # type: ignore[arg-type]
    assert not recorded.asked, "nothing in the plan is rough"
    all_rough = {one: replace(cost, stopped_early=True) for one, cost in known.items()}
    recorded.loop(known=all_rough).costs()  # type: ignore[arg-type]
    assert {computation_key(candidate) for candidate in recorded.asked} == in_plan


def test_an_excluded_candidate_comes_back_in_no_plan() -> None:
    recorded = RecordedCosts(record_of("mnist"))
    loop = recorded.loop()
    loop.costs()
    planned = loop.merge(loop.search())
    gone = planned.partitions[0].held
    for _ in range(3):
        planned = loop.with_costs(planned, {planned.indices[0]: Cost.invalid("numerics", "it errs")})
        assert gone not in [item.held for item in planned.partitions]


def test_calls_of_a_library_are_never_fused() -> None:
    """Two of them in a row are no call of it: nothing is asked for."""
    asked: list[CandidatePartition] = []

    def measure(wanted: Sequence[CandidatePartition], _best_s: float | None) -> list[tuple[CandidatePartition, Cost]]:
        asked.extend(wanted)
        return [(candidate, Cost(1e-6, "mock")) for candidate in wanted]

    def search(*_: object) -> Planned:
        raise AssertionError("no plan is wanted")

    loop = MeasuringLoop(CostTable(record_of("mnist").graph, [], None), MeasureEverything(), measure, search, ignore, singles=["library"])
    pairs = [("library", IndexSet([0, 1]).bits), ("graph", IndexSet([0, 1]).bits)]
    assert [one.target for one in loop._merged(pairs)] == ["graph"]
    assert {one.target for one in asked} == {"graph"}


def test_what_plans_of_other_shapes_hold_gets_known_whole_and_only_once() -> None:
    recorded = RecordedCosts(record_of("squeezenet"))
    loop = recorded.loop()
    loop.costs()
    known = {item.held: item.cost for item in loop.table.costed() if item.cost.source == "measured"}
    rough = next(candidate for candidate in known if candidate.target != HOST_TARGET)
    again = recorded.loop(known={**known, rough: replace(known[rough], stopped_early=True)})  # type: ignore[dict-item]
    bound = next(item.held for item in again.table.costed() if item.cost.reason == TOO_LATE.reason)
    recorded.asked.clear()
    for _ in range(2):
        again.get_known([rough, bound])  # type: ignore[list-item]
    assert recorded.asked == [rough, bound]
    assert not any(again.table.is_open(candidate) for candidate in (rough, bound))  # type: ignore[arg-type]


def test_profiles_spare_trials_and_lose_no_plan() -> None:
    """Half of nine models need no more than 20 trials; each plan is the best one over all costs all the same."""
    asked: dict[bool, list[int]] = {False: [], True: []}
    for name, is_profiled in itertools.product(sorted(path.name.partition(".")[0] for path in MEASURED_WHOLLY.glob("*.json.gz")), asked):
        recorded = RecordedCosts(record_of(name))
        events: list[Event] = []
        loop = recorded.loop(emit=events.append, is_profiled=is_profiled)
        loop.costs()
        assert loop.search().final.total <= 1.01 * recorded.best().total
        asked[is_profiled].append(len(recorded.asked))
        assert ("profile" in steps(events)) == bool(recorded.profiled)
    assert sum(asked[True]) < 0.85 * sum(asked[False])
    assert median(asked[True]) <= 20


def test_where_little_is_open_nothing_is_profiled() -> None:
    recorded = RecordedCosts(record_of("lstm"))
    loop = recorded.loop(is_profiled=True)
    loop.costs()
    assert recorded.profiled == []


def test_parts_that_cannot_be_profiled_are_followed_by_smaller_ones() -> None:
    """A target that cannot be profiled as a whole has up to four parts without common nodes, and no more than eight are tried."""
    recorded = RecordedCosts(record_of("squeezenet"))
    whole = len(recorded.record.graph)
    told = recorded.profile

    def profile(candidate: CandidatePartition) -> ProfiledPart | None:
        part = told(candidate)
        return None if len(candidate.inside) == whole else part

    recorded.profile = profile  # type: ignore[method-assign]
    recorded.loop(is_profiled=True).costs()
    for target in {candidate.target for candidate in recorded.profiled}:
        first, *parts = (candidate for candidate in recorded.profiled if candidate.target == target)
        assert len(first.inside) == whole
        assert len(parts) <= 7
        told_of = [part.inside for part in parts if told(part) is not None]
        assert 1 <= len(told_of) <= 4
        assert len(IndexSet(index for inside in told_of for index in inside)) == sum(map(len, told_of))


def test_no_more_is_profiled_when_a_quarter_of_the_time_is_spent() -> None:
    recorded, now = RecordedCosts(record_of("squeezenet")), [0.0]
    told = recorded.profile

    def profile(candidate: CandidatePartition) -> ProfiledPart | None:
        now[0] += 3.0
        return told(candidate)

    budget = Budget(10.0, lambda: now[0])
    recorded.profile = profile  # type: ignore[method-assign]
    with budget.counting():
        recorded.loop(is_profiled=True, budget=budget).costs()
    assert len(recorded.profiled) == 1


def test_nothing_is_profiled_when_the_time_is_over() -> None:
    """Earlier measuring took all of it."""
    recorded, now = RecordedCosts(record_of("squeezenet")), [0.0]
    budget = Budget(10.0, lambda: now[0])
    budget.has_plan = True
    with budget.counting():
        now[0] += 20.0
        recorded.loop(is_profiled=True, budget=budget)._profile_parts()
    assert recorded.profiled == []


INTEGER, DYNAMIC, GIGA = "quantised_convolution", "dynamic_product", 1e9


def mixed(noise: float, tail: tuple[float, float] = (20, 60), on: DataflowGraph | None = None) -> RatedCosts:
    """A model whose front runs four times as fast on one target, and whose tail several times as fast on the other."""
    rates = {
        name: {INTEGER: front * GIGA, DYNAMIC: end * GIGA, "product": end * GIGA, "": 20 * GIGA}
        for name, front, end in zip("ab", (100, 25), tail, strict=True)
    }
    return RatedCosts(on or speech(), rates, noise)


def planned_within(costs: RatedCosts, trials: float, *, is_profiled: bool) -> tuple[MeasuringLoop, Planned]:
    """The plan of a run that has the time for so many trials."""
    budget = Budget(trials, lambda: float(len(costs.asked)))
    loop = costs.loop(budget, is_profiled=is_profiled)
    with budget.counting():
        loop.costs()
        return loop, loop.repeat(loop.merge(loop.search()))


@pytest.mark.parametrize(
    ("on", "tail"), mostly_long([(speech(), (20, 60)), (speech(), (8, 24)), (alternating(2), (20, 60)), (alternating(3), (8, 24))])
)
@pytest.mark.parametrize("noise", mostly_long([0.1, 0.0]))
def test_a_mix_is_found_by_profiles_where_the_time_is_over_after_the_first_trials(
    on: DataflowGraph, tail: tuple[float, float], noise: float
) -> None:
    """Without them the plan is one target alone."""
    alone, costs = mixed(noise, tail, on), mixed(noise, tail, on)
    _, plain = planned_within(alone, 4.0, is_profiled=False)
    assert len(plain.partitions) == 1
    assert alone.true_s(plain) > 1.3 * alone.best_s()
    loop, planned = planned_within(costs, 3.0, is_profiled=True)
    assert len(costs.asked) <= 3
    assert costs.true_s(planned) <= 1.03 * costs.best_s()
    sources = {item.cost.source for item in planned.partitions}
    assert "profile" in sources
    assert sources <= {"profile", "measured"}
    assert loop.is_cut_off
    assert not planned.final.optimal


def test_estimates_that_a_plan_rests_on_are_measured_as_long_as_there_is_time() -> None:
    """Looking under bounds has half of the time; by then the plan that profiles promise is tried."""
    costs = mixed(0.1)
    _, planned = planned_within(costs, 40.0, is_profiled=True)
    assert {item.cost.source for item in planned.partitions} == {"measured"}
    assert costs.true_s(planned) <= 1.03 * costs.best_s()


def cut_off(parts: Mapping[tuple[str, range], float | None], node_s: Mapping[str, Sequence[float]]) -> tuple[MeasuringLoop, list[Any]]:
    """A loop over parts of a chain of eight with their known seconds, where only profiles tell of the others; what it measures, too."""
    candidates = {CandidatePartition(CHAIN, target, IndexSet(nodes), "test"): seconds for (target, nodes), seconds in parts.items()}
    asked: list[Any] = []

    def measure(wanted: Sequence[CandidatePartition], best_s: float | None) -> list[tuple[CandidatePartition, Cost]]:
        asked.append([(one.target, one.inside.first()) for one in wanted])
        return [(one, Cost(sum(node_s[one.target][node] for node in one.inside), "measured")) for one in wanted]

    def search(costed: list[CostedCandidate], emit: Emit, limit_s: float | None = None) -> Planned:
        problem = SearchProblem(8, flow_tensors(CHAIN), search_candidates(costed), {}, (), tuple(node_s))
        result = solve(problem)
        return Planned(result, result, problem, costed)

    table = CostTable(CHAIN, list(candidates), None)
    table.learn({one: Cost(seconds, "measured") for one, seconds in candidates.items() if seconds is not None})
    for target, times in node_s.items():
        whole = next((one for one in candidates if one.target == target and len(one.inside) == 8), None)
        part = whole or CandidatePartition(CHAIN, target, IndexSet(range(8)), "test")
        table.learn_profile(ProfiledPart(part, tuple(((node,), seconds) for node, seconds in enumerate(times))))
    loop = MeasuringLoop(table, MeasuringPolicy(), measure, search, ignore, budget=Budget(10.0, lambda: 0.0))
    loop.is_cut_off = True
    table.set_estimates()
    return loop, asked


@pytest.mark.parametrize(("slow_s", "is_tried"), [(1.01e-3, False), (2e-3, True)])
def test_no_estimate_is_tried_that_gains_less_than_anybody_cares_about(slow_s: float, is_tried: bool) -> None:
    """Each target is slow at one half; where that is hardly so, the plan is the best one of known costs."""
    node_s = {"a": [1e-3] * 4 + [slow_s] * 4, "b": [slow_s] * 4 + [1e-3] * 4}
    whole_s = sum(node_s["a"])
    parts = {("a", range(8)): whole_s, ("b", range(8)): whole_s, ("a", range(4)): None, ("b", range(4, 8)): None}
    loop, asked = cut_off(parts, node_s)
    planned = loop.search()
    assert asked == ([[("a", 0), ("b", 4)]] if is_tried else [])
    assert len(planned.partitions) == (2 if is_tried else 1)
    assert all(item.cost.source == "measured" for item in planned.partitions)


def test_of_many_estimates_the_dearest_are_tried_first() -> None:
    node_s = {"a": [9e-3, 1e-3, 8e-3, 2e-3, 7e-3, 3e-3, 6e-3, 4e-3]}
    loop, asked = cut_off({("a", range(node, node + 1)): None for node in range(8)}, node_s)
    loop.policy = replace(loop.policy, batch=3)
    loop.search()
    assert asked == [[("a", 0), ("a", 2), ("a", 4)], [("a", 6), ("a", 7), ("a", 5)], [("a", 3), ("a", 1)]]


def test_a_rival_with_an_estimate_is_measured_and_not_repeated() -> None:
    costs = mixed(0.1)
    budget = Budget(4.0, lambda: float(len(costs.asked)))
    loop = costs.loop(budget, is_profiled=True)
    with budget.counting():
        loop.costs()
        planned = loop.search()
    estimated = next(item.held for item in planned.partitions if item.cost.source == "profile")
    budget.extend(10.0)
    assert isinstance(estimated, CandidatePartition)
    loop._repeat_once(planned, [estimated])
    assert costs.asked[-1] == estimated
    assert loop.table.is_known(estimated)


def test_partitions_are_fused_on_estimates_where_there_is_no_time_to_measure_them() -> None:
    costs = mixed(0.1)
    loop, _ = planned_within(costs, 3.0, is_profiled=True)
    asked = len(costs.asked)
    fused = IndexSet(range(3, 9))
    (item,) = loop._merged([("a", fused.bits)])
    assert (item.inside, item.cost.source) == (fused, "profile")
    assert len(costs.asked) == asked
    plain, _ = planned_within(mixed(0.1), 4.0, is_profiled=False)
    assert plain._merged([("a", fused.bits)]) == []


def test_a_proven_plan_stays_the_best_one_over_estimates_in_place_of_bounds() -> None:
    recorded = RecordedCosts(record_of("squeezenet"))
    loop = recorded.loop(is_profiled=True)
    loop.costs()
    planned = loop.merge(loop.search())
    assert planned.final.optimal
    assert any(item.cost.is_bound for item in planned.costed)
    estimated = loop.table.estimated(planned.costed)
    assert any(item.cost.source == "profile" for item in estimated)
    for before, after in zip(planned.costed, estimated, strict=True):
        assert before.held is after.held
        assert before.cost == after.cost or (before.cost.is_bound and (after.cost.seconds or 0.0) >= (before.cost.seconds or 0.0))
    assert recorded.best(estimated).total == planned.final.total


class Erring(RatedCosts):
    """A chain of operators of which each is another; one target takes a third of the time, and errs at one of them."""

    wrong = 24
    limited: tuple[CandidatePartition, Sequence[int]] | None = None

    def __init__(self) -> None:
        chain = graph([f"n{k}: Op{k} <- {f'n{k - 1}' if k else 'x'}" for k in range(40)])
        super().__init__(chain, {"a": {"": GIGA}, "b": {"": GIGA}}, 0.05)
        runs = [(first, end) for first in range(0, 40, 4) for end in range(first + 4, 44, 4) if end - first < 40]
        more = [CandidatePartition(chain, target, IndexSet(range(*run)), "test") for target in "ab" for run in runs]
        self.candidates += more

    def _nodes_s(self, target: str, nodes: Iterable[int]) -> float:
        return (10e-6 if target == "a" else 30e-6) * len(list(nodes))

    def measure(self, wanted: Sequence[CandidatePartition], best_s: float | None) -> Iterator[tuple[CandidatePartition, Cost]]:
        for candidate, cost in super().measure(wanted, best_s):
            is_right = candidate.target != "a" or self.wrong not in candidate.inside
            yield candidate, cost if is_right else Cost.invalid("numerics", "it errs")

    def limits(self, candidate: CandidatePartition, ends: Sequence[int]) -> list[ErrorLimit]:
        self.limited = candidate, ends
        last = max(end for end in ends if end < self.wrong)
        behind = IndexSet(index for index in candidate.inside if index > self.wrong)
        before = ErrorLimit(candidate.target, candidate.inside, last, 0.4, 0.03, 1e-2)
        return [before, ErrorLimit(candidate.target, behind, behind.last(), 0.0, 0.0, 1e-2)]


def test_a_whole_that_errs_lends_the_parts_that_do_not() -> None:
    """No guess stands for what goes beyond the limit of a target, so nothing of that is tried but the whole."""
    costs, events = Erring(), list[Event]()
    budget = Budget(30.0, lambda: float(len(costs.asked)))
    loop = costs.loop(budget, is_profiled=True, emit=events.append)
    with budget.counting():
        loop.costs()
        planned = loop.repeat(loop.merge(loop.search()))
    assert costs.limited is not None
    whole, ends = costs.limited
    assert (whole.target, len(whole.inside)) == ("a", 40)
    assert set(ends) <= {one.inside.last() for one in costs.candidates if one.target == "a" and len(one.inside) >= 4}
    on_a = [item.inside for item in planned.partitions if item.target == "a"]
    assert len(on_a) == 2
    assert sum(map(len, on_a)) >= 36
    assert [one for one in costs.asked if one.target == "a" and costs.wrong in one.inside] == [whole]
    note = "a errs too much on the whole model (0.03, at most 0.01 may be): it is right enough from 'n0' to 'n"
    assert any(event.text.startswith(note) for event in events if isinstance(event, Note))


def test_a_target_without_a_profiler_lends_the_parts_that_do_not_err() -> None:
    costs = Erring()
    loop = costs.loop(Budget(30.0, lambda: float(len(costs.asked))), is_profiled=True, without_profiler=["a"])
    loop.costs()
    assert costs.limited is not None
    assert costs.limited[0].target == "a"
    assert [one for one in costs.asked if one.target == "a" and costs.wrong in one.inside] == [costs.limited[0]]


def test_limits_have_a_quarter_of_the_time() -> None:
    costs, now = Erring(), [0.0]
    told = costs.limits

    def limits(candidate: CandidatePartition, ends: Sequence[int]) -> Iterator[ErrorLimit]:
        for limit in told(candidate, ends):
            now[0] += 9.0
            yield limit

    costs.limits = limits  # type: ignore[method-assign,assignment]
    budget = Budget(30.0, lambda: now[0])
    loop = costs.loop(budget, is_profiled=True)
    with budget.counting():
        loop.costs()
    assert now[0] == 9.0, "nothing is asked behind the first place where the target errs"


class SlowBuild(RatedCosts):
    """Costs on a clock on which a trial takes a second, and one of more than 40 nodes on the target ``slow`` a hundred."""

    now_s = 0.0
    stopped = 0

    def clock(self) -> float:
        return self.now_s

    def measure(self, wanted: Sequence[CandidatePartition], best_s: float | None) -> Iterator[tuple[CandidatePartition, Cost]]:
        for candidate in wanted:
            for _ in range(100 if candidate.target == "slow" and len(candidate.inside) > 40 else 1):
                if self.is_over():
                    self.stopped += 1
                    return
                self.now_s += 1.0
            yield from super().measure([candidate], best_s)


def test_what_is_slow_to_build_has_a_share_of_the_time() -> None:
    """The plan of the others is looked for and measured in the rest, and the slow one is not asked for by then."""
    rates = {name: {INTEGER: front * GIGA, DYNAMIC: tail * GIGA, "": 20 * GIGA} for name, front, tail in (("a", 100, 20), ("b", 25, 60))}
    costs = SlowBuild(speech(), {**rates, "slow": {"": 1 * GIGA}}, 0.05)
    budget = Budget(60.0, costs.clock)
    loop = costs.loop(budget, is_profiled=True, without_profiler=["slow"])
    with budget.counting():
        loop.costs()
        assert costs.stopped == 1, "in the step largest first"
        assert [(one.target, len(one.inside)) for one in costs.ahead] == [("slow", len(costs.graph))]
        assert len(costs.asked) > 2, "what profiles promise is measured in the rest"
        planned = loop.merge(loop.search())
    assert costs.true_s(planned) <= 1.05 * costs.best_s()
    assert {item.target for item in planned.partitions} == {"a", "b"}
