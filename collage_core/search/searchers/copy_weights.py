"""`CopyWeights`: how the copies of a tensor weigh in the states of a `Cover`, where its readers are placed one after another.

Copies are shared by readers, so no reader pays a part of them that is known in advance. Two numbers stand for that:

* `share` is a part that every reading pays for sure: the cheapest copy into its location, divided among all readings of the tensor.
  Some copy leads into each location that is read, so the shares of all readings are together no more than the copies. Dual
  prices rest on it.
* `charged` is what a state has paid so far: the least, over all that the later readers may be, of the copies that are needed in the
  end less the shares of these readers. It begins with 0, ends with the copies of the plan, and grows from move to move by the
  share of the readings or more. So a move never weighs less than 0.
"""

from __future__ import annotations

from itertools import chain, combinations

from ..copies import copy_costs_of
from ..problem import SearchProblem


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
