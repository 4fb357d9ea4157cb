"""`rivals_of`: what could still be better than a plan, since costs are known to an interval only.

A plan and a search enter; `Rival`s leave: other partitions of the same nodes, and by how much they could be better. Costs are drawn
anew some times, and each draw's best plan is compared with the plan. (The low end of every interval at once would not do: many parts
that are all cheap by chance would hide the one rival that counts.) Two plans are taken apart into the regions of the graph in which
they differ, and each region is judged by itself.
"""

from __future__ import annotations

import math
import random
import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...cost.cost import PROFILE, Cost
from ...documents.plan import PlanPart
from ...documents.run import RivalInfo
from ...rules.candidate import CandidatePartition
from ...search.plan_properties import plan_total
from ...search.problem import FEMTOSECONDS
from ...search.searcher import never
from ..record.record import CostedCandidate, usable
from .search_and_merge import Planned

DRAWS = 12
FEWEST_DRAWS = 4
LONGEST_S = 3.0
"""Longest that all draws take together. The searches of the first draws end so early that there is time for the fewest."""

Key = Callable[[CandidatePartition], Hashable]
Search = Callable[[list[CostedCandidate], float], Planned]
"""Finds a plan over candidates in so many seconds; it need not be proven."""


@dataclass(frozen=True)
class Rival:
    """Some partitions of a plan, and others that could take their place.

    Attributes:
        partitions: Of the plan.
        instead: Partitions of the same nodes.
        above_s: By how much the plan would take longer with them, as far as costs are known. Hardly ever negative.
        widths: Computation → half of its interval in seconds, as often as the two sides differ in it.
    """

    partitions: tuple[CostedCandidate, ...]
    instead: tuple[CostedCandidate, ...]
    above_s: float
    widths: Mapping[Hashable, float]

    @property
    def could_gain_s(self) -> float:
        """By how much the plan could become faster with them (95 %), by no more than its partitions take; negative where it could not."""
        most_s = sum(item.cost.seconds or 0.0 for item in self.partitions)
        return min(math.hypot(*self.widths.values()) - self.above_s, most_s)

    @property
    def info(self) -> RivalInfo:
        """The rival as the run's document has it."""
        instead = tuple(PlanPart(id=item.id, target=item.target, nodes=tuple(item.inside)) for item in self.instead)
        ids = tuple(item.id for item in self.partitions)
        return RivalInfo(partitions=ids, instead=instead, above_s=self.above_s, could_gain_s=self.could_gain_s)


def rivals_of(
    planned: Planned, search: Search, key: Key, should_stop: Callable[[], bool] = never, clock: Callable[[], float] = time.monotonic
) -> list[Rival]:
    """Return the rivals of a plan, those that could gain most first.

    In each draw every measured cost is moved by half of its interval times a normal number, the same for equal computations. That is
    twice its standard error: so a rival that is better in one case of forty is met in a few draws. A search that ends before it has
    proven anything names a rival all the same: each is judged by the known costs.

    Args:
        key: The computation of a candidate.
        should_stop: No further draw once it is True.
    """
    held = {item.held for item in planned.partitions}
    known = [item for item in planned.costed if item.held in held or not (item.cost.is_bound or item.cost.is_unknown)]
    found: dict[frozenset[Any], Rival] = {}
    if not any(width_s(item.cost) for item in known):
        return []
    draw, ends = random.Random(0), clock() + LONGEST_S
    for number in range(DRAWS):
        left_s = ends - clock()
        if left_s <= 0 or should_stop():
            break
        shift: dict[Hashable, float] = defaultdict(draw.gauss)
        moved = [CostedCandidate(item.held, _moved(item.cost, shift[_key(item, key)])) for item in known]
        for region in differing_regions(planned.partitions, search(moved, left_s / max(1, FEWEST_DRAWS - number)).partitions):
            identity = frozenset(item.held for side in region for item in side)
            if identity not in found:
                found[identity] = _rival(planned, *region, key)
    return sorted(found.values(), key=lambda rival: -rival.could_gain_s)


def _key(item: CostedCandidate, key: Key) -> Hashable:
    return key(item.held) if isinstance(item.held, CandidatePartition) else item.id


def differing_regions(
    plan: Sequence[CostedCandidate], other: Sequence[CostedCandidate]
) -> list[tuple[tuple[CostedCandidate, ...], tuple[CostedCandidate, ...]]]:
    """Return the partitions of each of two plans that are not in the other, in groups that hold the same nodes."""
    plan_held, other_held = {item.held for item in plan}, {item.held for item in other}
    sides = [[item for item in plan if item.held not in other_held], [item for item in other if item.held not in plan_held]]
    groups: list[tuple[int, list[CostedCandidate], list[CostedCandidate]]] = []
    for side, items in enumerate(sides):
        for item in items:
            bits = item.inside.bits
            touched = [group for group in groups if group[0] & bits]
            groups = [group for group in groups if not group[0] & bits]
            for group in touched:
                bits |= group[0]
            mine, theirs = [one for group in touched for one in group[1]], [one for group in touched for one in group[2]]
            (theirs if side else mine).append(item)
            groups.append((bits, mine, theirs))
    return [(tuple(mine), tuple(theirs)) for _, mine, theirs in groups]


def _rival(planned: Planned, mine: tuple[CostedCandidate, ...], theirs: tuple[CostedCandidate, ...], key: Key) -> Rival:
    index_of = {item.held: index for index, item in enumerate(usable(planned.costed))}
    known = {item.held: item for item in planned.costed}
    swapped = {index_of[item.held] for item in mine}
    chosen = [index for index in planned.final.chosen if index not in swapped]
    total = plan_total(planned.problem, [*chosen, *(index_of[item.held] for item in theirs)])
    instead = tuple(known[item.held] for item in theirs)
    above_s = (total - plan_total(planned.problem, planned.final.chosen)) / FEMTOSECONDS
    return Rival(mine, instead, above_s, _widths(mine, instead, key))


def _widths(mine: Iterable[CostedCandidate], theirs: Iterable[CostedCandidate], key: Key) -> dict[Hashable, float]:
    """Return how far the difference of both sums may be off because of each computation."""
    widths: dict[Hashable, float] = defaultdict(float)
    for sign, side in ((1, mine), (-1, theirs)):
        for item in side:
            widths[_key(item, key)] += sign * width_s(item.cost)
    return {computation: abs(width) for computation, width in widths.items() if width}


def width_s(cost: Cost) -> float:
    """Return half of the interval of a cost that was measured to its end or estimated from a profile; 0 for others."""
    return 0.0 if cost.source not in ("measured", PROFILE) or cost.stopped_early else cost.interval_s or 0.0


def _moved(cost: Cost, scale: float) -> Cost:
    if cost.seconds is None or not width_s(cost):
        return cost
    return replace(cost, seconds=max(0.0, cost.seconds + scale * width_s(cost)))
