"""Frontiers: positions in the order of a model that few tensors cross, and the ones where the kind of work changes.

Positions, tensors that cross them and labels of nodes enter as lists (`Line`); positions leave. Nothing here knows a graph.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from .line import Crossing, covering

LONG = 16
"""Only more nodes than these between two frontiers are split further."""
SHORTEST_SPAN = 8
"""A tensor of a shorter span is never one that a frontier may leave aside: residual blocks stay whole."""
MOST_TENSORS = 8
"""Most tensors that cross a frontier."""
MOST_PARTS = 23
"""Most parts between major frontiers: 276 runs of them."""

Label = Hashable
"""Whatever nodes of one part have in common; None for a node that joins any part."""


def split(ends: Sequence[int], crossings: Sequence[Crossing], can_end: Sequence[bool]) -> list[int]:
    """Return `ends`, which are ascending positions, with the frontiers between them, ascending.

    Of the tensors that cross a frontier one at most has a short span; the others are side tensors, such as a mask that every layer
    reads, a skip connection, or a feature map for a head that comes later. A short span is at first a quarter of what is between
    two frontiers, then a half of that, and so on.
    """
    borders, between, later = [*ends], list[Crossing](), deque(sorted(crossings, key=lambda crossing: crossing.begin))
    for begin, end in pairwise(ends):
        while later and later[0].begin < end:
            between.append(later.popleft())
        between = [crossing for crossing in between if crossing.end > begin]
        waiting = [(begin, end, math.inf, between)] if end - begin > LONG else []
        while waiting:
            begin, end, most, tensors = waiting.pop()
            new, span = _split_once(begin, end, most, tensors, can_end)
            borders += new
            long = [(low, high) for low, high in pairwise([begin, *new, end]) if new and high - low > LONG]
            for low, high in long:
                inside = [crossing for crossing in tensors if crossing.begin < high and crossing.end > low]
                waiting.append((low, high, span / 2, inside))
    return sorted(borders)


def _split_once(begin: int, end: int, most: float, tensors: Sequence[Crossing], can_end: Sequence[bool]) -> tuple[list[int], float]:
    """Return the frontiers for the longest short span, at most `most`, that gives any, and that span."""
    span = min((end - begin) // 4, most)
    while end - begin > LONG and span >= SHORTEST_SPAN:
        short = _crossed(begin, end, [crossing for crossing in tensors if crossing.span <= span])
        every = _crossed(begin, end, tensors)
        new = [p for p in range(begin + 1, end) if short[p - begin] <= 1 and every[p - begin] <= MOST_TENSORS and can_end[p]]
        if new:
            return new, span
        span /= 2
    return [], span


def _crossed(begin: int, end: int, tensors: Iterable[Crossing]) -> list[int]:
    """Return for each position from `begin` to before `end` how many of `tensors` cross it."""
    clipped = ((max(crossing.begin, begin) - begin, min(crossing.end + 1, end) - begin) for crossing in tensors)
    return covering(clipped, end - begin)


@dataclass(slots=True)
class _Part:
    """Nodes of one label that follow each other, from the first to the last of them; light ones between them do not matter."""

    label: Label
    work: float
    first: int
    last: int


def majors(
    labels: Sequence[Label], work: Sequence[float], crossings: Sequence[Crossing], can_end: Sequence[bool], most: int = MOST_PARTS
) -> tuple[list[int], int]:
    """Return the major frontiers, with the beginning and the end, and how many parts there were before the lightest were left out.

    Where the kind of work changes, a change of the target pays most likely. Of a target without a profiler nothing else tells that, and
    of the others the errors are looked for at such places. Between two parts of different labels the position counts that the fewest bytes
    cross, the last one of several; none where more than `MOST_TENSORS` cross every one.

    Args:
        labels: The label of each node in the order.
        work: The operations of each.
        most: Most parts; the lightest of more are taken for parts of their neighbours.
    """
    count = len(labels)
    parts = _joined(_Part(label, work[index], index, index) for index, label in enumerate(labels) if label is not None)
    before = len(parts)
    while len(parts) > most:
        parts = _without_the_lightest(parts, max(1, (len(parts) - most) // 2), most // 2)
    bytes_at = _bytes_at(crossings, count)
    tensors_at = covering(((crossing.begin, crossing.end + 1) for crossing in crossings), count)
    borders = [0]
    for upper, lower in pairwise(parts):
        positions = [p for p in range(upper.last + 1, lower.first + 1) if can_end[p] and tensors_at[p] <= MOST_TENSORS]
        if positions:
            borders.append(min(reversed(positions), key=bytes_at.__getitem__))
    return [*borders, count], before


def _joined(parts: Iterable[_Part]) -> list[_Part]:
    """Return the parts with neighbours of one label as one."""
    joined = []
    for label, group in groupby(parts, key=lambda part: part.label):
        same = list(group)
        joined.append(_Part(label, sum(part.work for part in same), same[0].first, same[-1].last))
    return joined


def _without_the_lightest(parts: Sequence[_Part], count: int, fewest: int) -> list[_Part]:
    """Return the parts without the `count` lightest and all as light; without `count` of those, spread evenly, for fewer than `fewest`."""
    bar = sorted(part.work for part in parts)[count - 1]
    left = _joined(part for part in parts if part.work > bar)
    if len(left) >= fewest:
        return left
    light = [index for index, part in enumerate(parts) if part.work <= bar]
    gone = {light[number * len(light) // count] for number in range(count)}
    return _joined(part for index, part in enumerate(parts) if index not in gone)


def _bytes_at(crossings: Iterable[Crossing], count: int) -> list[int]:
    change = [0] * (count + 1)
    for crossing in crossings:
        change[crossing.begin] += crossing.bytes
        change[crossing.end + 1] -= crossing.bytes
    total, sums = 0, []
    for amount in change:
        total += amount
        sums.append(total)
    return sums
