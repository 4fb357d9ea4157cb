"""A run's events on disk."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from collage_server.messages.live import Numbered
from collage_server.runs import journal
from collage_server.runs.journal import EVENTS, Journal, Reader, lines


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


def test_a_reader_goes_on_where_it_stopped(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    assert list(reader.items()) == []
    seq = 0
    for _ in range(3):
        written = Journal(tmp_path)
        for _ in range(2):
            seq += 1
            written.add(Numbered(seq, {"type": "Note", "text": "x"}, float(seq)))
            written.flush(late=True)
            assert list(reader.items()) == [Numbered(seq, {"type": "Note", "text": "x"}, float(seq))]
        written.close()
    assert list(reader.items()) == []
    reader.close()


def test_what_waits_for_the_next_flush_is_said(tmp_path: Path) -> None:
    written = Journal(tmp_path)
    assert written.flush(), "nothing is there"
    written.add(note(1))
    assert written.flush(), "the first one is written at once"
    written.add(note(2))
    assert not written.flush()
    assert numbers(tmp_path) == [1]
    assert written.flush(late=True)
    assert numbers(tmp_path) == [1, 2]
    written.close()


def test_lines_that_are_no_events_are_left_out(tmp_path: Path) -> None:
    bad = ["null", "3", "{}", "{", '{"seq": 1}', '{"seq": 1, "event": 3}', '{"seq": 1, "event": {"type": 3}}']
    bad.append('{"seq": 9, "event": {"type": "Note"}, "more": 1}')
    good = '{"seq":2,"event":{"type":"Note","text":"of before there was a clock"}}'
    with gzip.open(tmp_path / EVENTS, "wt") as file:
        file.write("\n".join([*bad, good]) + "\n")
    reader = Reader(tmp_path)
    assert [(item.seq, item.at_s) for item in reader.items()] == [(2, 0.0)]
    reader.close()
