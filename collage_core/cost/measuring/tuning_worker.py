"""The worker's side of tuning: ask a toolchain for the kernels of a sub-model, and have it look for faster schedules of them.

Plain data enters and leaves, so that a fleet's worker can answer too. A schedule under trial may crash or hang this process.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ...model.model import SubModel
from ...toolchains.abilities import Tunes
from ...toolchains.border import model_for, uncancelled
from ...toolchains.toolchain import ToolchainError
from ...toolchains.tuning import Tuning, Workload
from .trial_worker import GetToolchain


def workloads(get_toolchain: GetToolchain, target: str, model: SubModel, threads: int) -> list[list[str]]:
    """Return the kernels of `model` that can be tuned, each as its digest and what it is compiled for.

    Raises:
        ToolchainError: in the toolchain's own words.
    """
    toolchain = get_toolchain(target)
    if not isinstance(toolchain, Tunes):
        return []
    with uncancelled():
        found = toolchain.workloads(model_for(toolchain, model), threads)
    if not all(isinstance(one, Workload) for one in found):
        raise ToolchainError("build", "it gave something else than workloads")
    return [[one.workload, one.target] for one in found]


def tune(get_toolchain: GetToolchain, target: str, model: SubModel, threads: int, seconds: float, known: bytes) -> dict[str, Any]:
    """Return the fields of a `Tuning` of one slice. Raises as `workloads`."""
    toolchain = get_toolchain(target)
    if not isinstance(toolchain, Tunes):
        raise ToolchainError("build", f"{toolchain.name} does not tune")
    with uncancelled():
        found = toolchain.tune(model_for(toolchain, model), threads, seconds, known)
    if not isinstance(found, Tuning):
        raise ToolchainError("build", f"it gave a {type(found).__name__} as a tuning")
    return asdict(found)
