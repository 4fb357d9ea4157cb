"""The journal of a stranger: what is no event of ours is left out, and too much of it is refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from collage_core.errors import CollageError
from collage_server.runs import journal
from collage_server.sessions import log
from collage_server.sessions.log import write_log

GOOD = [
    {"seq": 1, "at_s": 0.1, "event": {"type": "PhaseStarted", "phase": "search"}},
    {"seq": 2, "at_s": 0.2, "event": {"type": "PlanImproved", "total_s": 0.1, "partitions": [["tvm", [0, 1]]], "round": 0}},
    {"seq": 5, "at_s": 0.3, "event": {"type": "RunStateChanged", "state": "done", "error": None}},
]
BAD: list[Any] = [
    "text",
    {"seq": 6, "at_s": 0.1},
    {"seq": 6, "at_s": 0.1, "event": {"type": "Unheard", "x": 1}},
    {"seq": 6, "at_s": 0.1, "event": {"type": "PhaseStarted", "phase": {"a": []}}},
    {"seq": 6, "at_s": 0.1, "event": {"type": ["PhaseStarted"]}},
    {"seq": "6", "at_s": 0.1, "event": GOOD[0]["event"]},
    {"seq": 4, "at_s": 0.1, "event": GOOD[0]["event"]},
]


def put(folder: Path, *items: Any) -> Path:
    path = folder / "events.jsonl.gz"
    path.write_bytes(gzip.compress(b"\n".join(json.dumps(item).encode() for item in items) + b"\n"))
    return path


def test_events_of_ours_stay_and_others_go(tmp_path: Path) -> None:
    put(tmp_path, *GOOD, *BAD)
    write_log(tmp_path)
    assert [json.loads(line) for line in journal.lines(tmp_path)] == GOOD


def test_a_run_without_a_log_has_none(tmp_path: Path) -> None:
    write_log(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_unpacks_to_too_much_or_is_cut_off_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path, *GOOD)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(CollageError, match="is damaged, or too large"):
        write_log(tmp_path)
    monkeypatch.setattr(log, "MOST_BYTES", 1 << 20)
    path.write_bytes(gzip.compress(bytes(2 << 20)))
    with pytest.raises(CollageError, match="it holds more than 1 MiB"):
        write_log(tmp_path)
