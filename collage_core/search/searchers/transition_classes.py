"""`TransitionClasses`: the weights of transitions, with targets distinguished only as far as these and their locations differ.

Two targets are in one class of makers when they are at one location and every reader pays the same for their tensors, and in one class
of readers when they are at one location and pay every maker the same. With free transitions at one location there is one class, and
states need not know who made a tensor.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..copies import HOST_LOCATION
from ..problem import FREE, HOST_NAME, SearchProblem
from .copy_weights import CopyWeights


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
