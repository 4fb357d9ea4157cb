"""Fields of costs and transitions: valid ones become keys and records, the first invalid one is named in one line."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from collage_core.cost.database.record_validation import InvalidRecord, cleaned, cost_row, record_of, transition_row
from collage_core.cost.database.records import MeasuredTransition, Record, fields_of
from tests.helpers.cost_records import FAILED, KEY, PAIR, RECORD

MEASURED = MeasuredTransition(1e-6, 2e-12, created=RECORD.created)
SECONDS = "it must be seconds: a number, not negative and at most 1e6"


@pytest.mark.parametrize("record", [RECORD, FAILED, replace(RECORD, repetitions=(1, 1))])
def test_valid_fields_become_the_same_row(record: Record) -> None:
    assert cost_row({**fields_of(KEY, record), "another": 1}) == (KEY, record)
    assert record_of(fields_of(KEY, record)) == record
    assert transition_row(fields_of(PAIR, MEASURED)) == (PAIR, MEASURED)


def test_lists_and_whole_numbers_of_json_are_taken() -> None:
    _, record = cost_row({**fields_of(KEY, RECORD), "samples": [1, 2], "repetitions": [2, 0]})
    assert (record.samples, record.repetitions) == ((1.0, 2.0), (2, 0))


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "sample": ({"samples": (1.0, True)}, f"samples[1] is True, {SECONDS}"),
    "no samples": ({"samples": None}, "samples is None, it must be a list of at most 100000 numbers"),
    "too many": ({"samples": (1.0,) * 100_001}, "samples is (1.0, 1.0,"),
    "failed without a reason to": ({"samples": ()}, "samples is empty, though stage names no failure"),
    "repetitions": ({"repetitions": (1, 2)}, "repetitions is [1, 2], but there are 2 samples"),
    "text of half a character": ({"reason": "\udcff"}, "reason is '\\udcff', it must be text of at most 20000 characters"),
    "long in bytes": ({"machine": "ä" * 129}, "machine is 'ää"),
    "empty name": ({"toolchain": ""}, "toolchain is '', it must be text, and not empty"),
    "number for text": ({"options": 3}, "options is 3, it must be text of at most 256 bytes"),
    "error": ({"error": float("inf")}, "error is inf, it must be a finite number, not negative"),
    "time": ({"created": "2026-01-01T01:00:00+01:00"}, "created is '2026-01-01T01:00:00+01:00', it must be a time in UTC"),
    "time before all times": ({"created": "0001-01-01T00:00:00+23:59"}, "created is '0001-01-01T00:00:00+23:59', it must be a time"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_first_invalid_field_is_named(mistake: str) -> None:
    change, said = MISTAKES[mistake]
    with pytest.raises(InvalidRecord) as caught:
        cost_row({**fields_of(KEY, RECORD), **change})
    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)


def test_a_missing_field_is_named() -> None:
    values = fields_of(PAIR, MEASURED)
    del values["per_byte_s"]
    with pytest.raises(InvalidRecord, match=r"^per_byte_s is missing$"):
        transition_row(values)


def test_cleaned_text_is_valid() -> None:
    broken = replace(FAILED, reason="last\0words\udcff" + "!" * 30_000)
    assert cost_row(fields_of(KEY, cleaned(broken)))[1].reason.startswith("last\ufffdwords?!!!")
