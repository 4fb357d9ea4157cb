"""The events of a run that a client gets: every decision or a gap, the others thinned, and no more than its window."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collage_server.messages.live import Numbered
from collage_server.shared.thinning import BATCH_THINNABLE, thin
from collage_server.streaming import stream
from collage_server.streaming.stream import BATCH_ITEMS, WINDOW, Cursor, Ring


def event(seq: int, decision: bool = True) -> Numbered:
    return Numbered(seq, {"type": "Note" if decision else "SearchProgress", "text": str(seq)})


def ring_of(decisions: list[bool], size: int = 10) -> Ring:
    ring = Ring()
    for seq, decision in enumerate(decisions, 1):
        ring.add(event(seq, decision), size)
    return ring


def drain(cursor: Cursor, ring: Ring) -> tuple[list[int], bool]:
    """The numbers that a quick client gets, and whether it was told of a gap."""
    numbers: list[int] = []
    gap = False
    while (batch := cursor.next_batch(ring)) is not None:
        cursor.acknowledged()
        numbers += [item.seq for item in batch.items]
        gap |= batch.gap
    return numbers, gap


def test_all_of_a_short_run_in_order() -> None:
    ring = ring_of([True, False, True, False])
    assert drain(Cursor("r", 0), ring) == ([1, 2, 3, 4], False)
    assert drain(Cursor("r", 2), ring) == ([3, 4], False)
    assert drain(Cursor("r", 4), ring) == ([], False)


def test_window() -> None:
    ring, cursor = Ring(), Cursor("r", 0)
    for seq in range(1, WINDOW + 1):
        ring.add(event(seq), 10)
        assert cursor.next_batch(ring) is not None
    ring.add(event(WINDOW + 1), 10)
    assert cursor.next_batch(ring) is None
    cursor.acknowledged()
    batch = cursor.next_batch(ring)
    assert batch is not None
    assert [item.seq for item in batch.items] == [WINDOW + 1]


def test_batches_are_bounded_in_items() -> None:
    ring, cursor = ring_of([True] * (BATCH_ITEMS + 1)), Cursor("r", 0)
    first, second = cursor.next_batch(ring), cursor.next_batch(ring)
    assert first is not None
    assert second is not None
    assert (len(first.items), len(second.items)) == (BATCH_ITEMS, 1)


def test_batches_are_bounded_in_bytes() -> None:
    batch = Cursor("r", 0).next_batch(ring_of([True] * 9, size=stream.BATCH_BYTES // 3))
    assert batch is not None
    assert len(batch.items) == 3


def test_one_event_larger_than_a_batch_is_sent_alone() -> None:
    ring, cursor = ring_of([True] * 3, size=stream.BATCH_BYTES + 1), Cursor("r", 0)
    for seq in (1, 2, 3):
        batch = cursor.next_batch(ring)
        assert batch is not None
        assert [item.seq for item in batch.items] == [seq]


def test_many_thinnable_events_are_thinned_and_the_newest_stays() -> None:
    ring = ring_of([False] * 1000 + [True] + [False] * 999)
    batch = Cursor("r", 0).next_batch(ring)
    assert batch is not None
    assert len(batch.items) == BATCH_THINNABLE + 1
    assert batch.items[-1].seq == 2000
    assert 1001 in [item.seq for item in batch.items]
    assert not batch.gap


def test_decisions_that_are_gone_are_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "RING_DECISIONS", 5)
    ring = ring_of([True] * 20)
    assert drain(Cursor("r", 0), ring) == ([16, 17, 18, 19, 20], True)
    assert drain(Cursor("r", 15), ring) == ([16, 17, 18, 19, 20], False)


def test_the_ring_is_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "RING_DECISION_BYTES", 100)
    assert drain(Cursor("r", 0), ring_of([True] * 20, size=40)) == ([19, 20], True)


def test_a_run_that_ended_long_ago_is_a_gap_and_nothing_else() -> None:
    batch = Cursor("r", 3).next_batch(Ring(9))
    assert batch is not None
    assert (batch.items, batch.gap) == ([], True)
    assert Cursor("r", 9).next_batch(Ring(9)) is None


@given(
    events=st.lists(st.booleans(), max_size=300),
    kept=st.integers(1, 60),
    pace=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 4)), min_size=1, max_size=40),
    after=st.integers(0, 20),
)
def test_every_decision_arrives_or_a_gap_says_so(events: list[bool], kept: int, pace: list[tuple[int, int]], after: int) -> None:
    """A client of any pace, with a small ring: numbers ascend, and a decision is missing only before a gap's first number."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream, "RING_DECISIONS", kept)
        patch.setattr(stream, "BATCH_ITEMS", 7)
        ring, cursor = Ring(), Cursor("r", after)
        got: list[int] = []
        excused = after
        pending = 0
        made = 0

        def take() -> None:
            nonlocal excused, pending
            while (batch := cursor.next_batch(ring)) is not None:
                pending += 1
                assert pending <= WINDOW
                if batch.gap:
                    excused = batch.items[0].seq - 1 if batch.items else ring.lost
                got.extend(item.seq for item in batch.items)

        for more, acknowledged in pace:
            for decision in events[made : made + more]:
                made += 1
                ring.add(event(made, decision), 10)
            take()
            for _ in range(min(acknowledged, pending)):
                pending -= 1
                cursor.acknowledged()
        while pending:
            pending -= 1
            cursor.acknowledged()
            take()
    assert got == sorted(set(got))
    decisions = [seq for seq in range(1, made + 1) if events[seq - 1] and seq > after]
    lost = [seq for seq in decisions if seq not in got]
    assert all(seq <= excused for seq in lost)


@given(st.lists(st.integers(), max_size=200), st.integers(1, 50))
def test_thin(items: list[int], keep: int) -> None:
    numbered: list[Any] = list(enumerate(items))
    kept = thin(numbered, keep)
    assert len(kept) == min(keep, len(items))
    assert list(kept) == sorted(set(kept))
    if items:
        assert kept[-1] == numbered[-1]
