"""The lines of the terminal about several shapes."""

from __future__ import annotations

from typing import Any

from collage_core.cli.shapes_text import shapes_lines
from tests.helpers.documents import run_document

FIRST = {"first": 0, "last": 0, "plan": 0}
TRIED = [{"size": size, "first_s": None, "second_s": None} for size in (40, 28)]


def planned(name: str, best: int, total_s: float, target: str) -> dict[str, Any]:
    parts = [{"target": "host", "nodes": [0]}, {"target": target, "nodes": [1, 2]}]
    inputs = {"ids": [1, int(name.rpartition("=")[2])]}
    built = {"name": name, "sizes": {}, "inputs": inputs, "measured_s": None, "max_rel_error": None}
    return {**built, "best": best, "weight": 0.5, "total_s": total_s, "partitions": parts, "baselines": []}


def lost(*seconds: float | None) -> dict[str, Any]:
    return {"partitions": [], "totals_s": [], "loses_s": seconds, "total_s": None}


def shapes(**more: Any) -> dict[str, Any]:
    return {
        "planned": [planned("seq=16", 0, 0.001, "a"), planned("seq=64", 1, 0.002, "b")],
        "dimensions": [],
        "plans": [lost(0.0, 0.004), lost(0.0005, 0.0), lost(0.0001, None)],
        "one_plan": {"plan": 2, "total_s": 0.0025, "measured_s": None, "name": "all shapes", "reason": ""},
        "by_range": {"plans": [0, 1], "ranges": [FIRST, {**FIRST, "plan": 1}], "total_s": 0.0015, "measured_s": 0.0016},
        "crossovers": [{"after": 0, "dimension": "seq", "below": 28, "above": 34, "tried": TRIED}],
        "chosen": "by_range",
        "decided_by": "sum",
        **more,
    }


MODEL = {"name": "m", "hash": "", "nodes": 3, "inputs": [{"name": "ids", "shape": [1, 64], "dtype": "int64"}], "outputs": []}


def test_both_answers_are_said_and_what_fixing_a_shape_loses() -> None:
    assert shapes_lines(run_document(model=MODEL, shapes=shapes())) == [
        "2 shapes; the plan above is that of seq=64:",
        "  seq=16   50%  predicted 1 ms  a 2 nodes in 1 partition",
        "  seq=64   50%  predicted 2 ms  b 2 nodes in 1 partition",
        "one plan for all shapes: predicted 2.5 ms over all shapes (not chosen, by the sum)",
        "one plan for each range: predicted 1.5 ms, measured 1.6 ms over all shapes in 2 ranges (chosen, by the sum)",
        "  the plans change between seq=28 and 34 (compared at 40, 28)",
        "  fixing the shape seq=16 loses at seq=64 +4 ms",
        "  fixing the shape seq=64 loses at seq=16 +500 µs",
    ]


def test_a_missing_answer_has_its_reason() -> None:
    none = {"plan": None, "name": "all shapes", "total_s": None, "measured_s": None, "reason": "no plan is valid at every shape"}
    assert "one plan for all shapes: none (no plan is valid at every shape)" in shapes_lines(
        run_document(model=MODEL, shapes=shapes(one_plan=none))
    )


def test_a_run_of_one_shape_has_none_of_it() -> None:
    assert shapes_lines(run_document(model=MODEL)) == []
