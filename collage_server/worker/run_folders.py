"""Reads the run that the command line left in a folder, for the store to take. Called in a worker process, never in the server's.

The path of a record, of a stranger perhaps, enters; a checked copy of it among the runs of a session, and what a manifest says of its
model leave.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from collage_core.base.user_file import read_file
from collage_core.errors import CollageError

from ..shared.run_files import RECORD
from ..shared.session_manifest import damaged
from .engine import Engine, Json, Outcome, R
from .records import keep_record, load_record


@dataclass(frozen=True)
class FoundRun:
    """A run that was read from a folder.

    Attributes:
        id: Made of its time and the digest of its record, so that it is the same each time.
        digest: SHA-256 of the record.
        model: The fields of a `SessionModel` without files.
        folds: Whether the graph is that of the folded model, as the explorer opens every model.
    """

    id: str
    digest: str
    outcome: Outcome
    model: Json
    folds: bool


def read_run(engine: Engine[R], path: str, runs: str) -> FoundRun:
    """Copy the record at `path` into a folder of its own in the folder `runs`, and return what it says.

    Raises:
        CollageError: it cannot be read, or contradicts itself.
    """
    try:
        data = read_file(Path(path))
    except OSError as error:
        raise damaged(f"its record cannot be read: {error.strerror or error}") from error
    digest = hashlib.sha256(data).hexdigest()
    unnamed = Path(runs) / digest  # its id needs the time that is in it
    unnamed.mkdir(parents=True)
    (unnamed / RECORD).write_bytes(data)
    try:
        record = load_record(engine, unnamed)
        engine.check_record(record)
    except CollageError as error:
        raise damaged(error.message.partition(": ")[2] or error.message) from error
    run = f"{_time(engine.outcome(record).created)}-{digest[:12]}"
    outcome = keep_record(engine, record, unnamed.rename(unnamed.with_name(run)))
    plan = engine.plan(record)
    model = _model(plan, engine.graph(record))
    return FoundRun(run, digest, outcome, model, bool(plan["options"].get("fold", True)))


def _model(plan: Mapping[str, Any], graph: Mapping[str, Any]) -> Json:
    from collage_core.model.onnx_model import quantises

    options, model = plan["options"], plan["model"]
    return {
        "id": model["hash"],
        "name": model["name"],
        "shapes": {name: list(shape) for name, shape in options.get("shapes", {}).items()},
        "values": {name: _text(value) for name, value in model["fixed"].items()},
        "region": options.get("region"),
        "quantised": any(quantises(node["op"]) for node in graph["nodes"]),
        "accuracy": plan["accuracy"],
    }


def _text(value: Any) -> str:
    """Return the value of an input as a user types it."""
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _time(created: str) -> str:
    """Return the time with which ids of runs begin; a word where the record has none."""
    with suppress(ValueError, OverflowError, OSError):
        return f"{datetime.fromisoformat(created).astimezone(UTC):%Y%m%d-%H%M%S}"
    return "run"
