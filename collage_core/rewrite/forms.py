"""Chooses the form of an artifact, and says why a plan cannot have another: `form_for`, and `why_not_forms` before anything is built.

A plan's partitions and their toolchains enter; one of the forms of `runtime.manifest`, or reasons, leave. Nothing is built. A form needs
less of the machine that runs it, and says less: the module needs TVM, pieces need the toolchains and our runtime, and native files one
toolchain alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from ..errors import CollageError
from ..graph.dataflow_graph import DataflowGraph
from ..toolchains.abilities import MakesRelax, OwnFiles, location_of
from ..toolchains.device_tensors import HOST_LOCATION
from ..toolchains.registry import get
from ..toolchains.toolchain import Toolchain
from .partition_models import PartitionModel
from .plan import Plan
from .runtime.manifest import FORMS, MODULE, NATIVE, PIECES

AUTO = "auto"
"""Stands for the first form that the plan can have: native, then pieces, then a module."""


@dataclass(frozen=True)
class _Piece:
    """A partition as far as the form depends on it; `made` are the names of the tensors that it gives to others."""

    id: str
    target: str
    made: Collection[str]


def form_for(
    asked: str,
    partitions: Sequence[PartitionModel],
    outputs: Sequence[str],
    tools: Mapping[str, Toolchain],
    constants: Mapping[str, np.ndarray],
) -> str:
    """Return the form that an artifact of these partitions gets; with tensors on a device, pieces in place of a module.

    Args:
        asked: One of `FORMS`, or `AUTO`.
        outputs: Names of the model's outputs, and `constants` those of them that are constants.

    Raises:
        CollageError: there is no such form, or these partitions cannot have it.
    """
    if asked not in (*FORMS, AUTO):
        raise CollageError(f"there is no form {asked!r} of an artifact", f"give one of {', '.join((AUTO, *FORMS))}", "bad_option")
    pieces = [_Piece(one.id, one.target, [tensor.name for tensor in one.model.outputs]) for one in partitions]
    odd = [name for name, array in constants.items() if array.dtype.kind == "O"]
    reasons = {NATIVE: _why_not_native(pieces, outputs, tools), PIECES: _why_not_pieces(pieces, tools, odd), MODULE: ""}
    if asked == MODULE and not reasons[PIECES] and any(location_of(tool) != HOST_LOCATION for tool in tools.values()):
        return PIECES  # the tensors of a module are on the host, so each partition of a device would copy its ends
    if asked == AUTO:
        return next(form for form in (NATIVE, PIECES, MODULE) if not reasons[form])
    if reasons[asked]:
        raise CollageError(f"the artifact cannot be {asked}: {reasons[asked]}", f"ask for the form {AUTO}, or veto that target", "form")
    return asked


def why_not_forms(plan: Plan, graph: DataflowGraph) -> dict[str, str]:
    """Return form → why `plan` cannot have it, of the forms that it cannot have; `graph` is that of its model."""
    if plan.by_shape:
        return dict.fromkeys((NATIVE, PIECES), f"an artifact for {len(plan.by_shape)} shapes is made of modules")
    pieces = [piece for piece in _pieces_of(plan, graph) if piece.made]
    tools: dict[str, Toolchain] = {}
    for target in plan.used_targets:
        with suppress(CollageError):  # the host, and a described target, have no files of their own
            tools[target] = get(target)
    odd = [name for name in graph.outputs if name in graph.constants and graph.constants[name].type.is_opaque]
    reasons = {NATIVE: _why_not_native(pieces, graph.outputs, tools), PIECES: _why_not_pieces(pieces, tools, odd)}
    return {form: reason for form, reason in reasons.items() if reason}


def _pieces_of(plan: Plan, graph: DataflowGraph) -> list[_Piece]:
    leave = set(graph.outputs)
    pieces = []
    for partition in plan.partitions:
        inside = set(partition.nodes)
        tensors = (tensor.name for index in partition.nodes for tensor in graph.nodes[index].outputs)
        outputs = [name for name in tensors if name in leave or not inside.issuperset(graph.readers[name])]
        pieces.append(_Piece(partition.id, partition.target, outputs))
    return pieces


def _why_not_native(pieces: Sequence[_Piece], outputs: Sequence[str], tools: Mapping[str, Toolchain]) -> str:
    if len(pieces) != 1:
        return f"its plan has {len(pieces)} partitions, and native files are of one toolchain for all"
    [only] = pieces
    tool = tools.get(only.target)
    if not isinstance(tool, OwnFiles):
        return f"{only.target} has no files of its own"
    missing = next((name for name in outputs if name not in only.made), None)
    return "" if missing is None else f"its output {missing!r} is not made by {only.target}: it is an input, a constant or another name"


def _why_not_pieces(pieces: Sequence[_Piece], tools: Mapping[str, Toolchain], odd: Sequence[str]) -> str:
    for piece in pieces:
        tool = tools.get(piece.target)
        if isinstance(tool, MakesRelax):
            return f"partition {piece.id} is on {piece.target}, whose kernels are compiled into a module"
    return f"its output {odd[0]!r} is a constant that is not a flat buffer" if odd else ""
