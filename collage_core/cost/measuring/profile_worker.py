"""The worker's side of a profile: a toolchain's own profiler on a sub-model and the tensors that really arrive at it, and its values there.

It runs in a process that may crash or hang at any line. Arrays come and go as files, times of nodes leave (`toolchains.profiling`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...model.model import SubModel
from ...toolchains.abilities import Profiles, check_boundary, layout_of
from ...toolchains.blocked_layout import is_blocked, to_blocked
from ...toolchains.border import model_for, uncancelled
from ...toolchains.buffers import aligned_copy
from ...toolchains.profiling import NodeTime
from ...toolchains.toolchain import Toolchain
from . import trial_worker
from .trial_worker import ArrayFile, CheckSet, GetToolchain


def profile_nodes(
    get_toolchain: GetToolchain, target: str, model: SubModel, given: Sequence[ArrayFile], threads: int
) -> list[NodeTime] | None:
    """Return where the time of a run of `model` on `target` goes; None if its toolchain has no profiler.

    Raises:
        ToolchainError: in the toolchain's own words.
    """
    toolchain = get_toolchain(target)
    if not isinstance(toolchain, Profiles):
        return None
    check_boundary(toolchain, model)
    arrays = [_value(toolchain, file) for file in given]
    with uncancelled():
        times = toolchain.profile(model_for(toolchain, model), arrays, threads)
    return None if times is None else list(times)


def own_values(
    get_toolchain: GetToolchain, target: str, model: SubModel, sets: Sequence[CheckSet], folder: Path, threads: int
) -> list[dict[str, Path]]:
    """Write what the target makes of `model` on each of `sets` into `folder`; return the files by the names of the tensors.

    Raises:
        ToolchainError: in the toolchain's own words.
    """
    trial_worker.build(get_toolchain, target, model, threads)
    written: list[dict[str, Path]] = []
    for number, arrays in enumerate(sets):
        files = {name: folder / f"{number}-{at}.npy" for at, name in enumerate(file.tensor.name for file in arrays.wanted)}
        values = trial_worker.values_on(arrays.given, arrays.wanted)
        for name, path in files.items():
            # The files are read as those of the reference: a type that numpy lacks is its bytes.
            np.save(path, np.ascontiguousarray(values[name]).reshape(values[name].shape))
        written.append(files)
    trial_worker.release()
    return written


def _value(toolchain: Toolchain, file: ArrayFile) -> Any:
    """Return an input in the layout of the toolchain; an opaque value as it is."""
    if file.tensor.type.is_opaque:
        return file.read()
    blocked = layout_of(toolchain) != "" and is_blocked(file.tensor.type)
    return aligned_copy(to_blocked(file.read()) if blocked else file.read())
