"""Unpacks a session file into a folder, and checks the records of its runs. Called in a worker process, never in the server's.

The file of a stranger enters; a manifest and files whose digests fit leave, then `Outcome`s of its runs. An entry that leads out of
the folder, is no plain file, comes twice or unpacks to more than it may hold is refused before anything is written.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from collage_core.base.user_file import open_file, unpack
from collage_core.errors import CollageError

from ..shared.json_files import json_data, read_json, write_json
from ..shared.run_files import PLAN, RECORD
from ..shared.session_manifest import MANIFEST, MANIFEST_BYTES, SessionManifest, damaged, read_manifest
from .engine import Engine, Outcome, R
from .load_model import GRAPH, write_graph, write_groups
from .records import keep_record, load_record

MOST_ENTRIES = 20_000
MOST_BYTES = 256 << 20
"""Of an entry that is no file of the model."""

_CHUNK_BYTES = 1 << 20
_MISTAKES = (ValueError, KeyError, EOFError, zlib.error, struct.error, zipfile.BadZipFile, NotImplementedError)


def unpack_session(path: str, folder: str) -> SessionManifest:
    """Unpack the session at `path` into `folder`, each entry under its own name, and return its manifest.

    Raises:
        CollageError: it is no session, or is damaged or hostile; what is in `folder` then is of no use.
    """
    try:
        stream = open_file(Path(path))
    except OSError as error:
        raise CollageError(f"cannot read {path!r}: {error.strerror or error}", "give the file of a session", "no_file") from error
    try:
        with stream, zipfile.ZipFile(stream) as file:
            return _unpacked(file, os.fstat(stream.fileno()).st_size, Path(folder))
    except _MISTAKES as error:
        raise damaged(f"it is no session, or is cut off or damaged ({error})") from error


def _unpacked(file: zipfile.ZipFile, size: int, folder: Path) -> SessionManifest:
    entries = _checked_entries(file, size)
    manifest = read_manifest(file.read(entries[MANIFEST]))
    odd = sorted((entries.keys() - {MANIFEST}) ^ manifest.files.keys())
    if odd:
        raise damaged(f"{odd[0]!r} is {'not in its manifest' if odd[0] in entries else 'missing'}")
    for name, known in manifest.files.items():
        if known.bytes != entries[name].file_size:
            raise damaged(f"{name!r} has another size than its manifest says")
        _extract(file, entries[name], folder / name, known.sha256)
    return manifest


def _checked_entries(file: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """Return the entries by name, each of them a plain file that holds no more than it may."""
    listed = file.infolist()
    if len(listed) > MOST_ENTRIES:
        raise damaged(f"it has {len(listed)} entries, at most {MOST_ENTRIES} are accepted")
    entries: dict[str, zipfile.ZipInfo] = {}
    for entry in listed:
        name = entry.filename
        if name in entries:
            raise damaged(f"it has two entries called {name!r}")
        fault = _fault(entry)
        if fault:
            raise damaged(f"its entry {name!r} {fault}")
        entries[name] = entry
    if MANIFEST not in entries:
        raise damaged(f"it has no {MANIFEST}")
    if sum(entry.compress_size for entry in listed) > size:
        raise damaged("its entries overlap")
    return entries


def _fault(entry: zipfile.ZipInfo) -> str:
    """Say what is wrong with an entry; empty where nothing is."""
    name, kind = entry.orig_filename, stat.S_IFMT(entry.external_attr >> 16)
    if name != entry.filename or "\\" in name or name.startswith("/") or any(part in ("", ".", "..") for part in name.split("/")):
        return "leads out of the file"
    if kind not in (0, stat.S_IFREG):
        return "is no plain file"
    if entry.flag_bits & 1:
        return "is encrypted"
    if name.startswith("model/"):  # its size is not bounded, so it may not unpack to more than came
        is_stored = entry.compress_type == zipfile.ZIP_STORED and entry.file_size == entry.compress_size
        return "" if is_stored else "is packed, and files of a model are not"
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "is packed in a way that is not accepted"
    most = MANIFEST_BYTES if name == MANIFEST else MOST_BYTES
    return f"unpacks to more than {most >> 20} MiB" if entry.file_size > most else ""


def _extract(file: zipfile.ZipFile, entry: zipfile.ZipInfo, path: Path, digest: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    hashed = hashlib.sha256()
    with file.open(entry) as source, path.open("xb") as target:
        while chunk := source.read(_CHUNK_BYTES):
            hashed.update(chunk)
            target.write(chunk)
    if hashed.hexdigest() != digest:
        raise damaged(f"{entry.filename!r} is not what its manifest says: its digest is another one")


def check_runs(engine: Engine[R], folders: Sequence[str], model: str, model_folder: str) -> list[Outcome]:
    """Read the records of runs in `folders`, leave plan and document beside each, and return their outcomes.

    Args:
        model: The model's id, which every record must name.
        model_folder: Has the model's graph, which every record must have too; where there is none, that of the first record is written.

    Raises:
        CollageError: a record cannot be read, or says what cannot be.
    """
    outcomes = []
    for folder in map(Path, folders):
        run = folder.name
        try:
            record = load_record(engine, folder)
            engine.check_record(record)
        except CollageError as error:
            raise damaged(f"its run {run!r} cannot be read: {error.message.partition(': ')[2] or error.message}") from error
        outcome = keep_record(engine, record, folder)
        if outcome.model != model:
            raise damaged(f"its run {run!r} is of another model, {outcome.model[:64]!r}")
        _same_graph(engine.graph(record), model, Path(model_folder), run)
        kept = folder / RECORD
        write_json(folder / PLAN, json.loads(unpack(kept.read_bytes(), kept)).get("plan"))
        outcomes.append(outcome)
    return outcomes


def _same_graph(graph: Mapping[str, Any], model: str, folder: Path, run: str) -> None:
    """Check that a run has the graph of its model; a model that came without its file gets that of its first run."""
    if not (folder / GRAPH).exists():
        write_graph(folder, {"id": model, "graph": json_data(graph), "folded": []}, None)
        write_groups(json_data(graph), folder)
        return
    known = read_json(folder / GRAPH)["graph"]
    if _shape_of(known) != _shape_of(graph):
        raise damaged(f"the graph of its run {run!r} is not that of its model")


def _shape_of(graph: Mapping[str, Any]) -> list[Any]:
    """Return what nodes a graph has and how they hang together."""
    return [[node["name"], node["op"], list(node["inputs"]), [out["name"] for out in node["outputs"]]] for node in graph["nodes"]]
