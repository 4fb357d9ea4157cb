"""The rows beside a plan that took the place of another one; what a run answers for other shapes is tested in `test_for_shapes.py`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from collage_core.documents.run import RunDocument
from collage_core.documents.verify import Verify
from collage_core.graph.index_set import IndexSet
from collage_core.pipeline.shapes.shape_run import Parts, rows_beside
from collage_core.pipeline.whole.finalists import decision_text
from tests.helpers.documents import PART, alternative, run_document


def parts(*targets: str) -> Parts:
    return frozenset((target, IndexSet((node,))) for node, target in enumerate(targets))


def row(name: str, measured_s: float | None, *targets: str, is_plan: bool = False) -> dict[str, Any]:
    placed = [{"id": f"{target}{node}", "target": target, "nodes": [node]} for node, target in enumerate(targets)]
    return alternative(name, total_s=1.0, measured_s=measured_s, interval_s=0.1, is_plan=is_plan, partitions=placed)


def document(*rows: dict[str, Any]) -> RunDocument:
    plan = {"total_s": 2.0, "partitions": [PART, {**PART, "id": "y", "target": "b", "nodes": [1]}]}
    return run_document(plan=plan, verify={"measured_s": 2.5}, alternatives=rows)


def test_the_new_plan_has_its_row_and_the_old_one_joins_them() -> None:
    rows, own = rows_beside(parts("a", "a"), document(row("a", 3.0, "a", "a"), row("b", 4.0, "b", "b")))
    assert own is not None
    assert (own.name, own.measured_s) == ("a", 3.0)
    assert [(one.name, one.measured_s, one.is_plan) for one in rows] == [
        ("a", 3.0, True),
        ("b", 4.0, False),
        ("search", 2.5, False),
    ]
    assert [part.target for part in rows[-1].partitions] == ["a", "b"]


def test_it_is_said_that_the_plan_is_the_one_for_all_shapes() -> None:
    rows, own = rows_beside(parts("a", "a"), document(row("a", 3.0, "a", "a")))
    assert own is not None
    verify = Verify(measured_s=own.measured_s)
    after = replace(document(), verify=verify, alternatives=rows, decided_by="whole", decided_for="all shapes")
    assert decision_text(after) == "this is the plan for all shapes: timed end to end, the fastest here is 16.7% faster"


def test_an_old_plan_that_is_a_baseline_is_there_already() -> None:
    rows, _ = rows_beside(parts("b", "b"), document(row("a", 3.0, "a", "b", is_plan=True), row("b", 4.0, "b", "b")))
    assert [(one.name, one.is_plan) for one in rows] == [("a", False), ("b", True)]


def test_a_plan_that_was_not_timed_has_no_row() -> None:
    assert rows_beside(parts("b", "b"), document(row("b", None, "b", "b")))[1] is None
    assert rows_beside(parts("c", "c"), document())[1] is None
