"""Builds the artifact forms without a module: the files of each partition, what the host only renames, and the program that loads one file.

Partitions in their order and a folder enter; entries of the manifest leave, and the files are written. It runs the toolchains, but not
TVM's compiler, and therefore belongs in a worker process.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import onnx

from ..errors import CollageError
from ..graph.dataflow_graph import Tensor
from ..model.files.external_data import values_of
from ..model.model import SubModel
from ..model.nodes import op_name
from ..model.types.dtypes import array_type
from ..rules.spec import HOST_TARGET
from ..toolchains.abilities import OwnFiles
from ..toolchains.border import uncancelled, with_weights_inside
from ..toolchains.native_files import LOADER, NativeFiles
from ..toolchains.toolchain import Toolchain, ToolchainError
from .partition_models import PartitionModel
from .runtime.control_entry import CONSTANTS
from .runtime.manifest import PARTITIONS, PartitionEntry
from .runtime.requirements import REQUIREMENTS

README = "README.md"


@dataclass
class Renamed:
    """Tensors that partitions of the host make, and constants of the model that are its outputs.

    Attributes:
        aliases: Name of a tensor → the tensor whose value it is.
        constants: Name of a constant → its value.
    """

    aliases: dict[str, str] = field(default_factory=dict)
    constants: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """The constants with their types, in the order of the values."""
        return tuple(Tensor(name, array_type(value)) for name, value in self.constants.items())


def renamed_by(partitions: Iterable[PartitionModel], constants: Mapping[str, np.ndarray]) -> Renamed:
    """Return what the partitions of the host make: other names of tensors that they read, or of constants.

    Args:
        constants: Outputs of the model that are constants.

    Raises:
        CollageError: one does more than that.
    """
    renamed = Renamed(constants=dict(constants))
    for partition in partitions:
        if partition.target != HOST_TARGET or partition.control is not None:
            continue
        graph = onnx.load_model_from_string(partition.model.onnx).graph
        renamed.constants |= {weight.name: values_of(weight) for weight in graph.initializer}
        for node in graph.node:
            if op_name(node) != "Identity":
                why = f"partition {partition.id} leaves {node.op_type} ({node.name!r}) to the host, which only gives tensors another name"
                raise CollageError(why, "give the node to a target", "bad_plan")
            renamed.aliases[node.output[0]] = node.input[0]
    return renamed


def write_constants(renamed: Renamed, folder: Path) -> None:
    """Write the constants, where there are some, into `folder`, in the order of `Renamed.tensors`."""
    if renamed.constants:
        np.savez(folder / CONSTANTS, *renamed.constants.values())


def write_piece(
    entry: PartitionEntry, model: SubModel, tool: Toolchain, folder: Path, name: str, threads: int, is_alone: bool
) -> PartitionEntry | None:
    """Write the files of a partition into the artifact `folder`, and return its entry; None where the toolchain has none.

    Args:
        name: The files' name, without a suffix.

    Raises:
        ToolchainError: it cannot be built.
    """
    if not isinstance(tool, OwnFiles):
        return None
    files = _files_of(tool, model, threads, is_alone)
    names = {own_name: f"{PARTITIONS}/{name}{Path(own_name).suffix}" for own_name in files.files}
    for own_name, content in files.files.items():
        (folder / names[own_name]).write_bytes(content)
    return _with_files(entry, list(names.values()), files)


def write_native(
    entry: PartitionEntry, model: SubModel, tool: Toolchain, folder: Path, threads: int, assumed: Mapping[str, int]
) -> PartitionEntry:
    """Write the whole model as files of its toolchain into `folder`, with its loader and a text that explains it; return its entry.

    Args:
        assumed: Dynamic dimensions of the model's file without a given size → the assumed size.

    Raises:
        ToolchainError: it cannot be built.
    """
    if not isinstance(tool, OwnFiles):
        raise ToolchainError("build", f"{tool.name} has no files of its own")
    files = _files_of(tool, model, threads, True)
    for own_name, content in files.files.items():
        (folder / own_name).write_bytes(content)
    (folder / LOADER).write_text(files.loader)
    (folder / README).write_text(_readme(entry, files, assumed))
    return _with_files(entry, list(files.files), files)


def _files_of(tool: OwnFiles, model: SubModel, threads: int, is_alone: bool) -> NativeFiles:
    with uncancelled():
        return tool.native_files(with_weights_inside(model), threads, is_alone)


def _with_files(entry: PartitionEntry, names: Sequence[str], made: NativeFiles) -> PartitionEntry:
    first, *beside = names
    return replace(entry, package=first, beside=tuple(beside), settings=made.settings, is_portable=made.is_portable)


def _readme(entry: PartitionEntry, files: NativeFiles, assumed: Mapping[str, int]) -> str:
    given = ", ".join(f"{tensor.name!r}: ..." for tensor in entry.inputs)
    lines = [
        f"# This model runs on {entry.target} alone",
        "",
        f"`{next(iter(files.files))}` is the model in the format of {entry.target} {entry.version}, which the plan chose for all of it.",
        f"`pip install -r {REQUIREMENTS}` installs the versions that it was built with.",
        f"`{LOADER}` opens it with the settings that were measured, and needs nothing of Collage Explorer:",
        "",
        "```python",
        "import runpy",
        "",
        f'run = runpy.run_path("{LOADER}")["run"]',
        f"outputs = run({{{given}}})",
        "```",
        "",
        "| tensor | type |",
        "|---|---|",
        *(f"| `{tensor.name}` | {tensor.type} |" for tensor in (*entry.inputs, *entry.outputs)),
        "",
        *(
            f"The dimension `{name}` of the model is {size} here, since nobody gave its size; no other size fits.\n"
            for name, size in assumed.items()
        ),
        "`artifact.json` has the hash of each file. `collage run` checks them, and runs or times the model.",
    ]
    return "\n".join(lines) + "\n"
