"""Groups the bindings of a region by the partitions of a plan, so that no group waits for itself. Plain data in and out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ..graph.topological_order import topological_order

HOST = -1
"""The group of what is left to TVM."""


@dataclass(frozen=True)
class Group:
    """Bindings that are one function, or one that stays in the body.

    Attributes:
        partition: Index of the partition; `HOST` for a binding that stays.
        bindings: Their indices, in order.
    """

    partition: int
    bindings: tuple[int, ...]


def grouped(reads: Sequence[Sequence[int]], wanted: Mapping[int, int], fields: Sequence[bool]) -> list[Group]:
    """Return the groups, in an order in which each can be computed.

    Args:
        reads: The bindings that each binding reads.
        wanted: Binding → its partition. Others join the partition that alone reads them, and else stay in the body.
        fields: Whether a binding is a field of a tuple, which goes with the tuple.

    A partition that waits for itself through others (a binding in it belongs to two partitions) becomes several groups.
    """
    of = _joined(reads, wanted, fields)
    pieces: list[list[int]] = []
    needs: list[set[int]] = []
    newest: dict[int, int] = {}
    piece_of: list[int] = []
    for at, others in enumerate(reads):
        wants = {piece_of[other] for other in others}
        own = newest.get(of[at])
        if own is None or of[at] == HOST or _wait_for(wants - {own}, own, needs):
            own = newest[of[at]] = len(pieces)
            pieces.append([])
            needs.append(set())
        pieces[own].append(at)
        needs[own] |= wants - {own}
        piece_of.append(own)
    return [Group(of[pieces[index][0]], tuple(pieces[index])) for index in topological_order(needs)]


def _wait_for(pieces: Collection[int], one: int, needs: Sequence[Collection[int]]) -> bool:
    """Return whether some of `pieces` wait for `one`, at once or through others."""
    seen, open_ = set(pieces), list(pieces)
    while open_:
        more = set(needs[open_.pop()]) - seen
        if one in more:
            return True
        seen |= more
        open_ += more
    return False


def _joined(reads: Sequence[Sequence[int]], wanted: Mapping[int, int], fields: Sequence[bool]) -> list[int]:
    readers: list[list[int]] = [[] for _ in reads]
    for at, others in enumerate(reads):
        for other in others:
            readers[other].append(at)
    of = [wanted.get(at, HOST) for at in range(len(reads))]
    for at in range(len(reads)):
        if fields[at] and reads[at]:
            of[at] = of[reads[at][0]]
    for at in reversed(range(len(reads))):
        if at not in wanted and not fields[at]:
            partitions = {of[reader] for reader in readers[at]}
            if len(partitions) == 1:
                of[at] = partitions.pop()
    return of
