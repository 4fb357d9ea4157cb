"""Reads a model's file for the page: graphs, card, definitions of operators, weights. Called in a worker process only.

The path of an ONNX file enters; plain records leave.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from collage_core.documents.model_view import ModelCard, OperatorDefinition, WeightValues
from collage_core.errors import CollageError

from .load_model import write_file_graphs

if TYPE_CHECKING:
    from onnx import ModelProto


def file_graphs(path: str, folder: str, infers: bool) -> None:
    """Write every graph of the file into `folder`, as `write_file_graphs` does."""
    write_file_graphs(path, folder, infers)


def card(path: str, name: str) -> ModelCard:
    """Return what the file says of the whole model, which is called `name` here."""
    from collage_core.model.view.card import model_card

    return model_card(_model(path), name)


def operators(path: str) -> list[OperatorDefinition]:
    """Return the definitions of the operators in the file."""
    from collage_core.model.view.operators import operator_definitions

    return operator_definitions(_model(path))


def weight(
    path: str, name: str, first: int, count: int, shapes: Mapping[str, Sequence[int] | str] | None, values: Mapping[str, str]
) -> WeightValues:
    """Return values of the weight `name`.

    Args:
        shapes: The fixed shapes of the model, whose folding may have made the weight; None of one that is shown as in its file.

    Raises:
        CollageError: there is none of that name, or its values cannot be read.
    """
    from collage_core.model.relax.load import load
    from collage_core.model.types.dtypes import dtype_name
    from collage_core.model.view.card import tensor_bytes
    from collage_core.model.view.weights import values_of_tensor, weight_of, weight_values

    tensor = weight_of(_model(path), name, Path(path))
    if tensor is not None:
        return weight_values(name, dtype_name(tensor.data_type), values_of_tensor(tensor), tensor_bytes(tensor), first, count)
    unknown = CollageError(f"the model has no weight {name[:80]!r}", "its graph names the weights", "unknown_weight")
    if shapes is None:
        raise unknown
    sizes = {key: shape for key, shape in shapes.items() if not isinstance(shape, str)}
    model = load(path, sizes, values=values)
    if name not in model.graph.constants:
        raise unknown
    array = model.constant(name)
    return weight_values(name, model.graph.constants[name].type.dtype, array, array.nbytes, first, count)


def _model(path: str) -> ModelProto:
    from collage_core.model.files.loading import read_structure

    return read_structure(Path(path)).model
