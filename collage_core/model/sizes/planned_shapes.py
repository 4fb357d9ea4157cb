"""The shapes that are planned for, where inputs may have several: dimensions of one symbol get one size, and of a range a few are taken.

The dimensions of a model's inputs as its file has them enter, with what the user says of them, or with the shapes of real inputs. A list
of `PlannedShape` leaves. Whether a shape fits the model otherwise is found when the model is loaded with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path

from ...base.counted import counted
from ...base.sizes import ShapeOf, Sizes, shape_text
from ...errors import CollageError
from ..files.loading import read_model
from ..forms.normalising import normalise
from ..shapes.shapes import Shape, input_dimensions

MOST_SHAPES = 16
"""Most shapes that are planned for: each has a search of its own."""
OF_ONE_RANGE, OF_RANGES, FEWEST_OF_RANGE = 4, 3, 2
"""Sizes that are taken of a range: of the only one, of each of several, and where there would be more than `MOST_SHAPES`."""

Dimensions = Mapping[str, Sequence[str]]
"""Input → its dimensions as the file has them: a size, a symbol, or ``?``."""


@dataclass(frozen=True)
class FreeDimension:
    """A dimension that may have several sizes, with all that have its symbol.

    Attributes:
        symbol: Empty where the file has none.
        ends: The inputs and axes whose sizes the user said.
        sizes: What they may be.
        sampled: Those of them that are planned for.
    """

    symbol: str
    ends: tuple[tuple[str, int], ...]
    sizes: Sizes
    sampled: tuple[int, ...]

    @property
    def name(self) -> str:
        """Its symbol, or its first input and axis."""
        return self.symbol or f"{self.ends[0][0]}[{self.ends[0][1]}]"


@dataclass(frozen=True)
class PlannedShape:
    """One shape that is planned for.

    Attributes:
        shapes: Input → its shape, for the inputs with a given shape.
        weight: Its share of the calls; the weights of all add up to 1.
        sizes: The size of each `FreeDimension`, by its name; empty where shapes come from files.
        inputs: A file of inputs of this shape; None where there is none.
    """

    shapes: Mapping[str, Shape]
    weight: float
    sizes: Mapping[str, int]
    inputs: Path | None = None

    @property
    def name(self) -> str:
        """The shape in a few words, such as ``seq=64``."""
        if self.sizes:
            return ", ".join(f"{name}={size}" for name, size in self.sizes.items())
        return ", ".join(f"{name}={'x'.join(map(str, shape))}" for name, shape in self.shapes.items())


def read_dimensions(path: str | Path) -> dict[str, list[str]]:
    """Return the dimensions of the inputs of the ONNX file `path`."""
    user, _ = normalise(read_model(Path(path)).model)
    return input_dimensions(user)


def free_dimensions(dimensions: Dimensions, said: Mapping[str, ShapeOf]) -> list[FreeDimension]:
    """Return the dimensions that may have several sizes, each symbol once.

    Raises:
        CollageError: the file fixes one of them, dimensions of one symbol have other sizes, or these are too many shapes.
    """
    found: dict[str, tuple[str, list[tuple[str, int]], Sizes]] = {}
    sized: dict[str, tuple[str, int | Sizes]] = {}
    for name, axis, size, kind in _all_said(dimensions, said):
        symbol = "" if kind == "?" or kind.isdigit() else kind
        if symbol:
            other, known = sized.setdefault(symbol, (name, size))
            if known != size and (isinstance(known, Sizes) or isinstance(size, Sizes)):
                raise _contradiction(symbol, (other, known), (name, size))
        if not isinstance(size, Sizes):
            continue
        if kind.isdigit():
            raise _fixed_by_file(name, axis, said[name], int(kind), dimensions)
        found.setdefault(symbol or f"{name}[{axis}]", (symbol, [], size))[1].append((name, axis))
    return _sampled([(symbol, tuple(ends), sizes) for symbol, ends, sizes in found.values()])


def planned_shapes(dimensions: Dimensions, said: Mapping[str, ShapeOf]) -> tuple[list[FreeDimension], list[PlannedShape]]:
    """Return the free dimensions, and the shapes that are planned for: all of one weight, ascending. Raises as `free_dimensions`."""
    free = free_dimensions(dimensions, said)
    planned = []
    for sizes in product(*(dimension.sampled for dimension in free)):
        shapes = shapes_at(said, free, sizes)
        planned.append((shapes, {dimension.name: size for dimension, size in zip(free, sizes, strict=True)}))
    return free, [PlannedShape(shapes, 1 / len(planned), sizes) for shapes, sizes in planned]


def shapes_at(said: Mapping[str, ShapeOf], free: Sequence[FreeDimension], sizes: Sequence[int]) -> dict[str, Shape]:
    """Return the shapes of inputs where the `free` dimensions have these sizes."""
    size_of = {end: size for dimension, size in zip(free, sizes, strict=True) for end in dimension.ends}
    fixed = {name: [size if isinstance(size, int) else 0 for size in shape] for name, shape in said.items()}
    return {name: tuple(size_of.get((name, axis), size) for axis, size in enumerate(shape)) for name, shape in fixed.items()}


def traffic_shapes(dimensions: Dimensions, files: Iterable[tuple[Path, Mapping[str, Shape]]]) -> tuple[list[PlannedShape], float]:
    """Return the most frequent shapes of real inputs, in ascending order, and the share of the files that have another one.

    Args:
        files: Each with the shapes of its arrays by input. The first one of a shape gives the inputs of that shape.

    Raises:
        CollageError: there is no file, or dimensions of one symbol have other sizes in one.
    """
    counts: Counter[tuple[tuple[str, Shape], ...]] = Counter()
    first: dict[tuple[tuple[str, Shape], ...], Path] = {}
    for path, shapes in files:
        _check_tied(path, dimensions, shapes)
        key = tuple(sorted(shapes.items()))
        counts[key] += 1
        first.setdefault(key, path)
    if not counts:
        raise CollageError("--shapes-from names no file", "give .npz files of inputs, such as 'inputs/*.npz'", "no_file")
    kept = counts.most_common(MOST_SHAPES)
    total = sum(count for _, count in kept)
    planned = [PlannedShape(dict(key), count / total, {}, first[key]) for key, count in kept]
    planned.sort(key=lambda shape: [shape.shapes.get(name, ()) for name in dimensions])
    return planned, 1 - total / counts.total()


def _all_said(dimensions: Dimensions, said: Mapping[str, ShapeOf]) -> Iterable[tuple[str, int, int | Sizes, str]]:
    """Yield input, axis, the user's sizes of it, and the file's own dimension, which is ``?`` if it has neither size nor symbol."""
    for name, shape in said.items():
        kinds = dimensions.get(name, ())
        if name in dimensions and len(kinds) != len(shape):
            message = f"the shape {shape_text(shape)!r} of input {name!r} has {counted(len(shape), 'dimension')}, not {len(kinds)}"
            raise CollageError(message, _hint(dimensions), "shape")
        for axis, size in enumerate(shape):
            yield name, axis, size, kinds[axis] if axis < len(kinds) else "?"


def _sampled(found: Sequence[tuple[str, tuple[tuple[str, int], ...], Sizes]]) -> list[FreeDimension]:
    """Take as many sizes of each range as there is room for."""
    ranges = sum(sizes.is_range for _, _, sizes in found)
    for count in (OF_ONE_RANGE if ranges == 1 else OF_RANGES, FEWEST_OF_RANGE):
        free = [FreeDimension(symbol, ends, sizes, sizes.sampled(count)) for symbol, ends, sizes in found]
        shapes = prod(len(dimension.sampled) for dimension in free)
        if shapes <= MOST_SHAPES:
            return free
    named = " times ".join(f"{len(dimension.sampled)} of {dimension.name}" for dimension in free)
    raise CollageError(f"these are {shapes} shapes ({named}), at most {MOST_SHAPES} are planned for", "give fewer sizes", "shape")


def _check_tied(path: Path, dimensions: Dimensions, shapes: Mapping[str, Shape]) -> None:
    sized: dict[str, tuple[str, int]] = {}
    for name, shape in shapes.items():
        for size, kind in zip(shape, dimensions.get(name, ()), strict=False):
            if kind == "?" or kind.isdigit():
                continue
            other, known = sized.setdefault(kind, (name, size))
            if known != size:
                found = f"{str(path)!r}: {other!r} has {known} for {kind!r}, and {name!r} has {size}"
                raise CollageError(found, "the model has one symbol for both, so they are of one size", "bad_inputs")


def _contradiction(symbol: str, one: tuple[str, int | Sizes], other: tuple[str, int | Sizes]) -> CollageError:
    reason = f"the inputs {one[0]!r} and {other[0]!r} share the dimension {symbol!r}, and --shape gives it {one[1]} and {other[1]}"
    return CollageError(reason, "give both the same sizes, or say the shape of one of them", "shape")


def _fixed_by_file(name: str, axis: int, shape: ShapeOf, fixed: int, dimensions: Dimensions) -> CollageError:
    message = f"the shape {shape_text(shape)!r} of input {name!r} has {shape[axis]} in dimension {axis}, the model fixes it to {fixed}"
    return CollageError(message, _hint(dimensions), "shape")


def _hint(dimensions: Dimensions) -> str:
    return "its inputs are " + ", ".join(f"{name} [{', '.join(kinds)}]" for name, kinds in dimensions.items())
