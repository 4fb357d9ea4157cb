"""A subproblem: the nodes between two separators as a problem of its own, and its best plans.

The tensors that enter it are made before it, and those that leave it are read behind it. Extra nodes stand for these makers and
readers. A subproblem is described relative to its first node, so equal subproblems are equal data and are solved once.
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
from ..searchers.best_first import BestFirstSearch
from ..searchers.cover import Cover
from ..weights import TransitionClasses, Weights

SINK = "(sink)"
"""Target of the node that stands for the rest of the model behind a subproblem; it costs nothing and reads for nothing."""

MOST_LEAVINGS = 256
"""Combinations of makers of the leaving tensors past which the problem is searched as a whole."""


class TooManyLeavings(Exception):
    """Raised when the tensors that leave a subproblem can have more than `MOST_LEAVINGS` combinations of makers."""


Makers = tuple[int, ...]
"""For each of some tensors the class of its maker."""


@dataclass(frozen=True, slots=True)
class SubproblemPlan:
    """A best plan of a subproblem, for given makers of the entering and the leaving tensors.

    Attributes:
        leaving: The makers of the tensors that are read behind the subproblem.
        weight: Weight of its candidates, and of the transitions inside and into it.
        chosen: Its candidates, as indices into the subproblem's list.
    """

    leaving: Makers
    weight: int
    chosen: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Subproblem:
    """A subproblem, relative to its first node; equal objects are equal subproblems.

    Attributes:
        nodes: Number of its nodes.
        entering: (bytes, number of the entering maker, readers in it) for each tensor from before that it reads.
        from_host: (bytes, readers) for each tensor of the host that it reads.
        inner: (maker, bytes, readers in it, number of readers behind it, whether the host reads it) for each of its tensors.
        candidates: (first node, nodes, target, cost).
    """

    nodes: int
    entering: tuple[tuple[int, int, tuple[int, ...]], ...]
    from_host: tuple[tuple[int, tuple[int, ...]], ...]
    inner: tuple[tuple[int, int, tuple[int, ...], int, bool], ...]
    candidates: tuple[tuple[int, int, int, int | None], ...]


SearchToEnd = Callable[[Cover], BestFirstSearch | None]
MayWeigh = Callable[[int], bool]
"""Asked before so many candidates are weighed for another cover; False when the run was stopped."""


@dataclass(frozen=True, slots=True)
class Parent:
    """The properties that subproblems share with the problem that they are part of."""

    problem: SearchProblem
    targets: list[str]
    weights: Weights
    transitions: TransitionClasses


def spread(transitions: TransitionClasses, tensor: int) -> int:
    """Return the most that one reader pays more for a tensor of one maker than of another, its copies included."""
    readers = set(transitions.reader_class)
    paid = [[transitions.between(tensor, maker, reader) for maker in range(transitions.makers)] for reader in readers]
    most = max(max(row) - min(row) for row in paid)
    return most if transitions.copies is None else most + transitions.copies.most(tensor)


class TensorsBySubproblem:
    """The tensors that enter, leave and cross each subproblem, in an order that equal subproblems share.

    Attributes:
        live: For each separator the tensors that are live across it.
        entering: For each subproblem the tensors of earlier ones that it reads.
        leaving: For each subproblem its tensors that are read behind it.
        distinct: Every subproblem that was asked for, equal ones once.
    """

    def __init__(self, problem: SearchProblem, positions: Sequence[int]):
        self.problem = problem
        self.positions = positions
        self.boundaries = boundaries_of(problem)
        count = len(positions) - 1
        self.live: list[list[int]] = [[] for _ in positions]
        self.entering: list[list[int]] = [[] for _ in range(count)]
        self.leaving: list[list[int]] = [[] for _ in range(count)]
        self._from_host: list[list[int]] = [[] for _ in range(count)]
        self._inner: list[list[int]] = [[] for _ in range(count)]
        self._subproblem_of = [0] * problem.nodes
        for subproblem in range(count):
            for node in range(positions[subproblem], positions[subproblem + 1]):
                self._subproblem_of[node] = subproblem
        for index, tensor in enumerate(problem.tensors):
            self._add(index, tensor)
        self._number: dict[int, int] = {}
        self._numbers: dict[Subproblem, int] = {}
        self.distinct: list[Subproblem] = []

    def _add(self, index: int, tensor: FlowTensor) -> None:
        read_in = sorted({self._subproblem_of[reader] for reader in tensor.readers})
        if tensor.maker == HOST:
            for subproblem in read_in:
                self._from_host[subproblem].append(index)
            return
        home = self._subproblem_of[tensor.maker]
        self._inner[home].append(index)
        if read_in and read_in[-1] > home:
            self.leaving[home].append(index)
            for separator in range(home + 1, read_in[-1] + 1):
                self.live[separator].append(index)
        for subproblem in read_in:
            if subproblem > home:
                self.entering[subproblem].append(index)

    def number(self, subproblem: int, within: Sequence[int], targets: Sequence[str]) -> int:
        """Return the index in `distinct` of a subproblem, whose candidates are `within`."""
        if subproblem not in self._number:
            described = self._describe(subproblem, within, targets)
            if described not in self._numbers:
                self._numbers[described] = len(self.distinct)
                self.distinct.append(described)
            self._number[subproblem] = self._numbers[described]
        return self._number[subproblem]

    def _describe(self, subproblem: int, within: Sequence[int], targets: Sequence[str]) -> Subproblem:
        begin, end = self.positions[subproblem], self.positions[subproblem + 1]
        tensors, entering = self.problem.tensors, self.entering[subproblem]

        def inside(readers: Sequence[int]) -> tuple[int, ...]:
            return tuple(reader - begin for reader in readers if begin <= reader < end)

        makers = {node: number for number, node in enumerate(dict.fromkeys(tensors[t].maker for t in entering))}
        target_numbers = {name: number for number, name in enumerate(targets)}
        candidates = []
        for index in within:
            candidate = self.problem.candidates[index]
            candidates.append((candidate.inside.base - begin, candidate.inside.rel, target_numbers[candidate.target], candidate.cost))
        return Subproblem(
            end - begin,
            tuple((tensors[t].bytes, makers[tensors[t].maker], inside(tensors[t].readers)) for t in entering),
            tuple((tensors[t].bytes, inside(tensors[t].readers)) for t in self._from_host[subproblem]),
            tuple(self._inner_tensor(tensors[t], begin, end) for t in self._inner[subproblem]),
            tuple(candidates),
        )

    @staticmethod
    def _inner_tensor(tensor: FlowTensor, begin: int, end: int) -> tuple[int, int, tuple[int, ...], int, bool]:
        inside = tuple(reader - begin for reader in tensor.readers if reader < end)
        return tensor.maker - begin, tensor.bytes, inside, len(tensor.readers) - len(inside), tensor.is_output


class SubproblemSolver:
    """A subproblem as a problem of its own: nodes for the makers of what enters, its own nodes, and one node for all behind it."""

    def __init__(self, subproblem: Subproblem, parent: Parent, may_weigh: MayWeigh):
        self.subproblem = subproblem
        self.parent = parent
        self._may_weigh = may_weigh
        self.before = 1 + max((maker for _, maker, _ in subproblem.entering), default=-1)
        self.sink = self.before + subproblem.nodes
        self.problem = self._as_problem()
        self._covers: dict[Makers, list[tuple[dict[int, int], Cover]]] = {}
        # The extra nodes count as partitions; their weight is taken off again.
        self._extra_weight = (self.before + 1) * parent.weights.of(self.problem.candidates[-1])
        transitions = TransitionClasses(self.problem, parent.targets, parent.weights.total_shift)
        self._most_gained = sum(behind * spread(transitions, tensor) for tensor, (_, _, _, behind, _) in self._leaving())

    def plans(self, entering: Makers, search_to_end: SearchToEnd, forced: int | None = None) -> list[SubproblemPlan]:
        """Return the best plan for each combination of makers of the leaving tensors that may be worth it.

        Args:
            entering: The makers of the entering tensors.
            search_to_end: Searches a cover; returns None when it finds no plan.
            forced: Index of a candidate that the plans must hold; None for any.
        """
        found: list[SubproblemPlan] = []
        for bound, makers, cover in self._covers_by_bound(entering, forced):
            if found and bound - self._extra_weight > min(plan.weight for plan in found) + self._most_gained:
                break
            search = search_to_end(cover)
            if search is not None:
                chosen = tuple(move.index for move in search.path(cover.end) if move.index < len(self.subproblem.candidates))
                leaving = tuple(makers[maker] for _, (maker, _, _, _, _) in self._leaving())
                found.append(SubproblemPlan(leaving, bound + search.popped_weight - self._extra_weight, chosen))
        return found

    def _covers_by_bound(self, entering: Makers, forced: int | None) -> list[tuple[int, dict[int, int], Cover]]:
        """Return (bound, makers of what leaves, the subproblem with these makers), the lowest bound first."""
        covers = []
        for makers, cover in self._covers.get(entering) or self._made_covers(entering):
            if forced is not None and cover.bound is not None:
                number = cover.move_numbers().get(forced)
                if number is None:
                    continue
                cover = cover.forcing(number)
            if cover.bound is not None:
                covers.append((cover.bound, makers, cover))
        return sorted(covers, key=lambda item: item[0])

    def _made_covers(self, entering: Makers) -> list[tuple[dict[int, int], Cover]]:
        """Make the subproblem with each combination of makers of what leaves, and keep them; some are missing when the run was stopped."""
        made: list[tuple[dict[int, int], Cover]] = []
        for makers in self._combinations():
            if not self._may_weigh(len(self.subproblem.candidates)):
                return made
            made.append((makers, self._cover(entering, makers)))
        self._covers[entering] = made
        return made

    def _leaving(self) -> list[tuple[int, tuple[int, int, tuple[int, ...], int, bool]]]:
        """Return (index in the problem, description) of each tensor that is read behind the subproblem."""
        tensors = enumerate(self.subproblem.inner, len(self.subproblem.entering) + len(self.subproblem.from_host))
        return [(index, tensor) for index, tensor in tensors if tensor[3]]

    def _combinations(self) -> Iterator[dict[int, int]]:
        """Yield every assignment of maker classes to the nodes whose tensors leave, as far as candidates allow it."""
        makers = list(dict.fromkeys(tensor[0] for _, tensor in self._leaving()))
        classes = self.parent.transitions.maker_class
        options = []
        for maker in makers:
            holding = (target for first, rel, target, _ in self.subproblem.candidates if first <= maker and rel >> maker - first & 1)
            options.append(sorted({classes[target] for target in holding}))
        if prod(map(len, options)) > MOST_LEAVINGS:
            raise TooManyLeavings
        for chosen in product(*options):
            yield dict(zip(makers, chosen, strict=True))

    def _cover(self, entering: Makers, makers: dict[int, int]) -> Cover:
        """Return the subproblem with the makers `entering` of what enters, and `makers` of what leaves."""
        classes = self.parent.transitions.maker_class
        usable = []
        for index, (first, rel, target, _) in enumerate(self.subproblem.candidates):
            if all(classes[target] == wanted or first > node or not rel >> node - first & 1 for node, wanted in makers.items()):
                usable.append(index)
        entered = {maker: made_by for (_, maker, _), made_by in zip(self.subproblem.entering, entering, strict=True)}
        own = len(self.subproblem.candidates)
        usable += [own + node * self.parent.transitions.makers + entered[node] for node in range(self.before)]
        usable.append(len(self.problem.candidates) - 1)
        return Cover(self.problem, usable, weights=self.parent.weights, targets=self.parent.targets)

    def _as_problem(self) -> SearchProblem:
        subproblem, targets, shift = self.subproblem, self.parent.targets, self.before

        def shifted(readers: Sequence[int]) -> tuple[int, ...]:
            return tuple(reader + shift for reader in readers)

        tensors = [FlowTensor("", maker, shifted(readers), False, size) for size, maker, readers in subproblem.entering]
        tensors += [FlowTensor("", HOST, shifted(readers), False, size) for size, readers in subproblem.from_host]
        for maker, size, readers, behind, is_output in subproblem.inner:
            read_by = (*shifted(readers), *((self.sink,) if behind else ()))
            tensors.append(FlowTensor("", maker + shift, read_by, is_output, size))
        candidates = [
            SearchCandidate(IndexSet.window(first + shift, rel), targets[target], cost, "")
            for first, rel, target, cost in subproblem.candidates
        ]
        candidates += [SearchCandidate(IndexSet.window(node, 1), target, 0, "") for node in range(shift) for target in self._makers()]
        candidates.append(SearchCandidate(IndexSet.window(self.sink, 1), SINK, 0, ""))
        parent = self.parent.problem
        return SearchProblem(
            self.sink + 1,
            tuple(tensors),
            tuple(candidates),
            transitions=parent.transitions,
            priorities=parent.priorities,
            locations=parent.locations,
            target_locations=parent.target_locations,
            copies=parent.copies,
        )

    def _makers(self) -> list[str]:
        """Return a target of each class of makers, in the order of the classes."""
        classes = self.parent.transitions.maker_class
        return [self.parent.targets[classes.index(number)] for number in range(self.parent.transitions.makers)]
