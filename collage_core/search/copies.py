"""`CopyCosts`: the least sum of copies by which a tensor exists at several locations, and which copies these are.

A tensor is made at one location and has to exist at the location of each of its readers. Copies may pass through any other location, and
a copy serves all that comes after it; so the least sum is that of a cheapest arborescence with given ends. It is computed by Dreyfus and
Wagner's recursion over the subsets of the ends.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from weakref import WeakKeyDictionary

from ..graph.index_set import indices_of
from .problem import HOST_NAME, NOWHERE, SearchProblem

HOST_LOCATION = 0
"""Number of the location ``host``."""

Arc = tuple[int, int]
"""A direct copy: the location that it reads, and the one where it writes."""


class CopyCosts:
    """The costs of copies between the locations of a problem, which are numbered; sets of locations are bits.

    Attributes:
        names: The locations, ``host`` first.
    """

    def __init__(self, problem: SearchProblem):
        self.names = list(dict.fromkeys((HOST_NAME, *problem.locations, *(end for pair in problem.copies for end in pair))))
        self._number = {name: number for number, name in enumerate(self.names)}
        self._costs = problem.copies
        self._target_locations = problem.target_locations
        self._by_size: dict[int, _Routes] = {}

    def location(self, target: str) -> int | None:
        """Return the number of the location of `target`; None where its reading needs no copy."""
        name = self._target_locations.get(target, HOST_NAME)
        return None if name == NOWHERE else self._number[name]

    def direct(self, size: int) -> Mapping[Arc, int]:
        """Return the femtoseconds of each direct copy of `size` bytes."""
        return self._of(size).direct

    def least(self, size: int, maker: int, reached: int) -> int:
        """Return the least femtoseconds of copies by which `size` bytes that are made at `maker` exist at all of `reached`."""
        return self._of(size).least(maker, reached)

    def entering(self, size: int, location: int) -> int:
        """Return the femtoseconds of the cheapest direct copy of `size` bytes to `location`."""
        return self._of(size).entering(location)

    def arcs(self, size: int, maker: int, reached: int) -> list[Arc]:
        """Return the copies that `least` adds up, each after the one that it reads from."""
        return self._of(size).arcs(maker, reached)

    def _of(self, size: int) -> _Routes:
        known = self._by_size.get(size)
        if known is None:
            direct = {(self._number[a], self._number[b]): cost.cost(size) for (a, b), cost in self._costs.items()}
            known = self._by_size[size] = _Routes(len(self.names), direct)
        return known


class _Routes:
    """The cheapest routes of tensors of one size.

    Attributes:
        direct: Femtoseconds of each direct copy.
    """

    def __init__(self, count: int, direct: Mapping[Arc, int]):
        self.direct = direct
        self._count = count
        self._first_stop: dict[Arc, int] = {}
        self._distance: dict[Arc, int] = {(location, location): 0 for location in range(count)}
        for (a, b), cost in direct.items():
            self._distance[a, b] = cost
            self._first_stop[a, b] = b
        for middle in range(count):
            for a in range(count):
                for b in range(count):
                    if (a, middle) not in self._distance or (middle, b) not in self._distance:
                        continue
                    around = self._distance[a, middle] + self._distance[middle, b]
                    if (a, b) not in self._distance or around < self._distance[a, b]:
                        self._distance[a, b] = around
                        self._first_stop[a, b] = self._first_stop[a, middle]
        self._trees: dict[int, dict[int, tuple[int, int, int]]] = {}

    def least(self, maker: int, reached: int) -> int:
        ends = reached & ~(1 << maker)
        return self._tree(ends)[maker][0] if ends else 0

    def entering(self, location: int) -> int:
        return min((cost for (_, b), cost in self.direct.items() if b == location), default=0)

    def arcs(self, maker: int, reached: int) -> list[Arc]:
        ends = reached & ~(1 << maker)
        leaving: dict[int, list[int]] = {}
        for a, b in dict.fromkeys(self._used(maker, ends)):
            leaving.setdefault(a, []).append(b)
        # Of routes that cost the same the recursion may take two to one location: each is entered once, and no route leads past the ends.
        entered_from: dict[int, int] = {}
        waiting = deque([maker])
        while waiting:
            a = waiting.popleft()
            for b in leaving.get(a, ()):
                if b != maker and b not in entered_from:
                    entered_from[b] = a
                    waiting.append(b)
        needed: set[int] = set()
        for end in indices_of(ends):
            while end != maker and end not in needed:
                needed.add(end)
                end = entered_from[end]
        return [(a, b) for b, a in entered_from.items() if b in needed]

    def _used(self, location: int, ends: int) -> Iterator[Arc]:
        """Yield the copies of the cheapest arborescence from `location` to `ends`; one may come twice."""
        if not ends:
            return
        _, fork, part = self._tree(ends)[location]
        while location != fork:
            stop = self._first_stop[location, fork]
            yield location, stop
            location = stop
        if part:
            yield from self._used(fork, part)
            yield from self._used(fork, ends & ~part)

    def _tree(self, ends: int) -> dict[int, tuple[int, int, int]]:
        """Return for each location that reaches `ends`: the least cost, where the route forks, and the ends of one of its branches."""
        known = self._trees.get(ends)
        if known is not None:
            return known
        forks: dict[int, tuple[int, int]] = {}
        lowest = ends & -ends
        if ends == lowest:
            forks[lowest.bit_length() - 1] = (0, 0)
        else:
            part = (ends - 1) & ends
            while part:
                if part & lowest:
                    one, other = self._tree(part), self._tree(ends & ~part)
                    for location in one.keys() & other.keys():
                        cost = one[location][0] + other[location][0]
                        if location not in forks or (cost, part) < forks[location]:
                            forks[location] = (cost, part)
                part = (part - 1) & ends
        trees: dict[int, tuple[int, int, int]] = {}
        for location in range(self._count):
            reachable = [
                (self._distance[location, fork] + cost, fork, part)
                for fork, (cost, part) in forks.items()
                if (location, fork) in self._distance
            ]
            if reachable:
                trees[location] = min(reachable)
        self._trees[ends] = trees
        return trees


_known: WeakKeyDictionary[SearchProblem, CopyCosts] = WeakKeyDictionary()


def copy_costs_of(problem: SearchProblem) -> CopyCosts:
    """Return the costs of copies of `problem`; the same object for the same problem."""
    known = _known.get(problem)
    if known is None:
        known = _known[problem] = CopyCosts(problem)
    return known


def most_copied(problem: SearchProblem) -> int:
    """Return an upper bound of what any plan pays for copies, in femtoseconds."""
    if not problem.needs_copies:
        return 0
    costs = copy_costs_of(problem)
    return sum(sum(costs.direct(tensor.bytes).values()) for tensor in problem.tensors)
