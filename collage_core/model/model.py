"""`Model`: the interface of a network, which gives its dataflow graph, cuts out sub-graphs, and runs the reference.

`OnnxModel` implements it. Beside it stands the plain data that it gives: `SubModel`, and `InputSets`, the inputs on which candidates and
artifacts are compared with the reference (`bearing` chooses them; `extreme_inputs` says which values are extreme).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..graph.dataflow_graph import DataflowGraph, Tensor
from ..graph.index_set import IndexSet
from ..graph.value_policy import FINITE

if TYPE_CHECKING:
    from .row_sets import RowSet

DRAWN, EXTREME, OWN, NON_FINITE = "drawn", "extreme", "own", "non-finite"
"""Names of the sets. The third is the user's; the fourth is there where NaN and infinities must be right, too."""
MOST_SETS = 4


@dataclass(frozen=True, slots=True)
class InputSet:
    """Inputs of the model by name, and what they are: `DRAWN`, `EXTREME`, `OWN` or `NON_FINITE`."""

    name: str
    arrays: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class InputSets:
    """The sets on which everything of one model is compared with the reference.

    Attributes:
        first: The set that is timed: the user's own inputs, or else drawn ones.
        further: The others.
        notes: Which sets or inputs are milder than they might be, and why.
    """

    first: InputSet
    further: tuple[InputSet, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[InputSet, ...]:
        return self.first, *self.further


Arrays = Mapping[str, Any]
"""Tensor name → values: an array, a list of them for a sequence, None for an optional that holds nothing."""


@dataclass(frozen=True)
class SubModel:
    """A sub-graph cut out as a model of its own, which every toolchain can read.

    Attributes:
        onnx: A serialised ONNX ``ModelProto`` with the types of its inputs and outputs. Its weights are inside; those of a large model
            are in the model's own files, named by absolute paths (`external_data`), and only toolchains that say so get it like that.
        inputs: Its inputs in order: the tensors of `SubGraph.input_tensors`.
        outputs: Its outputs in order: the tensors of `SubGraph.output_tensors`.
        tuning: Schedules that a tuner found, for a toolchain that tunes (`toolchains.tuning`); empty for the default ones.
    """

    onnx: bytes
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    tuning: bytes = b""


def may_name_files(onnx: bytes) -> bool:
    """Return whether a serialised model can have weights in files, without parsing it; one that runs needs no package of ONNX's to know."""
    return _LOCATION in onnx


_LOCATION = b"\x0a\x08location"
"""The key under which an external tensor names its file, as protobuf writes it."""


@dataclass(frozen=True)
class FoldedNode:
    """A node of the user's file that is not in the graph.

    Attributes:
        name: Its name (generated as for `Node.name` where the file has none).
        op: Its operator.
        into: Name of the node that absorbed it; None where it was a constant or an identity and was removed.
    """

    name: str
    op: str
    into: str | None


class Model(Protocol):
    """A network, as the other rooms use it."""

    name: str
    hash: str
    """Hex digest over the file with its external data, the fixed shapes and values, and the folding."""
    graph: DataflowGraph
    folded: tuple[FoldedNode, ...]
    is_quantised: bool
    """True if it has QuantizeLinear, DynamicQuantizeLinear or ``*Integer`` operators, for which the default accuracy is 2e-2."""
    precision: str
    """The coarsest type of its floats: ``bfloat16`` or ``float16`` where it computes in them, ``float8`` where it returns them, else
    ``float32``. The default accuracy follows from it."""

    def cut(self, inside: IndexSet, also: Collection[str] = ()) -> SubModel:
        """Return the sub-graph `inside` as a model of its own, which returns the tensors `also` that it makes as well."""
        ...

    def run_part(self, inside: IndexSet, values: Arrays) -> dict[str, np.ndarray]:
        """Return what the nodes `inside` make of `values` in ONNX Runtime with optimisation off: the tensors that are read outside.

        Raises:
            CollageError: it refuses these values.
        """
        ...

    def seeded_inputs(self, seed: int = 0) -> dict[str, np.ndarray]:
        """Return inputs that the model accepts and on which its outputs depend, drawn with `seed`."""
        ...

    def input_sets(self, inputs: Arrays, value_policy: str = FINITE) -> InputSets:
        """Return all inputs that candidates and artifacts are compared on: `inputs` first, then drawn and extreme ones."""
        ...

    def reference(self, inputs: Arrays) -> dict[str, np.ndarray]:
        """Return the outputs of the user's whole model in ONNX Runtime with optimisation off, by output name."""
        ...

    def constant(self, name: str) -> np.ndarray:
        """Return the values of the constant `name` of the graph."""
        ...

    def row_sets(self, inputs: Arrays) -> Mapping[str, RowSet]:
        """Return how the tensors of the graph are compared whose length depends on the values of `inputs`, by name."""
        ...

    def noise(self, inputs: Arrays, values: Arrays) -> dict[str, float]:
        """Return by how much tensors of the graph may differ from `values`, which they have on `inputs`, by rounding alone."""
        ...

    def activations(self, inputs: Arrays, names: Iterable[str]) -> dict[str, np.ndarray]:
        """Return the values that the named tensors of the graph have when the model runs on `inputs`."""
        ...
