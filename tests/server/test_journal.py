"""A run's events on disk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from collage_server import journal
from collage_server.journal import EVENTS, Journal, lines
from collage_server.protocol import Numbered


def note(seq: int, kind: str = "Note") -> Numbered:
    return Numbered(seq, {"type": kind, "text": "x" * 50})


def numbers(folder: Path) -> list[int]:
    return [json.loads(line)["seq"] for line in lines(folder)]


def test_write_and_read_and_go_on(tmp_path: Path) -> None:
    assert numbers(tmp_path) == []
    for first in (1, 3):
        written = Journal(tmp_path)
        written.add(note(first))
        written.add(note(first + 1))
        written.close()
    assert numbers(tmp_path) == [1, 2, 3, 4]


def test_can_be_read_while_it_is_written(tmp_path: Path) -> None:
    written = Journal(tmp_path)
    written.add(note(1))
    written.flush()
    assert numbers(tmp_path) == [1]
    written.close()


def test_past_the_bound_only_decisions_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "BOUND_BYTES", 250)
    written = Journal(tmp_path)
    for seq in range(1, 10):
        written.add(note(seq, "SearchProgress"))
    written.add(note(10))
    written.close()
    assert numbers(tmp_path) == [1, 2, 10]


@pytest.mark.parametrize("cut", [1, 9, 30])
def test_a_journal_that_was_cut_off_is_read_as_far_as_it_goes(tmp_path: Path, cut: int) -> None:
    written = Journal(tmp_path)
    for seq in range(1, 200):
        written.add(Numbered(seq, {"type": "Note", "text": f"{seq * 7919}"}))
    written.close()
    file = tmp_path / EVENTS
    file.write_bytes(file.read_bytes()[:-cut])
    got = numbers(tmp_path)
    assert got == list(range(1, len(got) + 1))


def test_a_damaged_journal_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    (tmp_path / EVENTS).write_bytes(b"no gzip at all")
    assert numbers(tmp_path) == []
