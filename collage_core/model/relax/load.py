"""`load`: a model of any kind by its file: ONNX, or a Relax module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ...base.model_file import is_relax_file
from ...errors import CollageError
from ..forms.values import Value
from ..model import Arrays
from ..onnx_model import OnnxModel, load_model
from .relax_model import load_relax


def is_relax(source: str | Path, ir: str | None) -> bool:
    """Return whether the file holds a Relax module, by what the user says or by its ending."""
    return is_relax_file(source) if ir is None else ir == "relax"


def load(
    source: str | Path,
    shapes: Mapping[str, Sequence[int]] | None = None,
    fold: bool = True,
    name: str | None = None,
    *,
    values: Mapping[str, Value] | None = None,
    ir: str | None = None,
    inputs: Arrays | None = None,
    region: str | None = None,
    asks: bool = False,
) -> OnnxModel:
    """Load the model at `source` as `load_model` does, or as a Relax module where `ir` or the file's ending says so.

    Args:
        region, asks: As `load_relax`.

    Raises:
        CollageError: as `load_model` and `load_relax`.
    """
    if is_relax(source, ir):
        implied = {input_name: array.shape for input_name, array in (inputs or {}).items()}
        return load_relax(source, {**implied, **(shapes or {})}, fold, name, values=values, region=region, asks=asks)
    if region is not None:
        said = f"{str(source)!r} is not a Relax module, so it has no region {region!r}"
        raise CollageError(said, "leave the region away", "not_relax")
    return load_model(source, shapes, fold, name, values=values, inputs=inputs)
