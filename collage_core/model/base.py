"""`Model`: a network in its own form, which gives a dataflow graph, cuts any sub-graph out, and runs the reference.

Design, room ``model``. `OnnxModel` is the first of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..graph.dataflow_graph import DataflowGraph, Tensor
from ..graph.index_set import IndexSet

Arrays = Mapping[str, np.ndarray]
"""Tensor name → values."""


@dataclass(frozen=True)
class SubModel:
    """A sub-graph cut out as a model of its own, which every toolchain can read.

    Attributes:
        onnx: A serialised ONNX ``ModelProto`` with its weights inside; checked, boundary types filled in.
        inputs: Its inputs in order: the tensors of `SubGraph.input_tensors`.
        outputs: Its outputs in order: the tensors of `SubGraph.output_tensors`.
    """

    onnx: bytes
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]


@dataclass(frozen=True)
class FoldedNode:
    """What became of a node of the user's file that is no node of the graph any more.

    Attributes:
        name: Its name (made up as for `Node.name` where the file has none).
        op: Its operator.
        into: Name of the node that absorbed it, or None where it was a constant or an identity and is gone.
    """

    name: str
    op: str
    into: str | None


class Model(Protocol):
    """What the rest of the house needs of a network."""

    name: str
    hash: str
    """Hex digest over the file with its external data, the fixed shapes and the folding."""
    graph: DataflowGraph
    folded: tuple[FoldedNode, ...]
    is_quantised: bool
    """Holds QuantizeLinear, DynamicQuantizeLinear or ``*Integer`` operators: the default accuracy is 2e-2."""

    def cut(self, inside: IndexSet) -> SubModel:
        """The sub-graph `inside` as a model of its own. Any set whose boundary is typed can be cut."""
        ...

    def seeded_inputs(self, seed: int = 0) -> dict[str, np.ndarray]:
        """Inputs that the model accepts and that do change its outputs (design, "Right")."""
        ...

    def reference(self, inputs: Arrays) -> dict[str, np.ndarray]:
        """The outputs of the user's whole model in ONNX Runtime with optimisation off, by output name."""
        ...

    def constant(self, name: str) -> np.ndarray:
        """The values of the constant `name` of the graph."""
        ...

    def activations(self, inputs: Arrays, names: Iterable[str]) -> dict[str, np.ndarray]:
        """The values that the named tensors of the graph have when the model runs on `inputs`."""
        ...
