"""The runs' folders: ``runs/<id>/`` with the snapshot, its summary, and which server it belongs to while it goes on.

In go snapshots, out they come again, also after the server was stopped: a run that was under way then has failed, and
says so. Nothing here starts a process.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from collage_core.home import home

from .errors import Problem, not_found, refused
from .job import record_file
from .plain import is_id, plain, read_json, write_json
from .protocol import (
    ApiError,
    Baseline,
    PlanInfo,
    PlanPartition,
    PlanTransition,
    RunSnapshot,
    RunState,
    RunSummary,
    TargetCounts,
    VerifyInfo,
)
from .run_marks import marks_of
from .run_state import ACTIVE

SNAPSHOT = "snapshot.json"
SUMMARY = "summary.json"
OWNER = "owner.json"
RECORDED = "recorded-"
"""How the ids of recorded runs begin."""

STOPPED = ApiError("server_stopped", "the server was stopped while the run was under way", "run it again: what was measured is known")


def runs_folder() -> Path:
    """``runs`` in `home()`; made when it is not there."""
    folder = home() / "runs"
    folder.mkdir(exist_ok=True)
    return folder


def new_run_id() -> str:
    """An id that sorts by time."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"


def run_folder(run: str) -> Path:
    """The folder of `run`.

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
    write_json(folder / SNAPSHOT, plain(asdict(snapshot)))
    write_json(folder / SUMMARY, plain(asdict(summary(snapshot))))


def load(run: str) -> RunSnapshot:
    """The snapshot of `run` as it is on disk; one that nobody runs any more has failed.

    Raises:
        Problem: there is no such run (404), or its files are damaged (409).
    """
    folder = run_folder(run)
    try:
        snapshot = _snapshot(read_json(folder / SNAPSHOT))
    except (ValueError, TypeError, KeyError) as error:
        raise refused("damaged", f"the files of run {run!r} are damaged: {error}", "delete it and run it again") from error
    if snapshot.state not in ACTIVE or _owner_lives(folder):
        return snapshot
    snapshot = replace(snapshot, state=_rest(snapshot, folder), phase=None, error=STOPPED)
    save(folder, snapshot)
    return snapshot


def summaries() -> Iterator[RunSummary]:
    """Every run on disk."""
    for folder in sorted(runs_folder().iterdir(), reverse=True):
        with suppress(OSError, ValueError, TypeError, KeyError, Problem):  # one that is being removed, or is damaged, is not listed
            yield with_marks(folder, _settled(read_json(folder / SUMMARY)))


def with_marks(folder: Path, known: RunSummary) -> RunSummary:
    """The row with what its user says of the run in `folder`."""
    marks = marks_of(folder)
    return replace(known, name=marks.name or "", note=marks.note or "", is_starred=bool(marks.is_starred))


def delete(run: str) -> None:
    """Remove the folder of `run`."""
    shutil.rmtree(run_folder(run))


def summary(snapshot: RunSnapshot) -> RunSummary:
    """A snapshot's row in the list."""
    return RunSummary(
        id=snapshot.id,
        state=snapshot.state,
        model=snapshot.model,
        model_name=snapshot.model_name,
        targets=snapshot.targets,
        constraints=len(snapshot.constraints),
        created=snapshot.created,
        base=snapshot.base,
        machine=snapshot.machine,
        total_s=snapshot.best_s,
        artifact=snapshot.artifact,
        by_target=_by_target(snapshot.plan),
        moves_s=sum(move.cost_s for move in snapshot.plan.transitions) if snapshot.plan else None,
        optimal=snapshot.optimal,
        verify=snapshot.verify,
        recorded=snapshot.recorded,
    )


def _by_target(plan: PlanInfo | None) -> dict[str, float]:
    """What each target takes in the plan; nothing where the cost of a part is not known."""
    parts = plan.partitions if plan else []
    totals: dict[str, float] = {}
    for part in parts:
        if part.cost_s is None:
            return {}
        totals[part.target] = totals.get(part.target, 0.0) + part.cost_s
    return totals


def _settled(data: dict[str, Any]) -> RunSummary:
    """A row as it is on disk; made anew where the run was under way, or an earlier version wrote it."""
    if data["state"] in ACTIVE or "by_target" not in data:
        return summary(load(data["id"]))
    return RunSummary(**{**data, "verify": VerifyInfo(**data["verify"]) if data["verify"] else None})


def _rest(snapshot: RunSnapshot, folder: Path) -> RunState:
    """A run that was only building its artifact has its plan still."""
    if snapshot.id.startswith(RECORDED):
        return "recorded"
    return "done" if snapshot.optimal is not None and record_file(folder) else "failed"


def _owner_lives(folder: Path) -> bool:
    try:
        owner = read_json(folder / OWNER)
        return psutil.Process(owner["pid"]).create_time() == owner["started"]
    except (OSError, ValueError, psutil.NoSuchProcess):
        return False


def _snapshot(data: dict[str, Any]) -> RunSnapshot:
    plan, verify, error = data["plan"], data["verify"], data["error"]
    return RunSnapshot(
        **{
            **data,
            "counts": [TargetCounts(**counts) for counts in data["counts"]],
            "plan": _plan(plan) if plan else None,
            "baselines": [Baseline(**baseline) for baseline in data["baselines"]],
            "verify": VerifyInfo(**verify) if verify else None,
            "error": ApiError(**error) if error else None,
        }
    )


def _plan(data: dict[str, Any]) -> PlanInfo:
    partitions = [PlanPartition(**partition) for partition in data["partitions"]]
    return PlanInfo(data["total_s"], partitions, [PlanTransition(**transition) for transition in data["transitions"]])
