"""Puts the branch that an `If` always takes in its place, where its condition follows from constants and from fixed shapes alone.

A normalised model with fixed input shapes, and inputs to run it on, enter; a model that computes the same with fewer `If` nodes leaves. A
condition is the same at each call if nothing that it is computed from depends on data, so one run tells its value. ONNX Runtime's own
folding does this too. It also infers the shapes of the branches that are not taken, which need not fit the fixed shapes, and then it
refuses the model; in branches within branches, it crashes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, ValueInfoProto, helper

from ...graph.control_flow import IF
from ..files.external_data import values_of
from ..model import Arrays, FoldedNode
from ..nodes import ONNX_DOMAINS, inner_graphs, op_name, unique_names
from ..reference.ort_session import OrtSession, RuntimeRefusal
from ..shapes.open_axes import names_without_data
from .normalising import normalise

MOST_ROUNDS = 32
"""Branches may hold further `If` nodes, whose conditions may depend on shapes that a branch returns; this many rounds are made."""

Run = Callable[[OrtSession, list[str]], Arrays]
"""Runs a session on inputs of the model, and returns the outputs of these names; raises RuntimeRefusal."""


def take_branches(model: ModelProto, run: Run) -> tuple[ModelProto, tuple[FoldedNode, ...]]:
    """Return `model` without the `If` nodes that always take the same branch, and the nodes that it has no more.

    It is `model` itself where there are none, or where ONNX Runtime cannot compute their conditions.
    """
    gone: list[FoldedNode] = []
    for _ in range(MOST_ROUNDS):
        known = names_without_data(model.graph)
        decided = [node for node in model.graph.node if node.op_type == IF and node.domain in ONNX_DOMAINS and {*node.input} <= known]
        if not decided:
            break
        try:
            taken = _conditions(model, {node.input[0] for node in decided}, run)
        except RuntimeRefusal:
            break
        gone += [FoldedNode(node.name, op_name(node), None) for node in decided]
        model, dropped = normalise(_with_branches(model, {node.name: taken[node.input[0]] for node in decided}))
        gone += dropped
        if not model.graph.node:
            break
    return model, tuple(gone)


def _conditions(model: ModelProto, names: set[str], run: Run) -> dict[str, bool]:
    """Return the values of the conditions `names`: constants, or by a run of the nodes that they are computed from."""
    values: dict[str, np.ndarray] = {tensor.name: values_of(tensor) for tensor in model.graph.initializer if tensor.name in names}
    computed = sorted(names - values.keys())
    if computed:
        part = ModelProto()
        part.CopyFrom(model)
        del part.graph.output[:]
        part.graph.output.extend(ValueInfoProto(name=name) for name in computed)
        part, _ = normalise(part)  # It drops the nodes that no condition needs.
        values |= run(OrtSession(part), computed)
    return {name: bool(np.asarray(value).reshape(-1)[0]) for name, value in values.items()}


def _with_branches(model: ModelProto, taken: Mapping[str, bool]) -> ModelProto:
    """Return `model` with a branch in place of each node of `taken`: name of the node → whether its condition holds."""
    copy = ModelProto()
    copy.CopyFrom(model)
    graph = copy.graph
    del graph.node[:]
    counts = Counter(_made_in(model.graph))
    for node in model.graph.node:
        if node.name not in taken:
            graph.node.append(node)
            continue
        attribute = "then_branch" if taken[node.name] else "else_branch"
        branch = GraphProto()
        branch.CopyFrom(next(one.g for one in node.attribute if one.name == attribute))
        nodes = _opened(branch, node, counts)
        graph.initializer.extend(branch.initializer)
        graph.sparse_initializer.extend(branch.sparse_initializer)
        graph.node.extend(nodes)
    return copy


def _opened(branch: GraphProto, node: NodeProto, counts: Counter[str]) -> list[NodeProto]:
    """Return the nodes of `branch`, in which names are changed, so that they can stand in place of `node`.

    What the branch returns gets the name that the node gives it, so that who reads it finds it. A name that the model has elsewhere
    too gets another one: two branches may use the same.

    Args:
        counts: How often each name is made in the model, branches included; new names are added.
    """
    for inner, name in zip(branch.node, unique_names(branch.node), strict=True):
        inner.name = name
    own = Counter(_made_in(branch))
    top = {name for inner in branch.node for name in inner.output} | {tensor.name for tensor in branch.initializer}
    renamed: dict[str, str] = {}
    passed_on: list[NodeProto] = []
    for inside, outside in zip((value.name for value in branch.output), node.output, strict=False):
        if not outside:
            continue
        if inside in top and inside not in renamed:
            renamed[inside] = outside
        else:  # It comes from outside of the branch, or is returned twice.
            passed_on.append(helper.make_node("Identity", [inside], [outside], f"{node.name}/{inside}"))
    for name in own:
        if name not in renamed and counts[name] > own[name]:
            renamed[name] = next(free for at in range(counts.total() + 1) if (free := f"{node.name}/{name}{at or ''}") not in counts)
            counts[renamed[name]] += 1
    _rename(branch, renamed)
    for extra in passed_on:
        extra.input[0] = renamed.get(extra.input[0], extra.input[0])
    return [*branch.node, *passed_on]


def _made_in(graph: GraphProto) -> Iterator[str]:
    """Yield each name that `graph`, or a graph within it, gives to a tensor."""
    yield from (value.name for value in graph.input)
    yield from (tensor.name for tensor in graph.initializer)
    yield from (tensor.values.name for tensor in graph.sparse_initializer)
    for node in graph.node:
        yield from filter(None, node.output)
        for inner in inner_graphs(node):
            yield from _made_in(inner)


def _rename(graph: GraphProto, renamed: Mapping[str, str]) -> None:
    """Give the tensors of `graph`, and of the graphs within it, other names, in place."""
    for owner in (*graph.input, *graph.output, *graph.initializer, *(tensor.values for tensor in graph.sparse_initializer)):
        owner.name = renamed.get(owner.name, owner.name)
    for node in graph.node:
        node.input[:] = [renamed.get(name, name) for name in node.input]
        node.output[:] = [renamed.get(name, name) for name in node.output]
        for inner in inner_graphs(node):
            _rename(inner, renamed)
