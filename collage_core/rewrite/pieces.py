"""`Piece`: a partition of the plan with its sub-model, and the order in which pieces can run. Plain data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np

from ..errors import CollageError
from ..graph.dataflow_graph import Tensor
from ..model.base import SubModel

HOST_TARGET = "host"
"""The target of pieces that only give tensors another name."""


@dataclass(frozen=True)
class Piece:
    """One partition of a plan.

    Attributes:
        names: Of its nodes.
        model: The partition as a model of its own.
        id: As in the plan.
    """

    target: str
    names: tuple[str, ...]
    model: SubModel
    id: str


def run_order(pieces: Iterable[Piece]) -> list[Piece]:
    """The pieces in an order in which each comes after those whose tensors it reads; else as they came.

    Raises:
        CollageError: two make the same tensor, or they wait for one another in a cycle.
    """
    given = list(pieces)
    maker = _makers(given)
    waits_for = [{maker[tensor.name] for tensor in piece.model.inputs if tensor.name in maker} for piece in given]
    readers: list[list[int]] = [[] for _ in given]
    for place, makers in enumerate(waits_for):
        for made_by in makers:
            readers[made_by].append(place)
    missing = [len(makers) for makers in waits_for]
    ready = [place for place, count in enumerate(missing) if not count]
    heapify(ready)
    order = []
    while ready:
        place = heappop(ready)
        order.append(given[place])
        for reader in readers[place]:
            missing[reader] -= 1
            if not missing[reader]:
                heappush(ready, reader)
    if len(order) < len(given):
        stuck = ", ".join(piece.id for piece, count in zip(given, missing, strict=True) if count)
        raise CollageError(f"the partitions {stuck} wait for one another's results", "a plan's partitions must not form a cycle", "cycle")
    return order


def check_flow(
    pieces: Sequence[Piece], inputs: Sequence[Tensor], outputs: Sequence[str], constants: Mapping[str, np.ndarray]
) -> tuple[Tensor, ...]:
    """The types of the outputs, once every tensor that is read is known to be made, as what it is read as.

    Args:
        pieces: In their `run_order`.

    Raises:
        CollageError: a tensor is missing, or has another type than the one it is read as.
    """
    known = {tensor.name: tensor for tensor in inputs}
    for piece in pieces:
        for tensor in piece.model.inputs:
            if tensor.name not in known:
                raise _missing(f"partition {piece.id} reads the tensor {tensor.name!r}")
            if known[tensor.name].type != tensor.type:
                kinds = f"{tensor.type} where it is made as {known[tensor.name].type}"
                raise CollageError(f"partition {piece.id} reads the tensor {tensor.name!r} as {kinds}", "", "bad_plan")
        known |= {tensor.name: tensor for tensor in piece.model.outputs}
    for name, array in constants.items():
        known.setdefault(name, Tensor.from_json({"name": name, "shape": array.shape, "dtype": array.dtype.name}))
    for name in outputs:
        if name not in known:
            raise _missing(f"the model's output {name!r}")
    return tuple(known[name] for name in outputs)


def _makers(pieces: Sequence[Piece]) -> dict[str, int]:
    maker: dict[str, int] = {}
    for place, piece in enumerate(pieces):
        for tensor in piece.model.outputs:
            if tensor.name in maker:
                both = f"partitions {pieces[maker[tensor.name]].id} and {piece.id}"
                raise CollageError(f"{both} both make the tensor {tensor.name!r}", "a node belongs to one partition", "bad_plan")
            maker[tensor.name] = place
    return maker


def _missing(what: str) -> CollageError:
    return CollageError(f"{what}, which nothing makes", "every node of the model must be in one partition", "bad_plan")
