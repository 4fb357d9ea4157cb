"""`Weights`: the four quantities by which plans are compared, packed into one integer that adds up.

Plans are compared by the nodes of unknown cost, then by the total of the known costs, then by the priorities of the targets of
unknown cost, then by the number of partitions; less is better. Each quantity has a bit field that no sum of a plan overflows.

`CopyWeights` and `TransitionClasses` are what readings of tensors weigh in the states of a `Cover`. Copies are shared by readers, so no
reader pays a part of them that is known in advance. Two numbers stand for that:

* `share` is a part that every reading pays for sure: the cheapest copy into its location, divided among all readings of the tensor.
  Some copy leads into each location that is read, so the shares of all readings are together no more than the copies. Dual
  prices rest on it.
* `charged` is what a state has paid so far: the least, over all that the later readers may be, of the copies that are needed in the
  end less the shares of these readers. It begins with 0, ends with the copies of the plan, and grows from move to move by the
  share of the readings or more. So a move never weighs less than 0.

Transitions tell targets apart only as far as these and their locations differ. Two targets are in one class of makers when they are at one
location and every reader pays the same for their tensors, and in one class of readers when they are at one location and pay every maker
the same. With free transitions at one location there is one class, and states need not know who made a tensor.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, combinations

from .copies import HOST_LOCATION, copy_costs_of, most_copied
from .problem import FREE, HOST_NAME, SearchCandidate, SearchProblem

GUARD_BITS = 24
"""Bits below the least field, for the rounding errors of dual prices, which are whole numbers."""


class Weights:
    """The bit fields of a problem's weights.

    Args:
        problem: Its largest sums decide how wide each field is.
        usable: Indices of the candidates that may be used.
    """

    def __init__(self, problem: SearchProblem, usable: Iterable[int]):
        candidates = [problem.candidates[index] for index in usable]
        ranks = {name: problem.priority(name) for name in {candidate.target for candidate in candidates}}
        self._ranks = ranks
        has_unknown = any(candidate.is_unknown for candidate in candidates)
        most_total = sum(candidate.cost or 0 for candidate in candidates) + _most_transitions(problem) + most_copied(problem)
        self._partition_shift = GUARD_BITS
        self._priority_shift = self._partition_shift + (problem.nodes + 1).bit_length()
        priority_bits = (problem.nodes * (max(ranks.values(), default=0) + 1)).bit_length() if has_unknown else 0
        self.total_shift = self._priority_shift + priority_bits
        total_bits = most_total.bit_length() + 1
        self._total_mask = (1 << total_bits) - 1
        self._unknown_shift = self.total_shift + total_bits

    def of(self, candidate: SearchCandidate) -> int:
        """Return the weight of `candidate` without transitions."""
        one = 1 << self._partition_shift
        if not candidate.is_unknown:
            return one + ((candidate.cost or 0) << self.total_shift)
        nodes = len(candidate.inside)
        return one + (nodes * self._ranks[candidate.target] << self._priority_shift) + (nodes << self._unknown_shift)

    def total(self, weight: int) -> int:
        """Return the femtoseconds in the weight of a plan, or in a bound, rounded down."""
        return weight >> self.total_shift & self._total_mask if weight > 0 else 0


def _most_transitions(problem: SearchProblem) -> int:
    """Return an upper bound of what any plan pays for transitions, in femtoseconds."""
    fixed = max((transition.fixed for transition in problem.transitions.values()), default=0)
    per_byte = max((transition.per_byte for transition in problem.transitions.values()), default=0)
    if not fixed and not per_byte:
        return 0
    return sum((len(tensor.readers) + 1) * (int(fixed + per_byte * tensor.bytes) + 1) for tensor in problem.tensors)


class CopyWeights:
    """The weights of the copies of a problem's tensors. Locations are numbers of its `CopyCosts`, sets of them bits.

    Args:
        targets: The targets in use.
        shift: Position of the total's field in a weight.

    Attributes:
        locations: The location of each target; None where its reading needs no copy.
    """

    def __init__(self, problem: SearchProblem, targets: list[str], shift: int):
        self._costs = copy_costs_of(problem)
        self._tensors = problem.tensors
        self._shift = shift
        self.locations = [self._costs.location(target) for target in targets]
        self._in_use = sorted({location for location in self.locations if location is not None})
        self._charged: dict[tuple[int, int, int, int], int] = {}
        self._more: dict[tuple[int, int, int, int, int], int] = {}

    def least(self, tensor: int, maker: int | None, reached: int) -> int:
        """Return the weight of the copies by which `tensor`, made at `maker`, exists at all of `reached`."""
        if maker is None or tensor >= len(self._tensors):
            return 0
        return self._costs.least(self._tensors[tensor].bytes, maker, reached) << self._shift

    def most(self, tensor: int) -> int:
        """Return an upper bound of the weight of all copies of `tensor`, whoever makes it."""
        everywhere = sum(1 << location for location in self._in_use)
        return max((self.least(tensor, location, everywhere) for location in self._in_use), default=0)

    def share(self, tensor: int, maker: int | None, reader: int | None) -> int:
        """Return the weight that each reading at `reader` of `tensor`, made at `maker`, pays for sure."""
        if maker is None or reader is None or maker == reader or tensor >= len(self._tensors):
            return 0
        flow = self._tensors[tensor]
        return (self._costs.entering(flow.bytes, reader) << self._shift) // (len(flow.readers) + flow.is_output)

    def charged(self, tensor: int, maker: int | None, reached: int, later: int) -> int:
        """Return the weight that is paid for copies once `tensor` is read at `reached`, while `later` readings are still to come."""
        if maker is None:
            return 0
        if not later:
            return self.least(tensor, maker, reached)
        key = (tensor, maker, reached, later)
        known = self._charged.get(key)
        if known is None:
            # Whatever the later readers need besides, one location has the largest share; so no more than that one has to be tried.
            known = self._charged[key] = min(
                self.least(tensor, maker, reached | 1 << location) - later * self.share(tensor, maker, location)
                for location in (maker, *self._in_use)
            )
        return known

    def most_more(self, tensor: int, maker: int | None, reached: int, other: int, later: int) -> int:
        """Return the most that `later` readings can cost more after `reached` than after `other`, beyond what was charged before."""
        if maker is None or reached == other:
            return 0
        key = (tensor, maker, reached, other, later)
        known = self._more.get(key)
        if known is None:
            before = self.charged(tensor, maker, reached, later) - self.charged(tensor, maker, other, later)
            bits = [1 << location for location in self._in_use]
            sets = chain.from_iterable(combinations(bits, count) for count in range(min(later, len(bits)) + 1))
            more = (self.least(tensor, maker, reached | sum(new)) - self.least(tensor, maker, other | sum(new)) for new in sets)
            known = self._more[key] = max(more) - before
        return known


class TransitionClasses:
    """Transition weights between the targets of a problem.

    Args:
        targets: The targets in use; the host is among them when nodes are left to it.
        shift: Position of the total's field in a weight.

    Attributes:
        maker_class: The class of each target as a maker.
        reader_class: The class of each target as a reader.
        makers: Number of classes of makers.
        copies: The weights of copies; None where no plan needs any.
        maker_location: The location of each class of makers.
        reader_location: The location of each class of readers.
        is_free_with_host: Whether nothing is paid for the tensors that the host makes or reads.
    """

    def __init__(self, problem: SearchProblem, targets: Sequence[str], shift: int):
        get = problem.transitions.get
        self.copies = CopyWeights(problem, list(targets), shift) if problem.needs_copies else None
        locations = self.copies.locations if self.copies is not None else [HOST_LOCATION] * len(targets)
        rows = [(at, tuple(get((maker, reader), FREE) for reader in targets)) for at, maker in zip(locations, targets, strict=True)]
        columns = [(at, tuple(get((maker, reader), FREE) for maker in targets)) for at, reader in zip(locations, targets, strict=True)]
        distinct_rows, distinct_columns = list(dict.fromkeys(rows)), list(dict.fromkeys(columns))
        self.maker_class = [distinct_rows.index(row) for row in rows]
        self.reader_class = [distinct_columns.index(column) for column in columns]
        self.maker_location = [at for at, _ in distinct_rows]
        self.reader_location = [at for at, _ in distinct_columns]
        self.makers = len(distinct_rows)
        self._between = [[row[self.reader_class.index(b)] for b in range(len(distinct_columns))] for _, row in distinct_rows]
        self._from_host = [get((HOST_NAME, target), FREE) for target in targets]
        self._to_host = [get((target, HOST_NAME), FREE) for target in targets]
        self._bytes = [tensor.bytes for tensor in problem.tensors]
        self._shift = shift
        self.is_free_with_host = self.copies is None and all(t == FREE for t in (*self._from_host, *self._to_host))

    def between(self, tensor: int, maker: int, reader: int) -> int:
        """Return the weight of handing `tensor` from a class of makers to a class of readers."""
        return self._between[maker][reader].cost(self._bytes[tensor]) << self._shift

    def paid(self, tensor: int, maker: int, reader: int, count: int) -> int:
        """Return the weight that a partition pays for sure for `count` readings of `tensor`: the transition, and its share of copies."""
        weight = self.between(tensor, maker, reader)
        if self.copies is not None:
            weight += count * self.copies.share(tensor, self.maker_location[maker], self.reader_location[reader])
        return weight

    def with_host(self, target: int, host_reads: Sequence[int], outputs: Sequence[int]) -> int:
        """Return the weight of what `target` reads from the host and makes for it; tensors past the problem's own weigh nothing."""
        taken, given = self._from_host[target], self._to_host[target]
        weight = sum(taken.cost(self._bytes[tensor]) for tensor in host_reads)
        weight += sum(given.cost(self._bytes[tensor]) for tensor in outputs if tensor < len(self._bytes))
        return weight << self._shift
