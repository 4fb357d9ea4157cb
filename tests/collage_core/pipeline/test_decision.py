"""The decisions of a run, from given costs: each step returns another decision, and leaves the one before as it is."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from types import SimpleNamespace
from typing import Any

import pytest

from collage_core.pipeline.decision import decide
from collage_core.pipeline.loop.search_and_merge import Planned, PlanSearch, SearchSettings
from collage_core.pipeline.whole.baselines import BaselinePlan
from collage_core.pipeline.whole.choose_finalists import another_plan
from tests.collage_core.pipeline.loop.test_certainty import Plain
from tests.collage_core.pipeline.whole.test_choose_finalists import CHAIN, planned


def searches() -> PlanSearch:
    """The searches of a run without constraints."""
    toolchains: Any = {"a": Plain(), "b": Plain()}
    return PlanSearch(CHAIN, toolchains, lambda wanted: {}, (), SearchSettings())


def chosen_of(plan: Planned, *parts: tuple[str, tuple[int, ...]]) -> tuple[int, ...]:
    """Return the plan of these candidates, by their targets and nodes."""
    index = {(candidate.target, tuple(candidate.inside)): at for at, candidate in enumerate(plan.problem.candidates)}
    return tuple(index[part] for part in parts)


def test_the_plan_of_the_search_is_decided_on() -> None:
    found = planned()
    decision = decide(found, [], searches())
    assert (decision.best, decision.planned, decision.is_searched) == (found, decision.searched, True)
    assert (decision.decided_by, decision.undecided, decision.refused) == ({}, (), {})
    assert min(seconds for seconds in decision.regret_s.values() if seconds is not None) == 0
    with pytest.raises(FrozenInstanceError):
        decision.planned = found  # type: ignore[misc]


def test_a_baseline_that_costs_less_than_the_plan_of_a_stopped_search_is_the_plan() -> None:
    found = planned()
    worse = another_plan(found, chosen_of(found, ("b", (0, 1, 2))))
    known = BaselinePlan("a", found.final.chosen, 1.0)
    assert decide(worse, [known], searches()).planned.final.chosen == found.final.chosen
    for other in (replace(known, is_compared=False), BaselinePlan("a", None, None, "why")):
        assert decide(worse, [other], searches()).planned.final.chosen == worse.final.chosen


def test_another_plan_of_the_problem_is_taken() -> None:
    plans = searches()
    before = replace(decide(planned(), [], plans), undecided=[SimpleNamespace()])  # type: ignore[list-item]
    chosen = chosen_of(before.planned, ("a", (0, 1)), ("a", (2,)))
    after = before.take(chosen, plans)
    assert (after.planned.final.chosen, after.searched, after.is_searched) == (chosen, before.searched, False)
    assert list(after.decided_by.values()) == ["whole"], "both plans hold the other partition"
    assert (after.undecided, after.regret_s) == ((), {})
    assert (before.is_searched, before.decided_by, len(before.undecided)) == (True, {}, 1)


def test_a_refused_plan_is_out_with_its_reason() -> None:
    plans = searches()
    before = decide(planned(), [], plans)
    chosen = chosen_of(before.planned, ("b", (0, 1, 2)))
    after = before.refuse("it errs").take(chosen, plans).refuse("so does this")
    assert after.refused == {before.planned.final.chosen: "it errs", chosen: "so does this"}
    assert not before.refused


def test_over_several_shapes_plans_are_those_of_the_wider_problem() -> None:
    before = decide(planned(), [BaselinePlan("a", None, None, "why")], searches())
    wider = planned({("a", (0, 1, 2)): 0.1, ("b", (0, 1, 2)): 1.30})
    after = before.over_shapes(wider, [BaselinePlan("b", (1,), 1.3), BaselinePlan("c", (0,), None, "not known", is_compared=False)])
    assert (after.best, after.searched, after.planned) == (wider, wider, wider)
    assert after.baseline_plans == {"b": (1,)}
