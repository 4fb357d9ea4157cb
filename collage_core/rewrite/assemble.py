"""`assemble`: builds the artifact folder of a plan from its partitions (phase 4).

All files are built in a staging folder, which replaces the target folder at the end, so that a failure leaves nothing incomplete. It
runs the toolchains and therefore belongs in a worker process.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import CollageError, PartitionBuildError
from ..graph.control_flow import IF, LOOP, ControlFlow
from ..graph.dataflow_graph import Tensor, TensorType
from ..graph.value_arrays import as_arrays
from ..model.types.dtypes import array_type
from ..rules.spec import HOST_TARGET
from ..toolchains import registry
from ..toolchains.abilities import MakesRelax, check_boundary, location_of
from ..toolchains.border import availability_of, model_for, one_line, uncancelled
from ..toolchains.built_packages import BuiltPackages, package_of
from ..toolchains.libraries.library_functions import LibraryToolchain, NativeCalls
from ..toolchains.toolchain import Toolchain, ToolchainError
from .copies import with_copies
from .forms import form_for
from .partition_models import BodyModel, ControlModel, PartitionModel, check_flow, run_order
from .pieces import Renamed, renamed_by, write_constants, write_native, write_piece
from .reorders import layouts_of, with_reorders
from .runtime.control_entry import BODIES, CONSTANTS, ControlEntry
from .runtime.machine import Machine
from .runtime.manifest import (
    FALLBACK,
    LIBRARY,
    LISTING,
    MODULE,
    NAME,
    NATIVE,
    PARTITIONS,
    PIECES,
    SAMPLE,
    WEIGHTS,
    Manifest,
    PartitionEntry,
    fingerprint,
    read_manifest,
)
from .runtime.requirements import REQUIREMENTS, requirements_text

BODY = "body"
"""Among the entries of a manifest: the attribute of a node that this artifact is the body of."""
ARTIFACT_FILES = (NAME, LIBRARY, LISTING, SAMPLE, PARTITIONS, WEIGHTS, BODIES, FALLBACK)


def assemble(
    partitions: Sequence[PartitionModel],
    graph_inputs: Sequence[Tensor],
    graph_outputs: Sequence[str],
    out: Path,
    threads: int,
    about: Mapping[str, Any] | None = None,
    constants: Mapping[str, np.ndarray] | None = None,
    sample: Mapping[str, np.ndarray] | None = None,
    form: str = MODULE,
    packages: BuiltPackages | None = None,
) -> None:
    """Build the artifact of a plan in the folder `out`, in which only the files of an earlier artifact are replaced.

    The weights of a large model stay in its files: `artifact_weights` brings them.

    Args:
        partitions: The partitions, which hold every node of the model.
        graph_inputs: Inputs of the model.
        graph_outputs: Names of the model's outputs.
        threads: Threads of every partition.
        about: Entries for the manifest, such as the model's name and hash.
        constants: Values of the outputs that are constants of the model.
        sample: Inputs to keep in the folder, for trying the artifact.
        form: The form of the artifact, or ``auto`` (`forms.form_for`).
        packages: Those that were built before, and need not be built again.

    Raises:
        CollageError: a toolchain is not usable or fails, the partitions do not fit together or cannot have this form, or `out` cannot be
            written.
    """
    out, constants = Path(out), dict(constants or {})
    ordered = [partition for partition in run_order(partitions) if partition.model.outputs]
    outputs = check_flow(ordered, graph_inputs, graph_outputs, constants)
    first = ["tvm"] if form == MODULE else []
    tools = {name: _usable(name) for name in dict.fromkeys([*first, *(item.target for item in ordered)]) if name != HOST_TARGET}
    ordered = with_reorders(ordered, layouts_of(tools), graph_outputs)
    tools |= {name: _usable(name) for name in {partition.target for partition in ordered} - {HOST_TARGET, *tools}}
    form = form_for(form, ordered, graph_outputs, tools, constants)
    if form == MODULE:
        tools["tvm"] = _usable("tvm")
    with _staging_folder(out) as folder:
        if form != NATIVE:
            (folder / PARTITIONS).mkdir()
        is_alone = len(ordered) == 1 and BODY not in (about or {})
        assumed = (about or {}).get("model", {}).get("assumed", {})
        task = _Task(folder, threads, form, is_alone, form == MODULE and calls_natively(ordered, tools), packages, assumed)
        built = [_built(partition, index, tools.get(partition.target), task) for index, partition in enumerate(ordered)]
        renamed = Renamed()
        if form == MODULE:
            _write_module(ordered, built, graph_inputs, graph_outputs, task, constants)
        else:
            renamed = renamed_by(ordered, constants)
            write_constants(renamed, folder)
        if sample is not None:
            _write_sample(folder, [sample[tensor.name] for tensor in graph_inputs])
        version = availability_of(tools["tvm"]).version if form == MODULE else ""
        entries = tuple(with_copies([entry for entry, _ in built], renamed.aliases, graph_outputs))
        if BODY not in (about or {}):
            (folder / REQUIREMENTS).write_text(requirements_text(tools.values()))
        _write_manifest(task, dict(about or {}), tuple(graph_inputs), outputs, entries, version, renamed)
        _publish(folder, out)


def _write_manifest(
    task: _Task,
    about: dict[str, Any],
    inputs: tuple[Tensor, ...],
    outputs: tuple[Tensor, ...],
    partitions: tuple[PartitionEntry, ...],
    tvm: str,
    renamed: Renamed,
) -> None:
    """Write the manifest, which lists every other file of the folder with its hash."""
    folder = task.folder
    files = {path.relative_to(folder).as_posix(): fingerprint(path) for path in sorted(folder.rglob("*")) if path.is_file()}
    manifest = Manifest(
        about=about,
        inputs=inputs,
        outputs=outputs,
        threads=task.threads,
        tvm=tvm,
        machine=Machine.here(),
        partitions=partitions,
        files=files,
        form=task.form,
        aliases=renamed.aliases,
        constants=renamed.tensors,
    )
    (folder / NAME).write_text(json.dumps(manifest.to_json(), indent=1) + "\n")


def _write_sample(folder: Path, values: Sequence[Any]) -> None:
    """Write the inputs to try the artifact with, in order."""
    kept = [as_arrays(f"arr_{index}", value) for index, value in enumerate(values)]
    np.savez(folder / SAMPLE, **{key: array for arrays in kept for key, array in arrays.items()})  # type: ignore[arg-type]


@dataclass(frozen=True)
class _Task:
    """Settings of the build of all partitions of an artifact.

    Attributes:
        is_alone: No kernel but that of the only partition runs.
        calls_natively: The module calls libraries from C.
        packages: As `assemble` takes them.
        assumed: Dynamic dimensions without a given size → the assumed size.
    """

    folder: Path
    threads: int
    form: str
    is_alone: bool
    calls_natively: bool
    packages: BuiltPackages | None
    assumed: Mapping[str, int]


def _write_module(
    partitions: Sequence[PartitionModel],
    built: Sequence[tuple[PartitionEntry, Any]],
    inputs: Sequence[Tensor],
    outputs: Sequence[str],
    task: _Task,
    constants: Mapping[str, np.ndarray],
) -> None:
    """Write the compiled module and its listing."""
    from ..toolchains.relax_attributes import EXTERNAL
    from ..toolchains.tvm.tvm_build import compile_library
    from .relax_join import CalledPartition, join_partitions

    called = [
        CalledPartition(partition, module, entry.symbol, entry.function)
        for partition, (entry, module) in zip(partitions, built, strict=True)
    ]
    module = join_partitions(called, inputs, outputs, constants)
    (task.folder / LISTING).write_text(module.without_attr(EXTERNAL).script(show_meta=False))
    try:
        library = compile_library(module, task.threads)
    except ToolchainError as error:
        raise CollageError(f"TVM cannot compile the assembled module: {one_line(error)}", "", "toolchain") from error
    (task.folder / LIBRARY).write_bytes(library)


def calls_natively(partitions: Sequence[PartitionModel], tools: Mapping[str, Toolchain]) -> bool:
    """Return whether the module calls libraries from C.

    Beside nothing but kernels of Python it does not: `ModuleCalls` calls those without TVM's virtual machine, which a call from C needs.
    """
    called = [partition for partition in partitions if partition.target != HOST_TARGET or partition.control is not None]
    used = [tools.get(partition.target) for partition in called]
    has_functions = any(isinstance(tool, MakesRelax) for tool in used)
    return has_functions or all(isinstance(tool, NativeCalls) for tool in used)


def _built(partition: PartitionModel, index: int, tool: Toolchain | None, task: _Task) -> tuple[PartitionEntry, Any]:
    """Return the entry of a partition and its Relax module; None where it has files instead, which are written."""
    model = partition.model
    entry = PartitionEntry(partition.id, partition.target, "", tuple(partition.names), model.inputs, model.outputs)
    if tool is None and partition.control is not None:
        control = _with_bodies(partition.control, f"{BODIES}/{index:03d}", task)
        return replace(entry, symbol=_symbol(partition, index, json.dumps(control.to_json()).encode()), control=control), None
    if tool is None:
        return entry, None
    entry = replace(entry, version=availability_of(tool).version)
    try:
        check_boundary(tool, model)
        if task.form == MODULE:
            module = None
            if isinstance(tool, MakesRelax):
                with uncancelled():
                    module = tool.relax_module(model_for(tool, model))
            elif task.calls_natively and isinstance(tool, LibraryToolchain):
                module = tool.native_module(model, task.threads)
            if module is not None:
                return replace(entry, function=f"{partition.target}_{index:03d}"), module
        return _with_package(entry, partition, index, tool, task), None
    except ToolchainError as error:
        raise PartitionBuildError(partition.id, partition.target, one_line(error)) from error


def _with_package(entry: PartitionEntry, partition: PartitionModel, index: int, tool: Toolchain, task: _Task) -> PartitionEntry:
    """Write what a partition is loaded from, and return its entry: files of its toolchain's own, or else a package."""
    model, name, written = partition.model, f"{index:03d}_{partition.target}", None
    if task.form == NATIVE:
        written = write_native(entry, model, tool, task.folder, task.threads, task.assumed)
    elif task.form == PIECES:
        written = write_piece(entry, model, tool, task.folder, name, task.threads, task.is_alone)
    if written is not None:
        return replace(written, symbol=_symbol(partition, index, (task.folder / written.package).read_bytes()))
    if task.form == PIECES:
        entry = replace(entry, location=location_of(tool))
    package = package_of(tool, model, task.threads, task.packages)
    path = f"{PARTITIONS}/{name}.bin"
    (task.folder / path).write_bytes(package)
    return replace(entry, symbol=_symbol(partition, index, package), package=path)


def _symbol(partition: PartitionModel, index: int, content: bytes) -> str:
    """Return the name under which the module calls a partition; it is that of no partition of another artifact."""
    return f"collage.{hashlib.sha256(content + partition.id.encode()).hexdigest()[:16]}.{index:03d}"


def _with_bodies(control: ControlModel, path: str, task: _Task) -> ControlEntry:
    """Assemble each body as an artifact of its own below `path`, write the constants, and return the entry."""
    folder, form = task.folder, MODULE if task.form == MODULE else PIECES
    (folder / path).mkdir(parents=True)
    computed = [attribute for attribute, body in control.bodies.items() if body.made]
    for attribute in computed:
        body = control.bodies[attribute]
        about = {BODY: attribute}
        given = body.partitions, body.inputs, body.made, folder / path / attribute, task.threads, about
        assemble(*given, form=form, packages=task.packages)
    constants = {name: [Tensor(key, array_type(value)) for key, value in body.constants.items()] for name, body in control.bodies.items()}
    entry = ControlEntry(
        flow=control.flow,
        folder=path,
        computed=tuple(computed),
        empty=_empty_outputs(control.flow, control.bodies),
        node_constants=tuple(Tensor(name, array_type(value)) for name, value in control.constants.items()),
        body_constants={name: tuple(tensors) for name, tensors in constants.items()},
    )
    values = [*control.constants.values(), *(value for body in control.bodies.values() for value in body.constants.values())]
    if values:
        np.savez(folder / path / CONSTANTS, *values)
    return entry


def _empty_outputs(flow: ControlFlow, bodies: Mapping[str, BodyModel]) -> tuple[Tensor | None, ...]:
    """Return what the outputs of a loop that makes no turn are: nothing, along the axis of the turns, of what its body makes."""
    if flow.op == IF:
        return ()
    first = flow.carried + (flow.op == LOOP)
    axes, empty = flow.options.get("scan_output_axes", ()), list[Tensor | None]([None] * flow.carried)
    for index, tensor in enumerate(bodies["body"].outputs[first:]):
        axis = axes[index] if index < len(axes) else 0
        shape = list(tensor.type.shape)
        shape.insert(axis if axis >= 0 else axis + len(shape) + 1, 0)
        empty.append(Tensor(tensor.name, TensorType(tuple(shape), tensor.type.dtype)))
    return tuple(empty)


def _usable(name: str) -> Toolchain:
    toolchain = registry.get(name)
    known = availability_of(toolchain)
    if not known.usable:
        why = "which assembles every artifact, " if name == "tvm" else ""
        raise CollageError(f"the toolchain {name!r}, {why}is not usable here: {known.reason}", known.hint, "unavailable_target")
    return toolchain


@contextmanager
def _staging_folder(out: Path) -> Iterator[Path]:
    """Yield a folder to build in, on the same file system as `out`, and remove it afterwards."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        if os.path.exists(out) and not os.path.isdir(out):
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
    """Replace an earlier artifact in `out` by the one in `folder`; the manifest is removed first and written last."""
    if not out.exists():
        folder.rename(out)
        return
    remove_artifact(out)
    for path in sorted(folder.iterdir(), key=lambda path: path.name == NAME):
        path.rename(out / path.name)


def remove_artifact(out: Path) -> None:
    """Remove the files of an artifact from `out`: those that every one has, and the ones at its top that this one lists."""
    try:
        listed = [name for name in read_manifest(out).files if "/" not in name and (out / name).is_file()]
    except CollageError:
        listed = []
    for name in (*ARTIFACT_FILES, *listed):
        old = out / name
        if old.is_dir() and not old.is_symlink():
            shutil.rmtree(old)
        else:
            old.unlink(missing_ok=True)


def _unwritable(out: Path, error: OSError) -> CollageError:
    why = error.strerror or str(error)
    return CollageError(f"cannot write the artifact {str(out)!r}: {why}", "give --out a folder that you can write", "unwritable")
