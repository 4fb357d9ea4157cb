"""Session files for tests: one of a sample with a kept what-if, and copies of it that are not as they must be."""

from __future__ import annotations

import gzip
import hashlib
import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from collage_server.app import create_app

SAMPLE = "mini_mnist"
RECORDED = f"recorded-{SAMPLE}"
NOTE = "ask why <b>the</b> pool\nruns there"

Entries = dict[str, bytes]


def make_session(path: Path, query: str = "") -> dict[str, Any]:
    """Write a session of the sample with its recorded run and a kept what-if on it, which has a name and a note; that one's snapshot.

    Everything is kept in the present ``COLLAGE_HOME``.
    """
    app, _ = create_app()
    client = app.test_client()
    model = client.post("/api/v1/models", json={"sample": SAMPLE}).json["id"]
    base = client.get(f"/api/v1/runs/{RECORDED}").json
    veto = {"kind": "veto", "target": base["plan"]["partitions"][0]["target"], "nodes": [0]}
    body = {"model": model, "targets": base["targets"], "base": RECORDED, "constraints": [veto], "groups": [[0]]}
    kept = client.post("/api/v1/runs", json=body).json
    live = app.extensions["collage"].runs.live_run(kept["id"])
    live.wait(60)
    client.patch(f"/api/v1/runs/{kept['id']}", json={"name": "no TVM first", "note": NOTE, "is_starred": True})
    answer = client.get(f"/api/v1/models/{model}/session?shown={kept['id']}{query}")
    assert answer.status_code == 200, answer.text
    path.write_bytes(answer.data)
    shown: dict[str, Any] = client.get(f"/api/v1/runs/{kept['id']}").json
    app.extensions["collage"].close()
    return shown


def entries_of(path: Path) -> Entries:
    """The entries of a session; its manifest is among them."""
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def manifest_of(entries: Mapping[str, bytes]) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads(entries["manifest.json"])
    return manifest


def write_session(path: Path, entries: Mapping[str, bytes], manifest: Mapping[str, Any] | None = None) -> Path:
    """Write these entries as a session, as ours are written."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as file:
        for name, data in entries.items():
            file.writestr(name, json.dumps(manifest).encode() if manifest is not None and name == "manifest.json" else data)
    return path


def with_digests(entries: Mapping[str, bytes]) -> Entries:
    """The entries with a manifest that has their digests: what is wrong with them is not seen by that."""
    manifest = manifest_of(entries)
    files = {name: data for name, data in entries.items() if name != "manifest.json"}
    manifest["files"] = {name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()} for name, data in files.items()}
    return {**files, "manifest.json": json.dumps(manifest).encode()}


def with_record(entries: Mapping[str, bytes], run: str, change: Callable[[dict[str, Any]], object]) -> Entries:
    """The entries with a record of `run` to which `change` was done."""
    name = f"runs/{run}/run.json.gz"
    record = json.loads(gzip.decompress(entries[name]))
    change(record)
    return with_digests({**entries, name: gzip.compress(json.dumps(record).encode())})


def with_snapshot(entries: Mapping[str, bytes], run: str, change: Callable[[dict[str, Any]], object]) -> Entries:
    """The entries with a snapshot of `run` to which `change` was done."""
    name = f"runs/{run}/snapshot.json"
    snapshot = json.loads(entries[name])
    change(snapshot)
    return with_digests({**entries, name: json.dumps(snapshot).encode()})
