"""The toolchain `onednn`: oneDNN's convolution, matrix product and inner product, each with what follows it in the same call.

A candidate is one primitive: the product, a bias, a sum with another tensor, and an activation, as oneDNN's post-operations. Around a
convolution it reorders images into the layout that the primitive prefers, where that pays. Weights are reordered once, when a package
is loaded. `onednn_library` has the C interface; the library is loaded by `build`, `load` and `native_call` alone. Kernels of TVM's make
the same primitive by ``onednn_calls.c``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ...base.extras import install_command
from ...graph.dataflow_graph import DataflowGraph, Node, TensorType
from ...rules.operators import type_of
from ..toolchain import Availability
from .library_functions import Bind, LibraryCall, LibraryFunctions, LibraryToolchain, Run
from .native_call import NativeCall
from .onednn_library import (
    BIAS,
    CONVOLUTION_DIRECT,
    DESTINATION,
    INFERENCE,
    KINDS,
    MOST_AXES,
    NO_LAYOUT,
    PACKAGE,
    SOURCE,
    SPIN_COUNT,
    WEIGHTS,
    Extents,
    Handle,
    OneDnn,
    PostOperation,
    Step,
    added,
    chosen,
    eltwise,
    given,
    library_path,
    onednn,
    post_numbers,
)

CALLS_VERSION = "+collage.1"
"""Version of the calls here, which the toolchain's version ends with. Count up when kernels change, so that
their costs are measured again."""
FUNCTIONS = LibraryFunctions("float32")
CALLS_IN_C = Path(__file__).with_name("onednn_calls.c")
VARIABLE = "COLLAGE_ONEDNN"
"""The variable of the environment that names the library to ``onednn_calls.c``."""
FAILURES = (
    f"oneDNN cannot be loaded: set {VARIABLE} to its file",
    "oneDNN fails",
    "the weights were packed for another processor or version of oneDNN: partition the module here",
)

_RELU, _TANH, _LOGISTIC, _GELU_TANH, _CLIP, _GELU_ERF = 0x20, 0x21, 0x29, 0x2B, 0x2E, 0x31
_LARGEST = float(np.finfo(np.float32).max)
ACTIVATIONS = ("Relu", "LeakyRelu", "Clip", "Gelu", "Sigmoid", "Tanh")
_PRODUCTS = {"conv": "Conv(*, *)", "matmul": "MatMul(*, *)", "inner_product": "Gemm(*, *)"}


class OneDnnToolchain(LibraryToolchain):
    """Takes convolutions and products of matrices in float32, each with a sum and an activation behind it."""

    name = "onednn"
    letter = "D"
    distributions = (PACKAGE,)
    functions = FUNCTIONS

    def availability(self) -> Availability:
        if library_path() is None:
            return Availability(
                False, reason=f"the package {PACKAGE} is not installed", hint=install_command("onednn"), precision="float32"
            )
        return Availability(True, metadata.version(PACKAGE) + CALLS_VERSION, precision="float32")

    def environment(self) -> dict[str, str]:
        path = library_path()
        return {VARIABLE: str(path)} if path else {}

    def native_call(self, call: LibraryCall) -> NativeCall | None:
        first = call.nodes[0]
        product = _PRODUCT_OF[first.op](call, first)
        if len(product.weights) > MOST_AXES:
            return None
        behind, library = _behind(call, product), onednn()
        library.use_threads(call.threads)
        layout = library.layout(descriptor := _descriptor(library, call, product, behind), WEIGHTS)
        numbers = [call.threads, *_native_numbers(call, product, behind)]
        factor: str | np.ndarray = product.factor
        if product.factor in call.weights:
            numbers += library.layout_numbers(layout)
            factor = library.reordered(call.weights[product.factor], library.plain(product.weights, product.strides), layout)
        del descriptor  # it has the layout
        source = first.inputs[0]
        operands = (
            _operand(call, source),
            factor,
            source if behind.bias is None else behind.bias,
            _operand(call, behind.residual) if behind.residual else source,
        )
        words = (("LIBRARY", str(library_path())), ("IDLE", SPIN_COUNT))
        return NativeCall(CALLS_IN_C, words, " ".join(map(str, numbers)), operands, FAILURES)


@dataclass(frozen=True)
class _Product:
    """The product of a call as matrices or images of equal rank, as oneDNN takes them.

    Attributes:
        source, weights, destination: Shapes.
        strides: Strides of the weights; None for C's order.
        factor: Name of the second operand.
        bias: The bias of the product itself.
    """

    source: tuple[int, ...]
    weights: tuple[int, ...]
    destination: tuple[int, ...]
    factor: str
    strides: tuple[int, ...] | None = None
    bias: str = ""


def refusal(graph: DataflowGraph, nodes: Sequence[Node]) -> str:
    """Return why oneDNN does not take the call that `nodes` are; empty where it does."""
    first, names = nodes[0], {tensor.name for node in nodes for tensor in node.outputs}
    reason = _PRODUCT_REFUSALS[first.op](graph, first)
    if reason:
        return reason
    for before, node in pairwise(nodes):
        output = before.outputs[0]
        if node.op == "Add":
            others = [name for name in node.inputs if name != output.name]
            if len(others) != 1 or others[0] in names or not _is_added(graph, others[0], output.type, node.outputs[0].type, first.op):
                return "what is added is neither a constant for each channel nor a tensor of the same shape"
        elif node.inputs[0] != output.name or any(name not in graph.constants for name in node.inputs[1:] if name):
            return f"{node.op} reads a bound that is no constant"
    return ""


def _shape(graph: DataflowGraph, name: str) -> tuple[int, ...]:
    known = type_of(graph, name)
    assert known is not None
    return known.shape


def _is_added(graph: DataflowGraph, name: str, to: TensorType, made: TensorType, op: str) -> bool:
    shape = _shape(graph, name)
    if made.shape != to.shape:
        return False
    return shape == to.shape or (name in graph.constants and _is_per_channel(shape, to.shape, 1 if op == "Conv" else len(to.shape) - 1))


def _is_per_channel(shape: tuple[int, ...], of: tuple[int, ...], axis: int) -> bool:
    """Return whether a tensor of `shape` has one element for each index of `axis` of a tensor of shape `of`, to which it is broadcast."""
    wanted = tuple(extent if index == axis else 1 for index, extent in enumerate(of))
    return len(shape) <= len(of) and (1,) * (len(of) - len(shape)) + shape == wanted


def _convolution_refusal(graph: DataflowGraph, node: Node) -> str:
    rank = len(_shape(graph, node.inputs[0]))
    if not 3 <= rank <= 5:
        return f"a convolution of rank {rank}"
    if any(name not in graph.constants for name in node.inputs[1:] if name):
        return "the weights of a convolution must be constants"
    if node.attributes.get("auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
        return "pads that go by the size of the output"
    return ""


def _matmul_refusal(graph: DataflowGraph, node: Node) -> str:
    one, other = (_shape(graph, name) for name in node.inputs)
    if min(len(one), len(other)) < 2:
        return "a product with a vector"
    if 0 in one + other:
        return "a tensor without elements"
    return "" if len(other) == 2 or len(one) == len(other) else f"factors of rank {len(one)} and {len(other)}"


def _inner_product_refusal(graph: DataflowGraph, node: Node) -> str:
    attributes, shape = node.attributes, node.outputs[0].type.shape
    if attributes.get("transA", 0) or attributes.get("alpha", 1.0) != 1 or attributes.get("beta", 1.0) != 1:
        return "a first factor that is transposed, or a scale"
    if 0 in shape or 0 in _shape(graph, node.inputs[0]):
        return "a tensor without elements"
    bias = node.inputs[2] if len(node.inputs) > 2 else ""
    if bias and not (bias in graph.constants and _is_per_channel(_shape(graph, bias), shape, 1)):
        return "what is added is no constant for each column"
    return ""


_PRODUCT_REFUSALS: Mapping[str, Callable[[DataflowGraph, Node], str]] = {
    "Conv": _convolution_refusal,
    "MatMul": _matmul_refusal,
    "Gemm": _inner_product_refusal,
}


@dataclass(frozen=True)
class _Behind:
    """Operations that a primitive computes behind its product.

    Attributes:
        operations: The post-operations in order.
        bias: An element for each channel or column; None where there is none.
        residual: Name of the tensor of the same shape that is added; empty where there is none.
    """

    operations: tuple[PostOperation, ...]
    bias: np.ndarray | None
    residual: str


def prepared(call: LibraryCall) -> Bind:
    """Return the call as a primitive with its post-operations, its weights reordered."""
    library, first = onednn(), call.nodes[0]
    library.use_threads(call.threads)
    product = _PRODUCT_OF[first.op](call, first)
    return _Primitive(library, call, product, _behind(call, product)).bind


def _behind(call: LibraryCall, product: _Product) -> _Behind:
    """Return what the nodes behind the product compute; constants for each channel become part of the bias."""
    bias = call.weights[product.bias].reshape(-1) if product.bias else None
    operations: list[PostOperation] = []
    residual, output = "", call.nodes[0].outputs[0]
    for node in call.nodes[1:]:
        if node.op != "Add":
            operations.append(_activation(node, call.weights))
        else:
            other = next(name for name in node.inputs if name != output.name)
            if call.types[other].shape == output.type.shape:
                residual = other
                operations.append(added())
            else:
                values = call.weights[other].reshape(-1)
                bias = values if bias is None else bias + values
        output = node.outputs[0]
    return _Behind(tuple(operations), bias, residual)


def _activation(node: Node, weights: Mapping[str, np.ndarray]) -> PostOperation:
    if node.op == "Clip":
        least, most = [float(weights[name]) if name else None for name in (*node.inputs[1:], "", "")[:2]]
        return eltwise(_CLIP, -_LARGEST if least is None else least, _LARGEST if most is None else most)
    if node.op == "Gelu":
        return eltwise(_GELU_TANH if node.attributes.get("approximate") == "tanh" else _GELU_ERF)
    if node.op == "LeakyRelu":
        return eltwise(_RELU, node.attributes.get("alpha", 0.01))
    return eltwise({"Relu": _RELU, "Sigmoid": _LOGISTIC, "Tanh": _TANH}[node.op])


def _convolution(call: LibraryCall, node: Node) -> _Product:
    shapes = [call.types[name].shape for name in node.inputs[:2]]
    groups, (outs, ins, *window) = node.attributes.get("group", 1), shapes[1]
    weights = (groups, outs // groups, ins, *window) if groups > 1 else shapes[1]
    bias = node.inputs[2] if len(node.inputs) > 2 else ""
    return _Product(shapes[0], weights, node.outputs[0].type.shape, node.inputs[1], None, bias)


def _matmul(call: LibraryCall, node: Node) -> _Product:
    one, other = (call.types[name].shape for name in node.inputs)
    shape = node.outputs[0].type.shape
    if len(other) == 2:
        one, shape = (int(np.prod(one[:-1])), one[-1]), (int(np.prod(shape[:-1])), shape[-1])
    return _Product(one, other, shape, node.inputs[1])


def _inner_product(call: LibraryCall, node: Node) -> _Product:
    source, given = call.types[node.inputs[0]].shape, call.types[node.inputs[1]].shape
    bias = node.inputs[2] if len(node.inputs) > 2 else ""
    shape = node.outputs[0].type.shape
    strides = None if node.attributes.get("transB", 0) else (1, given[1])  # oneDNN has a row for each column of the result
    return _Product(source, (shape[1], source[1]), shape, node.inputs[1], strides, bias)


_PRODUCT_OF: Mapping[str, Callable[[LibraryCall, Node], _Product]] = {"Conv": _convolution, "MatMul": _matmul, "Gemm": _inner_product}


def _descriptor(library: OneDnn, call: LibraryCall, product: _Product, behind: _Behind) -> Handle:
    """Return the descriptor of the primitive; it chooses the layout of constant weights, and of the images of some convolutions."""
    node = call.nodes[0]
    ends = library.any_layout if node.op == "Conv" and _gains_by_layout(product) else library.plain
    source, destination = ends(product.source), ends(product.destination)
    weights = library.any_layout(product.weights) if product.factor in call.weights else library.plain(product.weights, product.strides)
    bias = None if behind.bias is None else library.plain(_bias_shape(node, product))
    operations = library.attributes(behind.operations)
    if node.op == "Conv":
        windows = [Extents(*extents) for extents in _windows(node, product)]
        kinds = (INFERENCE, CONVOLUTION_DIRECT)
        return library.descriptor("convolution_forward", *kinds, source, weights, bias, destination, *windows, operations)
    if node.op == "Gemm":
        return library.descriptor("inner_product_forward", INFERENCE, source, weights, bias, destination, operations)
    return library.descriptor("matmul", source, weights, bias, destination, operations)


def _native_numbers(call: LibraryCall, product: _Product, behind: _Behind) -> list[int]:
    """Return what `_descriptor` hands to the library, as ``onednn_calls.c`` reads it."""
    node = call.nodes[0]
    ends = chosen if node.op == "Conv" and _gains_by_layout(product) else given
    weights = chosen(product.weights) if product.factor in call.weights else given(product.weights, product.strides)
    bias = [NO_LAYOUT] if behind.bias is None else given(_bias_shape(node, product))
    windows = _windows(node, product) if node.op == "Conv" else ()
    counted = [len(windows[0]), *(number for numbers in windows for number in numbers)] if windows else []
    layouts = [*ends(product.source), *weights, *bias, *ends(product.destination)]
    return [KINDS[node.op], *layouts, *counted, *post_numbers(behind.operations), int(bool(behind.residual))]


def _operand(call: LibraryCall, name: str) -> str | np.ndarray:
    return np.ascontiguousarray(call.weights[name]) if name in call.weights else name


def _bias_shape(node: Node, product: _Product) -> tuple[int, ...]:
    if node.op == "MatMul":
        return (*[1] * (len(product.destination) - 1), product.destination[-1])
    return (product.destination[1],)


def _gains_by_layout(product: _Product) -> bool:
    """Return whether a convolution is faster in a layout of oneDNN's own with two reorders than as a product of plain matrices.

    A window of one pixel is such a product as it stands.
    """
    return any(extent > 1 for extent in product.weights[len(product.weights) - len(product.source) + 2 :])


def _windows(node: Node, product: _Product) -> tuple[tuple[int, ...], ...]:
    """Return strides, dilations (0 for dense windows, as oneDNN counts), and the pads before and after."""
    axes = len(product.source) - 2
    strides = tuple(node.attributes.get("strides", [1] * axes))
    dilations = tuple(extent - 1 for extent in node.attributes.get("dilations", [1] * axes))
    pads = tuple(node.attributes.get("pads", [0] * 2 * axes))
    return strides, dilations, pads[:axes], pads[axes:]


class _Primitive:
    """A primitive with its memories, and the reorders before and after it.

    The caller's tensors are plain. Where the primitive prefers another layout, the source is reordered before it and the destination
    after it. A tensor that is added is copied to the destination first, since oneDNN adds to what stands there.
    """

    def __init__(self, library: OneDnn, call: LibraryCall, product: _Product, behind: _Behind):
        self._library, self._call = library, call
        self._steps: list[Step] = []
        self._callers: list[tuple[str, Handle]] = []
        self._kept: list[Any] = []
        descriptor = _descriptor(library, call, product, behind)
        plain = library.plain(product.destination)
        self._output = made = library.memory_of_caller(plain.pointer)
        memories = {
            SOURCE: self._arrival(call.nodes[0].inputs[0], library.plain(product.source), library.layout(descriptor, SOURCE)),
            WEIGHTS: self._arrival(product.factor, library.plain(product.weights, product.strides), library.layout(descriptor, WEIGHTS)),
        }
        if behind.bias is not None:
            memories[BIAS] = self._constant(behind.bias, library.plain(_bias_shape(call.nodes[0], product)))
        inner = library.layout(descriptor, DESTINATION)
        if not library.equal(inner, plain.pointer):
            made = library.memory(inner)
        if behind.residual:
            self._reorder(self._given(behind.residual, plain), plain.pointer, made, inner)
        self._execute(library.primitive(descriptor), {**memories, DESTINATION: made})
        if made is not self._output:
            self._reorder(made, inner, self._output, plain.pointer)
        self._kept.append(descriptor)

    def bind(self, inputs: Sequence[np.ndarray], output: np.ndarray) -> Run:
        arrays = dict(zip(self._call.inputs, inputs, strict=True))
        for name, memory in self._callers:
            self._library.use(memory, arrays[name])
        self._library.use(self._output, output)
        return self._library.runner(self._steps, self._call.threads)

    def _arrival(self, name: str, plain: Handle, wanted: Any) -> Handle:
        """Return the tensor `name` in the layout `wanted`: reordered now where it is a constant, else at every run."""
        memory = self._given(name, plain)
        if self._library.equal(plain.pointer, wanted):
            return memory
        moved = self._library.memory(wanted)
        self._reorder(memory, plain.pointer, moved, wanted)
        if name in self._call.weights:
            self._library.runner([self._steps.pop()], self._call.threads)()
        self._kept.append(moved)
        return moved

    def _given(self, name: str, plain: Handle) -> Handle:
        """Return the tensor `name` as it is given: a constant, or an input of the caller's."""
        if name in self._call.weights:
            return self._constant(self._call.weights[name], plain)
        memory = self._library.memory_of_caller(plain.pointer)
        self._callers.append((name, memory))
        return memory

    def _constant(self, values: np.ndarray, plain: Handle) -> Handle:
        memory, array = self._library.memory_of_caller(plain.pointer), np.ascontiguousarray(values)
        self._library.use(memory, array)
        self._kept += [memory, array]
        return memory

    def _reorder(self, source: Handle, given: Any, destination: Handle, wanted: Any) -> None:
        self._execute(self._library.reorder(given, wanted), {SOURCE: source, DESTINATION: destination})

    def _execute(self, primitive: Handle, memories: Mapping[int, Handle]) -> None:
        self._steps.append(self._library.step(primitive, memories))
        self._kept += [primitive, *memories.values()]


def _add_functions() -> None:
    """Offer each product by itself, with a sum, with an activation, and with both."""
    for label, product in _PRODUCTS.items():
        for added_label, behind in (("", product), ("_add", f"Add({product}, *)")):
            FUNCTIONS.add(label + added_label, behind, refusal)(prepared)
            activated = " | ".join(f"{op}({behind})" for op in ACTIVATIONS)
            FUNCTIONS.add(f"{label}{added_label}_activation", activated, refusal)(prepared)


_add_functions()
