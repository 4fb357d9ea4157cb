"""`Cover`: the implicit search graph over partial plans, made ready for fast expansion.

Seeds: RFC 62 (0.81), "Phase 3". A state is what is covered so far, and whatever else later costs and checks depend on:

* who made each tensor that is still to be read, and who has read a tensor that is still to be made (transition costs are
  pairwise, so the covered nodes alone are not enough);
* which targets were used, where some exclude each other;
* how much of each forbidden combination was taken (combinations of candidates that make a cycle between partitions).

Every step covers the first node that is not covered yet, so each plan is met once and states form no cycle. Steps weigh
what `DualPrices` leaves of a candidate's cost; a plan's weight is the sum of its steps and `bound`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

from ..boundaries import boundaries_of
from ..problem import SearchProblem
from ..weights import Weights
from .dual_prices import DualPrices, Placing
from .transition_classes import TransitionClasses

Live = tuple[tuple[int, int | tuple[tuple[int, int], ...]], ...]
"""(tensor, its maker's class) where it is made, (tensor, ((reader's class, how many of its nodes), …)) where it is not yet."""

State = tuple[int, int, Live, int, tuple[int, ...]]
"""(first uncovered node, covered nodes from there on as bits, live tensors, targets used, forbidden combinations begun)."""


_tensor = itemgetter(0)


@dataclass(frozen=True, slots=True, eq=False)
class Move:
    """A candidate, made ready to be placed.

    Attributes:
        index: Its place in the problem.
        rel: Its nodes, counted from its first.
        weight: What it weighs at least, wherever it is placed.
        reads: (tensor, its maker, class of readers, how many of its nodes read it) where the weight depends on who made it.
        makes: Tensors whose later readings depend on who made them.
        maker: Its target's class as a maker.
        uses, excludes: Bits of its own target, and of those that must not be used with it, where targets exclude each other.
        combinations: (forbidden combination, its bit in there).
    """

    index: int
    rel: int
    weight: int
    reads: tuple[tuple[int, int, int, int], ...]
    makes: tuple[int, ...]
    maker: int
    uses: int
    excludes: int
    combinations: tuple[tuple[int, int], ...]


class Cover:
    """The search graph of a problem, over the candidates given.

    Args:
        problem: Nodes, tensors, transitions, exclusions.
        usable: Indices of the candidates that may be used.
        forbidden: Sets of candidate indices that must not all be in one plan.
        is_guided: Whether steps are weighed with prices, so that those of a best plan weigh next to nothing.
        weights: The weights to count in, where it is part of a larger problem.
        targets: All targets of the larger problem.

    Attributes:
        bound: Weight that no plan is below; None where there is no plan.
    """

    def __init__(
        self,
        problem: SearchProblem,
        usable: Sequence[int],
        forbidden: Sequence[frozenset[int]] = (),
        *,
        is_guided: bool = True,
        weights: Weights | None = None,
        targets: Sequence[str] | None = None,
    ):
        self.problem = problem
        self.frame = boundaries_of(problem)
        self.weights = weights or Weights(problem, usable)
        self._forbidden = [sorted(members) for members in forbidden]
        self._usable = usable
        self._targets = list(targets or dict.fromkeys(problem.candidates[index].target for index in usable))
        self._hand_over = TransitionClasses(problem, self._targets, self.weights.total_shift)
        self._placings = self._place_all()
        self._prices = DualPrices(self.frame, self._hand_over, self._placings, is_guided=is_guided)
        self.bound = self._prices.bound
        self._tells_makers = self._hand_over.makers > 1
        self._dearer: dict[tuple[int, int, int, int], int] = {}
        self._excludes = self._exclusions()
        self._combinations = self._combined()
        self._moves: dict[int, Move] = {}
        self._rows = self._begun_at()

    @property
    def start(self) -> State:
        """Nothing covered."""
        return (0, 0, (), 0, (0,) * len(self._forbidden))

    @property
    def end(self) -> State:
        """Everything covered: one state only, whatever was used on the way, so that equal plans meet there and are compared."""
        return (self.problem.nodes, 0, (), 0, ())

    def place(self, state: State, move: Move) -> tuple[int, State] | str:
        """What `move` weighs in `state` and the state after it, or why it cannot be placed."""
        first, rel, live, used, begun = state
        if rel & move.rel:
            return "overlaps"
        if used & move.excludes:
            return "excluded"
        if move.combinations:
            advanced = self._advance(begun, move)
            if advanced is None:
                return "cycle"
            begun = advanced
        covered = rel | move.rel
        run = ((covered + 1) & ~covered).bit_length() - 1
        weight = move.weight
        if live or move.reads or move.makes:
            more, live = self._handed_over(move, live, first, covered)
            weight += more
        reached = first + run
        if reached >= self.problem.nodes:
            return weight, self.end
        if any(begun):
            begun = self._retired(begun, reached)
        return weight, (reached, covered >> run, live, used | move.uses, begun)

    def holding(self, number: int) -> Cover:
        """The same search graph, of the plans that hold the candidate of a move: what that weighs is paid in the bound."""
        return _Holding(self, number)

    def order_of(self, index: int) -> tuple[int, int, tuple[int, ...]]:
        """What decides between equal plans that differ in this candidate first (design, "Well-formed plan")."""
        candidate = self.problem.candidates[index]
        return self.problem.priority(candidate.target), self._targets.index(candidate.target), tuple(candidate.inside)

    def order_of_plan(self, chosen: Sequence[int]) -> list[tuple[int, tuple[int, int, tuple[int, ...]]]]:
        """What decides between equal plans, given in the order of their first nodes."""
        return [(self.problem.candidates[index].inside.base, self.order_of(index)) for index in chosen]

    def _handed_over(self, move: Move, live: Live, first: int, covered: int) -> tuple[int, Live]:
        """What the move weighs more for who its neighbours are, and the tensors live after it."""
        weight = 0
        held = dict(live)
        for tensor, maker, reader, count in move.reads:
            if maker < first or covered >> maker - first & 1:
                made_by = held[tensor]
                assert isinstance(made_by, int)
                weight += self._more(tensor, made_by, reader, count)
                if not self._is_awaited(tensor, first, covered):
                    del held[tensor]
            else:
                waiting = held.get(tensor, ())
                assert isinstance(waiting, tuple)
                held[tensor] = tuple(sorted((*waiting, (reader, count))))
        for tensor in move.makes:
            waiting = held.pop(tensor, ())
            assert isinstance(waiting, tuple)
            for reader, count in waiting:
                weight += self._more(tensor, move.maker, reader, count)
            if self._is_awaited(tensor, first, covered):
                held[tensor] = move.maker
        return weight, tuple(sorted(held.items(), key=_tensor))

    def _more(self, tensor: int, maker: int, reader: int, count: int) -> int:
        key = (tensor, maker, reader, count)
        known = self._dearer.get(key)
        if known is None:
            known = self._dearer[key] = self._prices.dearer(tensor, maker, reader, count)
        return known

    def _is_awaited(self, tensor: int, first: int, covered: int) -> bool:
        readers = self.frame.readers[tensor]
        return readers[-1] >= first + covered.bit_length() or any(
            reader >= first and not covered >> reader - first & 1 for reader in readers
        )

    def _advance(self, begun: tuple[int, ...], move: Move) -> tuple[int, ...] | None:
        after = list(begun)
        for combination, bit in move.combinations:
            after[combination] |= bit
            if after[combination].bit_count() == len(self._forbidden[combination]):
                return None
        return tuple(after)

    def _retired(self, begun: tuple[int, ...], first: int) -> tuple[int, ...]:
        """`begun` without the combinations that can no longer be completed, so that states merge again."""
        made = list(begun)
        for index, taken in enumerate(begun):
            members = self._forbidden[index]
            if taken and any(
                not taken >> place & 1 and self.problem.candidates[member].inside.base < first for place, member in enumerate(members)
            ):
                made[index] = 0
        return tuple(made)

    def row(self, first: int) -> list[tuple[int, int]]:
        """(least weight, number) of each move that begins at node `first`, the lightest first."""
        return self._rows[first]

    def least_weights(self) -> Iterator[tuple[int, int]]:
        """(index of a candidate, what a plan that holds it weighs at least) for each that may be in one."""
        for row in self._rows:
            for weight, number in row:
                yield self._usable[number], weight

    def move(self, number: int) -> Move:
        """The move of that number; made when its turn comes, since most never get one."""
        known = self._moves.get(number)
        if known is None:
            known = self._moves[number] = self._made(number)
        return known

    def numbers(self) -> dict[int, int]:
        """Index of a candidate → number of its move, for those that may be in a plan."""
        return {self._usable[number]: number for row in self._rows for _, number in row}

    def _made(self, number: int) -> Move:
        index, placing = self._usable[number], self._placings[number]
        weight = self._prices.reduced[number]
        assert weight is not None
        candidate = self.problem.candidates[index]
        reads: tuple[tuple[int, int, int, int], ...] = ()
        makes: tuple[int, ...] = ()
        if self._tells_makers:
            reads = tuple((tensor, self.frame.maker[tensor], placing.reader, count) for tensor, count in placing.boundary.reads)
            makes = tuple(tensor for tensor, count, _ in placing.boundary.makes if count)
        uses, excluded = self._excludes.get(candidate.target, (0, 0))
        combinations = self._combinations.get(index, ())
        return Move(index, candidate.inside.rel, weight, reads, makes, placing.maker, uses, excluded, combinations)

    def _place_all(self) -> list[Placing]:
        hand_over, boundary_of, weigh = self._hand_over, self.frame.boundary, self.weights.of
        targets = {name: place for place, name in enumerate(self._targets)}
        made = []
        for index in self._usable:
            candidate = self.problem.candidates[index]
            target = targets[candidate.target]
            boundary = boundary_of(candidate.inside)
            own = weigh(candidate)
            if not hand_over.is_free_with_host:
                outputs = [tensor for tensor, _, to_host in boundary.makes if to_host]
                own += hand_over.with_host(target, boundary.host_reads, outputs)
            made.append(Placing(own, hand_over.maker_class[target], hand_over.reader_class[target], boundary))
        return made

    def _begun_at(self) -> list[list[tuple[int, int]]]:
        """The moves' numbers by the node that they begin at, with the least that they weigh."""
        rows: list[list[tuple[int, int]]] = [[] for _ in range(self.problem.nodes)]
        candidates, usable = self.problem.candidates, self._usable
        for number, weight in enumerate(self._prices.reduced):
            if weight is not None:
                rows[candidates[usable[number]].inside.base].append((weight, number))
        for row in rows:
            row.sort()
        return rows

    def _exclusions(self) -> dict[str, tuple[int, int]]:
        """For each target that excludes another: its bit, and the bits of those that it excludes."""
        made = {}
        for place, target in enumerate(self._targets):
            rivals = {other for pair in self.problem.exclusive if target in pair for other in pair if other != target}
            if rivals:
                made[target] = (1 << place, sum(1 << self._targets.index(other) for other in rivals if other in self._targets))
        return made

    def _combined(self) -> dict[int, tuple[tuple[int, int], ...]]:
        made: dict[int, list[tuple[int, int]]] = {}
        for number, members in enumerate(self._forbidden):
            for place, member in enumerate(members):
                made.setdefault(member, []).append((number, 1 << place))
        return {index: tuple(taken) for index, taken in made.items()}


class _Holding(Cover):
    """A cover of the plans that hold one candidate; everything else is shared with the cover that it was made from."""

    def __init__(self, cover: Cover, number: int):
        self.__dict__.update(cover.__dict__)
        held = cover.move(number)
        assert cover.bound is not None
        self.bound = cover.bound + held.weight
        self._number = number
        self._inside = cover.problem.candidates[held.index].inside
        self._moves = {number: replace(held, weight=0)}
        self._all_moves = cover._moves
        self._kept: dict[int, list[tuple[int, int]]] = {}

    def row(self, first: int) -> list[tuple[int, int]]:
        if first > self._inside.last():
            return self._rows[first]
        known = self._kept.get(first)
        if known is None:
            known = self._kept[first] = self._fitting(first)
        return known

    def move(self, number: int) -> Move:
        if number == self._number:
            return self._moves[number]
        known = self._all_moves.get(number)
        if known is None:
            known = self._all_moves[number] = self._made(number)
        return known

    def _fitting(self, first: int) -> list[tuple[int, int]]:
        """The moves at a node that do not overlap the candidate, and its own."""
        if first == self._inside.base:
            return [(0, self._number)]
        candidates, usable = self.problem.candidates, self._usable
        return [item for item in self._rows[first] if candidates[usable[item[1]]].inside.isdisjoint(self._inside)]


def steps(cover: Cover, state: State) -> Iterator[tuple[Move, int, State]]:
    """Every way to cover the first uncovered node: the move, its weight here, and the state after it."""
    for _, number in cover.row(state[0]):
        move = cover.move(number)
        placed = cover.place(state, move)
        if not isinstance(placed, str):
            yield move, *placed
