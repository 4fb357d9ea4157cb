"""Answers of workers: valid ones arrive as they were sent, and all others are refused."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

import pytest
from fleet_functions import INVALID_ANSWERS, RECORD
from hypothesis import given
from hypothesis import strategies as st

from collage_core.base.durations import now
from collage_core.base.isolation.worker_errors import WorkerDied, WorkerError
from collage_core.cost.database.records import Record
from collage_core.cost.fleet.protocol import (
    InvalidAnswer,
    description_from_json,
    dump,
    error_from_json,
    error_to_json,
    parse,
    record_from_json,
)
from collage_core.errors import CollageError
from collage_core.toolchains.toolchain import Availability, ToolchainError
from tests.helpers.fleets import description_of

WELL = Record(samples=(1e-3, 2e-3), error=1e-7, reference_s=1e-4, slowed_by=0.01, seconds_spent=0.5, created=now())


FAILED = Record(stage="build", reason="no converter", limit_s=3.0, crashed=True, created=now())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def received(answer: Any, took_s: float = 10.0) -> Record:
    return record_from_json(parse(dump(answer).encode()).get("record"), took_s)


@pytest.mark.parametrize("record", [WELL, FAILED])
def test_a_record_arrives_as_it_was_sent(record: Record):
    assert received({"record": asdict(record)}) == record


@pytest.mark.parametrize("name", INVALID_ANSWERS)
def test_an_invalid_answer_is_no_record(name: str):
    with pytest.raises(InvalidAnswer):
        record_from_json(parse(INVALID_ANSWERS[name].encode()).get("record"), 10.0)


def test_the_invalid_answers_are_near_to_a_valid_one():
    assert received({"record": RECORD}).samples == (1e-9,)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"samples": []}, "a trial that failed has no samples"),
        ({"samples": [0.0]}, "a run took no time at all"),
        ({"samples": [-1.0]}, "samples.0. is -1.0, it must be seconds: a number, not negative"),
        ({"samples": [True]}, "samples.0. is True, it must be seconds"),
        ({"samples": [15.0, 15.0]}, "its runs took 30 s, and it had 10 s in all"),
        ({"error": -1.0}, "error is -1.0, it must be a finite number, not negative"),
        ({"limit_s": -1.0}, "limit_s is -1.0, it must be seconds: a number, not negative"),
        ({"error": 10**400}, "error is 1000"),
        ({"stopped_early": 1}, "stopped_early is 1, it must be true or false"),
        ({"reason": None}, "reason is None, it must be text of at most 20000 characters"),
        ({"reason": "x" * 20_001}, "it must be text of at most 20000 characters"),
        ({"extra": 1}, "what should be a record has other fields"),
        ({"samples": [], "stage": "build"}, "failed at stage build and says no reason"),
    ],
)
def test_a_record_that_cannot_be_true_is_refused(change: dict[str, Any], reason: str):
    with pytest.raises(InvalidAnswer, match=reason):
        received({"record": {**asdict(WELL), **change}})


@pytest.mark.parametrize("text", [b"", b"\xff", b"nan", b"[]", b'{"a": Infinity}', b'{"a": 1e999}', b"[" * 100_000, b"1" * 10_000])
def test_what_is_no_json_object_of_finite_numbers_is_invalid(text: bytes):
    with pytest.raises(InvalidAnswer):
        parse(text)


@given(st.dictionaries(st.sampled_from(list(asdict(WELL))), JSON))
def test_whatever_comes_is_a_record_or_invalid(change: dict[str, Any]):
    try:
        record = received({"record": {**asdict(WELL), **change}})
    except InvalidAnswer:
        return
    assert all(math.isfinite(sample) and sample > 0 for sample in record.samples)
    assert bool(record.samples) != bool(record.stage)
    assert json.dumps(asdict(record), allow_nan=False)


@given(JSON)
def test_whatever_comes_is_a_description_or_invalid(data: Any):
    for broken in (data, {**asdict(description_of()), "toolchains": data}, {**asdict(description_of()), "cores": data}):
        try:
            found = description_from_json(broken)
        except InvalidAnswer:
            continue
        assert found.cores >= 1
        assert all(type(item.usable) is bool for item in found.toolchains.values())


@pytest.mark.parametrize("change", [{"usable": 1}, {"usable": "yes"}, {"version": 1}, {"version": None}, {"speed": "high"}, {"hint": ...}])
def test_a_toolchain_of_a_worker_has_all_its_fields_each_of_its_own_type(change: dict[str, Any]):
    """Nothing is converted, so that a worker that sends something else is noticed."""
    sent = json.loads(dump(asdict(description_of(tvm="1"))))
    sent["toolchains"]["tvm"] |= change
    sent["toolchains"]["tvm"] = {name: value for name, value in sent["toolchains"]["tvm"].items() if value is not ...}
    with pytest.raises(InvalidAnswer, match="toolchains"):
        description_from_json(sent)


def test_words_of_a_worker_cannot_move_the_cursor():
    assert received({"record": {**asdict(FAILED), "reason": "\x1b[2Jgone"}}).reason == r"\x1b[2Jgone"


def test_errors_keep_their_class_and_words():
    refused = error_from_json(error_to_json(ToolchainError("import", "no converter")))
    assert isinstance(refused, ToolchainError)
    assert (refused.stage, refused.message) == ("import", "no converter")
    mistake = error_from_json(error_to_json(CollageError("odd", "use another", "odd")))
    assert isinstance(mistake, CollageError)
    assert mistake.to_json() == {"code": "odd", "message": "odd", "hint": "use another"}
    died = error_from_json(error_to_json(WorkerDied("crashed with SIGSEGV", -11, "aua\n")))
    assert isinstance(died, WorkerError)
    assert str(died) == "crashed with SIGSEGV; its last output: 'aua'"
    for broken in (None, {"kind": "lunch"}, {"kind": "collage", "message": 3}):
        with pytest.raises(InvalidAnswer):
            error_from_json(broken)


def test_a_description_arrives_as_it_was_sent():
    worker = description_of(tvm="1", openvino=Availability(False, reason="not installed", hint="pip install openvino"))
    assert description_from_json(json.loads(dump(asdict(worker)))) == worker
