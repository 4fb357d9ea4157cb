"""The worker's side of a profile: a toolchain's own profiler on a sub-model and the tensors that really arrive at it.

It runs in a process that may crash or hang at any line. Arrays come as files, times of nodes leave (`toolchains.profiling`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...model.model import SubModel
from ...toolchains.abilities import Profiles, check_boundary, layout_of
from ...toolchains.blocked_layout import is_blocked, to_blocked
from ...toolchains.border import model_for, uncancelled
from ...toolchains.buffers import aligned_copy
from ...toolchains.profiling import NodeTime
from ...toolchains.toolchain import Toolchain
from .trial_worker import ArrayFile, GetToolchain


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


def _value(toolchain: Toolchain, file: ArrayFile) -> Any:
    """Return an input in the layout of the toolchain; an opaque value as it is."""
    if file.tensor.type.is_opaque:
        return file.read()
    blocked = layout_of(toolchain) != "" and is_blocked(file.tensor.type)
    return aligned_copy(to_blocked(file.read()) if blocked else file.read())
