"""A part of a problem, told from where it begins, and the best ways through it.

What enters a part was made by somebody before it, what leaves it is read behind it. Here a part becomes a problem of its
own, with nodes that stand for those makers and for what is behind; equal parts are equal data, so they are solved once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from ...graph.dataflow_graph import HOST
from ...graph.index_set import IndexSet
from ..boundaries import boundaries_of
from ..problem import FlowTensor, SearchCandidate, SearchProblem
from ..searchers.best_first import Walk
from ..searchers.cover import Cover
from ..searchers.transition_classes import TransitionClasses
from ..weights import Weights

LEAVE = "(leave)"
"""The target of what stands for the rest of the model behind a part: it takes everything for nothing."""

MOST_WAYS = 256
"""Past this many ways to leave a part, the problem is searched as a whole."""


class TooManyWays(Exception):
    """A part can be left in more ways than are worth trying."""


Entry = tuple[int, ...]
"""Who made each tensor that enters, as classes of makers."""


@dataclass(frozen=True, slots=True)
class Way:
    """A best way through a part.

    Attributes:
        leaving: Who made each tensor of the part that is read behind it.
        weight: Of its candidates and the hand-overs inside and into it.
        chosen: Places of its candidates in the part's list.
    """

    leaving: Entry
    weight: int
    chosen: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Subproblem:
    """A part, told from where it begins; equal ones are equal parts.

    Attributes:
        nodes: How many nodes it has.
        entering: (bytes, which entering node made it, its readers in here) for each tensor from before that is read in here.
        from_host: (bytes, its readers) for each tensor of the host.
        inner: (maker, bytes, its readers in here, how many readers behind, whether the host reads it).
        candidates: (first, nodes, target, cost).
    """

    nodes: int
    entering: tuple[tuple[int, int, tuple[int, ...]], ...]
    from_host: tuple[tuple[int, tuple[int, ...]], ...]
    inner: tuple[tuple[int, int, tuple[int, ...], int, bool], ...]
    candidates: tuple[tuple[int, int, int, int | None], ...]


WalkToEnd = Callable[[Cover], Walk | None]


@dataclass(frozen=True, slots=True)
class Whole:
    """What parts share with the problem that they are of."""

    problem: SearchProblem
    targets: list[str]
    weights: Weights
    hand_over: TransitionClasses


def spread(hand_over: TransitionClasses, tensor: int) -> int:
    """The most that one reader pays more for a tensor of one maker than of another."""
    readers = set(hand_over.reader_class)
    paid = [[hand_over.between(tensor, maker, reader) for maker in range(hand_over.makers)] for reader in readers]
    return max(max(row) - min(row) for row in paid)


class TensorsBySubproblem:
    """Which tensors enter, leave and pass each part, in an order that equal parts share."""

    def __init__(self, problem: SearchProblem, positions: Sequence[int]):
        self.problem = problem
        self.positions = positions
        self.frame = boundaries_of(problem)
        parts = len(positions) - 1
        self.alive: list[list[int]] = [[] for _ in positions]
        self.entering: list[list[int]] = [[] for _ in range(parts)]
        self.leaving: list[list[int]] = [[] for _ in range(parts)]
        self._from_host: list[list[int]] = [[] for _ in range(parts)]
        self._inner: list[list[int]] = [[] for _ in range(parts)]
        self._part_of = [0] * problem.nodes
        for part in range(parts):
            for node in range(positions[part], positions[part + 1]):
                self._part_of[node] = part
        for place, tensor in enumerate(problem.tensors):
            self._sort_in(place, tensor)
        self._number: dict[int, int] = {}
        self._numbers: dict[Subproblem, int] = {}
        self.distinct: list[Subproblem] = []
        """Every part that was asked for, equal ones once."""

    def _sort_in(self, place: int, tensor: FlowTensor) -> None:
        read_in = sorted({self._part_of[reader] for reader in tensor.readers})
        if tensor.maker == HOST:
            for part in read_in:
                self._from_host[part].append(place)
            return
        home = self._part_of[tensor.maker]
        self._inner[home].append(place)
        if read_in and read_in[-1] > home:
            self.leaving[home].append(place)
            for part in range(home + 1, read_in[-1] + 1):
                self.alive[part].append(place)
        for part in read_in:
            if part > home:
                self.entering[part].append(place)

    def number(self, part: int, within: Sequence[int], targets: Sequence[str]) -> int:
        """The place of a part in `distinct`."""
        if part not in self._number:
            described = self._describe(part, within, targets)
            if described not in self._numbers:
                self._numbers[described] = len(self.distinct)
                self.distinct.append(described)
            self._number[part] = self._numbers[described]
        return self._number[part]

    def _describe(self, part: int, within: Sequence[int], targets: Sequence[str]) -> Subproblem:
        begin, end = self.positions[part], self.positions[part + 1]
        tensors = self.problem.tensors

        def inside(readers: Sequence[int]) -> tuple[int, ...]:
            return tuple(reader - begin for reader in readers if begin <= reader < end)

        makers = {node: place for place, node in enumerate(dict.fromkeys(tensors[t].maker for t in self.entering[part]))}
        ranks = {name: place for place, name in enumerate(targets)}
        candidates = []
        for index in within:
            candidate = self.problem.candidates[index]
            candidates.append((candidate.inside.base - begin, candidate.inside.rel, ranks[candidate.target], candidate.cost))
        return Subproblem(
            end - begin,
            tuple((tensors[t].bytes, makers[tensors[t].maker], inside(tensors[t].readers)) for t in self.entering[part]),
            tuple((tensors[t].bytes, inside(tensors[t].readers)) for t in self._from_host[part]),
            tuple(self._inside_tensor(tensors[t], begin, end) for t in self._inner[part]),
            tuple(candidates),
        )

    @staticmethod
    def _inside_tensor(tensor: FlowTensor, begin: int, end: int) -> tuple[int, int, tuple[int, ...], int, bool]:
        near = tuple(reader - begin for reader in tensor.readers if reader < end)
        return tensor.maker - begin, tensor.bytes, near, len(tensor.readers) - len(near), tensor.is_output


class ReadySubproblem:
    """A part as a problem of its own: nodes for whoever made what enters, its own, and one for all that is behind it."""

    def __init__(self, part: Subproblem, whole: Whole):
        self.part = part
        self.whole = whole
        self.before = 1 + max((maker for _, maker, _ in part.entering), default=-1)
        self.leave = self.before + part.nodes
        self.problem = self._as_problem()
        self._covers: dict[Entry, list[tuple[dict[int, int], Cover]]] = {}
        # The nodes that stand for others count as partitions: so much too many.
        self._too_much = (self.before + 1) * whole.weights.of(self.problem.candidates[-1])
        hand_over = TransitionClasses(self.problem, whole.targets, whole.weights.total_shift)
        self._most_gained = sum(behind * spread(hand_over, place) for place, (_, _, _, behind, _) in self._leaving())

    def ways(self, entry: Entry, walk_to_end: WalkToEnd, held: int | None = None) -> list[Way]:
        """For each way of leaving that may be worth it, the best way from `entry`.

        Args:
            walk_to_end: Walks a cover; None where it finds no way.
            held: Place of a candidate that the ways must hold; None for any.
        """
        found: list[Way] = []
        for bound, makers, cover in self._covers_holding(entry, held):
            if found and bound - self._too_much > min(way.weight for way in found) + self._most_gained:
                break
            walk = walk_to_end(cover)
            if walk is not None:
                chosen = tuple(move.index for move in walk.path(cover.end) if move.index < len(self.part.candidates))
                leaving = tuple(makers[maker] for _, (maker, _, _, _, _) in self._leaving())
                found.append(Way(leaving, bound + walk.reached - self._too_much, chosen))
        return found

    def _covers_holding(self, entry: Entry, held: int | None) -> list[tuple[int, dict[int, int], Cover]]:
        """(bound, who makes what leaves, the part under that), the lowest bound first."""
        if entry not in self._covers:
            self._covers[entry] = [(makers, self._cover(entry, makers)) for makers in self._ways_to_leave()]
        made = []
        for makers, cover in self._covers[entry]:
            if held is not None and cover.bound is not None:
                number = cover.numbers().get(held)
                if number is None:
                    continue
                cover = cover.holding(number)
            if cover.bound is not None:
                made.append((cover.bound, makers, cover))
        return sorted(made, key=lambda item: item[0])

    def _leaving(self) -> list[tuple[int, tuple[int, int, tuple[int, ...], int, bool]]]:
        """(place in the problem, description) of each tensor that is read behind the part."""
        listed = enumerate(self.part.inner, len(self.part.entering) + len(self.part.from_host))
        return [(place, tensor) for place, tensor in listed if tensor[3]]

    def _ways_to_leave(self) -> Iterator[dict[int, int]]:
        """Every assignment of classes to the nodes whose tensors leave, as far as candidates can make them."""
        makers = list(dict.fromkeys(tensor[0] for _, tensor in self._leaving()))
        classes = self.whole.hand_over.maker_class
        options = []
        for maker in makers:
            holding = (target for first, rel, target, _ in self.part.candidates if first <= maker and rel >> maker - first & 1)
            options.append(sorted({classes[target] for target in holding}))
        if prod(map(len, options)) > MOST_WAYS:
            raise TooManyWays
        for chosen in product(*options):
            yield dict(zip(makers, chosen, strict=True))

    def _cover(self, entry: Entry, makers: dict[int, int]) -> Cover:
        """The part with what enters made by `entry`, and what leaves by `makers`."""
        classes = self.whole.hand_over.maker_class
        usable = []
        for place, (first, rel, target, _) in enumerate(self.part.candidates):
            if all(classes[target] == made_by or first > node or not rel >> node - first & 1 for node, made_by in makers.items()):
                usable.append(place)
        entered = {maker: made_by for (_, maker, _), made_by in zip(self.part.entering, entry, strict=True)}
        usable += [len(self.part.candidates) + node * self.whole.hand_over.makers + entered[node] for node in range(self.before)]
        usable.append(len(self.problem.candidates) - 1)
        return Cover(self.problem, usable, weights=self.whole.weights, targets=self.whole.targets)

    def _as_problem(self) -> SearchProblem:
        part, targets, shift = self.part, self.whole.targets, self.before
        tensors = [
            FlowTensor("", maker, tuple(reader + shift for reader in readers), False, size) for size, maker, readers in part.entering
        ]
        tensors += [FlowTensor("", HOST, tuple(reader + shift for reader in readers), False, size) for size, readers in part.from_host]
        for maker, size, readers, behind, is_output in part.inner:
            read_by = (*(reader + shift for reader in readers), *((self.leave,) if behind else ()))
            tensors.append(FlowTensor("", maker + shift, read_by, is_output, size))
        candidates = [
            SearchCandidate(IndexSet.window(first + shift, rel), targets[target], cost, "") for first, rel, target, cost in part.candidates
        ]
        candidates += [SearchCandidate(IndexSet.window(node, 1), target, 0, "") for node in range(shift) for target in self._makers()]
        candidates.append(SearchCandidate(IndexSet.window(self.leave, 1), LEAVE, 0, ""))
        problem = self.whole.problem
        return SearchProblem(
            self.leave + 1, tuple(tensors), tuple(candidates), transitions=problem.transitions, priorities=problem.priorities
        )

    def _makers(self) -> list[str]:
        """A target for each class of makers, in the order of the classes."""
        classes = self.whole.hand_over.maker_class
        return [self.whole.targets[classes.index(number)] for number in range(self.whole.hand_over.makers)]
