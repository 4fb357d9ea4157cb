"""Reads and writes the runs' folders: ``runs/<id>/`` with the snapshot, its summary, and the server that carries the run out.

A run that was under way when its server was stopped has failed, and its snapshot says so. Nothing here starts a process.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from collage_core.base.home import home
from collage_core.documents.plan import PlanInfo, moves_s
from collage_core.documents.statements import measured_of
from collage_core.documents.verdict import Verdict

from ..http.error_answers import Problem, not_found, refused
from ..messages.live import ApiError, RunState
from ..messages.runs import PlanResult, RunSnapshot, RunSummary
from ..shared.from_json import from_json
from ..shared.json_files import is_id, json_data, read_json, write_json
from ..shared.run_files import record_file
from .journal import Reader
from .marks import marks_of
from .state import ACTIVE, AT_REST, apply

SNAPSHOT = "snapshot.json"
SUMMARY = "summary.json"
OWNER = "owner.json"

RECORDED = "recorded-"
"""How the ids of recorded runs begin."""

LOST_EVENTS = 1 << 20
"""More events than a killed server can have sent to pages without writing them into the journal."""

STOPPED = ApiError("server_stopped", "the server was stopped while the run was under way", "run it again: what was measured is stored")


def runs_folder() -> Path:
    """Return the folder ``runs`` in `home()`; made where it is missing."""
    folder = home() / "runs"
    folder.mkdir(exist_ok=True)
    return folder


def new_run_id() -> str:
    """Make an id that sorts by time."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"


def run_folder(run: str) -> Path:
    """Return the folder of `run`.

    Raises:
        Problem: there is no such run (404).
    """
    folder = runs_folder() / run if is_id(run) else None
    if folder is None or not (folder / SNAPSHOT).exists():
        raise not_found("unknown_run", f"there is no run {run!r}", "GET /api/v1/runs lists them")
    return folder


def save(folder: Path, snapshot: RunSnapshot) -> None:
    """Write the snapshot and its summary; a run that is under way is marked as this server's."""
    folder.mkdir(parents=True, exist_ok=True)
    if snapshot.state in ACTIVE:
        write_json(folder / OWNER, {"pid": os.getpid(), "started": psutil.Process().create_time()})
    else:
        (folder / OWNER).unlink(missing_ok=True)
    write_json(folder / SNAPSHOT, json_data(snapshot))
    _write_summary(folder, summary(snapshot))


def _write_summary(folder: Path, known: RunSummary) -> None:
    write_json(folder / SUMMARY, json_data(known))


def disown(folder: Path) -> None:
    """Let the run in `folder` be one without a server, as far as its files say; on a disk that is full, removing a file is what works."""
    with suppress(OSError):
        (folder / OWNER).unlink(missing_ok=True)


def load(run: str) -> RunSnapshot:
    """Read the snapshot of `run`, brought up to date from its journal; a run whose server is gone has failed.

    Raises:
        Problem: there is no such run (404), or its files are damaged (409).
    """
    snapshot = final_snapshot(run)
    return snapshot or _after_journal(_read(run), run_folder(run))


def final_snapshot(run: str) -> RunSnapshot | None:
    """Return the snapshot of `run` where it has ended, by itself or with its server; None while a server carries it out.

    Raises:
        Problem: as `load`.
    """
    folder, snapshot = run_folder(run), _read(run)
    if snapshot.state not in ACTIVE:
        return snapshot
    if owner_lives(folder):
        return None
    known = _after_journal(_read(run), folder)  # read again: its owner may have written the end before it ended itself
    if known.state in ACTIVE:
        known = replace(known, **AT_REST, state=_state_without_server(known, folder), seq=known.seq + LOST_EVENTS, error=STOPPED)
        with suppress(OSError):  # of a disk that is full
            save(folder, known)
    return known


def _read(run: str) -> RunSnapshot:
    try:
        return from_json(RunSnapshot, read_json(run_folder(run) / SNAPSHOT))
    except (ValueError, TypeError, KeyError) as error:
        raise refused("damaged", f"the files of run {run!r} are damaged: {error}", "delete it and run it again") from error


def _after_journal(snapshot: RunSnapshot, folder: Path) -> RunSnapshot:
    """Return the snapshot after the events that the journal holds beyond it."""
    with closing(Reader(folder)) as reader:
        for item in reader.items():
            if item.seq > snapshot.seq:
                with suppress(KeyError, TypeError, ValueError):  # an event of another version, or a damaged one
                    snapshot = apply(snapshot, item)
    return snapshot


def summaries() -> Iterator[RunSummary]:
    """Read the summary of every run on disk."""
    for folder in sorted(runs_folder().iterdir(), reverse=True):
        with suppress(OSError, ValueError, TypeError, KeyError, Problem):  # one that is being removed, or is damaged, is not listed
            yield with_marks(folder, _read_summary(folder))


def with_marks(folder: Path, known: RunSummary) -> RunSummary:
    """Return the summary with the marks of the run in `folder`."""
    marks = marks_of(folder)
    return replace(known, name=marks.name or "", note=marks.note or "", is_starred=bool(marks.is_starred))


def discard(folder: Path) -> None:
    """Remove the folder of a run that could not be begun."""
    shutil.rmtree(folder, ignore_errors=True)


def delete(run: str) -> None:
    """Remove the folder of `run`."""
    shutil.rmtree(run_folder(run))


def summary(snapshot: RunSnapshot) -> RunSummary:
    """Return a snapshot's row in the list."""
    measured_s = None if snapshot.verify is None else measured_of(snapshot.verify, snapshot.alternatives)
    return RunSummary(
        id=snapshot.id,
        state=snapshot.state,
        model=snapshot.model,
        model_name=snapshot.model_name,
        targets=snapshot.targets,
        constraints=len(snapshot.groups or snapshot.constraints),
        created=snapshot.created,
        base=snapshot.base,
        machine=snapshot.machine,
        total_s=snapshot.best_s,
        artifact=snapshot.artifact,
        by_target=_by_target(snapshot.plan),
        moves_s=moves_s(snapshot.plan) if snapshot.plan else None,
        optimal=snapshot.optimal,
        verify=snapshot.verify,
        recorded=snapshot.recorded,
        remeasured=snapshot.remeasured,
        options=snapshot.options,
        measured_s=measured_s,
        result=result_of(snapshot.plan.total_s, measured_s, snapshot.verdict) if snapshot.plan else None,
    )


def result_of(total_s: float, measured_s: float | None, known: Verdict | None) -> PlanResult:
    """Return the time of a plan, timed end to end where it was, with the verdict on it."""
    text, is_good = ("", False) if known is None else (known.text, known.is_good)
    return PlanResult(total_s if measured_s is None else measured_s, measured_s is not None, text, is_good)


def _by_target(plan: PlanInfo | None) -> dict[str, float]:
    """Return what each target takes in the plan; nothing where the cost of a partition is not known."""
    parts = plan.partitions if plan else []
    totals: dict[str, float] = {}
    for part in parts:
        if part.cost_s is None:
            return {}
        totals[part.target] = totals.get(part.target, 0.0) + part.cost_s
    return totals


def _read_summary(folder: Path) -> RunSummary:
    """Read the summary in `folder`; made anew where the run was under way."""
    data: dict[str, Any] = read_json(folder / SUMMARY)
    if data["state"] not in ACTIVE:
        return from_json(RunSummary, data)
    snapshot = final_snapshot(data["id"])
    if snapshot is None:
        return summary(_read(data["id"]))
    fresh = summary(snapshot)
    with suppress(OSError):  # of a disk that is full
        _write_summary(folder, fresh)
    return fresh


def _state_without_server(snapshot: RunSnapshot, folder: Path) -> RunState:
    """Return the state of a run whose server is gone: one that was only building its artifact still has its plan."""
    if snapshot.id.startswith(RECORDED):
        return "recorded"
    return "done" if snapshot.optimal is not None and record_file(folder) else "failed"


def owner_lives(folder: Path) -> bool:
    """Return whether the server that carries out the run in `folder` still runs."""
    try:
        owner = read_json(folder / OWNER)
        return psutil.Process(owner["pid"]).create_time() == owner["started"]
    except (OSError, ValueError, psutil.NoSuchProcess):
        return False
