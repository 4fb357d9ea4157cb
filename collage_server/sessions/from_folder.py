"""`open_run`: brings the run that `collage partition --out FOLDER` wrote into the store, on the path on which a session comes.

A folder, and perhaps the file of the run's model, enter; `OpenedSession` leaves. The record is read in a worker process and becomes the
only run of a session, which is checked as any other. Opened again it adds nothing, and nothing is kept where anything is wrong.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from collage_core.base.home import expanded
from collage_core.errors import CollageError
from collage_core.model.samples import registry as samples
from collage_core.version import __version__

from ..config import ServerConfig
from ..messages.kept import OpenedSession
from ..messages.live import RunState
from ..model_store import FixedInputs, ModelStore
from ..runs.recorded import snapshot_of
from ..shared import session_manifest as form
from ..shared.json_files import json_data, read_json, write_json
from ..shared.run_files import PLAN, RECORD
from ..shared.session_manifest import SessionManifest, SessionModel, damaged, read_manifest
from ..worker.load_model import GRAPH, GROUPS
from ..worker.run_folders import FoundRun, read_run
from .open import MISTAKES, Opening, opening

_WRITTEN = "give a folder that `collage partition --out FOLDER` wrote"


def is_run(named: str) -> bool:
    """Return whether `named` is the folder of a run, or its record or plan."""
    path = expanded(named)
    if os.path.isfile(path) and path.name == PLAN:
        path = path.parent
    return (path / RECORD).is_file() if os.path.isdir(path) else os.path.isfile(path) and path.name.endswith(".json.gz")


def open_run(
    config: ServerConfig, models: ModelStore, named: str, model: str | None = None, *, looks_for_model: bool = True
) -> OpenedSession:
    """Open the run in the folder `named`, or the one that has the file `named`.

    Args:
        model: The file of its model, or a sample. Unless given, a model that is open or a sample serves that has its hash; else it is known
            by that alone.
        looks_for_model: Where `model` is not given, read the sample that it is, if it is one.

    Raises:
        CollageError: there is none, it is damaged or of another version, or `model` is another one than its model.
        OSError: the disk is full.
    """
    record = _record_of(named)
    try:
        with opening(config, models) as session:
            found: FoundRun = session.call(read_run, config.engine, str(record), str(session.unpacked / "runs"))
            manifest = _manifest(session, found)
            known = _model(session, models, manifest.model, found, model) if model or looks_for_model else _unread(models, manifest.model)
            return session.bring_in(manifest, known)
    except CollageError as error:
        if error.code != form.BAD:
            raise
        why = error.message.removeprefix(form.NOT_OPENED).removeprefix("in its manifest ")  # which the user has not written
        raise CollageError(f"the run in {named!r} cannot be opened: {why}", _WRITTEN, "bad_run") from error


def _record_of(named: str) -> Path:
    """Return the file of the record. Raises CollageError where there is none."""
    path = expanded(named)
    if not os.path.exists(path):
        raise CollageError(f"there is no folder {named!r}", _WRITTEN, "no_run")
    if not os.path.isdir(path) and path.name.endswith(".gz"):
        return path
    record = (path if os.path.isdir(path) else path.parent) / RECORD
    if not record.exists():
        raise CollageError(f"there is no run in {str(record.parent)!r}: it has no {RECORD}", _WRITTEN, "no_run")
    return record


def _manifest(session: Opening, run: FoundRun) -> SessionManifest:
    """Write the snapshot of the run beside its record, and return the manifest of a session that has both."""
    folder = session.unpacked / "runs" / run.id
    state: RunState = "cancelled" if run.outcome.document.cancelled else "done"
    try:
        snapshot = snapshot_of(run.id, run.outcome, read_json(folder / form.RECORD), state)
    except MISTAKES as error:
        raise damaged(f"its document is not as it must be ({type(error).__name__}: {error})") from error
    write_json(folder / form.SNAPSHOT, json_data(snapshot))
    manifest = {
        "format": form.FORMAT,
        "version": form.VERSION,
        "made_by": __version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "model": run.model,
        "runs": [{"id": run.id}],
        "shown": run.id,
        "files": {f"runs/{run.id}/{name}": _file(folder / name) for name in (form.RECORD, form.SNAPSHOT)},
    }
    return read_manifest(json.dumps(manifest).encode())


def _file(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def _model(session: Opening, models: ModelStore, known: SessionModel, run: FoundRun, path: str | None) -> dict[str, Any]:
    """Read the model of the run, and return what is kept of it; without its file, of what the run says (`Opening.bring_in`)."""
    without_file = _unread(models, known)
    if path is not None:
        return _given_model(session, models, known, run, path)
    sample = samples.find_sample(known.name)
    if sample is None or not run.folds or (without_file["is_known"] and not models.get(known.id).is_missing):
        return without_file
    with suppress(CollageError):
        meta = models.read_into(session.folder, Path(sample.name), _fixed(known), sample.name)
        if meta["id"] == known.id:
            return meta
    for name in (GRAPH, GROUPS):  # of another version of the sample, or of a user's model that is called like one
        (session.folder / name).unlink(missing_ok=True)
    return without_file


def _unread(models: ModelStore, known: SessionModel) -> dict[str, Any]:
    """Return what is kept of a model that is not read."""
    return {"id": known.id, "is_known": models.has(known.id)}


def _given_model(session: Opening, models: ModelStore, known: SessionModel, run: FoundRun, given: str) -> dict[str, Any]:
    """Read the model that the user gave. Raises CollageError where it is not that of the run."""
    if not run.folds:
        message = f"the run in which {known.name!r} was not folded cannot have its model's file here: the explorer folds every model"
        raise CollageError(message, "leave the model out", "other_model")
    path = expanded(given).absolute()
    sample = None if path.is_file() else samples.find_sample(given)
    name = sample.name if sample else None
    meta = models.read_into(session.folder, path if name is None else Path(name), _fixed(known), name)
    if meta["id"] != known.id:
        message = f"the run is about the model {known.name!r} with the hash {known.id[:12]}, and {given!r} has {meta['id'][:12]}"
        raise CollageError(message, "give the file that was partitioned", "other_model")
    return meta


def _fixed(known: SessionModel) -> FixedInputs:
    return FixedInputs(known.shapes, known.values, known.region)
