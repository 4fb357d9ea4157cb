"""Two plans are compared by one rule: measured with measured, else predicted with predicted; what is not known is no number."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from collage_core.documents.json_form import from_json
from collage_core.documents.plan import PlanInfo
from collage_core.documents.statement_text import change_text, effect_text, time_text
from collage_core.documents.statements import (
    NO_CHANGE,
    PlanTime,
    Statement,
    compared,
    measured_beside,
    of_plan,
    time_of_plan,
    time_of_run,
    under_restriction,
)
from tests.helpers.documents import PART, alternative, run_document

OTHER = {**PART, "id": "d", "target": "b", "cost_s": 0.6}
NOWHERE = {**PART, "id": "e", "cost_s": None, "source": "unknown"}


def plan(*parts: dict[str, object], total_s: float = 0.6) -> PlanInfo:
    return from_json(PlanInfo, {"total_s": total_s, "partitions": list(parts)})


def test_measured_times_are_compared_where_both_plans_have_one() -> None:
    found = compared(PlanTime(predicted_s=1.0, measured_s=3.0, interval_s=0.1), PlanTime(predicted_s=2.0, measured_s=2.5, interval_s=0.4))
    assert (found.basis, found.change_s, found.interval_s, found.is_decided) == ("measured", 0.5, 0.1, True)
    assert (found.ratio, found.ratios) == (1.2, pytest.approx((1.16, 1.24)))
    reference = PlanTime(predicted_s=2.0, measured_s=2.5, interval_s=0.4)
    apart = compared(PlanTime(predicted_s=1.0, measured_s=3.0, interval_s=0.3), reference, in_turns=False)
    assert (apart.interval_s, apart.is_decided) == (0.5, False)


def test_a_measured_time_is_never_compared_with_a_predicted_one() -> None:
    found = compared(PlanTime(predicted_s=1.0), PlanTime(predicted_s=2.0, measured_s=5.0, unexplained_s=3.0))
    assert (found.basis, found.change_s, found.unexplained_s) == ("predicted", -1.0, 3.0)
    assert compared(PlanTime(predicted_s=None, unknown=1), PlanTime(predicted_s=None, measured_s=5.0)).basis == "unknown"


def test_an_unknown_cost_is_no_number_and_bounds_the_change_from_below() -> None:
    found = compared(time_of_plan(plan(PART, NOWHERE, total_s=0.7)), PlanTime(predicted_s=0.5))
    assert (found.change_s, found.at_least_s, found.unknown) == (None, pytest.approx(0.2), 1)
    assert change_text(found) == "at least +200 ms: 1 cost is not known"
    assert change_text(compared(PlanTime(predicted_s=0.5), time_of_plan(plan(NOWHERE)))) == "not known: 1 cost is not known"
    assert time_text(time_of_plan(plan(PART, NOWHERE, total_s=0.7))) == "predicted at least 700 ms: 1 cost is not known"
    bound = {**PART, "source": "bound"}
    assert time_text(time_of_plan(plan(bound, total_s=0.7))) == "not known: 1 cost is not known"
    estimated = time_of_plan(plan({**PART, "source": "profile"}, NOWHERE, total_s=0.7))
    assert estimated.at_least_s == 0, "an estimate proves nothing"


def test_a_plan_that_was_measured_whole_counts_with_that() -> None:
    row = alternative("rival 1", kind="rival", measured_s=2.2, interval_s=0.1, partitions=[{"id": "d", "target": "b", "nodes": [0]}])
    document = run_document(alternatives=[row], decided_by="whole", verify={"accuracy": 1e-3, "measured_s": 2.0, "interval_s": 0.2})
    found = of_plan(document, plan(OTHER))
    assert (found.basis, found.change_s, found.interval_s) == ("measured", pytest.approx(0.2), 0.1)
    assert change_text(found) == "+200 ms measured"
    own = of_plan(document, document.plan)
    assert (own.basis, own.seconds, own.change_s) == ("measured", 2.0, 0.0)


def test_what_holds_more_is_never_faster_and_sums_that_say_so_decide_nothing() -> None:
    document = run_document(decided_by="whole", verify={"accuracy": 1e-3, "measured_s": 2.0, "additive_error_s": 1.3})
    found = of_plan(document, plan(OTHER), is_restricted=True)
    assert (found.basis, found.change_s, found.at_least_s) == ("unknown", None, 0.0)
    assert change_text(found) == "not known to be slower: by the sums it is none, and it was not timed end to end"
    assert of_plan(document, plan(OTHER)).change_s == pytest.approx(-0.1)
    measured = under_restriction(Statement(basis="measured", seconds=1.9, reference_s=2.0, change_s=-0.1, interval_s=0.2))
    assert measured.change_s == 0.0
    assert under_restriction(NO_CHANGE) == NO_CHANGE


def test_less_than_is_unexplained_of_the_reference_decides_nothing() -> None:
    found = compared(PlanTime(predicted_s=2.5), PlanTime(predicted_s=2.0, measured_s=3.0, unexplained_s=1.0), interval_s=0.1)
    assert (found.change_s, found.is_decided) == (0.5, False)
    unsure = "not decided: timed end to end, the plan of the run is 1 s off the sum of its parts"
    assert change_text(found) == f"+500 ms predicted, {unsure}"
    assert effect_text(found, found, 1) == f"costs 500 ms predicted alone, {unsure}"


def test_the_time_of_a_plan_that_was_timed_alone_is_not_compared() -> None:
    apart = run_document(verify={"accuracy": 1e-3, "measured_s": 2.0, "apart": True})
    assert measured_beside(apart) is time_of_run(apart).measured_s is None
    row = alternative("a", measured_s=1.5, interval_s=0.1, is_plan=True)
    beside = run_document(verify={"accuracy": 1e-3, "measured_s": 2.0, "apart": True}, alternatives=[row])
    assert (time_of_run(beside).measured_s, time_of_run(beside).interval_s) == (1.5, 0.1)


ROOMS = ("documents", "what_if", "pipeline", "cli", "survey", "results", "drawings", "transform", "../collage_server")
"""Rooms that speak of plans, or decide between them."""
EXCEPTIONS = {
    "cli/problem_search.py": "found.total - whole.total: what a constraint costs, sums of one problem",
    "cli/proof_text.py": "plan.total_s - least_s: how far a sum is above the bound that the search has proven",
    "cli/terminal.py": "what tuning made of one kernel; the share of a sum that other partitions of the same nodes could save",
    "pipeline/inside/additive_error.py": "one plan: its time less that of its own parts",
    "pipeline/loop/measuring_policy.py": "plan.final.total - hoped.final.total: sums of one search, to choose the next trial",
    "pipeline/loop/rivals.py": "sums of one search, to choose the next trial",
    "pipeline/record/regrets.py": "regrets: sums of one search",
    "pipeline/searched_run.py": "sums of one search, of plans that costs could not tell apart",
    "pipeline/whole/differences.py": "plan_total(...) - plan_total(...): sums of one problem, of the same nodes in two ways",
    "results/tables.py": "cost_s / total_s: the share of a partition in its own plan",
    "what_if/compare_costs.py": "first_s - second_s: costs of one computation on two machines",
    "what_if/explanation.py": "cost_s - regret_s: the cost at which a candidate would enter the plan",
    "what_if/plan_difference.py": "first_s - second_s: parts of two plans over the same nodes",
    "what_if/replan_bodies.py": "the sum of a body by two plans, which is a part of the node's cost",
}
"""File → why it may subtract or divide two times: they are not those of two plans, or a search compares sums."""


OF_PLANS = {
    "total_s",
    "total",
    "plan_total",
    "measured_s",
    "predicted_s",
    "at_least_s",
    "least_s",
    "plan_s",
    "its_s",
    "own_s",
    "first_s",
    "second_s",
    "cost_s",
}


def time_name(node: ast.AST) -> str:
    """Return the name of the seconds or the total that an expression is; empty where it is none."""
    if isinstance(node, ast.BoolOp):
        return time_name(node.values[0])
    if isinstance(node, ast.Call):
        return time_name(node.func)
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name if name.endswith(("_s", "total")) else ""


def subtractions(room: Path) -> Iterator[tuple[str, int]]:
    """Yield file and line of each difference or ratio of two times in a room, of which one may be that of a plan."""
    for file in sorted(room.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub | ast.Div):
                continue
            names = time_name(node.left), time_name(node.right)
            if all(names) and OF_PLANS.intersection(names):
                yield os.path.relpath(file, CORE), node.lineno


CORE = Path(__file__).parents[3] / "collage_core"


def test_no_other_file_compares_the_times_of_two_plans() -> None:
    """A difference that is computed elsewhere can contradict what the run says of it."""
    hits = [hit for room in ROOMS for hit in subtractions((CORE / room).resolve()) if hit[0] != "documents/statements.py"]
    assert [hit for hit in hits if hit[0] not in EXCEPTIONS] == [], "ask documents/statements.py, or name the reason in EXCEPTIONS"
    assert set(EXCEPTIONS) == {file for file, _ in hits}, "an exception that no file needs"
