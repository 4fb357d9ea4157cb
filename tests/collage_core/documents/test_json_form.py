"""`to_json` and `from_json` on records of every kind of field."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from collage_core.documents.json_form import IfKnown, from_json, members, to_json
from collage_core.documents.plan import PlanTransition
from collage_core.errors import CollageError


@dataclass(frozen=True)
class Inner:
    node: int
    error: float | None = None


@dataclass(frozen=True)
class Outer:
    name: str
    rows: tuple[Inner, ...] = ()
    by_name: Mapping[str, Inner] = field(default_factory=dict)
    gap: IfKnown[str] = None


def test_a_record_becomes_its_json_and_a_record_again() -> None:
    record = Outer("a", (Inner(1), Inner(2, math.inf)), {"x": Inner(3, 0.5)}, "late")
    data = to_json(record)
    rows = [{"node": 1, "error": None}, {"node": 2, "error": math.inf}]
    assert data == {"name": "a", "rows": rows, "by_name": {"x": {"node": 3, "error": 0.5}}, "gap": "late"}
    assert from_json(Outer, data) == record


def test_a_key_whose_value_is_not_known_is_left_out() -> None:
    assert to_json(Outer("a")) == {"name": "a", "rows": [], "by_name": {}}
    assert from_json(Outer, {"name": "a"}) == Outer("a")


def test_the_members_of_a_record_are_those_of_its_json() -> None:
    move = PlanTransition(maker="tvm", reader="host", tensor="y", bytes=4, cost_s=1e-6)
    assert members(move) == to_json(move)
    assert members(Outer("a")) == {"name": "a", "rows": (), "by_name": {}}
    assert members(Outer("a", gap="late"))["gap"] == "late"


def test_a_tuple_of_records_is_a_list() -> None:
    assert to_json((Inner(1), Inner(2))) == [{"node": 1, "error": None}, {"node": 2, "error": None}]


def test_an_error_names_the_first_wrong_key() -> None:
    with pytest.raises(CollageError) as caught:
        from_json(Outer, {"name": "a", "rows": [{"node": 1}, {"node": "two"}]})
    assert caught.value.message == (
        "the JSON is not that of Outer: rows[1].node is 'two', it must be a valid integer, unable to parse string as an integer"
    )
    assert (caught.value.hint, caught.value.code) == ("give JSON that this version wrote", "bad_document")


def test_a_missing_key_is_named() -> None:
    with pytest.raises(CollageError, match="the JSON is not that of Inner: node is missing"):
        from_json(Inner, {})
