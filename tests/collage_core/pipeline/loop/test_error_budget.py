"""The error budget of a run: whose errors count, and how the error of a whole plan corrects it."""

from __future__ import annotations

import math

import pytest

from collage_core.cost.cost import Cost
from collage_core.pipeline.loop.error_budget import MARGIN, MOST_CORRECTIONS, BudgetCorrection, ErrorBudget, estimated_error
from collage_core.pipeline.loop.search_and_merge import PlanSearch, SearchSettings
from collage_core.pipeline.record.record import CostedCandidate, RecordedCandidate
from collage_core.pipeline.whole.baselines import baseline
from collage_core.toolchains.registry import get
from collage_core.toolchains.toolchain import Toolchain
from tests.helpers.graphs import graph

CHAIN = graph(["conv: Conv <- x", "relu: Relu <- conv", "pool: MaxPool <- relu"])

EXACT, LOW = "onnxruntime", "openvino@bf16"


def plans(*names: str, accuracy: float = 1e-2) -> PlanSearch:
    toolchains: dict[str, Toolchain] = {name: get(name) for name in names}
    return PlanSearch(CHAIN, toolchains, lambda wanted: {}, (), SearchSettings(), ErrorBudget.of(accuracy, toolchains))


def costed(low_error: float | None, exact_error: float = 1e-6) -> list[CostedCandidate]:
    """Each node of the chain alone: 3 s on the exact target, 2 s on the other one."""
    made = []
    for node in range(len(CHAIN)):
        for target, seconds, error in ((EXACT, 3.0, exact_error), (LOW, 2.0, low_error)):
            held = RecordedCandidate({"id": f"{target}{node}", "target": target, "nodes": [node]})
            made.append(CostedCandidate(held, Cost(seconds, "measured", error=error)))
    return made


def targets(search: PlanSearch, candidates: list[CostedCandidate]) -> list[str]:
    return [item.target for item in search.best(candidates, lambda event: None).partitions]


def test_as_many_partitions_of_less_precision_are_chosen_as_the_accuracy_admits() -> None:
    search = plans(EXACT, LOW)
    for error, most in ((0.0, 3), (3e-3, 3), (4e-3, 2), (6e-3, 1), (1.1e-2, 0)):
        assert targets(search, costed(error)).count(LOW) == min(most, len(CHAIN))
    assert set(targets(search, costed(None))) == {LOW}


def test_errors_of_targets_in_the_precision_of_the_model_count_for_nothing() -> None:
    """However large: with the targets of always, the plan is that of always."""
    search = plans(EXACT, "openvino", accuracy=1e-3)
    wrong = [CostedCandidate(item.held, item.cost) for item in costed(None, exact_error=9e-4) if item.target == EXACT]
    problem = search.problem(wrong)
    assert (problem.error_budget, problem.lowered, problem.counts_errors) == (None, (), False)
    assert "error_budget" not in problem.to_json()
    assert estimated_error(problem, range(len(problem.candidates))) == 0.0


def test_a_target_alone_is_a_baseline_whatever_its_error() -> None:
    search = plans(EXACT, LOW)
    problem = search.problem(costed(6e-3))
    assert baseline(LOW, problem, (), search.settings).total == 2 * len(CHAIN) * 10**15  # type: ignore[union-attr]


def test_a_plan_that_errs_more_than_the_sum_is_over_the_next_budget() -> None:
    search, correction = plans(EXACT, LOW), BudgetCorrection()
    tighter = correction.corrected(search.budget, 8e-3, 2e-2)
    assert tighter is not None
    assert tighter.factor == pytest.approx(2.5 * MARGIN)
    search.budget = tighter
    limit = search.problem(costed(4e-3)).error_budget
    assert limit is not None
    assert limit < 8e6
    assert targets(search, costed(4e-3)).count(LOW) == 0


def test_a_plan_that_errs_far_less_than_the_sum_makes_room_once() -> None:
    search, correction = plans(EXACT, LOW), BudgetCorrection()
    looser = correction.corrected(search.budget, 8e-3, 4e-3)
    assert looser is not None
    search.budget = looser
    assert targets(search, costed(4e-3)).count(LOW) == len(CHAIN)
    assert correction.corrected(looser, 1.2e-2, 4e-3) is None
    assert correction.corrected(looser, 1.2e-2, 1.1e-2) is not None, "and it is taken back where it was too much"


@pytest.mark.parametrize(("estimate", "error"), [(8e-3, 7e-3), (8e-3, 9e-3), (0.0, 0.5), (8e-3, math.inf), (8e-3, math.nan)])
def test_nothing_is_corrected_where_the_plan_is_right_or_the_sum_is_not_the_cause(estimate: float, error: float) -> None:
    assert BudgetCorrection().corrected(ErrorBudget(1e-2, (LOW,)), estimate, error) is None


def test_it_is_corrected_some_times_at_most() -> None:
    correction, budget = BudgetCorrection(), ErrorBudget(1e-2, (LOW,))
    asked = [correction.corrected(budget, 8e-3, 2e-2) for _ in range(MOST_CORRECTIONS + 2)]
    assert [one is not None for one in asked] == [True] * MOST_CORRECTIONS + [False] * 2
