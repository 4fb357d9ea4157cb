"""`DualPrices`: a price for each reading of each tensor, such that no candidate earns more than it pays.

The price of a reading depends on the class of the tensor's maker. For a candidate take

    cost + prices of what it reads − prices of what leaves it

Summed over the partitions of any plan this is the plan's total less the prices of what the host reads, since every other
reading is paid once and earned once. When the term of no candidate is negative, the prices of the host's readings are a lower
bound for every plan: they are a feasible solution of the dual of the cover's linear program, and the terms are reduced costs. A
term says by how much, at least, a plan that holds the candidate is above the bound.

One sweep along the graph finds the prices: the price of what a node makes is as high as the cheapest way to make it allows, and
is divided among the readings. On a tree the bound is the optimum; elsewhere it is close. `reduced` holds the terms, and a search
over them needs no other bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..boundaries import Boundaries, Boundary
from ..weights import TransitionClasses


class WeighedCandidate(NamedTuple):
    """A candidate with its weight, the classes of its target, and its boundary.

    Attributes:
        own: Its weight with the transitions from and to the host, and with its shares of the copies of what these make and read.
        maker, reader: Classes of its target.
        boundary: The tensors that enter and leave it.
    """

    own: int
    maker: int
    reader: int
    boundary: Boundary


class DualPrices:
    """The dual prices of a problem, and the reduced weight of each candidate.

    Args:
        candidates: The candidates that may be used.
        is_guided: When False all prices are 0: then `reduced` has the weights themselves, without transitions between nodes.

    Attributes:
        reduced: For each candidate its term of the sum, with the cheapest makers of what it reads; None when it is in no plan.
        bound: Weight that no plan is below; None when there is no plan.
    """

    def __init__(
        self, boundaries: Boundaries, transitions: TransitionClasses, candidates: Sequence[WeighedCandidate], *, is_guided: bool = True
    ):
        self._boundaries = boundaries
        self._transitions = transitions
        self._price: list[list[int | None]] = [[None] * transitions.makers for _ in range(boundaries.nodes)]
        self._host_price: list[int] = [0] * boundaries.nodes
        self._cheapest: dict[tuple[int, int, int], int | None] = {}
        self.reduced: list[int | None] = [None] * len(candidates)
        self._sweep(candidates, is_guided)
        self.bound = self._bound()

    def cheapest(self, tensor: int, reader: int, count: int) -> int | None:
        """Return the least that a partition of class `reader` pays for `count` readings of `tensor`, over all makers."""
        key = (tensor, reader, count)
        if key not in self._cheapest:
            prices = self._price[self._boundaries.maker[tensor]]
            paid = [
                count * price + self._transitions.paid(tensor, maker, reader, count)
                for maker, price in enumerate(prices)
                if price is not None
            ]
            self._cheapest[key] = min(paid, default=None)
        return self._cheapest[key]

    def extra(self, tensor: int, maker: int, reader: int, count: int) -> int:
        """Return what these readings cost more than at the cheapest maker when class `maker` has made the tensor."""
        price = self._price[self._boundaries.maker[tensor]][maker]
        least = self.cheapest(tensor, reader, count)
        assert price is not None
        assert least is not None
        return count * price + self._transitions.paid(tensor, maker, reader, count) - least

    def _sweep(self, candidates: Sequence[WeighedCandidate], is_guided: bool) -> None:
        by_last, early_makers = self._by_last_exit(candidates)
        for node in self._boundaries.order:
            paid = [(number, self._paid(candidates[number])) for number in by_last[node]]
            self._set_prices(node, candidates, [(number, sum_) for number, sum_ in paid if sum_ is not None], early_makers[node], is_guided)
            for number, sum_ in paid:
                if sum_ is not None:
                    self.reduced[number] = sum_ - self._earned(candidates[number])

    def _by_last_exit(self, candidates: Sequence[WeighedCandidate]) -> tuple[list[list[int]], list[set[int]]]:
        """Return for each node the candidates whose last exit it is, and the classes of makers for which it is an earlier exit."""
        maker = self._boundaries.maker
        rank = [0] * self._boundaries.nodes
        for position, node in enumerate(self._boundaries.order):
            rank[node] = position
        by_last: list[list[int]] = [[] for _ in rank]
        early_makers: list[set[int]] = [set() for _ in rank]
        for number, candidate in enumerate(candidates):
            makes = candidate.boundary.makes
            last = maker[makes[0][0]]
            if candidate.boundary.exits > 1:
                exits = {maker[made[0]] for made in makes}
                last = max(exits, key=rank.__getitem__)
                for node in exits - {last}:
                    early_makers[node].add(candidate.maker)
            by_last[last].append(number)
        return by_last, early_makers

    def _paid(self, candidate: WeighedCandidate) -> int | None:
        """Return its own weight and the prices of what it reads, at the cheapest makers; None when nobody makes one of these."""
        paid = candidate.own
        cheapest, reader = self._cheapest, candidate.reader
        for tensor, count in candidate.boundary.reads:
            least = cheapest.get((tensor, reader, count))
            if least is None:
                least = self.cheapest(tensor, reader, count)
                if least is None:
                    return None
            paid += least
        return paid

    def _set_prices(
        self,
        node: int,
        candidates: Sequence[WeighedCandidate],
        paid: Sequence[tuple[int, int]],
        early_makers: set[int],
        is_guided: bool,
    ) -> None:
        """Set the highest prices of the readings of `node` at which none of its candidates earns more than it pays."""
        prices = self._price[node]
        for number, sum_ in paid:
            candidate = candidates[number]
            most = self._highest_price(node, candidate, sum_) if is_guided else 0
            known = prices[candidate.maker]
            if known is None or most < known:
                prices[candidate.maker] = most
        for maker in early_makers:
            if prices[maker] is None:
                prices[maker] = 0
        self._host_price[node] = min((price for price in prices if price is not None), default=0)

    def _highest_price(self, node: int, candidate: WeighedCandidate, paid: int) -> int:
        """Return the highest price of a reading of `node` at which `candidate` does not earn more than `paid`."""
        if candidate.boundary.exits == 1:
            return paid // self._readings(candidate.boundary)
        readings = 0
        for tensor, count, to_host in candidate.boundary.makes:
            maker = self._boundaries.maker[tensor]
            if maker == node:
                readings += count + to_host
            else:
                price = self._price[maker][candidate.maker]
                assert price is not None
                paid -= (count + to_host) * price
        return paid // readings

    @staticmethod
    def _readings(boundary: Boundary) -> int:
        """Return how many readings, the host's included, there are of what leaves a candidate."""
        makes = boundary.makes
        return makes[0][1] + makes[0][2] if len(makes) == 1 else sum(count + to_host for _, count, to_host in makes)

    def _earned(self, candidate: WeighedCandidate) -> int:
        """Return the prices of what leaves the candidate. The host pays every maker the price of the cheapest."""
        earned = 0
        for tensor, count, to_host in candidate.boundary.makes:
            node = self._boundaries.maker[tensor]
            if count:
                price = self._price[node][candidate.maker]
                assert price is not None
                earned += count * price
            if to_host:
                earned += self._host_price[node]
        return earned

    def _bound(self) -> int | None:
        bound = 0
        for tensor, node in enumerate(self._boundaries.maker):
            if node >= 0 and self._boundaries.is_output[tensor]:
                if all(price is None for price in self._price[node]):
                    return None
                bound += self._host_price[node]
        return bound
