"""Keeps the records of runs that a worker process has read or made in its memory, for what is asked next.

Run folders and records enter; records and `Outcome`s leave. The document of a record is written beside it.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from pathlib import Path
from typing import Any

from collage_core.documents.json_form import to_json
from collage_core.errors import CollageError

from ..shared.json_files import json_data, write_json
from ..shared.run_files import DOCUMENT, record_file
from .engine import Engine, Outcome, R

RECORDS_KEPT = 3

_records: OrderedDict[tuple[str, int], Any] = OrderedDict()
"""By file and time of writing, the newest last."""


def load_record(engine: Engine[R], folder: Path) -> R:
    """Return the record of the run in `folder`, from memory where this process has it.

    Raises:
        CollageError: the run has none, or it cannot be read.
    """
    file = record_file(folder)
    if file is None:
        raise CollageError("the run has no plan", "run it again", "no_record")
    key = (str(file), file.stat().st_mtime_ns)
    record: R = _records[key] if key in _records else engine.load_record(file.parent)
    _remember(key, record)
    return record


def own_record(engine: Engine[R], folder: Path, costs: Path) -> R | None:
    """Return the record of the run in `folder` where it is a search on the costs of another run, which is in `costs`, and has a plan."""
    return None if folder == costs or record_file(folder) is None else load_record(engine, folder)


def keep_record(engine: Engine[R], record: R, folder: Path) -> Outcome:
    """Write the document of a record that is in `folder`, keep the record in memory, and return its outcome."""
    outcome = engine.outcome(record)
    write_json(folder / DOCUMENT, json_data(to_json(outcome.document)))
    file = record_file(folder)
    if file is not None:
        _remember((str(file), file.stat().st_mtime_ns), record)
    return replace(outcome, constraints=json_data(outcome.constraints))


def _remember(key: tuple[str, int], record: Any) -> None:
    _records[key] = record
    _records.move_to_end(key)
    while len(_records) > RECORDS_KEPT:
        _records.popitem(last=False)
