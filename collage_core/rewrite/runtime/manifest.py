"""`Manifest`: the content of ``artifact.json``, which assembly (phase 4) writes and which is checked before anything is loaded."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...base.user_file import read_text
from ...errors import CollageError
from ...graph.dataflow_graph import Tensor, TensorType
from ...toolchains.device_tensors import HOST_LOCATION
from .control_entry import CONSTANTS, ControlEntry
from .machine import Machine

SCHEMA = 1
KIND = "collage-artifact"
NAME = "artifact.json"
LIBRARY = "module.so"
LISTING = "module.py"
SAMPLE = "inputs.npz"
PARTITIONS = "partitions"
FALLBACK = "fallback"
"""Folder of a second artifact: the plan for the host, for machines without the devices of the plan."""
WEIGHTS = "weights.bin"
"""Weights of the packages that have theirs in files; there is none where the model is not large."""

MODULE, PIECES, NATIVE = "module", "pieces", "native"
FORMS = (MODULE, PIECES, NATIVE)
"""The forms of an artifact: one compiled module; a file for each partition; the whole model in the files of its only toolchain."""

REBUILD = "build it again with `collage apply PLAN MODEL --out DIR`"


@dataclass(frozen=True, slots=True)
class PartitionEntry:
    """A partition of the artifact.

    Attributes:
        version: Version of the toolchain that built it.
        function: Name of its Relax function in the module, or empty.
        symbol: Name of the registered function that the module calls for it, or empty.
        package: Path of its package in the folder, or empty; the first of its files where it has `settings`.
        settings: With files of its toolchain's own, what these are opened with (`OwnFiles.open_native`).
        beside: The further ones of these files.
        is_portable: What is loaded for it runs on other processors too.
        control: The node with bodies that it is, where the host runs one.
        location: The memory where it makes its tensors, and reads them unless it is a copy.
        copied_from: Of a copy of its only tensor to `location`: where that is read. None of a partition.
    """

    id: str
    target: str
    version: str
    nodes: tuple[str, ...]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    function: str = ""
    symbol: str = ""
    package: str = ""
    control: ControlEntry | None = None
    settings: Mapping[str, Any] | None = None
    beside: tuple[str, ...] = ()
    is_portable: bool = False
    location: str = HOST_LOCATION
    copied_from: str | None = None

    @property
    def loaded(self) -> list[str]:
        """Paths of the files that are loaded for it, but for what the artifacts of its bodies list themselves."""
        if self.copied_from is not None:
            return []
        if self.control is None:
            return [self.package, *self.beside] if self.symbol else []
        bodies = [f"{self.control.folder}/{attribute}/{NAME}" for attribute in self.control.computed]
        return [*bodies, *([f"{self.control.folder}/{CONSTANTS}"] if self.control.constants else [])]

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "target": self.target,
            "version": self.version,
            "nodes": list(self.nodes),
            "inputs": [tensor.to_json() for tensor in self.inputs],
            "outputs": [tensor.to_json() for tensor in self.outputs],
            "function": self.function,
            "symbol": self.symbol,
            "package": self.package,
            **({"control": self.control.to_json()} if self.control else {}),
            **self._native(),
            **({"location": self.location} if self.location != HOST_LOCATION else {}),
            **({"copied_from": self.copied_from} if self.copied_from is not None else {}),
        }

    def _native(self) -> dict[str, Any]:
        if self.settings is None:
            return {}
        return {"settings": dict(self.settings), "beside": list(self.beside), "is_portable": self.is_portable}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> PartitionEntry:
        plain = {name: str(data[name]) for name in ("id", "target", "version", "function", "symbol", "package")}
        control = ControlEntry.from_json(data["control"]) if data.get("control") else None
        settings = None if data.get("settings") is None else dict(data["settings"])
        return cls(
            nodes=tuple(data["nodes"]),
            inputs=_tensors(data["inputs"]),
            outputs=_tensors(data["outputs"]),
            control=control,
            settings=settings,
            beside=tuple(map(str, data.get("beside", ()))),
            is_portable=bool(data.get("is_portable", False)),
            location=str(data.get("location", HOST_LOCATION)),
            copied_from=None if data.get("copied_from") is None else str(data["copied_from"]),
            **plain,
        )


@dataclass(frozen=True, slots=True)
class Manifest:
    """The whole of ``artifact.json``.

    Attributes:
        about: Entries of the caller of the assembly, such as the model's name and hash.
        tvm: Version of TVM that compiled the module; empty in another form.
        files: Path in the folder → (bytes, SHA-256) of every other file.
        form: One of `FORMS`.
        aliases: Without a module, name of a tensor → the tensor whose value it is.
        constants: Without a module, tensors that are constants, in the file `CONSTANTS`.
    """

    about: Mapping[str, Any]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    threads: int
    tvm: str
    machine: Machine
    partitions: tuple[PartitionEntry, ...]
    files: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    form: str = MODULE
    aliases: Mapping[str, str] = field(default_factory=dict)
    constants: tuple[Tensor, ...] = ()

    @property
    def called(self) -> list[PartitionEntry]:
        """The partitions that have a kernel."""
        return [entry for entry in self.partitions if entry.symbol]

    @property
    def tensors(self) -> Iterator[Tensor]:
        """All tensors that it names, some of them several times."""
        yield from (*self.inputs, *self.outputs, *self.constants)
        for entry in self.partitions:
            yield from (*entry.inputs, *entry.outputs)

    @property
    def is_portable(self) -> bool:
        """Return whether all that is loaded, but for bodies, which say so themselves, runs on other processors too."""
        return self.form != MODULE and all(entry.is_portable or entry.control is not None for entry in self.called)

    @property
    def fixed(self) -> dict[str, Any]:
        """Inputs of the model's file that are constants in the artifact → their values."""
        return self._of_model("fixed")

    @property
    def assumed(self) -> dict[str, Any]:
        """Dynamic dimensions of the model's file without a given size → the size assumed in the artifact."""
        return self._of_model("assumed")

    def _of_model(self, key: str) -> dict[str, Any]:
        model = self.about.get("model")
        known = model.get(key) if isinstance(model, dict) else None
        return known if isinstance(known, dict) else {}

    def to_json(self) -> dict[str, Any]:
        own = {} if self.form == MODULE else {"aliases": dict(self.aliases), "constants": [one.to_json() for one in self.constants]}
        return {
            "kind": KIND,
            "schema": SCHEMA,
            "form": self.form,
            **own,
            "about": dict(self.about),
            "inputs": [tensor.to_json() for tensor in self.inputs],
            "outputs": [tensor.to_json() for tensor in self.outputs],
            "threads": self.threads,
            "tvm": self.tvm,
            "machine": self.machine.to_json(),
            "partitions": [partition.to_json() for partition in self.partitions],
            "files": {name: {"bytes": size, "sha256": digest} for name, (size, digest) in self.files.items()},
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Manifest:
        form = data.get("form", MODULE)
        if form not in FORMS:
            raise ValueError(f"the form {form!r}")
        return cls(
            about=dict(data["about"]),
            inputs=_tensors(data["inputs"]),
            outputs=_tensors(data["outputs"]),
            threads=int(data["threads"]),
            tvm=str(data["tvm"]),
            machine=Machine.from_json(data["machine"]),
            partitions=tuple(map(PartitionEntry.from_json, data["partitions"])),
            files={name: (int(entry["bytes"]), str(entry["sha256"])) for name, entry in data["files"].items()},
            form=form,
            aliases={str(name): str(source) for name, source in data.get("aliases", {}).items()},
            constants=_tensors(data.get("constants", ())),
        )

    def check_files(self, folder: Path) -> None:
        """Check that everything that is loaded is in the manifest, and that every file in it exists and is unchanged.

        Loading a truncated shared library would end the process, and one that is not listed could be anybody's.

        Raises:
            CollageError: a file is missing, changed, outside of the folder, or loaded without being listed.
        """
        loaded = {name for entry in self.partitions for name in entry.loaded}
        loaded |= {LIBRARY} if self.form == MODULE else {CONSTANTS} if self.constants else set()
        if os.path.lexists(folder / SAMPLE):
            loaded.add(SAMPLE)
        for name in sorted({*loaded, *self.files}):
            path = folder / name
            if not is_inside(folder, path):
                raise damaged(folder, f"it lists a file outside itself, {name!r}")
            if name not in self.files:
                raise damaged(folder, f"{name!r} is loaded, and {NAME!r} does not list it")
            if not os.path.isfile(path):
                raise damaged(folder, f"{name!r} is missing")
            if (path.stat().st_size, fingerprint(path)[1]) != self.files[name]:
                raise damaged(folder, f"{name!r} is not the file that was written")


def is_inside(folder: Path, path: Path) -> bool:
    """Return whether `path`, with its links followed, lies in `folder`."""
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):
        return False


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of the artifact in `folder`.

    Raises:
        CollageError: there is no manifest, or it is damaged or of another schema.
    """
    path = folder / NAME
    if not os.path.lexists(path):
        what = "is no artifact: it holds no" if os.path.isdir(folder) else "does not exist, so there is no"
        raise CollageError(f"{str(folder)!r} {what} {NAME!r}", "give the folder that `collage partition --out` wrote", "no_artifact")
    try:
        data = json.loads(read_text(path))
    except (OSError, ValueError, RecursionError) as error:
        why = getattr(error, "strerror", None) or error
        raise damaged(folder, f"{NAME!r} cannot be read ({why})") from error
    if not isinstance(data, dict) or data.get("kind") != KIND:
        raise CollageError(f"{str(path)!r} does not describe an artifact of this project", "give another folder", "no_artifact")
    if data.get("schema") != SCHEMA:
        raise CollageError(
            f"the artifact {str(folder)!r} has schema {data.get('schema')!r}, this version reads {SCHEMA}", REBUILD, "schema"
        )
    try:
        manifest = Manifest.from_json(data)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise damaged(folder, f"{NAME!r} lacks or garbles {error}") from error
    types: dict[str, TensorType] = {}
    for tensor in manifest.tensors:
        known = types.setdefault(tensor.name, tensor.type)
        if known != tensor.type:  # A kernel would read beyond the memory that the other one is given.
            raise damaged(folder, f"{NAME!r} says that the tensor {tensor.name!r} is {known}, and that it is {tensor.type}")
    return manifest


def damaged(folder: Path, why: str) -> CollageError:
    return CollageError(f"the artifact {str(folder)!r} is damaged: {why}", REBUILD, "damaged")


def fingerprint(path: Path) -> tuple[int, str]:
    """Return the size in bytes and the SHA-256 of a file."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    return path.stat().st_size, digest.hexdigest()


def _tensors(data: Sequence[Mapping[str, Any]]) -> tuple[Tensor, ...]:
    return tuple(map(Tensor.from_json, data))
