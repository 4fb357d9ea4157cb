"""Inlines the local functions of a model, after checking what they grow to: a few functions that call each other twice make millions
of nodes.

A `ModelProto` with functions enters; one without leaves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from onnx import FunctionProto, ModelProto, NodeProto, checker, helper, inliner

from ...errors import CollageError
from ...graph.topological_order import topological_order
from ..nodes import MOST_NODES, ONNX_DOMAINS, all_nodes, check_size, inner_graphs, opset_versions, since_version
from ..refusals import error_text
from .external_data import MOST_BYTES


def inline_functions(model: ModelProto) -> ModelProto:
    """Return `model`, which has functions, with their bodies in place of their calls.

    Raises:
        CollageError: the functions call each other in a circle, make too many nodes or bytes, or cannot be inlined.
    """
    _check_growth(model)
    try:
        return inliner.inline_local_functions(_of_one_opset(model), convert_version=True)
    except (RuntimeError, ValueError, checker.ValidationError) as error:
        raise CollageError(
            f"the model's local functions cannot be inlined: {error_text(error)}", "export it without functions", "unsupported"
        ) from error


def _of_one_opset(model: ModelProto) -> ModelProto:
    """Return `model` with its functions in its own version of ONNX's operators where none of theirs has changed between the two.

    ONNX converts the others. It asks for the types of what they read, and does not look at initializers for these.
    """
    version = opset_versions(model).get("", 0)
    imported = [entry for function in model.functions for entry in function.opset_import if entry.domain in ONNX_DOMAINS]
    if all(entry.version == version for entry in imported):
        return model
    copy = ModelProto()
    copy.CopyFrom(model)
    for function in copy.functions:
        for entry in function.opset_import:
            if entry.domain in ONNX_DOMAINS and _is_unchanged(function, entry.version, version):
                entry.version = version
    typed = {value.name for value in (*copy.graph.value_info, *copy.graph.input)}
    untyped = [tensor for tensor in copy.graph.initializer if tensor.name not in typed]
    copy.graph.value_info.extend(helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims) for tensor in untyped)
    return copy


def _is_unchanged(function: FunctionProto, one: int, other: int) -> bool:
    """Return whether each operator of a function is the same in two versions."""
    newest = max(one, other)
    return all(since_version(node, newest) <= min(one, other) for node in all_nodes(function))


def _check_growth(model: ModelProto) -> None:
    functions = {_key(function.domain, function.name, function): index for index, function in enumerate(model.functions)}
    called = [_calls(_with_inner(function.node), functions) for function in model.functions]
    order = topological_order([set(calls) for _, calls in called])
    if len(order) < len(called):
        stuck = next(index for index in range(len(called)) if index not in set(order))
        message = f"the local function {model.functions[stuck].name!r} calls itself, at once or by others"
        raise CollageError(message, "the model is broken: export it again", "broken_model")
    nodes, size = [0] * len(called), [0] * len(called)
    for index in order:
        own, calls = called[index]
        # Bounded at each step: the numbers themselves may double at each function.
        nodes[index] = min(own + sum(nodes[call] for call in calls), 100 * MOST_NODES)
        size[index] = min(model.functions[index].ByteSize() + sum(size[call] for call in calls), 100 * MOST_BYTES)
    own, calls = _calls(all_nodes(model.graph), functions)
    check_size(own + sum(nodes[call] for call in calls))
    if model.graph.ByteSize() + sum(size[call] for call in calls) > MOST_BYTES:
        raise CollageError(
            "the model's local functions make more than 2 GiB of it when they are inlined", "export it without functions", "too_big"
        )


def _calls(nodes: Iterable[NodeProto], functions: dict[tuple[str, str, str], int]) -> tuple[int, list[int]]:
    """Return how many of `nodes` call no function, and the indices of the functions that the others call."""
    own, calls = 0, []
    for node in nodes:
        index = functions.get(_key(node.domain, node.op_type, node))
        if index is None:
            own += 1
        else:
            calls.append(index)
    return own, calls


def _key(domain: str, name: str, of: object) -> tuple[str, str, str]:
    return "" if domain in ONNX_DOMAINS else domain, name, getattr(of, "overload", "")


def _with_inner(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    for node in nodes:
        yield node
        for inner in inner_graphs(node):
            yield from all_nodes(inner)
