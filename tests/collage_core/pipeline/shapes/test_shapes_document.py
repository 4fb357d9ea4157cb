"""Which of the two answers is taken where whole plans were measured, by hand. The document of a run is tested in `test_for_shapes.py`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from collage_core.graph.index_set import IndexSet
from collage_core.pipeline.shapes.ranges import Crossover
from collage_core.pipeline.shapes.shape_run import Parts
from collage_core.pipeline.shapes.shapes_document import Answer, ShapesFound
from tests.helpers.documents import alternative, run_document

BOTH = IndexSet((0, 1))
A, B, MIXED = frozenset({("a", BOTH)}), frozenset({("b", BOTH)}), frozenset({("a", IndexSet((0,))), ("b", IndexSet((1,)))})


def row(name: str, measured_s: float | None, parts: Parts, kind: str = "baseline") -> dict[str, Any]:
    placed = [{"id": target, "target": target, "nodes": list(inside)} for target, inside in parts]
    return alternative(name, kind=kind, total_s=1.0, measured_s=measured_s, partitions=placed)


def shape_of(plan: Parts, measured_s: float | None, *rows: dict[str, Any], totals: dict[Parts, float] | None = None) -> tuple[Any, Any]:
    """A run whose plan is `plan`, and its record."""
    placed = [SimpleNamespace(target=target, nodes=tuple(inside)) for target, inside in plan]
    run = SimpleNamespace(
        shape=SimpleNamespace(weight=0.5), names=["x", "y"], total_s=lambda parts: (totals or {}).get(parts, 9.0),
    )  # fmt: skip
    document = run_document(verify={"measured_s": measured_s}, alternatives=rows)
    return run, SimpleNamespace(document=document, plan=SimpleNamespace(total_s=2.0, partitions=placed))


def found_of(*shapes: tuple[Any, Any], **more: Any) -> ShapesFound:
    runs, records = [run for run, _ in shapes], [record for _, record in shapes]
    given = {"plans": [A, B], "totals": [[1.0, 3.0], [3.0, 1.0]], "one": Answer([0, 0], 2.0), "by_range": Answer([0, 1], 1.0)}
    return ShapesFound(asked=None, runs=runs, records=records, crossovers=[], **{**given, **more})  # type: ignore[arg-type]


def test_plans_by_range_are_taken_where_they_are_faster_measured_whole() -> None:
    found = found_of(shape_of(A, 1.0, row("a", 1.0, A), row("b", 3.0, B)), shape_of(B, 1.1, row("a", 3.0, A), row("b", 1.1, B)))
    found.decide_whole(True)
    assert (found.chosen, found.decided_by) == ("by_range", "whole")
    assert found.by_range.measured_s == pytest.approx(1.05)
    assert (found.one.name, found.one.measured_s) == ("a", pytest.approx(2.0))
    assert found.whole_parts(0) is None


def test_a_target_alone_may_be_the_one_plan() -> None:
    found = found_of(shape_of(A, 2.0, row("a", 2.0, A), row("b", 2.01, B)), shape_of(B, 1.0, row("a", 3.0, A), row("b", 1.0, B)))
    found.decide_whole(True)
    assert (found.chosen, found.one.name, found.one.measured_s) == ("one_plan", "b", pytest.approx(1.505))
    assert [found.whole_parts(number) for number in (0, 1)] == [B, B]
    assert found.one.plans == [1, 1]


def test_a_target_alone_is_not_the_one_plan_where_constraints_may_exclude_it() -> None:
    found = found_of(shape_of(A, 2.0, row("b", 2.01, B)), shape_of(B, 1.0, row("all shapes", 3.0, A), row("b", 1.0, B)))
    found.decide_whole(False)
    assert (found.chosen, found.one.name) == ("by_range", "all shapes")


@pytest.mark.parametrize("second", [shape_of(B, None), shape_of(B, 1.0)], ids=["not measured", "beside nothing"])
def test_the_sums_decide_where_not_all_shapes_were_measured_whole(second: tuple[Any, Any]) -> None:
    found = found_of(shape_of(A, 1.0, row("a", 1.0, A)), second, chosen="by_range")
    found.decide_whole(True)
    assert (found.chosen, found.decided_by, found.whole_parts(0)) == ("by_range", "sum", None)


def test_a_plan_that_was_faster_whole_joins_the_others() -> None:
    shapes = shape_of(MIXED, 0.9, row("a", 1.5, A)), shape_of(B, 1.0, row("a", 3.0, A))
    shapes[0][0].total_s = lambda parts: 1.2
    found = found_of(*shapes)
    found.crossovers, found.by_sum = [Crossover(0, "n", 3, 5, {})], [0, 1]
    found.decide_whole(True)
    found.keep_final()
    assert (found.plans, found.totals[2]) == ([A, B, MIXED], [1.2, 9.0])
    assert (found.final, list(found.by_range.plans)) == ([2, 1], [2, 1])
    assert found.by_range.total_s == pytest.approx(1.1)
    assert found.final_crossovers == [], "it was found between other plans"
