"""`Cover`: the implicit search graph over partial plans, made ready for fast expansion.

Seeds: RFC 62 (0.81), "Phase 3". A state is what is covered so far, and whatever else later costs and checks depend on:

* who made each tensor that is still to be read, and who has read a tensor that is still to be made (transition costs are
  pairwise, so the covered nodes alone are not enough);
* which targets were used, where some exclude each other;
* how much of each forbidden combination was taken (combinations of candidates that make a cycle between partitions).

Every step covers the first node that is not covered yet, so each plan is met once and states form no cycle. What a target
hands over or takes is told apart only as far as its transition costs differ: with free transitions states merge by their
covered nodes alone.

Costs are one integer each that orders plans as the design says: fewest nodes of unknown cost, then the total of the known,
then the toolchains' priorities (for the unknown), then the number of partitions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..graph import HOST, bits_of, indices_of
from .problem import HOST_NAME, FlowTensor, SearchProblem

_PARTITIONS_BITS = 40
_PRIORITY_BITS = 40
_TOTAL_BITS = 120
_TOTAL_SHIFT = _PARTITIONS_BITS + _PRIORITY_BITS
_UNKNOWN_SHIFT = _TOTAL_SHIFT + _TOTAL_BITS


def total_of(weight: int) -> int:
    """The femtoseconds in a packed weight."""
    return weight >> _TOTAL_SHIFT & ((1 << _TOTAL_BITS) - 1)


State = tuple[int, int, tuple[tuple[int, int], ...], int, tuple[int, ...]]
"""(first uncovered node, covered nodes from there on as bits, live tensors, targets used, forbidden combinations begun)."""


@dataclass(frozen=True, slots=True)
class Move:
    """A candidate, made ready to be placed.

    Attributes:
        index: Its place in the problem.
        order: Its rank among equal plans: by first node, target, nodes.
        rel: Its nodes, counted from its first.
        weight: Packed cost that does not depend on the state.
        reads: (tensor, maker) for the tensors whose cost depends on who made them.
        makes: Tensors whose cost depends on who reads them.
        target: Rank of its target among the targets used by the problem.
        uses, excludes: Bits of its own target, and of those that must not be used with it, where targets exclude each other.
        combinations: (forbidden combination, its bit in there).
    """

    index: int
    order: int
    rel: int
    weight: int
    reads: tuple[tuple[int, int], ...]
    makes: tuple[int, ...]
    target: int
    uses: int
    excludes: int
    combinations: tuple[tuple[int, int], ...]


class Cover:
    """The search graph of a problem, over the candidates given.

    Args:
        problem: Nodes, tensors, transitions, exclusions.
        usable: Indices of the candidates that may be used.
        forbidden: Sets of candidate indices that must not all be in one plan.
    """

    def __init__(self, problem: SearchProblem, usable: Sequence[int], forbidden: Sequence[frozenset[int]] = ()):
        self.problem = problem
        self.targets = list(dict.fromkeys(problem.candidates[index].target for index in usable))
        self._classes = _Classes(problem, self.targets)
        self._forbidden = list(forbidden)
        self._readers = [bits_of(tensor.readers) for tensor in problem.tensors]
        self.moves: list[list[Move]] = [[] for _ in range(problem.nodes)]
        reads, makes = _boundaries(problem)
        order = sorted(usable, key=self._rank)
        for rank, index in enumerate(order):
            first = _first(problem, index)
            self.moves[first].append(self._move(index, rank, first, reads, makes))
        self.bounds = self._bounds()
        self._suffix = [0]
        for bound in reversed(self.bounds):
            self._suffix.append(self._suffix[-1] + bound)
        self._suffix.reverse()

    @property
    def start(self) -> State:
        """Nothing covered."""
        return (0, 0, (), 0, (0,) * len(self._forbidden))

    def is_end(self, state: State) -> bool:
        """Whether everything is covered."""
        return state[0] >= self.problem.nodes

    def bound(self, state: State) -> int:
        """At most what the rest of any plan from `state` weighs: the prices of the nodes that are not covered yet."""
        first, rel = state[0], state[1]
        bound = self._suffix[first]
        for index in indices_of(rel):
            bound -= self.bounds[first + index]
        return bound

    def expand(self, state: State) -> Iterator[tuple[Move, int, State]]:
        """Every way to cover the first uncovered node: the move, its weight here, and the state after it."""
        first, rel, live, used, begun = state
        for move in self.moves[first]:
            if rel & move.rel or used & move.excludes:
                continue
            if move.combinations:
                after = self._advance(begun, move)
                if after is None:
                    continue
            else:
                after = begun
            covered = rel | move.rel
            run = ((covered + 1) & ~covered).bit_length() - 1
            weight, kept = (move.weight, live) if not (live or move.reads or move.makes) else self._hand_over(move, live, first, covered)
            reached = first + run
            if reached >= self.problem.nodes:
                # One end only, whatever was used on the way, so that equal plans meet there and are compared.
                yield move, weight, (reached, 0, (), 0, ())
            else:
                yield move, weight, (reached, covered >> run, kept, used | move.uses, self._retired(after, reached))

    def _hand_over(
        self, move: Move, live: tuple[tuple[int, int], ...], first: int, covered: int
    ) -> tuple[int, tuple[tuple[int, int], ...]]:
        """The weight of the move with the transitions that its neighbours decide, and the tensors live after it."""
        classes = self._classes
        weight = move.weight
        held = dict(live)
        for tensor, maker in move.reads:
            if maker < first or covered >> (maker - first) & 1:
                weight += classes.cost(tensor, held[tensor], move.target) << _TOTAL_SHIFT
            else:
                held[tensor] = held.get(tensor, 0) + classes.reader_code(move.target)
        for tensor in move.makes:
            for reader, count in classes.readers_in(held.pop(tensor, 0)):
                weight += count * classes.cost_to(tensor, move.target, reader) << _TOTAL_SHIFT
            held[tensor] = classes.maker_class(move.target)
        kept = []
        for tensor, code in held.items():
            maker = self.problem.tensors[tensor].maker
            is_made = maker < first or covered >> (maker - first) & 1
            if not is_made or self._readers[tensor] >> first & ~covered:
                kept.append((tensor, code))
        kept.sort()
        return weight, tuple(kept)

    def _advance(self, begun: tuple[int, ...], move: Move) -> tuple[int, ...] | None:
        after = list(begun)
        for combination, bit in move.combinations:
            after[combination] |= bit
            if after[combination].bit_count() == len(self._forbidden[combination]):
                return None
        return tuple(after)

    def _retired(self, begun: tuple[int, ...], first: int) -> tuple[int, ...]:
        """`begun` without the combinations that can no longer be completed, so that states merge again."""
        if not any(begun):
            return begun
        made = list(begun)
        for index, taken in enumerate(begun):
            members = sorted(self._forbidden[index])
            if taken and any(not taken >> place & 1 and _first(self.problem, member) < first for place, member in enumerate(members)):
                made[index] = 0
        return tuple(made)

    def _rank(self, index: int) -> tuple[int, int, int, tuple[int, ...]]:
        candidate = self.problem.candidates[index]
        target = candidate.target
        return _first(self.problem, index), self.problem.priority(target), self.targets.index(target), tuple(candidate.inside)

    def _move(self, index: int, rank: int, first: int, reads: dict[int, list[int]], makes: dict[int, list[int]]) -> Move:
        problem = self.problem
        candidate = problem.candidates[index]
        target = self.targets.index(candidate.target)
        weight, dependent_reads, dependent_makes = self._boundary(index, target, reads, makes)
        rivals = [other for pair in problem.exclusive if candidate.target in pair for other in pair if other != candidate.target]
        return Move(
            index=index,
            order=rank,
            rel=candidate.inside.rel,
            weight=weight,
            reads=dependent_reads,
            makes=dependent_makes,
            target=target,
            uses=1 << target if rivals else 0,
            excludes=sum(1 << self.targets.index(other) for other in dict.fromkeys(rivals) if other in self.targets),
            combinations=tuple(
                (place, 1 << sorted(members).index(index)) for place, members in enumerate(self._forbidden) if index in members
            ),
        )

    def _boundary(
        self, index: int, target: int, reads: dict[int, list[int]], makes: dict[int, list[int]]
    ) -> tuple[int, tuple[tuple[int, int], ...], tuple[int, ...]]:
        """The weight that the state does not change, and the tensors that it reads and makes whose cost the state decides."""
        problem, candidate = self.problem, self.problem.candidates[index]
        weight = self._own_weight(index)
        dependent_reads: list[tuple[int, int]] = []
        for tensor in dict.fromkeys(t for node in candidate.inside for t in reads.get(node, ())):
            flow = problem.tensors[tensor]
            if flow.maker == HOST:
                weight += problem.transition(HOST_NAME, candidate.target, flow.bytes) << _TOTAL_SHIFT
            elif flow.maker in candidate.inside:
                continue
            elif self._classes.is_fixed:
                weight += self._classes.cost_to(tensor, 0, target) << _TOTAL_SHIFT
            else:
                dependent_reads.append((tensor, flow.maker))
        dependent_makes: list[int] = []
        for tensor in (t for node in candidate.inside for t in makes.get(node, ())):
            flow = problem.tensors[tensor]
            if flow.is_output:
                weight += problem.transition(candidate.target, HOST_NAME, flow.bytes) << _TOTAL_SHIFT
            if not self._classes.is_fixed and any(node not in candidate.inside for node in flow.readers):
                dependent_makes.append(tensor)
        return weight, tuple(dependent_reads), tuple(dependent_makes)

    def _own_weight(self, index: int) -> int:
        candidate = self.problem.candidates[index]
        if candidate.target == HOST_NAME:
            return 1 + ((candidate.cost or 0) << _TOTAL_SHIFT)
        if candidate.cost is None:
            nodes = len(candidate.inside)
            return 1 + (nodes * self.problem.priority(candidate.target) << _PARTITIONS_BITS) + (nodes << _UNKNOWN_SHIFT)
        return 1 + (candidate.cost << _TOTAL_SHIFT)

    def _bounds(self) -> list[int]:
        """A price for each node, such that no move weighs less than the prices of its nodes together.

        This is a solution of the cover's linear dual: each node begins with its cheapest move of its own, prices are
        scaled down until every move can pay for its nodes, the largest moves first, and then raised again one after
        another as far as all moves allow.
        """
        moves = sorted((move for row in self.moves for move in row), key=lambda move: -move.rel.bit_count())
        nodes = [self._nodes_of(move) for move in moves]
        dear = max((move.weight for move in moves), default=0)
        prices = [dear] * self.problem.nodes
        for move, inside in zip(moves, nodes, strict=True):
            if len(inside) == 1:
                prices[inside[0]] = min(prices[inside[0]], move.weight)
        for move, inside in zip(moves, nodes, strict=True):
            total = sum(prices[node] for node in inside)
            if total > move.weight:
                for node in inside:
                    prices[node] = prices[node] * move.weight // total
        return self._raised(prices, moves, nodes)

    def _raised(self, prices: list[int], moves: Sequence[Move], nodes: Sequence[list[int]]) -> list[int]:
        """`prices`, each as high as it can be beside those before it."""
        slack = [move.weight - sum(prices[node] for node in inside) for move, inside in zip(moves, nodes, strict=True)]
        holding: list[list[int]] = [[] for _ in prices]
        for place, inside in enumerate(nodes):
            for node in inside:
                holding[node].append(place)
        for node, places in enumerate(holding):
            more = min((slack[place] for place in places), default=0)
            prices[node] += more
            for place in places:
                slack[place] -= more
        return prices

    def _nodes_of(self, move: Move) -> list[int]:
        return list(self.problem.candidates[move.index].inside)


def _first(problem: SearchProblem, index: int) -> int:
    return problem.candidates[index].inside.base


def _boundaries(problem: SearchProblem) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Node → tensors that it reads, node → tensors that it makes."""
    reads: dict[int, list[int]] = defaultdict(list)
    makes: dict[int, list[int]] = defaultdict(list)
    for place, tensor in enumerate(problem.tensors):
        if tensor.maker != HOST:
            makes[tensor.maker].append(place)
        for node in tensor.readers:
            reads[node].append(place)
    return reads, makes


class _Classes:
    """Targets told apart only as far as their transition costs differ: as makers, and as readers."""

    def __init__(self, problem: SearchProblem, targets: Sequence[str]):
        self.tensors: Sequence[FlowTensor] = problem.tensors
        self.problem = problem
        rows = {a: tuple(problem.transitions.get((a, b)) for b in targets) for a in targets}
        columns = {b: tuple(problem.transitions.get((a, b)) for a in targets) for b in targets}
        makers = list(dict.fromkeys(rows[target] for target in targets))
        readers = list(dict.fromkeys(columns[target] for target in targets))
        self._targets = list(targets)
        self._maker = [makers.index(rows[target]) for target in targets]
        self._reader = [readers.index(columns[target]) for target in targets]
        self._a_maker = [self._maker.index(number) for number in range(len(makers))]
        self._a_reader = [self._reader.index(number) for number in range(len(readers))]
        self.is_fixed = len(makers) <= 1
        self._known: dict[tuple[int, int, int], int] = {}

    def maker_class(self, target: int) -> int:
        """The class of `target` as a maker."""
        return self._maker[target]

    def reader_code(self, target: int) -> int:
        """What one reader like `target` adds to the code of a tensor that is still to be made."""
        return 1 << 16 * self._reader[target]

    def readers_in(self, code: int) -> Iterator[tuple[int, int]]:
        """(a target like the readers, how many) for each class in the code of a tensor that was read before it was made."""
        number = 0
        while code:
            if code & 0xFFFF:
                yield self._a_reader[number], code & 0xFFFF
            code >>= 16
            number += 1

    def cost(self, tensor: int, maker: int, reader: int) -> int:
        """Femtoseconds from a maker's class to a reading target."""
        return self.cost_to(tensor, self._a_maker[maker], reader)

    def cost_to(self, tensor: int, maker: int, reader: int) -> int:
        """Femtoseconds from a making target to a reading target."""
        key = (tensor, maker, reader)
        known = self._known.get(key)
        if known is None:
            known = self.problem.transition(self._targets[maker], self._targets[reader], self.tensors[tensor].bytes)
            self._known[key] = known
        return known
