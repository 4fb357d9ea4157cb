"""Draws seeded inputs that a model accepts and on which its outputs depend, and checks inputs of the user.

The types of a model's inputs and functions that run it enter; arrays by input name leave. Floats are drawn from a standard normal;
integers are small, not negative, and such that the model accepts them. Inputs that are settings of operators are not drawn (`settings`).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ..errors import CollageError
from ..graph.dataflow_graph import Tensor
from .accuracy import is_float, largest_error
from .base import Arrays
from .dtypes import numpy_dtype
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


_INTEGERS = ((0, 10), (0, 2), (0, 1), (1, 2))
_SCALES = (1.0, 10.0, 0.1, 0.0)
_CLEAR_CHANGE, _SMALL_NOISE = 10, 0.05
"""Least change of the outputs by another seed, and most change by rounding; both as multiples of the accuracy."""


def draw(inputs: Sequence[Tensor], recipe: Recipe, seed: int, settings: Arrays | None = None) -> dict[str, np.ndarray]:
    """Return arrays for `inputs`: the `settings` by name, and for the others what depends on the seed, on name and type of the input."""
    settings = settings or {}
    return {tensor.name: settings[tensor.name] if tensor.name in settings else _draw_one(tensor, recipe, seed) for tensor in inputs}


def _draw_one(tensor: Tensor, recipe: Recipe, seed: int) -> np.ndarray:
    random = np.random.default_rng([seed, zlib.crc32(tensor.name.encode())])
    shape, dtype = tensor.type.shape, numpy_dtype(tensor.type.dtype)
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
    has_floats = any(is_float(numpy_dtype(tensor.type.dtype)) for tensor in inputs)
    for scale in _SCALES if has_floats else _SCALES[:1]:
        for lowest, bound in _INTEGERS:
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
    finite = all(_is_finite(value) for outputs in (one, other) for value in outputs.values())
    return min(largest_error(one, other), 1.0) if finite else -1.0, largest_error(reordered, one)


def _is_finite(value: np.ndarray) -> bool:
    return not is_float(value.dtype) or bool(np.isfinite(value.astype(np.complex128 if value.dtype.kind == "c" else np.float64)).all())


def check_inputs(inputs: Sequence[Tensor], arrays: Arrays) -> dict[str, np.ndarray]:
    """Return the user's inputs in the model's order, as contiguous arrays.

    Raises:
        CollageError: an input is missing, unknown, or of another shape or dtype.
    """
    wanted = ", ".join(f"{tensor.name} {_shown(tensor)}" for tensor in inputs)
    hint = f"the model's inputs are {wanted}"
    known = {tensor.name for tensor in inputs}
    for name in arrays:
        if name not in known:
            raise CollageError(f"the model has no input {name!r}", hint, "inputs")
    checked = {}
    for tensor in inputs:
        if tensor.name not in arrays:
            raise CollageError(f"the input {tensor.name!r} is missing", hint, "inputs")
        value = np.asarray(arrays[tensor.name])
        wanted_dtype = numpy_dtype(tensor.type.dtype)
        if value.shape != tensor.type.shape:
            raise CollageError(f"the input {tensor.name!r} has shape {list(value.shape)}, not {list(tensor.type.shape)}", hint, "inputs")
        if tensor.type.dtype == "string" and value.dtype.kind in "US":
            value = value.astype(str).astype(object)
        if value.dtype.kind == "V" and value.dtype.itemsize == wanted_dtype.itemsize:
            value = value.view(wanted_dtype)  # an .npz keeps the bytes of a type that numpy does not know, and not its name
        if value.dtype != wanted_dtype:
            raise CollageError(f"the input {tensor.name!r} has dtype {value.dtype.name!r}, not {tensor.type.dtype!r}", hint, "inputs")
        checked[tensor.name] = np.ascontiguousarray(value) if value.ndim else value
    return checked


def _shown(tensor: Tensor) -> str:
    return f"{tensor.type.dtype}{list(tensor.type.shape)}"
