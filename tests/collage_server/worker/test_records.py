"""Records in a worker process's memory: read once, read again when they are newer, and only some of them kept."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import pytest
from fake_engine import FakeEngine
from fake_runs import FakeRecord

from collage_core.errors import CollageError
from collage_server.shared.json_files import read_json
from collage_server.shared.run_files import DOCUMENT, RECORD
from collage_server.worker import records
from collage_server.worker.records import keep_record, load_record
from tests.helpers.documents import LEAST


class Counting(FakeEngine):
    def __init__(self) -> None:
        self.reads = 0

    def load_record(self, folder: Path) -> FakeRecord:
        self.reads += 1
        return super().load_record(folder)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Counting:
    monkeypatch.setattr(records, "_records", type(records._records)())
    return Counting()


def saved(engine: FakeEngine, folder: Path, **verify: Any) -> FakeRecord:
    folder.mkdir(exist_ok=True)
    record = FakeRecord({**LEAST, "verify": verify}, ["fast"], [], "f" * 64)
    engine.save_record(record, folder)
    return record


def test_a_record_is_read_once_and_again_when_it_is_newer(engine: Counting, tmp_path: Path) -> None:
    saved(engine, tmp_path, max_rel_error=1.0)
    assert load_record(engine, tmp_path) is load_record(engine, tmp_path)
    assert engine.reads == 1
    saved(engine, tmp_path, max_rel_error=2.0)
    os.utime(tmp_path / RECORD, ns=(0, 0))
    assert load_record(engine, tmp_path).document["verify"] == {"max_rel_error": 2.0}


def test_what_was_made_here_is_not_read(engine: Counting, tmp_path: Path) -> None:
    record = saved(engine, tmp_path, max_rel_error=math.inf)
    outcome = keep_record(engine, record, tmp_path)
    assert outcome.document.verify.max_rel_error == math.inf
    assert read_json(tmp_path / DOCUMENT)["verify"]["max_rel_error"] is None, "infinity is no JSON"
    assert load_record(engine, tmp_path) is record
    assert engine.reads == 0


def test_only_some_are_kept(engine: Counting, tmp_path: Path) -> None:
    folders = [tmp_path / str(number) for number in range(records.RECORDS_KEPT + 1)]
    for folder in folders:
        saved(engine, folder)
        load_record(engine, folder)
    assert len(records._records) == records.RECORDS_KEPT
    load_record(engine, folders[0])
    assert engine.reads == len(folders) + 1


def test_a_run_without_a_record(engine: Counting, tmp_path: Path) -> None:
    with pytest.raises(CollageError, match="the run has no plan"):
        load_record(engine, tmp_path)
