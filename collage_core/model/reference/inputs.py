"""Draws seeded inputs that a model accepts and on which its outputs depend, and checks inputs of the user.

The types of a model's inputs and functions that run it enter; arrays by input name leave. Floats are drawn from a standard normal;
integers are small, not negative, and such that the model accepts them. Inputs that are settings of operators are not drawn (`settings`).
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ...errors import CollageError
from ...graph.dataflow_graph import Tensor
from ...graph.value_arrays import as_text, as_values
from ..model import Arrays
from ..types.dtypes import element_of, numpy_dtype
from .accuracy import is_float, largest_error, tensors_in
from .ort_session import RuntimeRefusal


@dataclass(frozen=True, slots=True)
class Recipe:
    """The distributions that seeded inputs are drawn from.

    Attributes:
        scale: Standard deviation of floats, which are normal; 0 for a uniform draw from 0 to 1.
        lowest, bound: Integers are drawn from ``lowest`` to ``bound - 1``.
    """

    scale: float = 1.0
    lowest: int = 0
    bound: int = 10


SEQUENCE_LENGTH = 2
"""Elements of a sequence that is drawn."""
INTEGERS = ((0, 10), (0, 2), (0, 1), (1, 2))
"""Ranges that integers are drawn from, in the order in which they are tried."""
_SCALES = (1.0, 10.0, 0.1, 0.0)
_CLEAR_CHANGE, _SMALL_NOISE = 10, 0.05
"""Least change of the outputs by another seed, and most change by rounding; both as multiples of the accuracy."""


def draw(inputs: Sequence[Tensor], recipe: Recipe, seed: int, settings: Arrays | None = None) -> dict[str, Any]:
    """Return values for `inputs`: the `settings` by name, and for the others what depends on the seed, on name and type of the input.

    Raises:
        CollageError: an input of that type cannot be drawn, or the inputs are larger than the machine's memory.
    """
    _check_size(inputs)
    settings = settings or {}
    return {tensor.name: settings[tensor.name] if tensor.name in settings else _draw_one(tensor, recipe, seed) for tensor in inputs}


def _check_size(inputs: Sequence[Tensor]) -> None:
    needed, memory = sum(tensor.type.bytes for tensor in inputs), os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed > memory:
        largest = max(inputs, key=lambda tensor: tensor.type.bytes)
        found = f"the inputs take {needed / 2**30:.3g} GiB, more than the {memory / 2**30:.3g} GiB of this machine's memory"
        hint = f"the largest is {largest.name} {_shown(largest)}: say or export a smaller shape"
        raise CollageError(found, hint, "too_big")


def _draw_one(tensor: Tensor, recipe: Recipe, seed: int) -> Any:
    random = np.random.default_rng([seed, zlib.crc32(tensor.name.encode())])
    if not tensor.type.is_container:
        return _draw_tensor(tensor.type.shape, numpy_dtype(tensor.type.dtype), recipe, random)
    element = element_of(tensor.type.dtype)
    if not element:
        hint = "bring inputs with --inputs FILE.npz, or export the model with tensors as its inputs"
        raise CollageError(f"no values can be drawn for the input {tensor.name!r}, which is a {tensor.type}", hint, "inputs")
    count = SEQUENCE_LENGTH if "seq(" in tensor.type.dtype else 1
    drawn = [_draw_tensor(tensor.type.shape, numpy_dtype(element), recipe, random) for _ in range(count)]
    return drawn if "seq(" in tensor.type.dtype else drawn[0]


def _draw_tensor(shape: tuple[int, ...], dtype: np.dtype, recipe: Recipe, random: np.random.Generator) -> np.ndarray:
    if dtype.kind == "O":
        return random.integers(recipe.lowest, recipe.bound, shape).astype(str).astype(object)
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(bool)
    if not is_float(dtype):
        return random.integers(recipe.lowest, recipe.bound, shape).astype(dtype)
    real = random.random(shape) if recipe.scale == 0 else random.standard_normal(shape) * recipe.scale
    if dtype.kind == "c":
        return (real + 1j * random.standard_normal(shape)).astype(dtype)
    return real.astype(dtype)


@dataclass(frozen=True, slots=True)
class _RecipeResult:
    """The relative change of the outputs by another seed and by rounding alone, for one recipe."""

    recipe: Recipe
    change: float
    noise: float
    accuracy: float

    @property
    def is_clear(self) -> bool:
        return self.change >= _CLEAR_CHANGE * self.accuracy

    @property
    def is_noisy(self) -> bool:
        return self.noise > _SMALL_NOISE * self.accuracy

    def rank(self) -> tuple[bool, float]:
        """Return a key that is greatest for the best recipe: the outputs change clearly, and rounding changes them least."""
        return self.is_clear, -self.noise if self.is_clear else self.change


def find_recipe(
    inputs: Sequence[Tensor],
    run: Callable[[Arrays], Arrays],
    rerun: Callable[[Arrays], Arrays],
    accuracy: float,
    settings: Arrays | None = None,
) -> tuple[Recipe, str]:
    """Return a recipe whose inputs the model accepts and whose seeds change its outputs, and a note where they hardly do.

    Outputs that saturate (a sigmoid far below zero) differ by rounding alone, and right plans would look wrong: then other
    scales are tried.

    Args:
        inputs: The model's inputs.
        run: Runs the model; raises RuntimeRefusal where the model does not accept the inputs.
        rerun: Runs it with sums in another order.
        accuracy: The relative error up to which a plan is right.
        settings: Values of inputs that are not drawn.

    Raises:
        CollageError: the model accepts none of the inputs that were tried.
    """
    best: _RecipeResult | None = None
    reason = ""
    has_floats = any("float" in tensor.type.dtype or "complex" in tensor.type.dtype for tensor in inputs)
    for scale in _SCALES if has_floats else _SCALES[:1]:
        for lowest, bound in INTEGERS:
            try:
                recipe = Recipe(scale, lowest, bound)
                result = _RecipeResult(recipe, *_changes(partial(draw, inputs, recipe, settings=settings), run, rerun), accuracy)
            except RuntimeRefusal as error:
                reason = reason or str(error)
                continue
            if best is None or result.rank() > best.rank():
                best = result
            break
        if best is not None and best.is_clear and not best.is_noisy:
            break
    if best is None:
        hint = "bring inputs that it accepts with --inputs FILE.npz"
        raise CollageError(f"the model accepts none of the inputs that were tried: {reason}", hint, "inputs")
    return best.recipe, _note(best)


def _note(result: _RecipeResult) -> str:
    if result.change <= 0:
        return "no inputs that were tried change the outputs: comparing with the reference proves little"
    if not result.is_clear:
        return f"inputs change the outputs by a relative {result.change:.1e} at most: comparing with the reference proves little"
    if result.is_noisy:
        return f"rounding alone changes the outputs by a relative {result.noise:.1e}: an error of that size means nothing"
    return ""


def _changes(drawn: Callable[[int], Arrays], run: Callable[[Arrays], Arrays], rerun: Callable[[Arrays], Arrays]) -> tuple[float, float]:
    """Return the relative change of the outputs by another seed (-1 where one is not finite) and by another order of sums."""
    given = drawn(0)
    one, other, reordered = run(given), run(drawn(1)), rerun(given)
    finite = all_finite(one) and all_finite(other)
    return min(largest_error(one, other), 1.0) if finite else -1.0, largest_error(reordered, one)


def all_finite(outputs: Arrays) -> bool:
    """Return whether no float of any tensor is NaN or infinite."""
    return all(_is_finite(value) for made in outputs.values() for value in tensors_in(made))


def _is_finite(value: np.ndarray) -> bool:
    return not is_float(value.dtype) or bool(np.isfinite(value.astype(np.complex128 if value.dtype.kind == "c" else np.float64)).all())


def check_inputs(inputs: Sequence[Tensor], arrays: Arrays) -> dict[str, Any]:
    """Return the user's inputs in the model's order, as contiguous arrays; a list of them for a sequence, None for an absent optional.

    Raises:
        CollageError: an input is missing, unknown, or of another shape or dtype.
    """
    arrays = as_values(arrays, inputs)
    wanted = ", ".join(f"{tensor.name} {_shown(tensor)}" for tensor in inputs)
    hint = f"the model's inputs are {wanted}"
    known = {tensor.name for tensor in inputs}
    for name in arrays:
        if name not in known:
            raise CollageError(f"the model has no input {name!r}", hint, "inputs")
    checked: dict[str, Any] = {}
    for tensor in inputs:
        if tensor.name not in arrays:
            raise CollageError(f"the input {tensor.name!r} is missing", hint, "inputs")
        if tensor.type.is_container:
            checked[tensor.name] = _checked_container(tensor, arrays[tensor.name], hint)
        else:
            checked[tensor.name] = _checked_array(tensor.name, arrays[tensor.name], tensor.type.dtype, tensor.type.shape, hint)
    return checked


def _checked_container(tensor: Tensor, value: Any, hint: str) -> Any:
    """Return the value of a sequence or an optional with its tensors checked; their shapes are free."""
    kind = tensor.type.dtype
    if value is None and kind.startswith("optional("):
        return None
    element, is_sequence = element_of(kind), "seq(" in kind
    if not element:
        return value
    if isinstance(value, list | tuple) is not is_sequence:
        raise CollageError(f"the input {tensor.name!r} is a {type(value).__name__}, not a {kind}", hint, "inputs")
    parts = [_checked_array(tensor.name, part, element, None, hint) for part in (value if is_sequence else [value])]
    return parts if is_sequence else parts[0]


def _checked_array(name: str, given: Any, dtype: str, shape: tuple[int, ...] | None, hint: str) -> np.ndarray:
    value, wanted_dtype = np.asarray(given), numpy_dtype(dtype)
    if shape is not None and value.shape != shape:
        raise CollageError(f"the input {name!r} has shape {list(value.shape)}, not {list(shape)}", hint, "inputs")
    if dtype == "string":
        value = as_text(value)
    if value.dtype.type is np.void and value.dtype.itemsize == wanted_dtype.itemsize:
        value = value.view(wanted_dtype)  # an .npz keeps the bytes of a type that numpy does not know, and not its name
    if value.dtype != wanted_dtype:
        raise CollageError(f"the input {name!r} has dtype {value.dtype.name!r}, not {dtype!r}", hint, "inputs")
    return np.ascontiguousarray(value) if value.ndim else value


def _shown(tensor: Tensor) -> str:
    return tensor.type.dtype if tensor.type.is_container else f"{tensor.type.dtype}{list(tensor.type.shape)}"
