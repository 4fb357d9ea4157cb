"""The worker's side of a profile: a toolchain's own profiler on a sub-model and the tensors that really arrive at it.

It runs in a process that may crash or hang at any line. Arrays come as files, times of nodes leave (`toolchains.profiling`).
"""

from __future__ import annotations

from collections.abc import Sequence

from ...model.base import SubModel
from ...toolchains.base import check_open_shapes
from ...toolchains.blocked_layout import is_blocked, to_blocked
from ...toolchains.buffers import aligned_copy
from ...toolchains.profiling import NodeTime
from .trial_worker import ArrayFile, GetToolchain


def profile_nodes(
    get_toolchain: GetToolchain, target: str, model: SubModel, given: Sequence[ArrayFile], threads: int
) -> list[NodeTime] | None:
    """Return where the time of a run of `model` on `target` goes; None if its toolchain has no profiler.

    Raises:
        ToolchainError: in the toolchain's own words.
    """
    toolchain = get_toolchain(target)
    check_open_shapes(toolchain, model)
    arrays = []
    for file in given:
        blocked = toolchain.layout != "" and is_blocked(file.tensor.type)
        arrays.append(aligned_copy(to_blocked(file.read()) if blocked else file.read()))
    found = toolchain.profile(model, arrays, threads)
    return None if found is None else list(found)
