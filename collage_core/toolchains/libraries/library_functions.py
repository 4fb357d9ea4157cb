"""`LibraryToolchain`: a toolchain whose candidates are the calls that a library has a function for, found by labelled patterns.

A toolchain of this kind registers each function with a decorator, a label and a pattern (`LibraryFunctions.add`); the rule tree, the
package and the kernel follow from these. A package is the sub-model itself. Weights are prepared once, when it is loaded, and belong to
that kernel: nothing is shared between two kernels that compute the same. docs/toolchains.md shows a complete example.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

import numpy as np

from ...graph.dataflow_graph import DataflowGraph, Node, Tensor, TensorType
from ...graph.index_set import IndexSet
from ...graph.topological_order import topological_order
from ...model.model import SubModel
from ...rules.pattern import Matcher, parse_pattern
from ..border import one_line, with_weights_inside
from ..toolchain import Kernel, Toolchain, ToolchainError
from .native_call import NativeCall

if TYPE_CHECKING:
    import tvm
    from onnx import ModelProto

    from ...rules.rule import PartitionRule, RuleOptions


@dataclass(frozen=True)
class LibraryCall:
    """The nodes that one call of a library function computes, as the function gets them when a kernel is loaded.

    Attributes:
        nodes: The nodes in the order of the model. The last one makes the output; no other tensor is read outside.
        inputs: Names of the tensors that `Bind` gets, in order.
        types: Types of all tensors by name.
        weights: Values of the constants by name.
        threads: Threads that the function may use.
    """

    nodes: tuple[Node, ...]
    inputs: tuple[str, ...]
    types: Mapping[str, TensorType]
    weights: Mapping[str, np.ndarray]
    threads: int


Run = Callable[[], None]
Bind = Callable[[Sequence[np.ndarray], np.ndarray], Run]
"""Gets the buffers of the inputs and of the output, and returns what computes once on them."""
Prepare = Callable[[LibraryCall], Bind]
"""Prepares a call, its weights included. Raises ToolchainError where the library cannot do it."""
Refusal = Callable[[DataflowGraph, Sequence[Node]], str]
"""Returns why the library does not take nodes that the pattern matches; empty where it does."""


@dataclass(frozen=True)
class LibraryFunction:
    """A function of a library: the label of its candidates, the pattern that finds them, and what prepares a call."""

    label: str
    pattern: str
    refusal: Refusal
    prepare: Prepare

    def computes(self, graph: DataflowGraph) -> bool:
        """Return whether the pattern matches all of `graph` at once."""
        last = len(graph.nodes) - 1
        return any(len(inside) == len(graph.nodes) for inside in Matcher(parse_pattern(self.pattern), graph).at(last))


def _takes_all(_graph: DataflowGraph, _nodes: Sequence[Node]) -> str:
    return ""


class LibraryFunctions:
    """The functions of a library that a toolchain offers, in the order in which they were added.

    Args:
        dtypes: The dtypes that the library computes in.
    """

    def __init__(self, *dtypes: str):
        self._dtypes = dtypes or ("float32",)
        self._functions: list[LibraryFunction] = []

    def add(self, label: str, pattern: str, refusal: Refusal = _takes_all) -> Callable[[Prepare], Prepare]:
        """Return a decorator that offers a function of the library for what `pattern` matches.

        Args:
            label: Name of the candidates, such as ``conv2d_relu``.
            pattern: The pattern, as docs/rules.md defines it.
            refusal: What a pattern cannot say.

        Raises:
            CollageError: the pattern does not parse.
            ValueError: a function of that label has been added before.
        """
        parse_pattern(pattern)
        if any(function.label == label for function in self._functions):
            raise ValueError(f"there is a library function {label!r} already")

        def added(prepare: Prepare) -> Prepare:
            self._functions.append(LibraryFunction(label, pattern, refusal, prepare))
            return prepare

        return added

    def rule(self, options: RuleOptions) -> PartitionRule:
        """Return the rule tree: a candidate for each call of a function, none combined."""
        from ...rules.combinators import Union, fusion_tree

        return fusion_tree(Union(tuple(map(self._rule_of, self._functions))), options, style="none", depth=1)

    def _rule_of(self, function: LibraryFunction) -> PartitionRule:
        from ...rules.base_rules import DFPattern
        from ...rules.combinators import Composite, MatchCheck

        @wraps(function.refusal)  # the rule tree names the function
        def check(graph: DataflowGraph, inside: IndexSet) -> str:
            return function.refusal(graph, [graph.nodes[index] for index in inside])

        return Composite(function.label, MatchCheck(check, DFPattern(function.pattern, function.label, self._dtypes)))

    def function_for(self, graph: DataflowGraph) -> LibraryFunction:
        """Return the function that computes all of `graph` in one call.

        Raises:
            ToolchainError: there is none, at stage ``import``.
        """
        ops = ", ".join(node.op for node in graph.nodes)
        odd = next((tensor for node in graph.nodes for tensor in node.outputs if tensor.type.dtype not in self._dtypes), None)
        if odd is not None:
            raise ToolchainError("import", f"no library function computes {ops} in {odd.type.dtype}")
        found = next((function for function in self._functions if function.computes(graph)), None)
        if found is None:
            raise ToolchainError("import", f"no library function computes {ops} in one call")
        reason = found.refusal(graph, graph.nodes)
        if reason:
            raise ToolchainError("import", f"{found.label}: {reason}")
        return found


@runtime_checkable
class NativeCalls(Protocol):
    """A library that TVM's kernels call without Python."""

    functions: ClassVar[LibraryFunctions]

    def native_call(self, call: LibraryCall) -> NativeCall | None:
        """Return `call` for a kernel of TVM's; None where only Python can make it."""


class LibraryToolchain(Toolchain):
    """A toolchain that calls a library.

    Attributes:
        functions: The functions of the library that it offers.
    """

    style = "library"
    build_s = 0.002
    functions: ClassVar[LibraryFunctions]

    def rule(self, options: RuleOptions) -> PartitionRule:
        return self.functions.rule(options)

    def build(self, model: SubModel, threads: int) -> bytes:
        """Return the sub-model itself, once a call has been prepared from it."""
        prepared(self.functions, model.onnx, model.inputs, model.outputs, threads)
        return model.onnx

    def load(self, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel:
        try:
            return _LibraryKernel(prepared(self.functions, package, inputs, outputs, threads))
        except ToolchainError as error:
            raise ToolchainError("build", error.message) from error

    def prepare(self, module: tvm.IRModule) -> tvm.IRModule:
        """Return the function as a call of a PrimFunc that makes the native call; as it is where there is none, or no compiler."""
        if not isinstance(self, NativeCalls):
            return module
        from .tvm_library_calls import with_native_call

        return with_native_call(module, self.name, partial(_native, self))

    def native_module(self, model: SubModel, threads: int) -> tvm.IRModule | None:
        """Return `model` as `relax_module` does, with a ``main`` that makes the native call; None where there is none, or no compiler.

        Raises:
            ToolchainError: no function of the library computes `model`.
        """
        if not isinstance(self, NativeCalls):
            return None
        from .tvm_library_calls import native_module

        return native_module(with_weights_inside(model), threads, self.name, partial(_native, self))


def _native(toolchain: NativeCalls, model: SubModel, threads: int) -> tuple[str, NativeCall | None]:
    """Return the label of the function that computes `model`, and its native call."""
    function, call = call_of(toolchain.functions, model.onnx, model.inputs, model.outputs, threads)
    return function.label, toolchain.native_call(call)


def prepared(functions: LibraryFunctions, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Bind:
    """Return the call of the function that computes the model in `package`, prepared.

    Raises:
        ToolchainError: it is no model, no function computes it, or its function fails.
    """
    function, call = call_of(functions, package, inputs, outputs, threads)
    try:
        return function.prepare(call)
    except ToolchainError:
        raise
    except Exception as error:  # any exception of a function is its reason
        raise ToolchainError("build", f"{function.label}: {one_line(error)}") from error


def call_of(
    functions: LibraryFunctions, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int
) -> tuple[LibraryFunction, LibraryCall]:
    """Return the function that computes the model in `package`, and its call.

    Raises:
        ToolchainError: it is no model, or no function computes it.
    """
    from onnx import ModelProto, numpy_helper

    from ..sub_model_graph import graph_of

    try:
        proto = _without_constant_nodes(ModelProto.FromString(package))
    except Exception as error:  # any exception of protobuf, or of ONNX Runtime as it folds, is its reason
        raise ToolchainError("import", one_line(error)) from error
    graph = graph_of(proto, outputs)
    function = functions.function_for(graph)
    if [tensor.name for tensor in outputs] != [tensor.name for tensor in graph.nodes[-1].outputs]:
        raise ToolchainError("import", f"{function.label}: a tensor inside the call is read outside, a library function makes one")
    weights = {tensor.name: numpy_helper.to_array(tensor) for tensor in proto.graph.initializer}
    types = {**graph.types, **{name: constant.type for name, constant in graph.constants.items()}}
    return function, LibraryCall(graph.nodes, tuple(tensor.name for tensor in inputs), types, weights, threads)


def _without_constant_nodes(proto: ModelProto) -> ModelProto:
    """Return `proto` folded where a node of it reads constants alone: part of a Relax module may hold the reshape of a bias."""
    constants = {tensor.name for tensor in proto.graph.initializer}
    if not any(node.input and constants.issuperset(filter(None, node.input)) for node in proto.graph.node):
        return proto
    from ...model.forms.folding import fold

    folded = fold(proto)
    nodes = list(folded.graph.node)
    maker = {name: index for index, node in enumerate(nodes) for name in node.output}
    order = topological_order([{maker[name] for name in node.input if name in maker} for node in nodes])
    del folded.graph.node[:]
    folded.graph.node.extend(nodes[index] for index in order)
    return folded


class _LibraryKernel:
    """One call of a library function, on the bound buffers."""

    def __init__(self, bind: Bind):
        self._bind = bind
        self._run: Run = _unbound
        self._buffers: tuple[np.ndarray, ...] = ()

    def bind(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
        self._buffers = (*inputs, *outputs)
        self._run = self._bind(inputs, outputs[0])

    def run(self) -> None:
        self._run()


def _unbound() -> None:
    raise ToolchainError("run", "no buffers are bound")
