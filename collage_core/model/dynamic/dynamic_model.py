"""`dynamic_model`: the whole model of a file with its dynamic dimensions left as they are, for a toolchain that takes any shape.

A path and the user's fixed values enter, with the model as it is at one shape; a `SubModel` leaves in which every dimension that the file
leaves dynamic is one whose size may differ from call to call. Nothing is folded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ...graph.dataflow_graph import Tensor
from ..files.loading import read_model
from ..forms.normalising import normalise
from ..forms.values import Value, fix_values, implied_shapes
from ..model import SubModel
from ..onnx_model import OnnxModel
from ..shapes.shapes import input_dimensions, set_shape


def dynamic_model(source: str | Path, at_one: OnnxModel, values: Mapping[str, Value]) -> SubModel:
    """Return the model in the file `source` with its dimensions dynamic.

    Args:
        at_one: The same model at one shape, which has the types of its tensors.
        values: Inputs that are constants, as `load_model` takes them.
    """
    user, _ = normalise(read_model(Path(source)).model)
    dimensions = input_dimensions(user)
    shapes = implied_shapes(user, values)
    for value in user.graph.input:
        if value.name in shapes:
            set_shape(value, shapes[value.name])
    fix_values(user, values)
    inputs = tuple(replace(tensor, type=tensor.type.with_open(_open(tensor, dimensions))) for tensor in at_one.graph.inputs)
    outputs = tuple(_open_output(at_one, value.name) for value in user.graph.output)
    return SubModel(user.SerializeToString(), inputs, outputs)


def _open(tensor: Tensor, dimensions: Mapping[str, Sequence[str]]) -> tuple[int, ...]:
    kinds = dimensions.get(tensor.name)
    return tuple(axis for axis in range(len(tensor.type.shape)) if kinds is None or not kinds[axis].isdigit())


def _open_output(at_one: OnnxModel, name: str) -> Tensor:
    """Return an output all of whose dimensions may differ: which of them follow from the inputs is not asked."""
    graph = at_one.graph
    kind = graph.types.get(name) or graph.constants[name].type
    return Tensor(name, kind.with_open(range(len(kind.shape))))
