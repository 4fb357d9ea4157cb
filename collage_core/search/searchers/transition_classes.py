"""`TransitionClasses`: the weights of transitions, with targets distinguished only as far as their transition costs differ.

Two targets are in one class of makers when every reader pays the same for their tensors, and in one class of readers when they
pay every maker the same. With free transitions there is one class, and states need not know who made a tensor.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..problem import FREE, HOST_NAME, SearchProblem


class TransitionClasses:
    """Transition weights between the targets of a problem.

    Args:
        targets: The targets in use; the host is among them when nodes are left to it.
        shift: Position of the total's field in a weight.

    Attributes:
        maker_class: The class of each target as a maker.
        reader_class: The class of each target as a reader.
        makers: Number of classes of makers.
        is_free_with_host: Whether nothing is paid for the tensors that the host makes or reads.
    """

    def __init__(self, problem: SearchProblem, targets: Sequence[str], shift: int):
        get = problem.transitions.get
        rows = [tuple(get((maker, reader), FREE) for reader in targets) for maker in targets]
        columns = [tuple(get((maker, reader), FREE) for maker in targets) for reader in targets]
        distinct_rows, distinct_columns = list(dict.fromkeys(rows)), list(dict.fromkeys(columns))
        self.maker_class = [distinct_rows.index(row) for row in rows]
        self.reader_class = [distinct_columns.index(column) for column in columns]
        self.makers = len(distinct_rows)
        self._between = [[row[self.reader_class.index(b)] for b in range(len(distinct_columns))] for row in distinct_rows]
        self._from_host = [get((HOST_NAME, target), FREE) for target in targets]
        self._to_host = [get((target, HOST_NAME), FREE) for target in targets]
        self._bytes = [tensor.bytes for tensor in problem.tensors]
        self._shift = shift
        self.is_free_with_host = all(transition == FREE for transition in (*self._from_host, *self._to_host))

    def between(self, tensor: int, maker: int, reader: int) -> int:
        """Return the weight of handing `tensor` from a class of makers to a class of readers."""
        return self._between[maker][reader].cost(self._bytes[tensor]) << self._shift

    def with_host(self, target: int, host_reads: Sequence[int], outputs: Sequence[int]) -> int:
        """Return the weight of what `target` reads from the host and makes for it; tensors past the problem's own weigh nothing."""
        taken, given = self._from_host[target], self._to_host[target]
        weight = sum(taken.cost(self._bytes[tensor]) for tensor in host_reads)
        weight += sum(given.cost(self._bytes[tensor]) for tensor in outputs if tensor < len(self._bytes))
        return weight << self._shift
