"""How sure a plan is: stability under resampled costs, and priorities where measurements cannot decide."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from collage_core.cost.cost import Cost
from collage_core.graph.index_set import IndexSet
from collage_core.pipeline.loop.certainty import (
    FEWEST_DRAWS,
    LONGEST_S,
    break_ties_by_priority,
    noise_s,
    stability,
    together_s,
    total_interval_s,
)
from collage_core.pipeline.loop.search_and_merge import Planned, SearchSettings, make_problem, searched
from collage_core.pipeline.record.record import CostedCandidate
from collage_core.rules.candidate import CandidatePartition
from collage_core.search.searcher import SearchResult
from tests.helpers.graphs import graph

CHAIN = graph(["conv: Conv <- x", "relu: Relu <- conv", "pool: MaxPool <- relu"])


class Plain:
    """Stands for a toolchain that excludes nobody."""

    conflicts: tuple[str, ...] = ()


def measured(seconds: float, off_s: float) -> Cost:
    return Cost(seconds, "measured", interval_s=off_s)


def planned(costs: Mapping[tuple[str, int], Cost], targets: tuple[str, ...] = ("first", "second")) -> Planned:
    costed = [CostedCandidate(CandidatePartition(CHAIN, target, IndexSet((node,)), "test"), cost) for (target, node), cost in costs.items()]
    toolchains: Any = {target: Plain() for target in targets}
    problem = make_problem(CHAIN, costed, {}, toolchains)
    result = searched(problem, (), SearchSettings(), lambda event: None)
    return Planned(result, result, problem, costed)


def chosen(plan: Planned, result: SearchResult) -> list[str]:
    return [plan.problem.candidates[index].target for index in result.chosen]


SURE = {("first", node): measured(1.0, 0.001) for node in range(3)} | {("second", 1): measured(0.9, 0.001)}
CLOSE = {("first", node): measured(1.0, 0.1) for node in range(3)} | {("second", 1): measured(0.99, 0.1)}


def test_what_is_far_ahead_stays_and_what_is_close_is_a_toss_up() -> None:
    sure = planned(SURE)
    assert chosen(sure, sure.final) == ["first", "second", "first"]
    assert set(stability(sure, (), SearchSettings()).values()) == {1.0}
    close = planned(CLOSE)
    shares = stability(close, (), SearchSettings())
    by_target = {plan.target: shares[plan.id] for plan in (close.problem.candidates[index] for index in close.final.chosen)}
    assert by_target["first"] == 1.0, "nobody else takes the ends"
    assert 0.3 < by_target["second"] < 0.8
    assert stability(close, (), SearchSettings()) == shares, "the same seed draws the same"


def test_beside_an_unknown_cost_nobody_knows_how_stable_a_partition_is() -> None:
    open_ = planned({**SURE, ("second", 2): Cost.unknown("no time was left")})
    names = {open_.problem.candidates[index].id: index for index in open_.final.chosen}
    assert {open_.problem.candidates[names[id]].inside.first() for id in stability(open_, (), SearchSettings())} == {0, 1}


def test_draws_whose_search_was_stopped_say_nothing_of_stability(monkeypatch: pytest.MonkeyPatch) -> None:
    close, limits = planned(CLOSE), list[float | None]()

    def searched(problem: Any, constraints: Any, settings: SearchSettings, emit: Any) -> SearchResult:
        limits.append(settings.limit_s)
        return replace(close.final, stopped=len(limits) > FEWEST_DRAWS - 1)

    monkeypatch.setattr("collage_core.pipeline.loop.certainty.searched", searched)
    assert stability(close, (), SearchSettings()) == {}
    assert len(limits) == FEWEST_DRAWS
    assert all(limit is not None and 0 < limit <= LONGEST_S for limit in limits)


def test_nothing_is_said_of_costs_that_do_not_say_how_sure_they_are() -> None:
    mock = planned({("first", node): Cost(1.0, "mock") for node in range(3)})
    assert stability(mock, (), SearchSettings()) == {}
    assert break_ties_by_priority(mock, (), SearchSettings(), None) is mock


def test_what_is_one_measurement_is_off_by_one_amount() -> None:
    assert together_s([("a", 3.0), ("b", 4.0)]) == 5.0
    assert together_s([("a", 1.5), ("b", 4.0), ("a", 1.5)]) == 5.0
    assert together_s([]) == 0.0


def test_a_total_says_how_sure_it_is_only_where_all_its_parts_do() -> None:
    assert total_interval_s(planned(SURE)) == pytest.approx(noise_s(planned(SURE)))
    mixed = {("first", 0): measured(1.0, 0.1), ("first", 1): Cost(1.0, "estimate"), ("first", 2): Cost(0.0, "host")}
    assert total_interval_s(planned(mixed)) is None
    stated = measured(1.0, 0.5)
    both = planned({("first", 0): stated, ("first", 1): stated, ("first", 2): Cost(0.0, "host")})
    assert total_interval_s(both) == pytest.approx(math.hypot(0.5, 0.5))


def test_priority_decides_what_measuring_cannot() -> None:
    close = planned(CLOSE)
    assert chosen(close, close.final) == ["first", "second", "first"]
    assert noise_s(close) > 0.01
    preferred = break_ties_by_priority(close, (), SearchSettings(), None)
    assert chosen(close, preferred.final) == ["first", "first", "first"]
    assert not preferred.final.optimal
    assert preferred.final.lower_bound == close.final.total
    sure = planned(SURE)
    assert break_ties_by_priority(sure, (), SearchSettings(), None).final == sure.final


def test_priority_never_lifts_the_total_above_a_baseline() -> None:
    close = planned(CLOSE)
    assert break_ties_by_priority(close, (), SearchSettings(), 2.99).final == close.final
    assert chosen(close, break_ties_by_priority(close, (), SearchSettings(), 3.0).final) == ["first", "first", "first"]


def test_priority_does_not_take_what_nobody_else_can() -> None:
    alone = planned({("first", 0): measured(1.0, 0.5), ("second", 1): measured(1.0, 0.5), ("first", 2): measured(1.0, 0.5)})
    assert break_ties_by_priority(alone, (), SearchSettings(), None).final == alone.final
