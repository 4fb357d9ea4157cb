"""`OpenInput`: an input of a model whose sizes, or whose value, the user may say; `OpenShapes`: some sizes must be said. Plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import CollageError


@dataclass(frozen=True)
class OpenInput:
    """An input with dynamic dimensions, or one that is small enough for its value to be fixed.

    Attributes:
        dimensions: A size where the model fixes it, else a symbol, or ``?``; None where the model says no number of dimensions. Dimensions
            with the same symbol have the same size; ``a = b`` stands for two that the model takes only together.
        sizes: Proposed sizes, one for each dimension.
        is_asked: Whether a size of it must be said; a batch is 1 unless said.
        takes_value: Whether its value can be fixed.
        value: A value that the model compares it with, as ``--value`` takes it; empty where none is known.
    """

    name: str
    dtype: str
    dimensions: tuple[str, ...] | None
    sizes: tuple[int, ...]
    is_asked: bool = False
    takes_value: bool = False
    value: str = ""


class OpenShapes(CollageError):
    """Raised where a model has dynamic dimensions whose sizes the user must say.

    Args:
        inputs: The inputs whose shape can be given, in the model's order.
    """

    def __init__(self, message: str, hint: str = "", code: str = "open_shape", *, inputs: Sequence[OpenInput] = ()):
        super().__init__(message, hint, code)
        self.inputs = tuple(inputs)
