"""Turns what a toolchain's profiler says of its own kernels into times of the sub-model's nodes.

A toolchain compiles the sub-model of `labelled`, in which every node and every tensor that a node makes is called after the node's index.
So the labels can be read off the names of the kernels, whatever the toolchain fused. `node_times` gives each kernel its nodes: what
carries no label, such as a change of layout, goes to the kernel that reads it. Nothing is compiled or run here.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from onnx import ModelProto

from ..model.forms.cutting import renamed
from ..model.model import SubModel
from ..model.nodes import read_by

_LABEL = re.compile(r"collage@(\d+)@")

LEAST_RUNS, MOST_RUNS = 3, 20
LONGEST_S = 0.3
"""A profiler watches at least so many runs, and no further one after so many of them or so many seconds."""


@dataclass(frozen=True, slots=True)
class NodeTime:
    """The time of some nodes of a sub-model that one kernel computes together, or of a single one.

    Attributes:
        nodes: Their indices in the sub-model, ascending; empty for what belongs to none of them.
        seconds: Median over the profiled runs; profiling slows a kernel down, so only the shares of these times mean something.
        kernel: The toolchain's own word for what it runs.
    """

    nodes: tuple[int, ...]
    seconds: float
    kernel: str


@dataclass(frozen=True, slots=True)
class Step:
    """A kernel of the compiled sub-model, in the order in which kernels run.

    Attributes:
        kernel: As in `NodeTime`; where it is the operator of the only node that the step is labelled with, the step has no other node
            that comes before that one.
        nodes: The nodes that it is labelled with (`labels`).
        reads, makes: Names of tensors, by which the steps are connected.
    """

    kernel: str
    seconds: float
    nodes: frozenset[int]
    reads: frozenset[str]
    makes: frozenset[str]


_MOVES = frozenset({"Reshape", "Transpose", "Squeeze", "Unsqueeze", "ReorderInput", "ReorderOutput", "Reorder"})
"""Kernels that only move elements: a node of another operator that has no other kernel was computed by the one before."""


def watched_runs(run: Callable[[], None]) -> int:
    """Call `run` as often as a profiler watches it, and return how often. The first run is slower than the others."""
    began, count = time.perf_counter(), 0
    while count <= LEAST_RUNS or (count <= MOST_RUNS and time.perf_counter() - began < LONGEST_S):
        run()
        count += 1
    return count


def labelled(model: SubModel) -> SubModel:
    """Return `model` with its nodes, and the tensors that they make, called after the index of the node."""
    proto = ModelProto.FromString(model.onnx)
    for index, node in enumerate(proto.graph.node):
        node.name = _label(index)
    names = {name: f"{_label(index)}{slot}" for index, node in enumerate(proto.graph.node) for slot, name in enumerate(node.output) if name}
    return renamed(replace(model, onnx=proto.SerializeToString()), names)


def labels(text: str) -> frozenset[int]:
    """Return the indices of the nodes that are named in `text`."""
    return frozenset(int(number) for number in _LABEL.findall(text))


def node_times(model: SubModel, steps: Sequence[Step]) -> list[NodeTime]:
    """Return the time of every node of `model`, which `steps` computed; those that one kernel computes come together."""
    proto = ModelProto.FromString(model.onnx)
    count = len(proto.graph.node)
    steps = [replace(step, nodes=frozenset(node for node in step.nodes if node < count)) for step in steps]
    groups = _Groups(count)
    for step in steps:
        groups.join(step.nodes)
    ops = [node.op_type for node in proto.graph.node]
    _join_moves(ops, steps, groups)
    plain = _Plain(ops, steps)
    _assign_the_rest(proto, groups, {node for step in steps for node in step.nodes}, plain)
    return _summed(groups, steps, _owners(steps))


def _label(index: int) -> str:
    return f"collage@{index}@"


class _Groups:
    """Sets of nodes that are computed together."""

    def __init__(self, count: int):
        self._root = list(range(count))

    def root(self, node: int) -> int:
        while self._root[node] != node:
            self._root[node] = self._root[self._root[node]]
            node = self._root[node]
        return node

    def join(self, nodes: Iterable[int]) -> None:
        roots = {self.root(node) for node in nodes}
        for root in roots:
            self._root[root] = min(roots)

    def members(self) -> dict[int, list[int]]:
        members: dict[int, list[int]] = {}
        for node in range(len(self._root)):
            members.setdefault(self.root(node), []).append(node)
        return members


class _Plain:
    """Tells which labelled nodes are computed by a kernel of the same name: nothing before them is fused into that."""

    def __init__(self, ops: Sequence[str], steps: Sequence[Step]):
        single = [(step.kernel.removeprefix("Fused"), min(step.nodes)) for step in steps if len(step.nodes) == 1]
        self._nodes = {node for kernel, node in single if kernel == ops[node]}

    def __contains__(self, node: int) -> bool:
        return node in self._nodes


def _join_moves(ops: Sequence[str], steps: Sequence[Step], groups: _Groups) -> None:
    """Join the node of each step that only moves what the kernel before it computed, such as the sum of a MatMul and a bias."""
    maker = {name: step for step in steps for name in step.makes}
    computed = {node for step in steps if step.kernel not in _MOVES for node in step.nodes}
    computed.update(node for node, op in enumerate(ops) if op in _MOVES)
    for step in steps:
        before = next((maker[name] for name in sorted(step.reads) if name in maker), None)
        if before is not None and step.nodes and step.nodes.isdisjoint(computed):
            groups.join(step.nodes | before.nodes)


def _assign_the_rest(proto: ModelProto, groups: _Groups, placed: set[int], plain: _Plain) -> None:
    """Join each node that no label names to the kernel that took it.

    That is the one of a reader, if it computes more than the operator of that reader; else that of what the node reads (an activation
    that a convolution applies, the quantisation of its result); else that of any reader.
    """
    maker = {name: index for index, node in enumerate(proto.graph.node) for name in node.output if name}
    reads = [sorted({maker[name] for name in read_by(node) if name in maker}) for node in proto.graph.node]
    readers: list[list[int]] = [[] for _ in reads]
    for node, made_by in enumerate(reads):
        for one in made_by:
            readers[one].append(node)

    def assign(order: Iterable[int], near: Sequence[Sequence[int]], takes_all: bool) -> None:
        for node in order:
            if node in placed or (not takes_all and proto.graph.node[node].op_type == "QuantizeLinear"):
                continue
            taker = next((one for one in reversed(near[node]) if one in placed and (takes_all or one not in plain)), None)
            if taker is not None:
                groups.join((node, taker))
                placed.add(node)

    backwards = range(len(reads) - 1, -1, -1)
    assign(backwards, readers, False)
    assign(range(len(reads)), reads, True)
    assign(backwards, readers, True)


def _owners(steps: Sequence[Step]) -> list[int | None]:
    """Return for each step the step whose nodes its time counts for: itself, or the next that reads it, or the last that made its input."""
    owners: list[int | None] = [index if step.nodes else None for index, step in enumerate(steps)]
    for index in range(len(steps) - 1, -1, -1):
        if owners[index] is None:
            readers = (later for later in range(index + 1, len(steps)) if steps[index].makes & steps[later].reads)
            owners[index] = next((owners[later] for later in readers if owners[later] is not None), None)
    for index, step in enumerate(steps):
        if owners[index] is None:
            makers = (before for before in range(index - 1, -1, -1) if steps[before].makes & step.reads)
            owners[index] = next((owners[before] for before in makers if owners[before] is not None), None)
    return owners


def _summed(groups: _Groups, steps: Sequence[Step], owners: Sequence[int | None]) -> list[NodeTime]:
    seconds: dict[int, float] = {}
    kernels: dict[int, dict[str, None]] = {}
    for step, owner in zip(steps, owners, strict=True):
        root = -1 if owner is None else groups.root(min(steps[owner].nodes))
        seconds[root] = seconds.get(root, 0.0) + step.seconds
        if owner is not None and step is steps[owner]:
            kernels.setdefault(root, {})[step.kernel] = None
    rows = []
    for root, nodes in sorted(groups.members().items()):
        rows.append(NodeTime(tuple(nodes), seconds.get(root, 0.0), " + ".join(kernels.get(root, {}))))
    rest_s = seconds.get(-1, 0.0)
    return [*rows, NodeTime((), rest_s, "")] if rest_s else rows
