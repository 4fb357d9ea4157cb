"""Tests are spread by duration: shares that take equally long, as many tests in each, the longest first, what belongs together together."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.helpers.spread import LISTED_S, SHORT_S, Recorder, in_shares, read_durations, seconds_of, shares_fixture


def test_shares_take_equally_long_and_hold_equally_many():
    groups = [(9.0, ["a"]), (5.0, ["b"]), (4.0, ["c"]), *((0.05, [f"short{index}"]) for index in range(7))]
    made = in_shares(groups, 2)
    first, second = made[:5], made[5:]
    assert sorted(made) == sorted(name for _, group in groups for name in group)
    assert (first[0], second[:2]) == ("a", ["b", "c"])


def test_what_shares_a_fixture_stays_together():
    made = in_shares([(3.0, ["a1", "a2", "a3"]), (2.0, ["b"]), (1.0, ["c"]), (0.1, ["d"])], 2)
    assert made == ["a1", "a2", "a3", "b", "c", "d"]


def test_what_is_too_many_in_one_share_goes_to_another():
    made = in_shares([(1.0, [f"a{index}" for index in range(6)]), (3.0, ["b"]), (2.0, ["c"])], 2)
    assert (made[0], sorted(made)) == ("b", sorted([f"a{index}" for index in range(6)] + ["b", "c"]))
    assert made[4] == "c"


def test_no_test_and_one_worker():
    assert in_shares([], 2) == []
    assert in_shares([(0.1, ["a"]), (1.0, ["b"])], 1) == ["b", "a"]


@pytest.mark.parametrize(("scope", "shares"), [("module", True), ("class", True), ("session", False), ("function", False)])
def test_fixtures_of_a_module_or_a_class_are_shared(scope: str, shares: bool):
    item: Any = SimpleNamespace(_fixtureinfo=SimpleNamespace(name2fixturedefs={"made": [SimpleNamespace(scope=scope)]}))
    assert shares_fixture(item) is shares


def test_this_test_shares_nothing(request: pytest.FixtureRequest):
    assert not shares_fixture(request.node)


def test_durations_are_written_and_read(tmp_path: Path):
    recorder = Recorder(tmp_path / "durations.json")
    for nodeid, seconds in (("tests/b.py::x", 0.4), ("tests/b.py::x", 2.61), ("tests/a.py::T::y[::]", LISTED_S), ("tests/a.py::z", 0.1)):
        report: Any = SimpleNamespace(nodeid=nodeid, duration=seconds)
        recorder.pytest_runtest_logreport(report)
    recorder.pytest_sessionfinish()
    known = read_durations(tmp_path / "durations.json")
    assert json.loads((tmp_path / "durations.json").read_text()) == known == {"tests/a.py": {"T::y[::]": 0.5}, "tests/b.py": {"x": 3.0}}
    assert seconds_of("tests/a.py::T::y[::]", known) == 0.5
    assert seconds_of("tests/a.py::z", known) == seconds_of("tests/new.py::x", known) == SHORT_S
    assert read_durations(tmp_path / "none.json") == {}
