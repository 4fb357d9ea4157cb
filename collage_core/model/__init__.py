"""Networks in their own form: `load_model` gives an `OnnxModel` from a file (design, room ``model``).

Reading models needs onnx and onnxruntime, which take a moment to import: they are imported when first asked for, so that a
worker of another toolchain does without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .accuracy import default_accuracy, largest_error, output_errors, relative_error
from .base import Arrays, FoldedNode, Model, SubModel

if TYPE_CHECKING:
    from .onnx_model import OnnxModel, load_model

__all__ = [
    "Arrays",
    "FoldedNode",
    "Model",
    "OnnxModel",
    "SubModel",
    "default_accuracy",
    "largest_error",
    "load_model",
    "output_errors",
    "relative_error",
]


def __getattr__(name: str) -> Any:
    if name in ("OnnxModel", "load_model"):
        from . import onnx_model

        return getattr(onnx_model, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
