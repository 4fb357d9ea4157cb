"""No two statements about a run contradict each other: all questions are asked of runs of every kind.

The runs are drawn: costs that are known, bounds, unknown, or corrected to what they are inside the whole; a plan that the sums or the whole
decided on; others that were timed end to end beside it or failed; a machine that was busy meanwhile.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from truth import cells, contradictions

from collage_core.base.durations import duration
from collage_core.cost.cost import Cost
from collage_core.documents.plan import PlanPart
from collage_core.documents.run import Alternative, Disturbance
from collage_core.documents.statements import Statement
from collage_core.documents.verdict import verdict
from collage_core.documents.verify import Verify
from collage_core.errors import InfeasibleError
from collage_core.options import Options
from collage_core.pipeline.loop.search_and_merge import Planned
from collage_core.pipeline.partition import partition
from collage_core.pipeline.plan_documents import plan_document, search_document
from collage_core.pipeline.record.record import CostedCandidate, RunRecord, search_candidates
from collage_core.results.node_rows import regret_texts
from collage_core.rules.spec import HOST_TARGET
from collage_core.search.alternatives.k_best import k_best
from collage_core.search.problem import FEMTOSECONDS
from collage_core.search.solve import solve
from collage_core.survey.row import planned_row
from collage_core.what_if.explanation import explain
from collage_core.what_if.terms import Terms
from collage_core.what_if.what_if import effects, plan_of_result, what_if
from collage_core.what_if.worth import worth
from tests.helpers.examples import examples

TARGETS = ("onnxruntime", "tvm")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> RunRecord:
    costs = tmp_path_factory.mktemp("truth") / "costs.json"
    costs.write_text(json.dumps({"targets": {"onnxruntime": {"op_s": 1}, "tvm": {"op_s": 3}}}))
    return partition("mini_mnist", Options(TARGETS, costs=f"mock:{costs}", max_depth={"": 1}))


def drawn_cost(draw: st.DrawFn) -> Cost:
    seconds = draw(st.integers(1, 6)) / 4
    kind = draw(st.sampled_from(["known"] * 5 + ["unknown", "bound", "corrected", "profile"]))
    if kind == "unknown":
        return Cost.unknown("no time was left")
    if kind == "bound":
        return Cost.bound(seconds)
    if kind == "profile":
        return Cost.from_profile(seconds, seconds / 2)
    known = Cost(seconds, "measured", interval_s=draw(st.sampled_from([None, 0.01, 0.2])), samples=5)
    return known if kind == "known" else replace(known, alone_s=seconds / 2)


@st.composite
def runs(draw: st.DrawFn, base: RunRecord) -> RunRecord:
    """Draw a run over the candidates of `base`."""
    costed = [item if item.target == HOST_TARGET else CostedCandidate(item.held, drawn_cost(draw)) for item in base.candidates]
    problem = base.problem.with_candidates(search_candidates(costed, base.problem.lowered))
    found = solve(problem, [])
    known = replace(base, candidates=costed, problem=problem, regret_s={})
    plans = [found, *k_best(problem, range(len(problem.candidates)), 4)]
    decided = draw(st.sampled_from(plans))
    is_sum = set(decided.chosen) == set(found.chosen)
    result = found if is_sum else replace(found, chosen=decided.chosen, total=decided.total, optimal=False)
    plan = plan_of_result(known, result)
    is_timed = draw(st.booleans())
    plan_s = draw(st.integers(4, 40)) / 4
    verify = Verify(accuracy=1e-3, max_rel_error=1e-6)
    if is_timed:
        verify = replace(
            verify, measured_s=plan_s, interval_s=draw(st.sampled_from([None, 0.05, 1.0])), additive_error_s=plan_s - plan.total_s
        )
    others = {frozenset(one.chosen): (number, one) for number, one in reversed(list(enumerate(plans)))}  # each is timed once
    others.pop(frozenset(decided.chosen))
    rows = [_row(draw, known, one, number, plan_s) for number, one in others.values()]
    document = replace(
        base.document,
        plan=plan_document(plan),
        search=search_document(Planned(found, result, problem, costed)),
        decided_by="sum" if is_sum else "whole",
        verify=verify,
        alternatives=tuple(rows) if is_timed else (),
        baselines=(),
        disturbance=draw(st.sampled_from([None, Disturbance(share=0.5, text="busy")])),
    )
    return replace(known, plan=plan, document=document)


def _row(draw: st.DrawFn, record: RunRecord, result: Any, number: int, plan_s: float) -> Alternative:
    """Draw a plan that was timed end to end, no faster than the plan by more than a tie, or that failed."""
    fails = draw(st.booleans())
    parts = plan_of_result(record, result).partitions
    return Alternative(
        name="search" if not number else f"rival {number}",
        kind="search" if not number else "rival",
        total_s=None if any(part.source in ("unknown", "bound") for part in parts) else result.total / 1e15,
        measured_s=None if fails else plan_s * draw(st.sampled_from([0.995, 1.0, 1.02, 1.5, 3.0])),
        interval_s=None if fails else draw(st.sampled_from([None, 0.01, 0.5])),
        rounds=0 if fails else 5,
        reason="it fails" if fails else "",
        is_plan=False,
        partitions=tuple(PlanPart(id=part.id, target=part.target, nodes=part.nodes) for part in parts),
    )


def check_no_less_than_nothing(statement: Statement) -> None:
    """Check a statement about a plan that holds more than that of the run."""
    assert statement.change_s is None or statement.change_s >= 0
    assert statement.change_s is not None or (statement.at_least_s is not None and statement.at_least_s >= 0)
    assert statement.basis != "measured" or statement.seconds is not None


@examples(160, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.data())
def test_no_two_statements_about_a_run_contradict_each_other(base: RunRecord, data: st.DataObject) -> None:
    record = data.draw(runs(base))
    own = {part.id for part in record.plan.partitions}
    parts = [part for part in record.plan.partitions if part.target != HOST_TARGET]
    regrets = record.known_regrets(bounds=True)

    # Of regrets none is below 0, and that of the plan is 0.
    assert all(one.at_least_s is None or one.at_least_s >= 0 for one in regrets.values())
    assert not any("-" in text for texts in regret_texts(record).values() for text in texts.values())
    for row in (row for node in explain(record).nodes for row in node.candidates if row.chosen):
        assert row.rests_on_unknown or row.regret_s == 0

    # A constraint that the plan holds changes nothing.
    held = [{"kind": "pin", "nodes": list(part.names), "target": part.target, "together": True, "exact": True} for part in parts]
    kept = what_if(record, Terms(held))
    assert (kept.keeps_plan, kept.change.change_s, {part.id for part in kept.plan.partitions}) == (True, 0.0, own)
    assert all(
        effect.text.startswith("no effect") for effect in effects(record, Terms(held), [[index] for index in range(len(held))]).groups
    )

    # Whatever else is asked for makes no plan faster, and the effect of a constraint says what the what-if says.
    wanted = data.draw(st.sampled_from([item.id for item in record.problem.candidates]))
    for constraint in ({"kind": "veto", "candidate": wanted}, {"kind": "pin", "candidate": wanted}):
        terms = Terms([constraint])
        (effect,) = effects(record, terms, [[0]]).groups
        try:
            found = what_if(record, terms)
        except InfeasibleError:
            assert (effect.alone, effect.text) == (None, "cannot hold, even alone")
            continue
        check_no_less_than_nothing(found.change)
        assert effect.alone is not None
        assert (effect.alone.change_s is None) == (found.change.change_s is None), (effect.alone, found.change)
        assert effect.alone.change_s == (None if found.change.change_s is None else pytest.approx(found.change.change_s, abs=1e-9))
        if constraint["kind"] == "pin":
            change, regret = found.change, regrets[wanted]
            assert (change.change_s is None) == (regret.exact_s is None), (change, regret)
            assert change.change_s == (None if regret.exact_s is None else pytest.approx(regret.exact_s, abs=1e-9)), (change, regret)

    # One target alone is never as good where the run measured it to be slower, or the plan to be better than its sum says.
    told = worth(record)
    for one in told.sets:
        if one.against is not None:
            check_no_less_than_nothing(one.against)
        if set(record.plan.used_targets) <= set(one.targets):
            assert one.against is not None
            assert (one.against.change_s, one.measured_s) == (0.0, record.document.verify.measured_s)

    # No two surfaces say two things of one subject.
    assert contradictions(list(cells(record, 3))) == []

    # The sentence that leads is green only where an interval says so, and the survey says the same.
    leads = verdict(record.document)
    row = planned_row("m", "m", record.document, 1.0)
    assert row.verdict == leads.text
    assert ("busy" in leads.text) == (record.document.disturbance is not None)
    if leads.is_good:
        assert leads.statement is not None
        assert leads.statement.basis == "measured"
        assert leads.statement.ratios is not None
        assert leads.statement.ratios[0] > 1
    if record.document.verify.measured_s is not None and leads.kind == "alone" and not leads.against:
        assert duration(record.document.verify.measured_s) in leads.text


def test_of_plans_with_the_same_sum_the_fastest_that_was_timed_answers(base: RunRecord) -> None:
    """A search stops at whichever of them it meets first; the run knows which is faster."""
    total = base.document.plan.total_s
    plans = k_best(base.problem, range(len(base.problem.candidates)), 8)
    ties = [one for one in plans if len(one.chosen) > 1 and one.total == total * FEMTOSECONDS]
    assert len(ties) > 2
    for fastest in ties:
        rows = [_timed(base, tie, number, 1.5 if tie is fastest else 2.0) for number, tie in enumerate(ties, 1)]
        verify = Verify(accuracy=1e-3, max_rel_error=1e-6, measured_s=1.0, interval_s=0.01)
        record = replace(base, document=replace(base.document, verify=verify, alternatives=tuple(rows)))
        terms = Terms([{"kind": "veto", "candidate": base.plan.partitions[0].id}])
        expected = {part.id for part in plan_of_result(record, fastest).partitions}
        answer = what_if(record, terms)
        assert ({part.id for part in answer.plan.partitions}, answer.change.change_s) == (expected, 0.5)
        (effect,) = effects(record, terms, [[0]]).groups
        assert effect.alone is not None
        assert effect.alone.change_s == 0.5


def _timed(record: RunRecord, result: Any, number: int, measured_s: float) -> Alternative:
    """Return the row of a plan of the least sum that was timed end to end."""
    parts = plan_of_result(record, result).partitions
    return Alternative(
        name=f"rival {number}",
        kind="rival",
        total_s=record.plan.total_s,
        measured_s=measured_s,
        interval_s=0.01,
        rounds=5,
        reason="",
        is_plan=False,
        partitions=tuple(PlanPart(id=part.id, target=part.target, nodes=part.nodes) for part in parts),
    )
