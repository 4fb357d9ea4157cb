"""The changes of a snapshot as JSON Patch: a page that merges them has what a fresh snapshot says, whatever is lost on the way."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import jsonpatch
from hypothesis import given
from hypothesis import strategies as st

from collage_core.documents.plan import PlanCopy, PlanInfo, PlanPartition
from collage_server.messages.runs import RunSnapshot, TargetCounts
from collage_server.shared.json_files import json_data
from collage_server.streaming.patches import MOST_ROWS, patch_between
from tests.helpers.examples import examples
from tests.helpers.run_changes import FILE, START, content, followed_run

ROWS = [TargetCounts(name) for name in "abcdef"]


def operations(old: list[TargetCounts], new: list[TargetCounts]) -> list[tuple[str, str]]:
    return [(change.op, change.path) for change in patch_between(replace(START, counts=old), replace(START, counts=new))]


def test_nothing_changes() -> None:
    assert patch_between(START, replace(START)) == []


def test_only_what_changes_is_sent() -> None:
    counts = [START.counts[0], replace(START.counts[1], measured=3)]
    later = replace(START, seq=1, done=3, counts=counts, plan=PlanInfo(total_s=2.0, partitions=()))
    assert [(change.op, change.path) for change in patch_between(START, later)] == [
        ("replace", "/seq"),
        ("replace", "/done"),
        ("replace", "/counts/1"),
        ("replace", "/plan"),
    ]
    assert [change.path for change in patch_between(later, replace(later, plan=PlanInfo(total_s=1.0, partitions=())))] == ["/plan/total_s"]


def test_a_member_that_is_left_out_comes_and_goes_with_its_record() -> None:
    copies = (PlanCopy(source="host", destination="gpu", tensor="t", bytes=4, cost_s=1e-6),)
    without = replace(START, plan=PlanInfo(total_s=1.0, partitions=()))
    beside = replace(START, plan=PlanInfo(total_s=1.0, partitions=(), copies=copies))
    for before, after in ((without, beside), (beside, without)):
        patch: Any = json_data(patch_between(before, after))
        assert jsonpatch.apply_patch(json_data(before), patch) == json_data(after)
    (change,) = json_data(patch_between(without, beside))
    assert change["value"]["copies"] == [{"from": "host", "to": "gpu", "tensor": "t", "bytes": 4, "cost_s": 1e-6, "basis": ""}]


def test_rows_are_added_removed_and_replaced_one_by_one() -> None:
    a, b, c, d, e, f = ROWS
    assert operations([a, b, c], [a, b, c, d]) == [("add", "/counts/3")]
    assert operations([a, b, c, d], [a, b, d]) == [("remove", "/counts/2")]
    assert operations([a, b, c, d], [a, e, c, f]) == [("replace", "/counts/1"), ("replace", "/counts/3")]


def test_a_list_that_changes_for_the_larger_part_is_replaced() -> None:
    a, b, c, d, *_ = ROWS
    assert operations([a, b], [c, d]) == [("replace", "/counts")]
    assert operations([], [a]) == [("replace", "/counts")]
    assert operations([a, b, c], []) == [("replace", "/counts")]
    many = [TargetCounts(str(number)) for number in range(10 * MOST_ROWS)]
    assert operations(many, [a] * MOST_ROWS + many[MOST_ROWS:]) == [("replace", f"/counts/{index}") for index in range(MOST_ROWS)]
    assert operations(many, [a] * (MOST_ROWS + 1) + many[MOST_ROWS + 1 :]) == [("replace", "/counts")]


def test_what_stays_is_not_looked_into() -> None:
    class Untouchable(tuple[PlanPartition, ...]):
        def __eq__(self, other: object) -> bool:
            raise AssertionError("a plan that stays was compared")

        __hash__ = None  # type: ignore[assignment]

    known = replace(START, plan=PlanInfo(total_s=1.0, partitions=Untouchable()))
    assert [change.path for change in patch_between(known, replace(known, done=1))] == ["/done"]


@given(st.lists(st.sampled_from(ROWS), max_size=12), st.lists(st.sampled_from(ROWS), max_size=12))
def test_any_rows_become_any_others(old: list[TargetCounts], new: list[TargetCounts]) -> None:
    before, after = replace(START, counts=old), replace(START, counts=new)
    patch: Any = json_data(patch_between(before, after))
    assert jsonpatch.apply_patch(json_data(before), patch) == json_data(after)


@examples(400)
@given(st.randoms(use_true_random=False), st.integers(0, 80))
def test_a_page_that_follows_a_run_has_what_a_fresh_snapshot_says(draw: random.Random, steps: int) -> None:
    """Random events, messages that wait or are lost, connections that break, pages that are opened in between."""
    run = followed_run(draw, steps)
    fresh: RunSnapshot = run.snapshot
    assert run.page == json_data(fresh)


def test_the_page_merges_what_the_server_sends() -> None:
    """The page's own test reads the same file."""
    assert FILE.read_text() == content(), "the server sends something else by now: run `.venv/bin/python -m tests.helpers.run_changes`"
