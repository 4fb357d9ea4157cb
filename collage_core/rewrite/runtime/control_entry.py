"""`ControlEntry`: what ``artifact.json`` says of a partition that the host runs: a node with bodies, each an artifact in a folder below."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...graph.control_flow import ControlFlow
from ...graph.dataflow_graph import Tensor

BODIES = "bodies"
"""Folder of the bodies of all such partitions."""
CONSTANTS = "constants.npz"
"""File with the constants of one such partition, in the folder of its bodies."""


@dataclass(frozen=True, slots=True)
class ControlEntry:
    """A node with bodies.

    Attributes:
        folder: Path of its bodies in the artifact.
        computed: Attributes whose body is an artifact, in a folder of that name; the others only pass tensors on.
        empty: For each output of the node its type after no turn at all; None where the node itself has it then.
        node_constants: Inputs of the node that are constants of the model.
        body_constants: Attribute → outputs of the body that are constants.
    """

    flow: ControlFlow
    folder: str
    computed: tuple[str, ...]
    empty: tuple[Tensor | None, ...]
    node_constants: tuple[Tensor, ...]
    body_constants: Mapping[str, tuple[Tensor, ...]]

    @property
    def constants(self) -> list[Tensor]:
        """Every constant, in the order of the file."""
        return [*self.node_constants, *(tensor for tensors in self.body_constants.values() for tensor in tensors)]

    def to_json(self) -> dict[str, Any]:
        return {
            "flow": self.flow.to_json(),
            "folder": self.folder,
            "computed": list(self.computed),
            "empty": [None if tensor is None else tensor.to_json() for tensor in self.empty],
            "node_constants": [tensor.to_json() for tensor in self.node_constants],
            "body_constants": {name: [tensor.to_json() for tensor in tensors] for name, tensors in self.body_constants.items()},
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ControlEntry:
        return cls(
            flow=ControlFlow.from_json(data["flow"]),
            folder=str(data["folder"]),
            computed=tuple(map(str, data["computed"])),
            empty=tuple(None if tensor is None else Tensor.from_json(tensor) for tensor in data["empty"]),
            node_constants=tuple(map(Tensor.from_json, data["node_constants"])),
            body_constants={str(name): tuple(map(Tensor.from_json, tensors)) for name, tensors in data["body_constants"].items()},
        )
