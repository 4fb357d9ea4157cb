"""Which shapes a run plans for: those that the options say of the model's inputs, or those of real inputs in files.

A model's file and `Options` enter; the shapes leave, with the dimensions that have several sizes, and notes for the user. Nothing is
loaded that a search needs.
"""

from __future__ import annotations

import glob
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...base.model_file import is_relax_file
from ...errors import Cancelled, CollageError
from ...model.samples.registry import resolve
from ...model.shapes.shapes import Shape
from ...model.sizes.planned_shapes import Dimensions, FreeDimension, PlannedShape, planned_shapes, read_dimensions, traffic_shapes
from ...options import REFUSE, Options
from ...rewrite.runtime.arrays_file import read_arrays


@dataclass(frozen=True)
class ShapesToPlan:
    """The shapes of a run.

    Attributes:
        dimensions: The dimensions of the model's inputs, as its file has them.
        free: The dimensions that have several sizes; empty where the shapes are those of real inputs.
        shapes: Those that are planned for.
        notes: What the user should know of them.
    """

    dimensions: Dimensions
    free: Sequence[FreeDimension]
    shapes: Sequence[PlannedShape]
    notes: Sequence[str]

    def options_at(self, shape: PlannedShape, options: Options, out: Path | None = None) -> Options:
        """Return the options of a run at one shape, which has its share of the time that `options` give to all."""
        count = len(self.shapes)
        share = {name: getattr(options, name) / count for name in ("budget_s", "tune_s") if getattr(options, name) is not None}
        shapes = {**options.shapes, **shape.shapes} if shape.inputs is None else options.shapes
        return replace(options, shapes=shapes, shapes_from=(), other_shapes=REFUSE, one_build=False, inputs=shape.inputs, out=out, **share)


def shapes_to_plan(source: str | Path, options: Options) -> ShapesToPlan:
    """Return the shapes that `options` ask for.

    Raises:
        CollageError: the model is no ONNX file, or the shapes contradict it or each other.
    """
    path = resolve(str(source))
    if is_relax_file(path) if options.ir is None else options.ir == "relax":
        hint = "give each dimension one size, such as --shape x=1,64"
        raise CollageError(f"{str(source)!r} is a Relax module, and several shapes are planned for ONNX files alone", hint, "unsupported")
    dimensions = read_dimensions(path)
    if options.shapes_from:
        shapes, others = traffic_shapes(dimensions, _read_shapes(listed(options.shapes_from)))
        left = [f"{others:.1%} of the inputs have other shapes than the {len(shapes)} most frequent ones"] if others else []
        return ShapesToPlan(dimensions, (), shapes, [_counted(len(shapes)), *left])
    free, shapes = planned_shapes(dimensions, options.shapes)
    taken = [
        f"of the sizes {dimension.sizes} of {dimension.name} the search takes {', '.join(map(str, dimension.sampled))}"
        for dimension in free
        if dimension.sizes.is_range
    ]
    return ShapesToPlan(dimensions, free, shapes, [_counted(len(shapes)), *taken])


def listed(given: Iterable[Path]) -> list[Path]:
    """Return the files that paths name, in which ``*`` stands for anything.

    Raises:
        CollageError: such a pattern matches no file.
    """
    made = []
    for path in given:
        matched = sorted(glob.glob(str(path))) if glob.has_magic(str(path)) else [str(path)]
        if not matched:
            raise CollageError(f"--shapes-from {str(path)!r} matches no file", "give .npz files of inputs", "no_file")
        made += [Path(name) for name in matched]
    return made


def _read_shapes(files: Iterable[Path]) -> Iterator[tuple[Path, dict[str, Shape]]]:
    for path in files:
        yield path, {name: array.shape for name, array in read_arrays(path).items()}


def _counted(count: int) -> str:
    return f"{count} shapes are planned for, one after another; each is measured like a run of its own"


class named:
    """Names the shape in whatever mistake is found meanwhile."""

    def __init__(self, shape: PlannedShape):
        self._shape = shape

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, CollageError) and not isinstance(error, Cancelled):
            error.message = f"at {self._shape.name}: {error.message}"
            error.args = (error.message,)
