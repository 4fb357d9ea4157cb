"""Repeated blocks: consecutive nodes that are the same computation several times in a row ("encoder layer ×12").

A `DataflowGraph` enters, `NodeGroup`s that do not overlap leave. Equal blocks have equal `Computations` numbers: the same
operators, attributes, shapes, weight shapes and edges. Between them a second search ignores sizes.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from .computation import Computations
from .dataflow_graph import Constant, DataflowGraph, Tensor, TensorType
from .groups import NodeGroup, live_tensors, scopes_of
from .index_set import IndexSet

LEAST_BLOCK = 3
LEAST_RUN = 8
_LAGS = 4
_MOST_PERIODS = 256
_MOST_NAME = 40


@dataclass(frozen=True)
class _Stretch:
    first: int
    after: int

    def __len__(self) -> int:
        return self.after - self.first


def repeats(graph: DataflowGraph, least_block: int = LEAST_BLOCK) -> list[NodeGroup]:
    """Return the repeated blocks in order: equal ones, and between them those that differ in their sizes alone."""
    finder = _Finder(graph, least_block)
    groups = finder.search(graph, [_Stretch(0, len(graph))], is_alike=False)
    groups += finder.search(_without_sizes(graph), _gaps(groups, len(graph)), is_alike=True)
    return _named(sorted(groups, key=lambda group: group.first))


def _named(groups: list[NodeGroup]) -> list[NodeGroup]:
    """Return `groups` with a lettered name for each that has none."""
    unnamed = [index for index, group in enumerate(groups) if group.name == ""]
    named = list(groups)
    for number, index in enumerate(unnamed):
        letter = f" {chr(ord('A') + number)}" if 1 < len(unnamed) <= 26 else f" {number + 1}" if len(unnamed) > 1 else ""
        named[index] = replace(groups[index], name=f"block{letter}")
    return named


def _gaps(groups: Sequence[NodeGroup], nodes: int) -> list[_Stretch]:
    """Return the stretches of the `nodes` nodes that no group holds."""
    ends = [0, *(end for group in sorted(groups, key=lambda one: one.first) for end in (group.first, group.first + group.count)), nodes]
    return [_Stretch(first, after) for first, after in zip(ends[::2], ends[1::2], strict=True) if after > first]


def _without_sizes(graph: DataflowGraph) -> DataflowGraph:
    """Return `graph` without shapes, values of constants, and the attributes that follow from shapes."""
    nodes = tuple(
        replace(
            node,
            outputs=tuple(map(_sizeless, node.outputs)),
            attributes={name: value for name, value in node.attributes.items() if name not in _SIZES},
        )
        for node in graph.nodes
    )
    constants = {name: Constant(TensorType((), constant.type.dtype)) for name, constant in graph.constants.items()}
    return DataflowGraph(nodes, tuple(map(_sizeless, graph.inputs)), graph.outputs, constants)


def _sizeless(tensor: Tensor) -> Tensor:
    return Tensor(tensor.name, TensorType((), tensor.type.dtype))


_SIZES = frozenset({"group", "hidden_size", "num_heads"})


class _Finder:
    """Finds repeats; everything that does not depend on sizes is computed once."""

    def __init__(self, graph: DataflowGraph, least_block: int):
        self._scopes = scopes_of(graph)
        self._live = live_tensors(graph)
        self._least_block = least_block

    def search(self, graph: DataflowGraph, free: Sequence[_Stretch], *, is_alike: bool) -> list[NodeGroup]:
        """Return the repeats in the `free` stretches; of repeats that overlap, the one that `_rank` puts first is taken."""
        numbers = np.array([graph.derive(Computations).of(IndexSet([node.index])) for node in graph.nodes], dtype=np.int64)
        regular = sorted(_regular(numbers, self._least_block), key=_rank)
        groups: list[NodeGroup] = []
        for period, stretch in regular:
            for part in _common(stretch, free):
                if len(part) >= max(2 * period, LEAST_RUN):
                    groups += self._runs(graph, period, part, is_alike)
                    free = [rest for gap in free for rest in _without(gap, groups)]
        return groups

    def _runs(self, graph: DataflowGraph, period: int, stretch: _Stretch, is_alike: bool) -> list[NodeGroup]:
        """Return the runs of equal blocks of `period` nodes in a stretch whose operators repeat."""
        start = self._start(period, stretch)
        starts = range(start, stretch.after - period + 1, period)
        block = (1 << period) - 1
        runs = [list(run) for _, run in groupby(starts, key=lambda first: graph.derive(Computations).of(IndexSet.window(first, block)))]
        long = [run for run in runs if len(run) > 1 and len(run) * period >= LEAST_RUN]
        return [NodeGroup(run[0], period * len(run), self._name(run, period), len(run), is_alike) for run in long]

    def _start(self, period: int, stretch: _Stretch) -> int:
        """Return the first node of the first block.

        It is the one with the fewest live tensors at the borders of the blocks; of equals the one with the most blocks, then
        with the fewest scopes shared across the borders, then the least.
        """

        def badness(start: int) -> tuple[float, int, float, int]:
            blocks = (stretch.after - start) // period
            borders = [start + number * period for number in range(blocks + 1)]
            live = sum(self._live[border] for border in borders) / len(borders)
            return round(live, 2), -blocks, sum(map(self._shared, borders)) / len(borders), start

        last = min(stretch.first + period, stretch.after - 2 * period + 1)
        return min(range(stretch.first, last), key=badness)

    def _shared(self, border: int) -> int:
        """Return how many parts of their scopes the nodes on both sides of `border` share."""
        if not 0 < border < len(self._scopes):
            return 0
        return _common_length(self._scopes[border - 1], self._scopes[border])

    def _name(self, starts: Sequence[int], period: int) -> str:
        """Return a name from the blocks' scopes: ``encoder/layer.0``, ``encoder/layer.1`` … give "encoder layer"; empty without one."""
        scopes = [self._scopes[first : first + period] for first in starts]
        blocks = [block[0][: _common_length(*block)] for block in scopes]
        same = _common_length(*blocks)
        parts = [block[same] if len(block) > same else "" for block in blocks]
        differing = re.sub(r"[\W_]*\d*$", "", parts[0][: _common_length(*parts)])
        return " ".join(part for part in (*blocks[0][:same], differing) if part)[-_MOST_NAME:]


def _rank(regular: tuple[int, _Stretch]) -> tuple[float, int, int]:
    """Return a sort key: of repeats that cover as much, many short blocks say more of a model than two long ones."""
    period, stretch = regular
    return -len(stretch) * math.log2(len(stretch) // period), period, stretch.first


def _common_length(*sequences: Sequence[str]) -> int:
    """Return how many leading items, or characters, all sequences share."""
    length = 0
    for parts in zip(*sequences, strict=False):
        if len(set(parts)) > 1:
            break
        length += 1
    return length


def _regular(numbers: np.ndarray, least_period: int) -> Iterator[tuple[int, _Stretch]]:
    """Yield each period with the stretches in which every number equals that of the node one period later."""
    for period in _periods(numbers, least_period):
        same = np.concatenate(([False], numbers[:-period] == numbers[period:], [False]))
        edges = np.flatnonzero(same[1:] != same[:-1])
        for first, after in zip(edges[::2], edges[1::2], strict=True):
            if after - first >= period:
                yield period, _Stretch(int(first), int(after) + period)


def _periods(numbers: np.ndarray, least: int) -> list[int]:
    """Return the distances between equal numbers, the most frequent first."""
    indices: dict[int, list[int]] = defaultdict(list)
    for index, number in enumerate(numbers.tolist()):
        indices[number].append(index)
    distances: Counter[int] = Counter()
    for equal in indices.values():
        for lag in range(1, _LAGS + 1):
            distances.update(after - before for before, after in zip(equal, equal[lag:], strict=False))
    return [period for period, _ in distances.most_common() if least <= period <= len(numbers) // 2][:_MOST_PERIODS]


def _common(stretch: _Stretch, free: Sequence[_Stretch]) -> list[_Stretch]:
    """Return what `stretch` shares with each of `free`."""
    parts = [_Stretch(max(stretch.first, gap.first), min(stretch.after, gap.after)) for gap in free]
    return [part for part in parts if part.after > part.first]


def _without(stretch: _Stretch, groups: Sequence[NodeGroup]) -> list[_Stretch]:
    """Return the rest of `stretch` that no group holds."""
    left = [stretch]
    for group in groups:
        first, after = group.first, group.first + group.count
        left = [
            part
            for one in left
            for part in (_Stretch(one.first, min(one.after, first)), _Stretch(max(one.first, after), one.after))
            if part.after > part.first
        ]
    return left
