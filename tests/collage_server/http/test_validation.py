"""A client's data is read into a dataclass, or refused in one line that says which field is wrong."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from collage_core.base.validation import first_mistake
from collage_core.documents.statements import PlanTime
from collage_core.documents.two_plans import CompareRequest, ShownPart, ShownPlan
from collage_server.http.error_answers import Problem
from collage_server.http.validation import read
from collage_server.messages.live import Subscribe
from collage_server.messages.models import LayoutJson, OpenModel
from collage_server.messages.requests import RunRequest

GOOD = {"model": "m", "targets": ["a"]}
LAYOUT = ("centres", "points", "offsets", "labels")


def test_reads_and_fills_in_defaults() -> None:
    assert read(RunRequest, {**GOOD, "accuracy": 1}) == RunRequest(model="m", targets=["a"], accuracy=1)
    assert isinstance(read(RunRequest, {**GOOD, "accuracy": 1}).accuracy, int), "it stays as it came"
    assert read(OpenModel, {"shapes": {"x": [1, 2]}}) == OpenModel(shapes={"x": [1, 2]})


def test_objects_within_are_read_as_the_dataclasses_that_they_are() -> None:
    part = ShownPart(id="c", target="a", nodes=[0], cost_s=1e-3, interval_s=None, source="measured")
    plan = ShownPlan(parts=[part], transitions_s=0.0, time=PlanTime(predicted_s=1e-3), run="r", is_plan=True)
    assert read(CompareRequest, {"first": asdict(plan), "second": asdict(plan)}) == CompareRequest(plan, plan)
    broken = {**asdict(plan), "parts": [{**asdict(part), "nodes": ["x"]}]}
    with pytest.raises(Problem, match=r"second\.parts\[0\]\.nodes\[0\] is 'x', it must be a valid integer"):
        read(CompareRequest, {"first": asdict(plan), "second": broken})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (3, "a JSON object was expected, and 3 came"),
        ({"model": "m"}, "targets is missing"),
        ({**GOOD, "targets": "tvm"}, "targets is 'tvm', it must be a valid list"),
        ({**GOOD, "targets": ["a", 1]}, "targets[1] is 1, it must be a valid string"),
        ({**GOOD, "target": []}, "'target' is no field of RunRequest"),
        ({**GOOD, "accuracy": "high"}, "accuracy is 'high', it must be a valid number"),
        ({**GOOD, "accuracy": True}, "accuracy is True, it must be a valid number"),
        ({**GOOD, "accuracy": float("nan")}, "accuracy is nan, it must be a finite number"),
        ({**GOOD, "accuracy": 10**400}, f"accuracy is 1{'0' * 56}..., it must be a valid number"),
        ({**GOOD, "constraints": [1]}, "constraints[0] is 1, it must be a valid dictionary"),
        ({**GOOD, "model": "x" * 99}, None),
        ({**GOOD, "base": ["x"] * 99}, f"base is {str(['x'] * 99)[:57]}..., it must be a valid string"),
        ({**GOOD, "max_depth": {"a b": 1.0}}, "max_depth['a b'] is 1.0, it must be a valid integer"),
    ],
)
def test_refuses(data: Any, message: str | None) -> None:
    if message is None:
        read(RunRequest, data)
        return
    with pytest.raises(Problem) as caught:
        read(RunRequest, data)
    assert caught.value.message == message
    assert caught.value.status == 400
    assert caught.value.hint


def test_true_is_no_whole_number() -> None:
    with pytest.raises(Problem, match="after is True, it must be a valid integer"):
        read(Subscribe, {"run": "r", "after": True})


@pytest.mark.parametrize(
    ("kind", "data", "mistakes", "message"),
    [
        (LayoutJson, dict.fromkeys(LAYOUT, ["x"] * 99), len(LAYOUT), "centres[0] is 'x', it must be a valid number"),
        (OpenModel, {"shapes": {"x": ["y"] * 99}}, 1, "shapes.x[0] is 'y', it must be a valid integer"),
        (RunRequest, {**GOOD, "groups": [["x"] * 99] * 99}, 1, "groups[0][0] is 'x', it must be a valid integer"),
    ],
)
def test_reading_a_list_ends_at_its_first_wrong_value(
    kind: type, data: dict[str, Any], mistakes: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A body may hold millions."""
    found: list[ValidationError] = []
    monkeypatch.setattr("collage_server.http.validation.first_mistake", lambda error: (found.append(error), first_mistake(error))[1])
    assert (outcome(kind, data), [error.error_count() for error in found]) == (message, [mistakes])


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_never_raises_anything_else(data: Any) -> None:
    for kind in (RunRequest, OpenModel, Subscribe):
        assert "\n" not in outcome(kind, data)
        assert outcome(kind, data) != "another class"


def outcome(kind: type, data: Any) -> str:
    """Return the message of the refusal; empty if the data was read."""
    try:
        return "" if isinstance(read(kind, data), kind) else "another class"
    except Problem as problem:
        return problem.message
