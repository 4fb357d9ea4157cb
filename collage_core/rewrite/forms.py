"""Chooses the form of an artifact, and says why a plan cannot have another: `form_for`.

A plan's partitions and their toolchains enter; one of the forms of `runtime.manifest` leaves. Nothing is built. A form needs less of the
machine that runs it, and says less: the module needs TVM, pieces need the toolchains and our runtime, and native files one toolchain alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..errors import CollageError
from ..toolchains.base import Toolchain
from .partition_models import PartitionModel
from .runtime.manifest import FORMS, MODULE, NATIVE, PIECES

AUTO = "auto"
"""Stands for the first form that the plan can have: native, then pieces, then a module."""


def form_for(
    asked: str,
    partitions: Sequence[PartitionModel],
    outputs: Sequence[str],
    tools: Mapping[str, Toolchain],
    constants: Mapping[str, np.ndarray],
) -> str:
    """Return the form that an artifact of these partitions gets.

    Args:
        asked: One of `FORMS`, or `AUTO`.
        outputs: Names of the model's outputs, and `constants` those of them that are constants.

    Raises:
        CollageError: there is no such form, or these partitions cannot have it.
    """
    if asked not in (*FORMS, AUTO):
        raise CollageError(f"there is no form {asked!r} of an artifact", f"give one of {', '.join((AUTO, *FORMS))}", "bad_option")
    reasons = {NATIVE: _why_not_native(partitions, outputs, tools), PIECES: _why_not_pieces(partitions, tools, constants), MODULE: ""}
    if asked == AUTO:
        return next(form for form in (NATIVE, PIECES, MODULE) if not reasons[form])
    if reasons[asked]:
        raise CollageError(f"the artifact cannot be {asked}: {reasons[asked]}", f"ask for the form {AUTO}, or veto that target", "form")
    return asked


def _why_not_native(partitions: Sequence[PartitionModel], outputs: Sequence[str], tools: Mapping[str, Toolchain]) -> str:
    if len(partitions) != 1:
        return f"its plan has {len(partitions)} partitions, and native files are of one toolchain for all"
    only = partitions[0]
    tool = tools.get(only.target)
    if tool is None or not tool.has_native_files:
        return f"{only.target} has no files of its own"
    made = [tensor.name for tensor in only.model.outputs]
    missing = next((name for name in outputs if name not in made), None)
    return "" if missing is None else f"its output {missing!r} is not made by {only.target}: it is an input, a constant or another name"


def _why_not_pieces(partitions: Sequence[PartitionModel], tools: Mapping[str, Toolchain], constants: Mapping[str, np.ndarray]) -> str:
    for partition in partitions:
        tool = tools.get(partition.target)
        if tool is not None and type(tool).relax_module is not Toolchain.relax_module:
            return f"partition {partition.id} is on {partition.target}, whose kernels are compiled into a module"
    odd = next((name for name, array in constants.items() if array.dtype.kind == "O"), None)
    return "" if odd is None else f"its output {odd!r} is a constant that is no plain memory"
