"""Repeated blocks: stretches of a model that are the same computation several times, one after the other ("encoder layer ×12").

In goes a `DataflowGraph`, out come `NodeGroup`s that do not overlap. Equal blocks have equal `Computations` numbers: same
operators, attributes, shapes, weights' shapes and edges. What is left is looked through again without its sizes.
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
from .dataflow_graph import Constant, DataflowGraph, Node, Tensor, TensorType
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
    """The repeated blocks, in order: first those that are equal, between them those that are alike but for their sizes."""
    finder = _Finder(graph, least_block)
    found = finder.search(graph, [_Stretch(0, len(graph))], is_alike=False)
    found += finder.search(_without_sizes(graph), _gaps(found, len(graph)), is_alike=True)
    return _told_apart(sorted(found, key=lambda group: group.first))


def _told_apart(groups: list[NodeGroup]) -> list[NodeGroup]:
    """Repeats that were given no name of their own are lettered."""
    nameless = [place for place, group in enumerate(groups) if group.name == ""]
    made = list(groups)
    for number, place in enumerate(nameless):
        letter = f" {chr(ord('A') + number)}" if 1 < len(nameless) <= 26 else f" {number + 1}" if len(nameless) > 1 else ""
        made[place] = replace(groups[place], name=f"block{letter}")
    return made


def _gaps(groups: Sequence[NodeGroup], nodes: int) -> list[_Stretch]:
    ends = [0, *(end for group in sorted(groups, key=lambda one: one.first) for end in (group.first, group.first + group.count)), nodes]
    return [_Stretch(first, after) for first, after in zip(ends[::2], ends[1::2], strict=True) if after > first]


def _without_sizes(graph: DataflowGraph) -> DataflowGraph:
    """The same graph with every shape, every constant's value and every attribute that follows from them left out."""
    nodes = tuple(
        replace(node, outputs=tuple(Tensor(one.name, _sizeless(one.type)) for one in node.outputs), attributes=_plain_attributes(node))
        for node in graph.nodes
    )
    inputs = tuple(Tensor(one.name, _sizeless(one.type)) for one in graph.inputs)
    return DataflowGraph(nodes, inputs, graph.outputs, {name: Constant(_sizeless(one.type)) for name, one in graph.constants.items()})


def _sizeless(kind: TensorType) -> TensorType:
    return TensorType((), kind.dtype)


_SIZES = frozenset({"group", "hidden_size", "num_heads"})


def _plain_attributes(node: Node) -> dict[str, object]:
    return {name: value for name, value in node.attributes.items() if name not in _SIZES}


class _Finder:
    """Looks for repeats; what does not depend on sizes is made once."""

    def __init__(self, graph: DataflowGraph, least_block: int):
        self._scopes = scopes_of(graph)
        self._passing = live_tensors(graph)
        self._least_block = least_block

    def search(self, graph: DataflowGraph, free: Sequence[_Stretch], *, is_alike: bool) -> list[NodeGroup]:
        """The repeats in the `free` stretches: of those that overlap the long ones of many blocks first."""
        numbers = np.array([graph.derive(Computations).of(IndexSet([node.index])) for node in graph.nodes], dtype=np.int64)
        regular = sorted(_regular(numbers, self._least_block), key=_worth)
        found: list[NodeGroup] = []
        for period, stretch in regular:
            for part in _common(stretch, free):
                if len(part) >= max(2 * period, LEAST_RUN):
                    found += self._cut(graph, period, part, is_alike)
                    free = [rest for one in free for rest in _without(one, found)]
        return found

    def _cut(self, graph: DataflowGraph, period: int, stretch: _Stretch, is_alike: bool) -> list[NodeGroup]:
        """The runs of equal blocks of `period` nodes in a stretch whose operators repeat."""
        start = self._start(period, stretch)
        starts = range(start, stretch.after - period + 1, period)
        block = (1 << period) - 1
        runs = [list(run) for _, run in groupby(starts, key=lambda first: graph.derive(Computations).of(IndexSet.window(first, block)))]
        long = [run for run in runs if len(run) > 1 and len(run) * period >= LEAST_RUN]
        return [NodeGroup(run[0], period * len(run), self._name(run, period), len(run), is_alike) for run in long]

    def _start(self, period: int, stretch: _Stretch) -> int:
        """Where the first block begins: where the fewest tensors pass from block to block, then the most blocks, then scopes, end."""

        def badness(start: int) -> tuple[float, int, float, int]:
            blocks = (stretch.after - start) // period
            borders = [start + number * period for number in range(blocks + 1)]
            passing = sum(self._passing[place] for place in borders) / len(borders)
            return round(passing, 2), -blocks, sum(map(self._shared, borders)) / len(borders), start

        last = min(stretch.first + period, stretch.after - 2 * period + 1)
        return min(range(stretch.first, last), key=badness)

    def _shared(self, place: int) -> int:
        """How many parts of their scopes the nodes on both sides of a border share."""
        if not 0 < place < len(self._scopes):
            return 0
        return _common_length(self._scopes[place - 1], self._scopes[place])

    def _name(self, starts: Sequence[int], period: int) -> str:
        """What the blocks' scopes say: those of ``encoder/layer.0``, ``encoder/layer.1`` … are an encoder layer; empty if nothing."""
        blocks = [_shared_scope(self._scopes[first : first + period]) for first in starts]
        same = _common_length(*blocks)
        parts = [block[same] if len(block) > same else "" for block in blocks]
        differing = re.sub(r"[\W_]*\d*$", "", parts[0][: _common_length(*parts)])
        return " ".join(part for part in (*blocks[0][:same], differing) if part)[-_MOST_NAME:]


def _worth(regular: tuple[int, _Stretch]) -> tuple[float, int, int]:
    """What comes first: twenty layers say more of a model than its two halves, as long as they make up as much of it."""
    period, stretch = regular
    return -len(stretch) * math.log2(len(stretch) // period), period, stretch.first


def _shared_scope(scopes: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    return scopes[0][: _common_length(*scopes)]


def _common_length(*sequences: Sequence[str]) -> int:
    """How many items, or characters, stand at the beginning of all of them."""
    length = 0
    for parts in zip(*sequences, strict=False):
        if len(set(parts)) > 1:
            break
        length += 1
    return length


def _regular(numbers: np.ndarray, least_period: int) -> Iterator[tuple[int, _Stretch]]:
    """The periods with the stretches in which each number is that of the node one period on."""
    for period in _periods(numbers, least_period):
        same = np.concatenate(([False], numbers[:-period] == numbers[period:], [False]))
        edges = np.flatnonzero(same[1:] != same[:-1])
        for first, after in zip(edges[::2], edges[1::2], strict=True):
            if after - first >= period:
                yield period, _Stretch(int(first), int(after) + period)


def _periods(numbers: np.ndarray, least: int) -> list[int]:
    """How far equal numbers stand apart, most frequent first."""
    places: dict[int, list[int]] = defaultdict(list)
    for place, number in enumerate(numbers.tolist()):
        places[number].append(place)
    apart: Counter[int] = Counter()
    for at in places.values():
        for lag in range(1, _LAGS + 1):
            apart.update(after - before for before, after in zip(at, at[lag:], strict=False))
    return [period for period, _ in apart.most_common() if least <= period <= len(numbers) // 2][:_MOST_PERIODS]


def _common(stretch: _Stretch, free: Sequence[_Stretch]) -> list[_Stretch]:
    parts = [_Stretch(max(stretch.first, one.first), min(stretch.after, one.after)) for one in free]
    return [part for part in parts if part.after > part.first]


def _without(stretch: _Stretch, groups: Sequence[NodeGroup]) -> list[_Stretch]:
    """What of a stretch no group holds."""
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
