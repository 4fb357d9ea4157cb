"""Finds sizes of dynamic dimensions that fit each other, by running the model: which it accepts, and which it accepts only together.

A model whose shapes are still open enters, with the sizes that are known and a first guess for the others; sizes that ONNX Runtime runs the
model with leave, and the dimensions that belong together though no symbol says so. It runs in a worker process: a stranger's model may
crash, or take long.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product

import numpy as np
from onnx import ModelProto

from ...base.isolation.shared import shared_worker
from ...base.isolation.worker_errors import WorkerError
from ...errors import CollageError
from ...graph.dataflow_graph import Tensor, TensorType
from ..files.external_data import external_tensors
from ..reference.inputs import INTEGERS, Recipe, draw
from ..reference.ort_session import OrtSession, RuntimeRefusal
from ..shapes.shapes import CLASSIFIER_SIDE, DETECTOR_SIDE
from ..types.dtypes import type_name

LONGEST_S = 15.0
"""Seconds after which the first guess is kept."""
LENGTHS = (256, 512, 1024, 2048, 4096, 8192, 16000, 64, 32, 16, 8, 4)
"""Sizes that are tried in place of the likely one, where that fits nothing."""
SIDES = (48, 32, 64)
"""Sides of pictures that are tried where the likely one does not fit: models that read a line of text take low ones."""
_LIKELY_SIDES = (CLASSIFIER_SIDE, DETECTOR_SIDE)
MOST_TRIED = 64
"""Most combinations that are tried for one length."""
MOST_BYTES = 1 << 28
"""Models that are larger are not run for this, nor are any on inputs that are."""

Dimension = tuple[str, int]
"""An input and one of its axes."""


@dataclass(frozen=True)
class Unknown:
    """A size that nobody says.

    Attributes:
        label: Its symbol, or ``input[axis]``.
        ends: Where it occurs: dimensions of one symbol have one size.
        guess: The likely size.
        is_length: Whether another length may fit better.
    """

    label: str
    ends: tuple[Dimension, ...]
    guess: int
    is_length: bool


@dataclass(frozen=True)
class Fitting:
    """Sizes that fit each other.

    Attributes:
        sizes: One for each `Unknown`, in their order.
        ties: Indices of unknowns that have one size: another is accepted for all of a group, and for none of them alone.
    """

    sizes: tuple[int, ...]
    ties: tuple[tuple[int, ...], ...] = ()


def can_be_run(model: ModelProto) -> bool:
    """Return whether `model` is small enough to be run for this, and takes tensors alone."""
    are_tensors = all(value.type.WhichOneof("value") == "tensor_type" for value in model.graph.input)
    return are_tensors and model.ByteSize() <= MOST_BYTES and not external_tensors(model)


def fitting_sizes(
    model: ModelProto, shapes: Mapping[str, Sequence[int]], unknown: Sequence[Unknown], values: Mapping[str, np.ndarray]
) -> Fitting | None:
    """Return sizes of the `unknown` dimensions with which `model` runs; None where none were found in `LONGEST_S`.

    Args:
        model: The model before its shapes are fixed, which `can_be_run`.
        shapes: Input → its shape; what stands at an unknown dimension does not matter.
        values: Input → the value that it has in every run; others are drawn.
    """
    try:
        with shared_worker("fold", imports=("onnxruntime",)) as worker:
            fitting: Fitting | None = worker.call(
                find, model.SerializeToString(), dict(shapes), tuple(unknown), dict(values), timeout_s=2 * LONGEST_S
            )
            return fitting
    except (WorkerError, CollageError):
        return None


def find(model: bytes, shapes: Mapping[str, Sequence[int]], unknown: Sequence[Unknown], values: Mapping[str, np.ndarray]) -> Fitting | None:
    """As `fitting_sizes`; this is called in a worker process."""
    proto = ModelProto.FromString(model)
    try:
        runs = _Runs(proto, shapes, unknown, values)
    except RuntimeRefusal:
        return None
    found = next((sizes for sizes in _tried(shapes, unknown) if runs.accept(sizes)), None)
    return None if found is None else Fitting(found, _ties(runs, found))


class _Runs:
    """Runs of a model at several sizes, until the time is over."""

    def __init__(
        self, model: ModelProto, shapes: Mapping[str, Sequence[int]], unknown: Sequence[Unknown], values: Mapping[str, np.ndarray]
    ):
        self._session = OrtSession(model)
        self._dtypes = {value.name: type_name(value.type) for value in model.graph.input}
        self._outputs = [value.name for value in model.graph.output]
        self._shapes, self._unknown, self._values = shapes, unknown, values
        self._end_s = time.monotonic() + LONGEST_S

    def accept(self, sizes: Sequence[int]) -> bool:
        """Return whether the model runs at these sizes, with the first integers that it accepts."""
        shapes = {name: list(shape) for name, shape in self._shapes.items()}
        for one, size in zip(self._unknown, sizes, strict=True):
            for name, axis in one.ends:
                shapes[name][axis] = size
        inputs = [Tensor(name, TensorType(tuple(shape), self._dtypes[name])) for name, shape in shapes.items()]
        if sum(tensor.type.bytes for tensor in inputs) > MOST_BYTES:
            return False
        for lowest, bound in INTEGERS:
            if time.monotonic() > self._end_s:
                return False
            try:
                self._session.run(draw(inputs, Recipe(1.0, lowest, bound), 0, self._values), self._outputs)
            except (RuntimeRefusal, CollageError):
                continue
            return True
        return False


def _tried(shapes: Mapping[str, Sequence[int]], unknown: Sequence[Unknown]) -> Iterator[tuple[int, ...]]:
    """Yield sizes to try: the guesses first, then those of other dimensions and 1, then other lengths."""
    ends = {end for one in unknown for end in one.ends}
    said = [one.guess for one in unknown if not one.is_length]
    known = dict.fromkeys(said + [size for name, shape in shapes.items() for axis, size in enumerate(shape) if (name, axis) not in ends])
    lengths = LENGTHS if any(one.is_length for one in unknown) else ()
    for length in (None, *lengths):
        guesses = [length if length and one.is_length else one.guess for one in unknown]
        options = [tuple(dict.fromkeys((guess, *(SIDES if guess in _LIKELY_SIDES else ()), *known, 1))) for guess in guesses]
        yield from islice(sorted(islice(product(*options), MOST_TRIED * 8), key=lambda sizes: _changes(sizes, guesses)), MOST_TRIED)


def _changes(sizes: Sequence[int], guesses: Sequence[int]) -> int:
    return sum(size != guess for size, guess in zip(sizes, guesses, strict=True))


def _ties(runs: _Runs, sizes: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Return the groups of dimensions that take another size together, and not alone."""
    groups: list[tuple[int, ...]] = []
    for first, size in enumerate(sizes):
        equal = [other for other in range(first + 1, len(sizes)) if sizes[other] == size]
        if not equal or any(first in group for group in groups) or runs.accept(_with(sizes, (first,), size + 1)):
            continue
        pairs = [(first, other) for other in equal]
        wider = [(first, *equal)] if len(equal) > 1 else []
        group = next((group for group in (*pairs, *wider) if runs.accept(_with(sizes, group, size + 1))), None)
        if group is not None:
            groups.append(group)
    return tuple(groups)


def _with(sizes: tuple[int, ...], changed: Sequence[int], size: int) -> tuple[int, ...]:
    return tuple(size if index in changed else one for index, one in enumerate(sizes))
