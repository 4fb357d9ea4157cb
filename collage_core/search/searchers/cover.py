"""`Cover`: the implicit search graph over partial plans (RFC 62 (Collage), "Phase 3"), prepared for fast expansion.

A state is the set of covered nodes and all else on which later costs and checks depend:

* the maker of each tensor that is still to be read, and the readers so far of each tensor that is still to be made, because
  transition costs depend on both ends; and the locations where a tensor that is still to be read was read so far, because a copy
  is paid once for all who read there;
* the targets in use, when some exclude each other;
* the part that is taken of each forbidden combination (candidates that together make a cycle between partitions).

Every move covers the first uncovered node, so each plan is met once and states form no cycle. A move weighs what `DualPrices`
leaves of the candidate's cost; the weight of a plan is the sum of its moves and `bound`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

from ...graph.dataflow_graph import HOST
from ...graph.index_set import IndexSet
from ..boundaries import Boundary, boundaries_of, span
from ..copies import HOST_LOCATION
from ..problem import SearchProblem
from ..weights import CopyWeights, TransitionClasses, Weights
from .dual_prices import DualPrices, WeighedCandidate

Live = tuple[tuple[int, int | tuple[tuple[int, int], ...]], ...]
"""(tensor, class of its maker) when made, (tensor, ((class of a reader, number of its reading nodes), …)) when not yet made.

Where tensors are copied, the class of the maker is added to the bits of the locations that were reached, times the number of classes."""

State = tuple[int, int, Live, int, tuple[int, ...]]
"""(first uncovered node, covered nodes from there on as bits, live tensors, targets in use, taken of forbidden combinations)."""


_tensor = itemgetter(0)


@dataclass(frozen=True, slots=True, eq=False)
class Move:
    """A candidate, prepared to be placed in a state: an edge of the search graph.

    Attributes:
        index: Index of the candidate in the problem.
        rel: Its nodes as bits, counted from its first.
        weight: Its least weight in any state.
        reads: (tensor, its maker, class of readers, number of reading nodes) where the weight depends on who made the tensor.
        makes: Tensors whose later readings depend on who made them.
        maker: Class of its target as a maker.
        uses, excludes: Bits of its target, and of the targets that it excludes, when targets exclude each other.
        combinations: (forbidden combination, bit of the candidate in it).
        host_reads: (tensor of the host, class of readers, number of reading nodes) where it may have to be copied.
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
    host_reads: tuple[tuple[int, int, int], ...] = ()


class Cover:
    """The search graph of a problem over the given candidates. Moves are numbered as in `usable`.

    Args:
        problem: Nodes, tensors, transitions, exclusions.
        usable: Indices of the candidates that may be used.
        forbidden: Sets of candidate indices that must not all be in one plan.
        is_guided: Whether moves are weighed with dual prices, so that those of a best plan weigh next to nothing.
        weights: The weights to use, when this is part of a larger problem.
        targets: All targets of the larger problem.

    Attributes:
        bound: Weight that no plan is below; None when there is no plan.
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
        self.boundaries = boundaries_of(problem)
        self._reader_bits = self.boundaries.reader_bits
        self.weights = weights or Weights(problem, usable)
        self._forbidden = [sorted(members) for members in forbidden]
        self._usable = usable
        self._targets = list(targets or dict.fromkeys(problem.candidates[index].target for index in usable))
        self._transitions = TransitionClasses(problem, self._targets, self.weights.total_shift)
        self._weighed = self._weigh_all()
        self._prices = DualPrices(self.boundaries, self._transitions, self._weighed, is_guided=is_guided)
        self.bound = self._prices.bound
        self._copies = self._transitions.copies
        self._depends_on_makers = self._transitions.makers > 1 or self._copies is not None
        if self._copies is not None:
            self._reader_bits = [span(readers, 0) for readers in self.boundaries.readers]
        self._extra: dict[tuple[int, int, int, int], int] = {}
        self._exclusions = self._exclusion_bits()
        self._combinations = self._combination_bits()
        self._moves: dict[int, Move] = {}
        self._rows = self._rows_by_first_node()

    @property
    def start(self) -> State:
        """The state in which nothing is covered."""
        return (0, 0, (), 0, (0,) * len(self._forbidden))

    @property
    def end(self) -> State:
        """The state in which everything is covered; it is one for all plans, so that equal plans meet there and are compared."""
        return (self.problem.nodes, 0, (), 0, ())

    def step(self, state: State, move: Move) -> tuple[int, State] | str:
        """Return the weight of `move` in `state` and the state after it, or the reason why it cannot be placed."""
        first, rel, live, used, taken = state
        if rel & move.rel:
            return "overlaps"
        if used & move.excludes:
            return "excluded"
        if move.combinations:
            advanced = self._advance(taken, move)
            if advanced is None:
                return "cycle"
            taken = advanced
        covered = rel | move.rel
        run = ((covered + 1) & ~covered).bit_length() - 1
        weight = move.weight
        if self._copies is not None:
            placed = self._with_copies(self._copies, move, live, first, covered)
            if placed is None:
                return "copied"
            weight, live = weight + placed[0], placed[1]
        elif live or move.reads or move.makes:
            more, live = self._with_transitions(move, live, first, covered)
            weight += more
        next_first = first + run
        if next_first >= self.problem.nodes:
            return weight, self.end
        if any(taken):
            taken = self._retired(taken, next_first)
        return weight, (next_first, covered >> run, live, used | move.uses, taken)

    def forcing(self, number: int) -> Cover:
        """Return the search graph of the plans that hold the candidate of move `number`; the bound includes its weight."""
        return _ForcedCover(self, number)

    def order_of(self, index: int) -> tuple[int, int, tuple[int, ...]]:
        """Return the key that decides between plans of equal weight which differ first in candidate `index`."""
        candidate = self.problem.candidates[index]
        return self.problem.priority(candidate.target), self._targets.index(candidate.target), tuple(candidate.inside)

    def order_of_plan(self, chosen: Sequence[int]) -> list[tuple[int, tuple[int, int, tuple[int, ...]]]]:
        """Return the key that decides between plans of equal weight; `chosen` is in the order of first nodes."""
        return [(self.problem.candidates[index].inside.base, self.order_of(index)) for index in chosen]

    def _with_transitions(self, move: Move, live: Live, first: int, covered: int) -> tuple[int, Live]:
        """Return the extra weight of the transitions between `move` and its neighbours, and the tensors live after it."""
        weight = 0
        after = dict(live)
        for tensor, maker, reader, count in move.reads:
            if maker < first or covered >> maker - first & 1:
                made_by = after[tensor]
                assert isinstance(made_by, int)
                weight += self._extra_weight(tensor, made_by, reader, count)
                if not self._has_later_reader(tensor, first, covered):
                    del after[tensor]
            else:
                waiting = after.get(tensor, ())
                assert isinstance(waiting, tuple)
                after[tensor] = tuple(sorted((*waiting, (reader, count))))
        for tensor in move.makes:
            waiting = after.pop(tensor, ())
            assert isinstance(waiting, tuple)
            for reader, count in waiting:
                weight += self._extra_weight(tensor, move.maker, reader, count)
            if self._has_later_reader(tensor, first, covered):
                after[tensor] = move.maker
        return weight, tuple(sorted(after.items(), key=_tensor))

    def _with_copies(self, copies: CopyWeights, move: Move, live: Live, first: int, covered: int) -> tuple[int, Live] | None:
        """Return the same as `_with_transitions`, with copies; None where `move` makes a tensor be copied that has to stay."""
        weight, makers, after = 0, self._transitions.makers, dict(live)
        readings = [(tensor, None, reader, count) for tensor, reader, count in move.host_reads]
        for tensor, maker, reader, count in (*readings, *move.reads):
            known = after.get(tensor, 0)
            if maker is not None and maker >= first and not covered >> maker - first & 1:
                waiting = known or ()
                assert isinstance(waiting, tuple)
                after[tensor] = tuple(sorted((*waiting, (reader, count))))
                continue
            assert isinstance(known, int)
            made_by, reached = known % makers, known // makers
            made_at = HOST_LOCATION if maker is None else self._transitions.maker_location[made_by]
            at = self._transitions.reader_location[reader]
            if tensor in self.problem.staying and at not in (None, made_at):
                return None
            later, now = self._later_readings(tensor, first, covered), reached if at is None else reached | 1 << at
            weight += copies.charged(tensor, made_at, now, later) - copies.charged(tensor, made_at, reached, later + count)
            weight -= count * copies.share(tensor, made_at, at)
            if maker is not None:
                weight += self._extra_weight(tensor, made_by, reader, count)
            if later:
                after[tensor] = made_by + makers * now
            else:
                after.pop(tensor, None)
        for tensor in move.makes:
            waiting = after.pop(tensor, ())
            assert isinstance(waiting, tuple)
            later = self._later_readings(tensor, first, covered)
            more, reached = self._made(copies, move, tensor, waiting, later)
            made_at = self._transitions.maker_location[move.maker]
            if tensor in self.problem.staying and made_at is not None and reached & ~(1 << made_at):
                return None
            weight += more
            if later:
                after[tensor] = move.maker + makers * reached
        return weight, tuple(sorted(after.items(), key=_tensor))

    def _made(self, copies: CopyWeights, move: Move, tensor: int, waiting: Sequence[tuple[int, int]], later: int) -> tuple[int, int]:
        """Return what `tensor` weighs, beyond the shares of its readings so far, when `move` makes it; and where it is read so far."""
        made_at, reached, weight = self._transitions.maker_location[move.maker], 0, 0
        if self.boundaries.is_output[tensor]:
            reached = 1 << HOST_LOCATION
            weight -= copies.share(tensor, made_at, HOST_LOCATION)
        for reader, count in waiting:
            at = self._transitions.reader_location[reader]
            reached |= 0 if at is None else 1 << at
            weight += self._extra_weight(tensor, move.maker, reader, count) - count * copies.share(tensor, made_at, at)
        return weight + copies.charged(tensor, made_at, reached, later), reached

    def _later_readings(self, tensor: int, first: int, covered: int) -> int:
        """Return how many nodes that are not covered read `tensor`."""
        start, bits = self._reader_bits[tensor]
        return ((bits << start - first if start >= first else bits >> first - start) & ~covered).bit_count()

    def without_locations(self, state: State) -> tuple[object, ...] | None:
        """Return what is left of `state` without the locations of its tensors; None where no other state differs in these alone."""
        if self._copies is None or not state[2]:
            return None
        makers, maker = self._transitions.makers, self.boundaries.maker
        live = tuple((t, known % makers if isinstance(known, int) else known) for t, known in state[2] if maker[t] != HOST)
        return (*state[:2], live, *state[3:])

    def most_more(self, state: State, other: State) -> int:
        """Return the most that the rest of a plan can weigh more after `state` than after `other`, which differs in locations alone."""
        assert self._copies is not None
        makers, known, known_other = self._transitions.makers, dict(state[2]), dict(other[2])
        weight = 0
        for tensor in known.keys() | known_other.keys():
            left, right = known.get(tensor, 0), known_other.get(tensor, 0)
            if isinstance(left, int) and isinstance(right, int):
                is_hosts = self.boundaries.maker[tensor] == HOST
                made_at = HOST_LOCATION if is_hosts else self._transitions.maker_location[left % makers]
                later = self._later_readings(tensor, *state[:2])
                weight += self._copies.most_more(tensor, made_at, left // makers, right // makers, later)
        return weight

    def _extra_weight(self, tensor: int, maker: int, reader: int, count: int) -> int:
        key = (tensor, maker, reader, count)
        known = self._extra.get(key)
        if known is None:
            known = self._extra[key] = self._prices.extra(tensor, maker, reader, count)
        return known

    def _has_later_reader(self, tensor: int, first: int, covered: int) -> bool:
        start, bits = self._reader_bits[tensor]
        return (bits << start - first if start >= first else bits >> first - start) & ~covered != 0

    def _advance(self, taken: tuple[int, ...], move: Move) -> tuple[int, ...] | None:
        """Return `taken` with the candidate of `move`; None when that completes a forbidden combination."""
        after = list(taken)
        for combination, bit in move.combinations:
            after[combination] |= bit
            if after[combination].bit_count() == len(self._forbidden[combination]):
                return None
        return tuple(after)

    def _retired(self, taken: tuple[int, ...], first: int) -> tuple[int, ...]:
        """Return `taken` without the combinations that can no longer be completed, so that states merge again."""
        after = list(taken)
        for combination, bits in enumerate(taken):
            members = self._forbidden[combination]
            if bits and any(
                not bits >> position & 1 and self.problem.candidates[member].inside.base < first for position, member in enumerate(members)
            ):
                after[combination] = 0
        return tuple(after)

    def row(self, first: int) -> list[tuple[int, int]]:
        """Return (least weight, number) of each move that begins at node `first`, the lightest first."""
        return self._rows[first]

    def least_weights(self) -> Iterator[tuple[int, int]]:
        """Yield (candidate, least weight of a plan that holds it) for each candidate that may be in a plan."""
        for row in self._rows:
            for weight, number in row:
                yield self._usable[number], weight

    def move(self, number: int) -> Move:
        """Return the move of that number, which is created at the first request, since most are never tried."""
        known = self._moves.get(number)
        if known is None:
            known = self._moves[number] = self._create_move(number)
        return known

    def move_numbers(self) -> dict[int, int]:
        """Return candidate → number of its move, for the candidates that may be in a plan."""
        return {self._usable[number]: number for row in self._rows for _, number in row}

    def _create_move(self, number: int) -> Move:
        index, weighed = self._usable[number], self._weighed[number]
        weight = self._prices.reduced[number]
        assert weight is not None
        candidate = self.problem.candidates[index]
        reads: tuple[tuple[int, int, int, int], ...] = ()
        makes: tuple[int, ...] = ()
        if self._depends_on_makers:
            maker = self.boundaries.maker
            reads = tuple((tensor, maker[tensor], weighed.reader, count) for tensor, count in weighed.boundary.reads)
            makes = tuple(tensor for tensor, count, _ in weighed.boundary.makes if count)
        host_reads: tuple[tuple[int, int, int], ...] = ()
        if self._copies is not None:
            counts = ((tensor, self._readings_of_host(tensor, candidate.inside)) for tensor in weighed.boundary.host_reads)
            host_reads = tuple((tensor, weighed.reader, count) for tensor, count in counts)
        uses, excludes = self._exclusions.get(candidate.target, (0, 0))
        combinations = self._combinations.get(index, ())
        return Move(index, candidate.inside.rel, weight, reads, makes, weighed.maker, uses, excludes, combinations, host_reads)

    def _readings_of_host(self, tensor: int, inside: IndexSet) -> int:
        """Return how many of the nodes `inside` read `tensor`, which the host makes."""
        return sum(reader in inside for reader in self.boundaries.readers[tensor])

    def _copied_with_host(self, copies: CopyWeights, target: int, inside: IndexSet, boundary: Boundary) -> int:
        """Return the weight of copies that a candidate of `target` pays for sure for what it reads from the host and makes for it."""
        at = copies.locations[target]
        weight = sum(self._readings_of_host(tensor, inside) * copies.share(tensor, HOST_LOCATION, at) for tensor in boundary.host_reads)
        for tensor, readers, to_host in boundary.makes:
            if to_host:
                weight += copies.share(tensor, at, HOST_LOCATION) if readers else copies.least(tensor, at, 1 << HOST_LOCATION)
        return weight

    def _weigh_all(self) -> list[WeighedCandidate]:
        transitions, boundary_of, weigh = self._transitions, self.boundaries.boundary, self.weights.of
        targets = {name: number for number, name in enumerate(self._targets)}
        weighed = []
        for index in self._usable:
            candidate = self.problem.candidates[index]
            target = targets[candidate.target]
            boundary = boundary_of(candidate.inside)
            own = weigh(candidate)
            if not transitions.is_free_with_host:
                outputs = [tensor for tensor, _, to_host in boundary.makes if to_host]
                own += transitions.with_host(target, boundary.host_reads, outputs)
            if transitions.copies is not None:
                own += self._copied_with_host(transitions.copies, target, candidate.inside, boundary)
            weighed.append(WeighedCandidate(own, transitions.maker_class[target], transitions.reader_class[target], boundary))
        return weighed

    def _rows_by_first_node(self) -> list[list[tuple[int, int]]]:
        rows: list[list[tuple[int, int]]] = [[] for _ in range(self.problem.nodes)]
        candidates, usable = self.problem.candidates, self._usable
        for number, weight in enumerate(self._prices.reduced):
            if weight is not None and not self._copies_output(number):
                rows[candidates[usable[number]].inside.base].append((weight, number))
        for row in rows:
            row.sort()
        return rows

    def _copies_output(self, number: int) -> bool:
        """Return whether the candidate makes an output that has to stay at another location than the host, which reads it."""
        staying = self.problem.staying
        if self._copies is None or not staying:
            return False
        weighed = self._weighed[number]
        is_at_host = self._transitions.maker_location[weighed.maker] == HOST_LOCATION
        return not is_at_host and any(to_host and tensor in staying for tensor, _, to_host in weighed.boundary.makes)

    def _exclusion_bits(self) -> dict[str, tuple[int, int]]:
        """Return for each target that excludes another: its bit, and the bits of those that it excludes."""
        bits = {}
        for number, target in enumerate(self._targets):
            excluded = {other for pair in self.problem.exclusive if target in pair for other in pair if other != target}
            if excluded:
                bits[target] = (1 << number, sum(1 << self._targets.index(other) for other in excluded if other in self._targets))
        return bits

    def _combination_bits(self) -> dict[int, tuple[tuple[int, int], ...]]:
        """Return for each candidate in a forbidden combination the `combinations` of its move."""
        bits: dict[int, list[tuple[int, int]]] = {}
        for combination, members in enumerate(self._forbidden):
            for position, member in enumerate(members):
                bits.setdefault(member, []).append((combination, 1 << position))
        return {index: tuple(listed) for index, listed in bits.items()}


class _ForcedCover(Cover):
    """The search graph of the plans that hold one candidate; it shares everything else with the cover that it is made from."""

    def __init__(self, cover: Cover, number: int):
        self.__dict__.update(cover.__dict__)
        forced = cover.move(number)
        assert cover.bound is not None
        self.bound = cover.bound + forced.weight
        self._number = number
        self._inside = cover.problem.candidates[forced.index].inside
        self._moves = {number: replace(forced, weight=0)}
        self._all_moves = cover._moves
        self._fitting_rows: dict[int, list[tuple[int, int]]] = {}

    def row(self, first: int) -> list[tuple[int, int]]:
        if first > self._inside.last():
            return self._rows[first]
        known = self._fitting_rows.get(first)
        if known is None:
            known = self._fitting_rows[first] = self._fitting(first)
        return known

    def move(self, number: int) -> Move:
        if number == self._number:
            return self._moves[number]
        known = self._all_moves.get(number)
        if known is None:
            known = self._all_moves[number] = self._create_move(number)
        return known

    def _fitting(self, first: int) -> list[tuple[int, int]]:
        """Return the moves at node `first` that do not overlap the forced candidate, and its own."""
        if first == self._inside.base:
            return [(0, self._number)]
        candidates, usable = self.problem.candidates, self._usable
        return [item for item in self._rows[first] if candidates[usable[item[1]]].inside.isdisjoint(self._inside)]


def moves_from(cover: Cover, state: State) -> Iterator[tuple[Move, int, State]]:
    """Yield every move that can be placed in `state`, its weight there, and the state after it."""
    for _, number in cover.row(state[0]):
        move = cover.move(number)
        stepped = cover.step(state, move)
        if not isinstance(stepped, str):
            yield move, *stepped
