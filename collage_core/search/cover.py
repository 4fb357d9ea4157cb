"""`Cover`: the implicit search graph over partial plans, made ready for fast expansion.

Seeds: RFC 62 (0.81), "Phase 3". A state is what is covered so far, and whatever else later costs and checks depend on:

* who made each tensor that is still to be read, and who has read a tensor that is still to be made (transition costs are
  pairwise, so the covered nodes alone are not enough);
* which targets were used, where some exclude each other;
* how much of each forbidden combination was taken (combinations of candidates that make a cycle between partitions).

Every step covers the first node that is not covered yet, so each plan is met once and states form no cycle. Steps weigh
what `Prices` leaves of a candidate's cost; a plan's weight is the sum of its steps and `bound`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .frame import frame_of
from .hand_over import HandOver
from .prices import Placing, Prices
from .problem import SearchProblem
from .weights import Weights

Live = tuple[tuple[int, int | tuple[tuple[int, int], ...]], ...]
"""(tensor, its maker's class) where it is made, (tensor, ((reader's class, how many of its nodes), …)) where it is not yet."""

State = tuple[int, int, Live, int, tuple[int, ...]]
"""(first uncovered node, covered nodes from there on as bits, live tensors, targets used, forbidden combinations begun)."""


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

    Attributes:
        moves: For each node the moves that begin there, the lightest first.
        bound: Weight that no plan is below; None where there is no plan.
    """

    def __init__(self, problem: SearchProblem, usable: Sequence[int], forbidden: Sequence[frozenset[int]] = (), *, is_guided: bool = True):
        self.problem = problem
        self.frame = frame_of(problem)
        self.weights = Weights(problem, usable)
        self._forbidden = [sorted(members) for members in forbidden]
        self._targets = list(dict.fromkeys(problem.candidates[index].target for index in usable))
        self._hand_over = HandOver(problem, self._targets, self.weights.total_shift)
        placings = [self._placing(index) for index in usable]
        self._prices = Prices(self.frame, self._hand_over, placings, is_guided=is_guided)
        self.bound = self._prices.bound
        self._tells_makers = self._hand_over.makers > 1
        self._dearer: dict[tuple[int, int, int, int], int] = {}
        self.moves: list[list[Move]] = [[] for _ in range(problem.nodes)]
        self._make_moves(usable, placings)

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
            else:
                waiting = held.get(tensor, ())
                assert isinstance(waiting, tuple)
                held[tensor] = tuple(sorted((*waiting, (reader, count))))
        for tensor in move.makes:
            waiting = held.get(tensor, ())
            assert isinstance(waiting, tuple)
            for reader, count in waiting:
                weight += self._more(tensor, move.maker, reader, count)
            held[tensor] = move.maker
        kept = [item for item in held.items() if isinstance(item[1], tuple) or self._is_awaited(item[0], first, covered)]
        kept.sort(key=lambda item: item[0])
        return weight, tuple(kept)

    def _more(self, tensor: int, maker: int, reader: int, count: int) -> int:
        key = (tensor, maker, reader, count)
        known = self._dearer.get(key)
        if known is None:
            known = self._dearer[key] = self._prices.dearer(tensor, maker, reader, count)
        return known

    def _is_awaited(self, tensor: int, first: int, covered: int) -> bool:
        return any(reader >= first and not covered >> reader - first & 1 for reader in self.frame.readers[tensor])

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

    def _placing(self, index: int) -> Placing:
        candidate = self.problem.candidates[index]
        target = self._targets.index(candidate.target)
        boundary = self.frame.boundary(candidate.inside)
        own = self.weights.of(candidate)
        if not self._hand_over.is_free:
            outputs = [tensor for tensor, _, to_host in boundary.makes if to_host]
            own += self._hand_over.with_host(target, boundary.host_reads, outputs)
        return Placing(own, self._hand_over.maker_class[target], self._hand_over.reader_class[target], boundary)

    def _make_moves(self, usable: Sequence[int], placings: Sequence[Placing]) -> None:
        excludes = self._exclusions()
        combinations = self._combinations()
        for index, placing, weight in zip(usable, placings, self._prices.reduced, strict=True):
            if weight is None:
                continue
            candidate = self.problem.candidates[index]
            reads: tuple[tuple[int, int, int, int], ...] = ()
            makes: tuple[int, ...] = ()
            if self._tells_makers:
                reads = tuple((tensor, self.frame.maker[tensor], placing.reader, count) for tensor, count in placing.boundary.reads)
                makes = tuple(tensor for tensor, count, _ in placing.boundary.makes if count)
            uses, excluded = excludes.get(candidate.target, (0, 0))
            rel, taken = candidate.inside.rel, combinations.get(index, ())
            move = Move(index, rel, weight, reads, makes, placing.maker, uses, excluded, taken)
            self.moves[candidate.inside.base].append(move)
        for row in self.moves:
            row.sort(key=lambda move: (move.weight, move.index))

    def _exclusions(self) -> dict[str, tuple[int, int]]:
        """For each target that excludes another: its bit, and the bits of those that it excludes."""
        made = {}
        for place, target in enumerate(self._targets):
            rivals = {other for pair in self.problem.exclusive if target in pair for other in pair if other != target}
            if rivals:
                made[target] = (1 << place, sum(1 << self._targets.index(other) for other in rivals if other in self._targets))
        return made

    def _combinations(self) -> dict[int, tuple[tuple[int, int], ...]]:
        made: dict[int, list[tuple[int, int]]] = {}
        for number, members in enumerate(self._forbidden):
            for place, member in enumerate(members):
                made.setdefault(member, []).append((number, 1 << place))
        return {index: tuple(taken) for index, taken in made.items()}


def steps(cover: Cover, state: State) -> Iterator[tuple[Move, int, State]]:
    """Every way to cover the first uncovered node: the move, its weight here, and the state after it."""
    for move in cover.moves[state[0]]:
        placed = cover.place(state, move)
        if not isinstance(placed, str):
            yield move, *placed
