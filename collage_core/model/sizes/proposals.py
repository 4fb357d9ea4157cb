"""`with_proposals`: proposes sizes that fit each other, and values, where a model was opened without the sizes that it needs.

The model before its shapes were fixed, what the user said, and the error that asks for sizes enter; the error with better proposals leaves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from onnx import ModelProto

from ...base.open_inputs import OpenInput, OpenShapes
from ...errors import CollageError
from ..forms.values import Value, fix_values, implied_shapes
from ..reference.settings import compared_values
from ..shapes.shapes import LENGTH, input_dimensions, set_shape, shapes_hint, value_options
from .fitting_sizes import Fitting, Unknown, can_be_run, fitting_sizes

Dimension = tuple[str, int]


def with_proposals(error: OpenShapes, model: ModelProto, said: Mapping[str, Sequence[int]], values: Mapping[str, Value]) -> OpenShapes:
    """Return `error` with sizes with which ONNX Runtime runs `model`, where some are found, and with values that the model knows.

    Args:
        model: The model as it was before its shapes were fixed; it is changed.
        said: The shapes that the user gave.
        values: The values that the user gave.
    """
    compared = {name: str(value.item()) for name, value in compared_values(model).items()}
    asked = [replace(one, value=compared.get(one.name, "") if one.takes_value else "") for one in error.inputs if one.name not in values]
    proposed = OpenShapes(error.message, error.hint, error.code, inputs=asked)
    unknown = unknown_sizes(asked)
    if any(one.dimensions is None for one in asked) or not can_be_run(model):
        return proposed
    try:
        for value in model.graph.input:
            if value.name in values and value.name in (implied := implied_shapes(model, values)):
                set_shape(value, implied[value.name])
        fix_values(model, values)
    except CollageError:
        return proposed  # What is wrong with a value is said once the shapes are known.
    sizes = {one.name: one.sizes for one in asked} | {name: tuple(shape) for name, shape in said.items()}
    shapes = {value.name: sizes.get(value.name) or tuple(map(int, input_dimensions(model)[value.name])) for value in model.graph.input}
    fitting = fitting_sizes(model, shapes, unknown, compared_values(model))
    if fitting is None:
        return proposed
    labels = _labels(unknown, fitting)
    proposed.inputs = tuple(_fitted(one, unknown, fitting, labels) for one in asked)
    shown = {new.name: new.sizes for old, new in zip(asked, proposed.inputs, strict=True) if new.is_asked or new.sizes != old.sizes}
    tied = [[end for index in group for end in unknown[index].ends] for group in fitting.ties]
    said_of = [" and ".join(f"dimension {axis} of {name!r}" for name, axis in ends) for ends in tied]
    proposed.hint = shapes_hint(shown) + "".join(f"; {ends} have the same size" for ends in said_of)
    known = value_options({proposed.name: proposed.value for proposed in asked if proposed.value})
    if known:
        proposed.hint += f"; with {known} only the branch that is taken counts"
    return proposed


def fitting_shapes(model: ModelProto, shapes: Mapping[str, Sequence[int]]) -> dict[str, tuple[int, ...]]:
    """Return shapes like `shapes`, of the inputs with dynamic dimensions, with which ONNX Runtime runs `model`; these where none are found.

    Args:
        model: The model as it was before its shapes were fixed.
    """
    dimensions = input_dimensions(model)
    given = {name: tuple(shape) for name, shape in shapes.items()}
    if not given.keys() <= dimensions.keys() or not can_be_run(model):
        return given
    inputs = [OpenInput(name, "", tuple(dimensions[name]), shape, True) for name, shape in given.items()]
    unknown = unknown_sizes(inputs)
    whole = {name: given.get(name) or tuple(map(int, labels)) for name, labels in dimensions.items()}
    fitting = fitting_sizes(model, whole, unknown, compared_values(model))
    return given if fitting is None else {one.name: _fitted(one, unknown, fitting, {}).sizes for one in inputs}


def unknown_sizes(inputs: Sequence[OpenInput]) -> list[Unknown]:
    """Return the sizes that are unknown in `inputs`: dimensions of one symbol have one size."""
    ends: dict[str, list[Dimension]] = {}
    guesses: dict[str, int] = {}
    for one in inputs:
        for axis, label in enumerate(one.dimensions or ()):
            if not label.isdigit():
                key = f"{one.name}[{axis}]" if label == "?" else label
                ends.setdefault(key, []).append((one.name, axis))
                guesses.setdefault(key, one.sizes[axis])
    return [Unknown(key, tuple(found), guesses[key], guesses[key] == LENGTH) for key, found in ends.items()]


def _labels(unknown: Sequence[Unknown], fitting: Fitting) -> dict[Dimension, str]:
    """Return the common label of the dimensions that have the same size though no symbol says so."""
    labels: dict[Dimension, str] = {}
    for group in fitting.ties:
        text = " = ".join(unknown[index].label for index in group)
        labels |= {end: text for index in group for end in unknown[index].ends}
    return labels


def _fitted(one: OpenInput, unknown: Sequence[Unknown], fitting: Fitting, labels: Mapping[Dimension, str]) -> OpenInput:
    sizes = {end: size for known, size in zip(unknown, fitting.sizes, strict=True) for end in known.ends}
    return replace(
        one,
        dimensions=tuple(labels.get((one.name, axis), label) for axis, label in enumerate(one.dimensions or ())),
        sizes=tuple(sizes.get((one.name, axis), size) for axis, size in enumerate(one.sizes)),
    )
