"""A client's data is read into a dataclass, or refused in one line that says which field is wrong."""

from __future__ import annotations

from typing import Any

import pytest
from collage_server.http.errors import Problem
from collage_server.http.validation import read
from collage_server.messages.live import Subscribe
from collage_server.messages.models import OpenModel
from collage_server.messages.requests import RunRequest
from hypothesis import given
from hypothesis import strategies as st

GOOD = {"model": "m", "targets": ["a"]}


def test_reads_and_fills_in_defaults() -> None:
    assert read(RunRequest, {**GOOD, "accuracy": 1}) == RunRequest(model="m", targets=["a"], accuracy=1)
    assert read(OpenModel, {"shapes": {"x": [1, 2]}}) == OpenModel(shapes={"x": [1, 2]})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (3, "a JSON object was expected, and 3 came"),
        ({"model": "m"}, "'targets' is missing: it must be a list (each text)"),
        ({**GOOD, "targets": "tvm"}, "'targets' must be a list (each text), and is 'tvm'"),
        ({**GOOD, "targets": [1]}, "'targets' must be a list (each text), and is [1]"),
        ({**GOOD, "target": []}, "'target' is no field of RunRequest"),
        ({**GOOD, "accuracy": "high"}, "'accuracy' must be a number or null, and is 'high'"),
        ({**GOOD, "accuracy": True}, "'accuracy' must be a number or null, and is True"),
        ({**GOOD, "accuracy": float("nan")}, "'accuracy' must be a number or null, and is nan"),
        ({**GOOD, "accuracy": 10**400}, f"'accuracy' must be a number or null, and is 1{'0' * 17}...{'0' * 19}"),
        ({**GOOD, "constraints": [1]}, "'constraints' must be a list (each an object), and is [1]"),
        ({**GOOD, "model": "x" * 99}, None),
        ({**GOOD, "base": ["x"] * 99}, "'base' must be text or null, and is ['x', 'x', 'x', 'x', 'x', 'x', ...]"),
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
    with pytest.raises(Problem, match="'after' must be a whole number, and is True"):
        read(Subscribe, {"run": "r", "after": True})


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
