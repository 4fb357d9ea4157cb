"""`Weights`: the four quantities by which plans are compared, packed into one integer that adds up.

Plans are compared by the nodes of unknown cost, then by the total of the known costs, then by the priorities of the targets of
unknown cost, then by the number of partitions; less is better. Each quantity has a bit field that no sum of a plan overflows.
"""

from __future__ import annotations

from collections.abc import Iterable

from .copies import most_copied
from .problem import SearchCandidate, SearchProblem

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
