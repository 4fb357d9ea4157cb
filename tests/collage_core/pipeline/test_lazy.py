"""Lazy measuring: recorded costs replayed both ways, and what happens at the edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

import pytest

from collage_core.cost.cost import Cost
from collage_core.cost.estimators.prediction import Predictor
from collage_core.graph.dataflow_graph import DataflowGraph
from collage_core.graph.index_set import IndexSet
from collage_core.pipeline.lazy import NOT_MEASURED, SHARE, LazyCosts
from collage_core.pipeline.record import CostedCandidate, RunRecord, places_of, search_candidates
from collage_core.rules.candidate import CandidatePartition, make_candidate
from collage_core.rules.spec import HOST_TARGET
from collage_core.search.solve import solve
from tests.helpers.graphs import graph
from tests.helpers.paths import RECORDED

SMALL = {"lstm", "mini_mnist", "mnist"}
"""With a few dozen candidates, a quarter is hardly more than one for each operator and target."""


@cache
def record_of(name: str) -> RunRecord:
    return RunRecord.load(RECORDED / f"{name}.json.gz")


class Recorded:
    """Measures by looking up what a recorded run measured."""

    def __init__(self, record: RunRecord, most_nodes: int = 10**6):
        self.record = record
        self.graph = record.graph
        items = [item for item in record.candidates if not item.candidate["rule"].endswith(".merged") and len(item.inside) <= most_nodes]
        self.candidates = [make_candidate(self.graph, item.target, item.inside, "recorded") for item in items]
        self.costs = {candidate: item.cost for candidate, item in zip(self.candidates, items, strict=True)}
        self.asked: list[CandidatePartition] = []
        self.most = len(self.candidates)

    def measure(self, wanted: Sequence[CandidatePartition]) -> Mapping[CandidatePartition, Cost]:
        wanted = wanted[: self.most - len(self.asked)]
        self.asked += wanted
        return {candidate: self.costs[candidate] for candidate in wanted}

    def places(self, costed: list[CostedCandidate]) -> list[int]:
        return places_of(self.chosen(costed)[0], costed)

    def chosen(self, costed: list[CostedCandidate]) -> tuple[tuple[int, ...], int]:
        result = solve(self.record.problem.with_candidates(search_candidates(costed)))
        return result.chosen, result.total

    def lazily(self, known: Mapping[CandidatePartition, Cost] | None = None) -> LazyCosts:
        free = {candidate: self.costs[candidate] for candidate in self.candidates if candidate.target == HOST_TARGET}
        sort_of = lambda candidate: (candidate.target, candidate.computation)  # noqa: E731
        return LazyCosts(self.graph, self.candidates, sort_of, {**free, **(known or {})}, self.measure, self.places)

    @property
    def distinct(self) -> int:
        return len({(candidate.target, candidate.computation) for candidate in self.candidates})


@pytest.mark.parametrize("name", sorted(path.name.removesuffix(".json.gz") for path in RECORDED.glob("*.json.gz")))
def test_the_plan_is_that_of_all_costs_and_a_quarter_is_measured_at_most(name: str) -> None:
    recorded = Recorded(record_of(name))
    costed = recorded.lazily().run()
    everything = [CostedCandidate(candidate, recorded.costs[candidate]) for candidate in recorded.candidates]
    assert recorded.chosen(costed) == recorded.chosen(everything)
    if name not in SMALL:
        assert len(recorded.asked) <= SHARE * recorded.distinct
    assert len({(c.target, c.computation) for c in recorded.asked}) == len(recorded.asked), "no computation is measured twice"


@pytest.mark.parametrize(("name", "most_lost"), [("gpt2", 0.1), ("squeezenet", 0.1), ("quantised", 0.3)])
def test_where_only_small_candidates_are_there_little_is_lost(name: str, most_lost: float) -> None:
    """In `quantised`, two of OpenVINO's convolutions take half of what the others like them do, and nothing foretells it."""
    recorded = Recorded(record_of(name), most_nodes=4)
    costed = recorded.lazily().run()
    everything = [CostedCandidate(candidate, recorded.costs[candidate]) for candidate in recorded.candidates]
    (chosen, total), (_, least) = recorded.chosen(costed), recorded.chosen(everything)
    assert total <= (1 + most_lost) * least, "the bounds are heuristic; `make bench-costs` says what they lose"
    assert len(recorded.asked) <= SHARE * recorded.distinct + 1
    assert {costed[place].cost.source for place in places_of(chosen, costed)} == {"measured"}


def test_what_was_not_measured_is_an_estimate_and_says_so() -> None:
    recorded = Recorded(record_of("squeezenet"))
    costed = recorded.lazily().run()
    measured = {(candidate.target, candidate.computation) for candidate in recorded.asked}
    for candidate, item in zip(recorded.candidates, costed, strict=True):
        if candidate.target == HOST_TARGET or (candidate.target, candidate.computation) in measured:
            assert item.cost == recorded.costs[candidate]
        else:
            assert (item.cost.source, item.cost.reason) == ("estimate", NOT_MEASURED)


def test_what_is_known_is_not_asked_for() -> None:
    recorded = Recorded(record_of("lstm"))
    costed = recorded.lazily(recorded.costs).run()
    assert not recorded.asked
    assert [item.cost for item in costed] == list(recorded.costs.values())


def test_when_the_time_is_over_it_ends_with_what_it_has() -> None:
    recorded = Recorded(record_of("squeezenet"))
    recorded.most = 5
    lazy = recorded.lazily()
    costed = lazy.run()
    assert lazy.is_cut_off
    assert len(recorded.asked) == 5
    assert sum(item.cost.source == "measured" for item in costed) >= 5


def test_estimates_that_a_later_plan_holds_are_measured() -> None:
    recorded = Recorded(record_of("squeezenet"))
    lazy = recorded.lazily()
    costed = lazy.run()
    place = next(place for place, item in enumerate(costed) if item.cost.source == "estimate")
    before = len(recorded.asked)
    renewed = lazy.measured(costed, [place])
    assert renewed is not None
    assert renewed[place].cost == recorded.costs[recorded.candidates[place]]
    assert len(recorded.asked) == before + 1
    assert lazy.measured(renewed, [place]) is None


CHAIN = graph([f"n{k}: {'Conv' if k % 2 else 'Relu'} <- {'x' if k == 0 else f'n{k - 1}'}" for k in range(8)])


def test_nothing_is_measured_where_there_is_no_plan() -> None:
    on: DataflowGraph = CHAIN
    candidates = [make_candidate(on, "a", IndexSet((node,)), "test") for node in range(8)]

    def search(costed: list[CostedCandidate]) -> list[int]:
        raise ValueError("no plan")

    asked: list[CandidatePartition] = []

    def ask(wanted: Sequence[CandidatePartition]) -> Mapping[CandidatePartition, Cost]:
        asked.extend(wanted)
        return {candidate: Cost(1.0, "measured") for candidate in wanted}

    with pytest.raises(ValueError, match="no plan"):
        LazyCosts(on, candidates, lambda candidate: candidate.inside, {}, ask, search).run()
    assert len(asked) <= 1


def test_a_bound_is_never_above_what_was_seen_of_the_same_work() -> None:
    places = [("a", IndexSet((node,))) for node in range(8)]
    known = dict(zip(places[:6], [1e-4, 3e-5, 1.1e-4, 2.9e-5, 0.9e-4, 3.1e-5], strict=True))
    bounds = Predictor(CHAIN).bounds(known, places[6:], 0.0)
    assert set(bounds) == set(places[6:])
    assert 0 < bounds[places[6]] <= 1.1e-4
    assert 0 < bounds[places[7]] <= 1.1e-4
    bold = Predictor(CHAIN).bounds(known, places[6:], 1.0)
    assert all(bold[place] >= bounds[place] for place in bounds), "a bolder quantile gives higher bounds"


def test_a_target_that_nobody_measured_looks_attractive() -> None:
    seen = {("a", IndexSet((0,))): 5e-4}
    bounds = Predictor(CHAIN).bounds(seen, [("b", IndexSet((0,)))], 0.5)
    assert bounds["b", IndexSet((0,))] < 1e-5


def test_what_an_earlier_run_ended_early_is_good_enough_unless_the_plan_rests_on_it() -> None:
    recorded = Recorded(record_of("squeezenet"))
    first = recorded.lazily()
    costed = first.run()
    known = {candidate: item.cost for candidate, item in zip(recorded.candidates, costed, strict=True) if item.cost.source == "measured"}
    chosen = {recorded.candidates[place] for place in recorded.places(costed)}
    in_plan = {(candidate.target, candidate.computation) for candidate in chosen}
    rough = {c: replace(cost, stopped_early=(c.target, c.computation) not in in_plan) for c, cost in known.items()}
    recorded.asked.clear()
    recorded.lazily(rough).run()
    assert not recorded.asked, "nothing in the plan is rough"
    all_rough = {c: replace(cost, stopped_early=True) for c, cost in known.items()}
    recorded.lazily(all_rough).run()
    assert {(c.target, c.computation) for c in recorded.asked} == in_plan
