"""`open_session`: brings a session file into the store: its model and its runs, or nothing where anything in it is wrong.

The path of a file of a stranger enters; `OpenedSession` leaves. All of it is unpacked into a folder beside the models, read and checked
in a worker process, and moved to its place at the end. A run that is here already is not added again; one whose id another run has
gets an id of its own.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from collage_core.base.durations import duration
from collage_core.base.isolation.worker import Worker
from collage_core.base.isolation.worker_errors import WorkerDied, WorkerError, WorkerTimeout
from collage_core.base.model_file import may_hold_code
from collage_core.base.validation import first_mistake
from collage_core.documents.json_form import adapter_of
from collage_core.model.samples import registry as samples

from ..config import ServerConfig
from ..messages.kept import OpenedSession
from ..messages.runs import RunMarks, RunSnapshot
from ..model_store import FILES, FixedInputs, ModelStore
from ..runs import run_store
from ..runs.marks import change_marks
from ..runs.state import AT_REST, finish
from ..runs.task import is_full
from ..shared import session_manifest as form
from ..shared.json_files import json_data, read_json, write_json
from ..shared.run_files import record_file
from ..shared.session_manifest import SessionManifest, damaged
from ..worker import session_files
from ..worker.engine import Outcome
from ..worker.load_model import GRAPH
from .log import write_log

ORIGIN = "session.json"
"""Says of a run that came in a session which record it had there, by its digest."""

SNAPSHOT_BYTES = 64 << 20
MISTAKES = (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError)
"""Raised where a snapshot is made of a document that is not as it must be."""


def open_session(config: ServerConfig, models: ModelStore, path: Path) -> OpenedSession:
    """Open the session at `path`.

    Raises:
        CollageError: it is no session, damaged or hostile, its model cannot be opened, or a newer version wrote it. Nothing of it is kept.
        OSError: the disk is full.
    """
    with opening(config, models) as session:
        manifest = session.call(session_files.unpack_session, str(path), str(session.unpacked))
        return session.bring_in(manifest, session.model(manifest))


@contextmanager
def opening(config: ServerConfig, models: ModelStore) -> Iterator[Opening]:
    """Give an `Opening` with a worker process; its folder is gone afterwards."""
    with models.incoming() as folder, Worker(memory_bytes=config.load_memory_bytes) as worker:
        yield Opening(config, models, worker, folder)


class Opening:
    """One session that is being opened, in a folder that is gone afterwards.

    Attributes:
        folder: One of `ModelStore.incoming`, for the model.
        unpacked: The folder in it that has the entries of the session, each under its own name.
    """

    def __init__(self, config: ServerConfig, models: ModelStore, worker: Worker, folder: Path):
        self._config = config
        self._models = models
        self._worker = worker
        self.folder = folder
        self.unpacked = folder / "session"

    def call(self, function: Any, *arguments: Any) -> Any:
        """Call `function` in the worker process; whatever the session does to that is a mistake of the session."""
        try:
            return self._worker.call(function, *arguments, timeout_s=self._config.load_timeout_s)
        except WorkerTimeout as error:
            raise damaged(f"reading it took longer than {duration(error.seconds)}") from error
        except WorkerDied as error:
            raise damaged(f"reading it {error.what}") from error
        except WorkerError as error:
            if is_full(error):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
            raise damaged(f"reading it failed: {error}") from error

    def bring_in(self, manifest: SessionManifest, meta: dict[str, Any]) -> OpenedSession:
        """Check the runs, and move them and their model, of which `meta` is kept (`model`), to where they belong."""
        folders = [self.unpacked / "runs" / run.id for run in manifest.runs]
        names = [str(folder) for folder in folders]
        graphs = self._models.folder(meta["id"]) if meta.get("is_known") else self.folder
        outcomes = self.call(session_files.check_runs, self._config.engine, names, manifest.model.id, str(graphs))
        ids = {run.id: _local_id(run.id, manifest.files[f"runs/{run.id}/{form.RECORD}"].sha256) for run in manifest.runs}
        for run, folder, outcome in zip(manifest.runs, folders, outcomes, strict=True):
            _write_run(folder, ids, outcome, RunMarks(run.name, run.note, run.is_starred))
        return self._moved(manifest, meta, ids)

    def model(self, manifest: SessionManifest) -> dict[str, Any]:
        """Read the model of the session, and return what is kept of it; without its file, of what its runs say."""
        known = manifest.model
        if not known.files:
            return {"id": known.id, "is_known": self._models.has(known.id)}
        for name in known.files:
            if may_hold_code(name):
                raise damaged(f"{name!r} may hold code, which would run here")
        shutil.rmtree(self.folder / FILES)
        (self.unpacked / "model").rename(self.folder / FILES)
        file = self.folder / FILES / known.files[0].removeprefix("model/")
        meta = self._models.read_into(self.folder, file, FixedInputs(known.shapes, known.values, known.region))
        if meta["id"] != known.id:
            raise damaged(f"its model has the hash {meta['id']}, and its manifest says {known.id}")
        return {**meta, "name": known.name}

    def _moved(self, manifest: SessionManifest, meta: dict[str, Any], ids: Mapping[str, str]) -> OpenedSession:
        """Move the model and the runs that are new to their places; where one cannot be moved, none is."""
        added = [run for run, here in ids.items() if not (run_store.runs_folder() / here).exists() and not _is_recorded(here)]
        with ExitStack() as undo:
            for run in added:
                final = run_store.runs_folder() / ids[run]
                (self.unpacked / "runs" / run).rename(final)
                undo.callback(shutil.rmtree, final, ignore_errors=True)
            if not meta.get("is_known"):
                self._models.move_in(self.folder, self._without_file(manifest) if "files" not in meta else meta)
            undo.pop_all()
        info = self._models.get(meta["id"])
        notice = f"the model's file is not here: to run, build or export, open the file of {info.name!r} with the hash {info.id}"
        shown = None if manifest.shown is None else ids[manifest.shown]
        return OpenedSession(info, list(ids.values()), len(added), shown, notice if info.is_missing else "")

    def _without_file(self, manifest: SessionManifest) -> dict[str, Any]:
        """Return what is kept of a model that came without its file: what its runs' graph says, and what the manifest does."""
        known, graph = manifest.model, read_json(self.folder / GRAPH)["graph"]
        types = {out["name"]: out for node in graph["nodes"] for out in node["outputs"]}
        types |= {tensor["name"]: tensor for tensor in graph["inputs"]}
        missing = {"path": str(self.folder / FILES / "missing"), "bytes": known.size_bytes, "changed_ns": 0}
        return {
            "id": known.id,
            "name": known.name,
            "nodes": len(graph["nodes"]),
            "folded": 0,
            "inputs": graph["inputs"],
            "outputs": [types[name] for name in graph["outputs"] if name in types],
            "size_bytes": known.size_bytes,
            "quantised": known.quantised,
            "accuracy": known.accuracy,
            "dimensions": known.dimensions,
            **FixedInputs(known.shapes, known.values, known.region).to_json(),
            "sample": None,
            "files": [missing],
            "is_missing": True,
            "graph_digest": hashlib.sha256((self.folder / GRAPH).read_bytes()).hexdigest()[:32],
        }


def _local_id(run: str, digest: str) -> str:
    """Return the id that a run has here: its own, unless another run has that, or it came with a sample of another version."""
    if _is_recorded(run):
        return run if _recorded_digest(run) == digest else f"{run.removeprefix(run_store.RECORDED)}-{digest[:12]}"
    folder = run_store.runs_folder() / run
    return run if not folder.exists() or _has_record(folder, digest) else f"{run[:100]}-{digest[:12]}"


def _is_recorded(run: str) -> bool:
    return run.startswith(run_store.RECORDED)


def _recorded_digest(run: str) -> str:
    """Return the digest of the record of a run that comes with a sample here; empty where there is none of that name."""
    file = Path(samples.__file__).parent / "recorded" / f"{run.removeprefix(run_store.RECORDED)}.json.gz"
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""


def _has_record(folder: Path, digest: str) -> bool:
    """Return whether the run in `folder` has the record of that digest, or had it when it came in a session."""
    if (folder / ORIGIN).exists() and read_json(folder / ORIGIN) == digest:
        return True
    record = record_file(folder)
    return record is not None and hashlib.sha256(record.read_bytes()).hexdigest() == digest


def _write_run(folder: Path, ids: Mapping[str, str], outcome: Outcome, marks: RunMarks) -> None:
    """Make the unpacked run in `folder` a run of this store. The record is believed, the snapshot only where the record says nothing."""
    run = folder.name
    text = (folder / form.SNAPSHOT).read_bytes()
    record = hashlib.sha256((folder / form.RECORD).read_bytes()).hexdigest()
    snapshot = _snapshot(run, text, outcome)
    snapshot = replace(snapshot, id=ids[run], base=ids.get(snapshot.base or ""))
    write_log(folder)
    run_store.save(folder, snapshot)
    change_marks(folder, marks)
    write_json(folder / ORIGIN, record)


def _snapshot(run: str, text: bytes, outcome: Outcome) -> RunSnapshot:
    """Return the snapshot of a run as its record has it, with its options, course and notes as they came.

    Raises:
        CollageError: it is no snapshot, or the record's document is none.
    """
    if len(text) > SNAPSHOT_BYTES:
        raise damaged(f"the snapshot of its run {run!r} is larger than {SNAPSHOT_BYTES >> 20} MiB")
    try:
        came = adapter_of(RunSnapshot).validate_json(text, strict=True)
        is_own = all(one in outcome.constraints for one in came.constraints)  # its plan lists a veto more for each target switched off
        bare = replace(
            came,
            **AT_REST,
            state="cancelled" if came.state == "cancelled" else "done",
            model=outcome.model,
            model_name=outcome.model_name,
            targets=came.targets if came.targets and set(came.targets) <= set(outcome.targets) else outcome.targets,
            constraints=came.constraints if is_own else outcome.constraints,
            groups=[group for group in came.groups if is_own and all(0 <= index < len(came.constraints) for index in group)],
            created=_time(came.created) or _time(outcome.created),
            machine=outcome.machine,
            error=None,
            conflict=[],
            uncovered=[],
            artifact=False,
            recorded=True,
            waits_for="",
        )
        known = json_data(finish(bare, outcome.document))
        return adapter_of(RunSnapshot).validate_json(json.dumps(known, allow_nan=False), strict=True)
    except ValidationError as error:
        raise damaged(f"in the snapshot of its run {run!r} {first_mistake(error)}") from None
    except MISTAKES as error:
        raise damaged(f"the document of its run {run!r} is not as it must be ({type(error).__name__}: {error})") from error


def _time(text: str) -> str:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return ""
    return text
