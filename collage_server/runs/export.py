"""`archive`: packs everything that a run leaves behind into one zip, which is made while it is sent: nothing is written anywhere."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

from collage_core.base.durations import milliseconds
from collage_core.results.formats import FILES

from ..messages.runs import ExportInfo, Form, RunSnapshot, Shipped
from ..shared.run_files import ARTIFACT, PLAN, RECORD, record_file
from .forms import form_of

CHUNK_BYTES = 1 << 20
_PACKED = frozenset({".gz", ".zip", ".npz", ".bin", ".onnx"})
"""Endings of files that do not get smaller, or are too large to wait for."""

_HOLDS: dict[Form, str] = {
    "module": "a module compiled by TVM, which needs TVM and the toolchains of the plan",
    "pieces": "a file for each partition, which needs the toolchains and collage-runtime, without TVM",
    "native": "the files of its only toolchain, which needs that one and numpy, and no package of ours",
}
_OPENED = Shipped(
    f"""python -c "from collage_core import open_artifact; print(open_artifact('{ARTIFACT}').inputs)\"""",
    "open it in Python, and see what it takes; its method run computes",
)
_LOADED: dict[Form, list[Shipped]] = {
    "module": [_OPENED],
    "pieces": [_OPENED, Shipped(f"collage-serve {ARTIFACT}", "serve it where only the wheel of the runtime is installed")],
    "native": [
        Shipped(
            f"python -c \"import runpy; print(runpy.run_path('{ARTIFACT}/load.py')['run'])\"",
            "load it without any package of ours; its function run computes",
        )
    ],
}
"""Form → the commands that load an artifact of it."""


def archive(folder: Path, snapshot: RunSnapshot) -> Iterator[bytes]:
    """Make the zip of the run in `folder`, piece by piece: plan, record, README, and the artifact where it is built."""
    record = record_file(folder)
    assert record is not None
    buffer = StreamBuffer()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as zipped:
        zipped.writestr("README.txt", readme(folder, snapshot))
        yield from _add(zipped, buffer, record.with_name(PLAN), PLAN)
        yield from _add(zipped, buffer, record, RECORD)
        if snapshot.artifact:
            for path in sorted((folder / ARTIFACT).rglob("*")):
                if path.is_file() and path != record:
                    yield from _add(zipped, buffer, path, path.relative_to(folder).as_posix())
    yield buffer.take()


def contents(folder: Path, snapshot: RunSnapshot) -> ExportInfo:
    """List what is in the zip of the run in `folder`, and the commands that use it."""
    form = form_of(folder) if snapshot.artifact else None
    files = [
        Shipped(PLAN, "which toolchain runs which part of the model"),
        Shipped(RECORD, "every candidate, its cost, and what was rejected and why"),
    ]
    if form is None:
        commands = [Shipped(f"collage apply {PLAN} MODEL --out {ARTIFACT}", "build and verify it; MODEL is the model's file")]
    else:
        files.append(Shipped(f"{ARTIFACT}/", f"the partitioned model, built and verified: {_HOLDS[form]}"))
        commands = [Shipped(f"collage run {ARTIFACT} --bench", "run it, and time it"), *_LOADED[form]]
    commands.append(Shipped(f"collage explain {PLAN} --node 0", "ask why a node runs where it does"))
    return ExportInfo(files, commands, form, [Shipped(file.name, file.says) for file in FILES])


def readme(folder: Path, snapshot: RunSnapshot) -> str:
    """Write the contents as the zip's own README."""
    total = milliseconds(snapshot.best_s) if snapshot.best_s is not None else "not known"
    inside = contents(folder, snapshot)
    used = list(dict.fromkeys(part.target for part in snapshot.plan.partitions)) if snapshot.plan else []
    lines = [
        f"{snapshot.model_name}, {'run by ' + ', '.join(used) if used else 'without a plan'}; searched over {', '.join(snapshot.targets)}",
        f"Run {snapshot.id} of {snapshot.created}. Costs from: {snapshot.machine or 'no measurement'}. Total of the plan: {total}.",
        "",
        *(f"{one.name:<13} {one.says}" for one in inside.files),
    ]
    for one in inside.commands:
        lines += ["", f"{one.says[0].upper()}{one.says[1:]}:", "", f"    {one.name}"]
    return "\n".join([*lines, ""])


def _add(zipped: zipfile.ZipFile, buffer: StreamBuffer, path: Path, name: str) -> Iterator[bytes]:
    entry = zipfile.ZipInfo.from_file(path, name)
    entry.compress_type = zipfile.ZIP_STORED if path.suffix in _PACKED else zipfile.ZIP_DEFLATED
    with path.open("rb") as source, zipped.open(entry, "w", force_zip64=True) as target:
        while chunk := source.read(CHUNK_BYTES):
            target.write(chunk)
            yield buffer.take()
    yield buffer.take()


class StreamBuffer(io.RawIOBase):
    """A stream that cannot be read back: `take` gives what was written since the last time."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        self._parts.append(bytes(data))
        return len(data)

    def take(self) -> bytes:
        parts, self._parts = self._parts, []
        return b"".join(parts)
