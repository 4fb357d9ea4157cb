"""`session_pieces`: makes a session file of a model and its runs, piece by piece, while it is sent or written.

Ids of the store enter; `Contents`, and of them the bytes of the file leave. Nothing in the store changes.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from collage_core.base.model_file import may_hold_code
from collage_core.base.user_file import open_file
from collage_core.version import __version__

from ..http.error_answers import Problem, refused
from ..messages.runs import RunSnapshot
from ..runs import journal, run_store
from ..runs.export import CHUNK_BYTES, StreamBuffer
from ..runs.marks import marks_of
from ..runs.state import ENDED
from ..services import Services
from ..shared import session_manifest as form
from ..shared.json_files import json_data
from ..shared.run_files import record_file

_STORED = (".gz", ".zip")


@dataclass(frozen=True)
class Contents:
    """The parts of a session that is to be made.

    Attributes:
        files: The model's files, itself first; none where only its hash goes in.
        runs: Newest first.
    """

    model: form.SessionModel
    files: list[Path]
    runs: list[RunSnapshot]
    shown: str | None

    @property
    def file_name(self) -> str:
        plain = "".join(char if char.isascii() and (char.isalnum() or char in "-_") else "_" for char in self.model.name)
        return (plain[:60] or "model") + form.SUFFIX


def contents_of_model(services: Services, model: str, *, with_model: bool = True, shown: str | None = None) -> Contents:
    """Choose a model and all of its runs that have ended with a plan.

    Args:
        shown: The run to show when it is opened; the newest unless given.

    Raises:
        Problem: there is no such model (404), its file has changed (409), or nothing would be in the file (409).
    """
    sample = services.models.get(model).sample
    recorded = services.recorded.of_sample(sample) if sample else None
    if recorded is not None:
        services.recorded.unpack(recorded)
    ids = [row.id for row in sorted(run_store.summaries(), key=lambda row: row.created, reverse=True) if row.model == model]
    return _contents(services, model, list(_with_plan(services, ids)), with_model, shown)


def contents_of_run(services: Services, run: str, *, with_model: bool = True) -> Contents:
    """Choose one run with its model, and the runs whose costs it was searched on.

    Raises:
        Problem: there is no such run or its model is not open (404), the run has no plan, or the model's file has changed (409).
    """
    services.runs.folder(run)
    chain = list(_with_plan(services, _bases(services, run)))
    return _contents(services, services.runs.get(run).model, chain, with_model, run)


def session_pieces(contents: Contents) -> Iterator[bytes]:
    """Make the file, piece by piece. The manifest comes last, as it has the digest of all that was sent before."""
    buffer, known = StreamBuffer(), dict[str, form.SessionFile]()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as archive:
        for name, source in _entries(contents):
            yield from _add(archive, buffer, name, source, known)
        archive.writestr(form.MANIFEST, json.dumps(form.to_json(_manifest(contents, known)), allow_nan=False))
    yield buffer.take()


def _with_plan(services: Services, ids: Iterable[str]) -> Iterator[RunSnapshot]:
    """Return the runs among `ids` that have ended with a plan; one whose files are damaged stays out."""
    for run in ids:
        with suppress(Problem):
            snapshot = services.runs.get(run)
            if snapshot.state in ENDED and record_file(run_store.run_folder(run)) is not None:
                yield snapshot


def _bases(services: Services, run: str) -> Iterator[str]:
    """Return `run`, and one after another the runs that it rests on, as far as they are kept."""
    seen: set[str] = set()
    current: str | None = run
    while current is not None and current not in seen:
        seen.add(current)
        try:
            base = services.runs.get(current).base
        except Problem:
            return
        yield current
        current = base


def _contents(services: Services, model: str, runs: list[RunSnapshot], with_model: bool, shown: str | None) -> Contents:
    info, fixed = services.models.get(model), services.models.fixed_inputs(model)
    files = services.models.files(model) if with_model and not info.is_missing else []
    if files and may_hold_code(files[0]):
        files = []  # it would run where the session is opened; who has it opens it there
    if not files and not runs:
        raise refused("empty_session", f"{info.name!r} has no run with a plan, so that nothing would be in the session", "run it first")
    known = form.SessionModel(
        id=info.id,
        name=info.name[:300],
        files=[f"model/{file.relative_to(files[0].parent).as_posix()}" for file in files],
        shapes={name: shape if isinstance(shape, str) else list(shape) for name, shape in fixed.shapes.items()},
        values=dict(fixed.values),
        region=fixed.region,
        size_bytes=info.size_bytes,
        quantised=info.quantised,
        accuracy=info.accuracy,
        dimensions=info.dimensions,
    )
    ids = [run.id for run in runs]
    return Contents(known, files, runs, shown if shown in ids else next(iter(ids), None))


def _manifest(contents: Contents, known: dict[str, form.SessionFile]) -> form.SessionManifest:
    runs = []
    for run in contents.runs:
        marks = marks_of(run_store.run_folder(run.id))
        runs.append(form.SessionRun(run.id, marks.name or "", marks.note or "", bool(marks.is_starred)))
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return form.SessionManifest("collage-session", form.VERSION, __version__, now, contents.model, runs, contents.shown, known)


def _entries(contents: Contents) -> Iterator[tuple[str, bytes | Path]]:
    """Return every entry but the manifest: a name, and bytes or the file that holds them."""
    yield from zip(contents.model.files, contents.files, strict=True)
    for run in contents.runs:
        folder = run_store.run_folder(run.id)
        record = record_file(folder)
        assert record is not None
        yield f"runs/{run.id}/{form.RECORD}", record
        yield f"runs/{run.id}/{form.SNAPSHOT}", json.dumps(json_data(run), allow_nan=False).encode()
        log = b"".join(journal.lines(folder))  # a killed server may have left the journal cut off
        if log:
            yield f"runs/{run.id}/{form.EVENTS}", gzip.compress(log, 5, mtime=0)


def _add(
    archive: zipfile.ZipFile, buffer: StreamBuffer, name: str, source: bytes | Path, known: dict[str, form.SessionFile]
) -> Iterator[bytes]:
    """Write an entry, and note its size and digest in `known`. Files of the model are not packed: the reader insists on that."""
    entry = zipfile.ZipInfo(name)
    entry.external_attr = 0o100644 << 16
    is_stored = name.startswith("model/") or name.endswith(_STORED)
    entry.compress_type = zipfile.ZIP_STORED if is_stored else zipfile.ZIP_DEFLATED
    digest, size = hashlib.sha256(), 0
    with archive.open(entry, "w", force_zip64=True) as target:
        for chunk in _chunks(source):
            digest.update(chunk)
            size += len(chunk)
            target.write(chunk)
            yield buffer.take()
    known[name] = form.SessionFile(size, digest.hexdigest())
    yield buffer.take()


def _chunks(source: bytes | Path) -> Iterator[bytes]:
    if isinstance(source, bytes):
        yield source
        return
    with open_file(source) as file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk
