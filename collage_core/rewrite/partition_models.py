"""`PartitionModel`: a partition of a plan with its sub-model; the order in which partitions run, and a check of their tensors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import CollageError
from ..graph.control_flow import ControlFlow
from ..graph.dataflow_graph import Tensor
from ..graph.topological_order import topological_order
from ..model.model import SubModel


@dataclass(frozen=True)
class PartitionModel:
    """A partition of a plan with its sub-model.

    Attributes:
        names: Names of its nodes.
        model: The partition as a model of its own.
        id: Its id in the plan.
        control: Its bodies, where it is a node with bodies that the host runs.
    """

    target: str
    names: tuple[str, ...]
    model: SubModel
    id: str
    control: ControlModel | None = None


@dataclass(frozen=True)
class BodyModel:
    """A body with its partitions.

    Attributes:
        inputs: Those of the body's model, in order.
        outputs: Those of the body, in order.
        constants: Values of the outputs that are constants.
    """

    partitions: tuple[PartitionModel, ...]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    constants: Mapping[str, np.ndarray]

    @property
    def made(self) -> tuple[str, ...]:
        """Names of the outputs that partitions make; the others are constants, or inputs that are passed on."""
        others = {*self.constants, *(tensor.name for tensor in self.inputs)}
        return tuple(dict.fromkeys(tensor.name for tensor in self.outputs if tensor.name not in others))


@dataclass(frozen=True)
class ControlModel:
    """A node with bodies that the host runs.

    Attributes:
        bodies: Attribute → body.
        constants: Values of the node's inputs that are constants.
    """

    flow: ControlFlow
    bodies: Mapping[str, BodyModel]
    constants: Mapping[str, np.ndarray]


def run_order(partitions: Iterable[PartitionModel]) -> list[PartitionModel]:
    """Return the partitions in an order in which each comes after those whose tensors it reads; the given order where it is one.

    Raises:
        CollageError: two partitions make the same tensor, or some wait for one another in a cycle.
    """
    given = list(partitions)
    maker = _makers(given)
    order = topological_order([{maker[tensor.name] for tensor in item.model.inputs if tensor.name in maker} for item in given])
    if len(order) < len(given):
        stuck = ", ".join(item.id for index, item in enumerate(given) if index not in order)
        raise CollageError(f"the partitions {stuck} wait for one another's results", "a plan's partitions must not form a cycle", "cycle")
    return [given[index] for index in order]


def check_flow(
    partitions: Sequence[PartitionModel], inputs: Sequence[Tensor], outputs: Sequence[str], constants: Mapping[str, np.ndarray]
) -> tuple[Tensor, ...]:
    """Check that every tensor that is read is made with the same type, and return the model's outputs with their types.

    Args:
        partitions: In their `run_order`.

    Raises:
        CollageError: a tensor is missing, or is read as another type than it is made.
    """
    known = {tensor.name: tensor for tensor in inputs}
    for partition in partitions:
        for tensor in partition.model.inputs:
            if tensor.name not in known:
                raise _missing(f"partition {partition.id} reads the tensor {tensor.name!r}")
            if known[tensor.name].type != tensor.type:
                types = f"{tensor.type} where it is made as {known[tensor.name].type}"
                raise CollageError(f"partition {partition.id} reads the tensor {tensor.name!r} as {types}", "", "bad_plan")
        known |= {tensor.name: tensor for tensor in partition.model.outputs}
    for name, array in constants.items():
        known.setdefault(name, Tensor.from_json({"name": name, "shape": array.shape, "dtype": array.dtype.name}))
    for name in outputs:
        if name not in known:
            raise _missing(f"the model's output {name!r}")
    return tuple(known[name] for name in outputs)


def _makers(partitions: Sequence[PartitionModel]) -> dict[str, int]:
    """Return tensor name → index of the partition that makes it."""
    maker: dict[str, int] = {}
    for index, partition in enumerate(partitions):
        for tensor in partition.model.outputs:
            if tensor.name in maker:
                both = f"partitions {partitions[maker[tensor.name]].id} and {partition.id}"
                raise CollageError(f"{both} both make the tensor {tensor.name!r}", "a node belongs to one partition", "bad_plan")
            maker[tensor.name] = index
    return maker


def _missing(what: str) -> CollageError:
    return CollageError(f"{what}, which nothing makes", "every node of the model must be in one partition", "bad_plan")
