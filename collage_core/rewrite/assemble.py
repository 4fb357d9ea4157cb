"""`assemble`: pieces of a plan → artifact folder (phase 4).

Everything is built in a folder beside the one that was asked for, which is put in place when all of it is done: what fails
leaves nothing half-made. Runs the toolchains, so it belongs into a worker process.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import CollageError
from ..graph.dataflow_graph import Tensor
from ..toolchains import registry
from ..toolchains.base import Toolchain, ToolchainError
from ..toolchains.reasons import one_line
from .pieces import HOST_TARGET, Piece, check_flow, run_order
from .runtime.machine import Machine
from .runtime.manifest import LIBRARY, LISTING, NAME, PARTITIONS, SAMPLE, Manifest, PartitionEntry, fingerprint

OURS = (NAME, LIBRARY, LISTING, SAMPLE, PARTITIONS)


def assemble(
    pieces: Sequence[Piece],
    graph_inputs: Sequence[Tensor],
    graph_outputs: Sequence[str],
    out: Path,
    threads: int,
    about: Mapping[str, Any] | None = None,
    constants: Mapping[str, np.ndarray] | None = None,
    sample: Mapping[str, np.ndarray] | None = None,
) -> None:
    """Build the artifact of a plan in the folder `out`; of what is there already, only an earlier artifact is replaced.

    Args:
        pieces: Every node of the model in one of them.
        graph_inputs, graph_outputs: The model's.
        threads: For every partition.
        about: What to write into the manifest, such as the model's name and hash.
        constants: The values of those outputs that are constants of the model.
        sample: Inputs to keep with it, with which it can be tried.

    Raises:
        CollageError: a toolchain is not usable or fails, the pieces do not fit together, or `out` cannot be written.
    """
    out, constants = Path(out), dict(constants or {})
    ordered = [piece for piece in run_order(pieces) if piece.model.outputs]
    outputs = check_flow(ordered, graph_inputs, graph_outputs, constants)
    tools = {name: _usable(name) for name in dict.fromkeys(["tvm", *(piece.target for piece in ordered)]) if name != HOST_TARGET}
    with _beside(out) as folder:
        entries = _build(ordered, tools, graph_inputs, graph_outputs, folder, threads, constants)
        if sample is not None:
            np.savez(folder / SAMPLE, *(sample[tensor.name] for tensor in graph_inputs))
        files = {path.relative_to(folder).as_posix(): fingerprint(path) for path in sorted(folder.rglob("*")) if path.is_file()}
        manifest = Manifest(
            about=dict(about or {}),
            inputs=tuple(graph_inputs),
            outputs=outputs,
            threads=threads,
            tvm=tools["tvm"].availability().version,
            machine=Machine.here(),
            partitions=tuple(entries),
            files=files,
        )
        (folder / NAME).write_text(json.dumps(manifest.to_json(), indent=1) + "\n")
        _publish(folder, out)


def _build(
    pieces: Sequence[Piece],
    tools: Mapping[str, Toolchain],
    inputs: Sequence[Tensor],
    outputs: Sequence[str],
    folder: Path,
    threads: int,
    constants: Mapping[str, np.ndarray],
) -> list[PartitionEntry]:
    """Write the packages, the module and its listing; the partitions' entries."""
    from ..toolchains.tvm_build import compile_library
    from .relax_join import Part, joined

    (folder / PARTITIONS).mkdir()
    parts, entries = [], []
    for place, piece in enumerate(pieces):
        entry, module = _built(piece, place, tools.get(piece.target), folder, threads)
        parts.append(Part(piece, module, entry.symbol, entry.function))
        entries.append(entry)
    module = joined(parts, inputs, outputs, constants)
    (folder / LISTING).write_text(module.script(show_meta=False))
    try:
        library = compile_library(module, threads)
    except ToolchainError as error:
        raise CollageError(f"TVM cannot compile the assembled module: {one_line(error)}", "", "toolchain") from error
    (folder / LIBRARY).write_bytes(library)
    return entries


def _built(piece: Piece, place: int, tool: Toolchain | None, folder: Path, threads: int) -> tuple[PartitionEntry, Any]:
    """The entry of a piece, and its Relax module if it joins as one; its package is written otherwise."""
    model = piece.model
    entry = PartitionEntry(piece.id, piece.target, "", tuple(piece.names), model.inputs, model.outputs)
    if tool is None:
        return entry, None
    version, name = tool.availability().version, f"{place:03d}_{piece.target}"
    try:
        module = tool.relax_module(model)
        if module is not None:
            return replace(entry, version=version, function=f"{piece.target}_{place:03d}"), module
        package = tool.build(model, threads)
    except ToolchainError as error:
        hint = f"veto {piece.target} for these nodes, or leave it out of --targets"
        raise CollageError(f"{piece.target} cannot build partition {piece.id}: {one_line(error)}", hint, "toolchain") from error
    path = f"{PARTITIONS}/{name}.bin"
    (folder / path).write_bytes(package)
    digest = hashlib.sha256(package + piece.id.encode()).hexdigest()[:16]
    return replace(entry, version=version, symbol=f"collage.{digest}.{place:03d}", package=path), None


def _usable(name: str) -> Toolchain:
    toolchain = registry.get(name)
    found = toolchain.availability()
    if not found.usable:
        why = "which assembles every artifact, " if name == "tvm" else ""
        raise CollageError(f"the toolchain {name!r}, {why}is not usable here: {found.reason}", found.hint, "unavailable_target")
    return toolchain


@contextmanager
def _beside(out: Path) -> Iterator[Path]:
    """A folder to build in, on the same file system as `out`; gone afterwards."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        if out.exists() and not out.is_dir():
            raise NotADirectoryError("it is a file")
        if out.is_dir() and not os.access(out, os.W_OK):
            raise PermissionError("it is not writable")
        folder = out.parent / f".{out.name}.{uuid.uuid4().hex[:12]}"
        folder.mkdir()
    except OSError as error:
        raise _unwritable(out, error) from error
    try:
        yield folder
    except OSError as error:
        raise _unwritable(out, error) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _publish(folder: Path, out: Path) -> None:
    """Put what is in `folder` in the place of an earlier artifact in `out`; the manifest goes first and comes last."""
    if not out.exists():
        folder.rename(out)
        return
    for name in OURS:
        old = out / name
        if old.is_dir() and not old.is_symlink():
            shutil.rmtree(old)
        else:
            old.unlink(missing_ok=True)
    for name in reversed(OURS):
        if (folder / name).exists():
            (folder / name).rename(out / name)


def _unwritable(out: Path, error: OSError) -> CollageError:
    why = error.strerror or str(error)
    return CollageError(f"cannot write the artifact {str(out)!r}: {why}", "give --out a folder that you can write", "unwritable")
