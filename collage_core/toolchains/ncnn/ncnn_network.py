"""`Network`: layers of ncnn under construction, written as ncnn's parameter text and one block of weights.

Layers, the shapes of what they make, and weights enter; a text, a block of bytes and the indices of blobs leave. ncnn itself is not
imported. ncnn wants every blob read once, so a blob that several read passes through a layer ``Split``, which copies nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np

MatShape = tuple[int, ...]
"""Shape of a Mat from the outermost axis to the innermost: ``(w,)``, ``(h, w)``, ``(c, h, w)`` or ``(c, d, h, w)``."""

Parameter = int | float | tuple[int, ...] | tuple[float, ...]

_MAGIC = 7767517
_ARRAY = -23300
_SHAPE_HINTS = 30
_FLOAT32 = b"\0\0\0\0"
"""Mark before weights that ncnn would otherwise accept as half-precision or quantised numbers too."""

FRESH = frozenset(
    """
    Concat Convolution ConvolutionDepthWise Deconvolution DeconvolutionDepthWise Gemm GRU InnerProduct LSTM MatMul Pooling Reduction
    """.split()  # noqa: SIM905 - a list of words reads better as words
)
"""Layers that never write into the memory of what they read, nor hand it on: only these may read the caller's own buffers."""


@dataclass(frozen=True)
class Value:
    """A tensor inside the network: its blob, and the shape of its Mat. Its elements are in the order of the ONNX tensor."""

    blob: str
    shape: MatShape


@dataclass
class Layer:
    """One layer; `shapes` are those of `tops`, and `node` is the index of the node for which it was added: None for an input."""

    type: str
    bottoms: list[str]
    tops: list[str]
    shapes: list[MatShape]
    parameters: Mapping[int, Parameter]
    weights: bytes = b""
    node: int | None = None

    def line(self, index: int, with_hints: bool) -> str:
        """Return the layer as a line of parameter text, with the shapes of its tops where `with_hints` is set."""
        words = [self.type, f"l{index}", str(len(self.bottoms)), str(len(self.tops)), *self.bottoms, *self.tops]
        words += [_written(number, value) for number, value in self.parameters.items()]
        if with_hints and all(len(shape) < 4 for shape in self.shapes):
            words.append(_written(_SHAPE_HINTS, tuple(number for shape in self.shapes for number in _hint(shape))))
        return " ".join(words)


def _written(number: int, value: Parameter) -> str:
    """Return a parameter in ncnn's notation, in which only a number with a point or an exponent is a float."""
    if isinstance(value, tuple):
        return f"{_ARRAY - number}={','.join([str(len(value)), *map(_number, value)])}"
    return f"{number}={_number(value)}"


def _number(value: int | float) -> str:
    return f"{value:.9e}" if isinstance(value, float) else str(int(value))


def _hint(shape: MatShape) -> tuple[int, ...]:
    """Return dims, w, h and c of a Mat of up to three axes."""
    return (len(shape), *reversed(shape), *[1] * (3 - len(shape)))


@dataclass
class Network:
    """Layers in the order in which they run.

    Attributes:
        node: Index of the node for which layers are added now.
    """

    layers: list[Layer] = field(default_factory=list)
    node: int | None = None
    _views: dict[tuple[str, MatShape], Value] = field(default_factory=dict)
    _origins: dict[str, Value] = field(default_factory=dict)

    def add(
        self, type: str, bottoms: Iterable[Value], shape: MatShape, parameters: Mapping[int, Parameter] | None = None, weights: bytes = b""
    ) -> Value:
        """Add a layer that makes one Mat of `shape`."""
        return self.add_many(type, bottoms, [shape], parameters, weights)[0]

    def add_many(
        self,
        type: str,
        bottoms: Iterable[Value],
        shapes: Sequence[MatShape],
        parameters: Mapping[int, Parameter] | None = None,
        weights: bytes = b"",
    ) -> list[Value]:
        """Add a layer that makes one Mat of each of `shapes`."""
        tops = [f"b{len(self.layers)}_{index}" for index in range(len(shapes))]
        self.layers.append(Layer(type, [value.blob for value in bottoms], tops, list(shapes), parameters or {}, weights, self.node))
        return [Value(top, shape) for top, shape in zip(tops, shapes, strict=True)]

    def view(self, value: Value, shape: MatShape) -> Value:
        """Return the same elements in a Mat of another shape."""
        if prod(shape) != prod(value.shape):
            raise ValueError(f"a Mat of shape {list(value.shape)} cannot be viewed as {list(shape)}")
        origin = self._origins.get(value.blob, value)
        if origin.shape == shape:
            return origin
        key = origin.blob, shape
        if key not in self._views:
            sizes = {4: (0, 1, 11, 2), 3: (0, 1, 2), 2: (0, 1), 1: (0,)}[len(shape)]
            made = self.add("Reshape", [origin], shape, dict(zip(sizes, reversed(shape), strict=True)))
            self._views[key], self._origins[made.blob] = made, origin
        return self._views[key]

    def constant(self, values: np.ndarray, shape: MatShape) -> Value:
        """Return a Mat that holds `values`."""
        sizes = {4: (0, 1, 11, 2), 3: (0, 1, 2), 2: (0, 1), 1: (0,)}[len(shape)]
        return self.add("MemoryData", [], shape, dict(zip(sizes, reversed(shape), strict=True)), plain(values))

    def finished(self, outputs: Sequence[Value]) -> FinishedNetwork:
        """Return the network with what nobody reads left out and with every blob read once; `outputs` leave in their order."""
        layers = _needed(self.layers, [value.blob for value in outputs])
        split, renamed = _split(layers, [value.blob for value in outputs])
        index_of = {top: index for index, top in enumerate(top for layer in split for top in layer.tops)}
        return FinishedNetwork(tuple(split), tuple(index_of[name] for name in renamed), index_of)


@dataclass(frozen=True)
class FinishedNetwork:
    """A network that ncnn can load.

    Attributes:
        outputs: Index of the blob of each output.
        index_of: Index of each blob, by its name.
    """

    layers: tuple[Layer, ...]
    outputs: tuple[int, ...]
    index_of: Mapping[str, int]

    def text(self, with_hints: bool) -> str:
        """Return the parameter text; `with_hints` tells ncnn the shape of every blob before it prepares the weights."""
        lines = [layer.line(index, with_hints) for index, layer in enumerate(self.layers)]
        return "\n".join([str(_MAGIC), f"{len(lines)} {len(self.index_of)}", *lines, ""])

    def weights(self) -> bytes:
        """Return the weights of all layers, in their order."""
        return b"".join(layer.weights for layer in self.layers)

    def may_share(self, blob: str) -> bool:
        """Return whether the layers that read the input `blob` all leave its memory alone, and let nobody else have it."""
        readers = [layer for layer in self.layers if blob in layer.bottoms]
        return all(
            layer.type in FRESH
            or (layer.type == "BinaryOp" and len(layer.bottoms) == 2)
            or (layer.type == "Split" and all(map(self.may_share, layer.tops)))
            for layer in readers
        )


def _needed(layers: Sequence[Layer], outputs: Iterable[str]) -> list[Layer]:
    """Return the layers that `outputs` depend on."""
    wanted, kept = set(outputs), []
    for layer in reversed(layers):
        if wanted.intersection(layer.tops):
            wanted.update(layer.bottoms)
            kept.append(layer)
    return kept[::-1]


def _split(layers: Sequence[Layer], outputs: Sequence[str]) -> tuple[list[Layer], list[str]]:
    """Return `layers` with a ``Split`` after each blob that is read several times, and the new names of `outputs`."""
    reads = Counter(name for layer in layers for name in layer.bottoms) + Counter(outputs)
    copies: dict[str, Iterator[str]] = {}
    blobs = []

    def next_name(name: str) -> str:
        return next(copies[name]) if name in copies else name

    for layer in layers:
        bottoms = [next_name(name) for name in layer.bottoms]
        blobs.append(replace(layer, bottoms=bottoms))
        for top, shape in zip(layer.tops, layer.shapes, strict=True):
            if reads[top] > 1:
                names = [f"{top}_{index}" for index in range(reads[top])]
                copies[top] = iter(names)
                blobs.append(Layer("Split", [top], names, [shape] * len(names), {}, node=layer.node))
    return blobs, [next_name(name) for name in outputs]


def plain(*weights: np.ndarray) -> bytes:
    """Return weights that ncnn reads without a mark."""
    return b"".join(np.ascontiguousarray(array, np.float32).tobytes() for array in weights)


def marked(weights: np.ndarray) -> bytes:
    """Return weights that ncnn reads with a mark of their type."""
    return _FLOAT32 + plain(weights)
