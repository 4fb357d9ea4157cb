"""`DualPrices`: what each reading of each tensor is worth, such that no candidate earns more than it costs.

Give every reading of a tensor a price that depends on who made it. Summed over the partitions of any plan,

    cost + prices of what it reads − prices of what leaves it

is the plan's total less the prices of what the host reads: each other reading is paid once and earned once. When no
candidate's term is negative, the prices of the host's readings are a lower bound for every plan (they solve the dual of
the cover's linear program), and each term says by how much a plan that holds the candidate misses that bound.

The prices are found in one sweep: the price of what a node makes is set as high as the cheapest way to make it allows, and
shared out over its readings. On a tree that is the optimum itself; elsewhere it is close to it. `reduced` holds the terms;
a search over them needs no other bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..boundaries import Boundaries, Boundary
from .transition_classes import TransitionClasses


class Placing(NamedTuple):
    """A candidate as the sweep sees it: its own weight with the host's hand-overs, its classes, and its boundary."""

    own: int
    maker: int
    reader: int
    boundary: Boundary


class DualPrices:
    """Prices of readings, and what each candidate's cost is reduced to.

    Args:
        placings: The candidates.
        is_guided: False for prices of nothing at all: then `reduced` holds the weights themselves, less what is paid later.

    Attributes:
        reduced: For each placing its term of the sum at the cheapest makers of what it reads; None where it can be in no plan.
        bound: Weight that no plan is below; None where there is no plan.
    """

    def __init__(self, frame: Boundaries, hand_over: TransitionClasses, placings: Sequence[Placing], *, is_guided: bool = True):
        self._frame = frame
        self._hand_over = hand_over
        self._price: list[list[int | None]] = [[None] * hand_over.makers for _ in range(frame.nodes)]
        self._at_host: list[int] = [0] * frame.nodes
        self._cheapest: dict[tuple[int, int, int], int | None] = {}
        self.reduced: list[int | None] = [None] * len(placings)
        self._sweep(placings, is_guided)
        self.bound = self._bound()

    def cheapest(self, tensor: int, reader: int, count: int) -> int | None:
        """The least that `count` readings of `tensor` in one partition of a class of readers weigh, over all makers."""
        key = (tensor, reader, count)
        if key not in self._cheapest:
            prices = self._price[self._frame.maker[tensor]]
            paid = [
                count * price + self._hand_over.between(tensor, maker, reader) for maker, price in enumerate(prices) if price is not None
            ]
            self._cheapest[key] = min(paid, default=None)
        return self._cheapest[key]

    def dearer(self, tensor: int, maker: int, reader: int, count: int) -> int:
        """What these readings weigh more than at the cheapest maker, when a class of makers has made the tensor."""
        price = self._price[self._frame.maker[tensor]][maker]
        least = self.cheapest(tensor, reader, count)
        assert price is not None
        assert least is not None
        return count * price + self._hand_over.between(tensor, maker, reader) - least

    def _sweep(self, placings: Sequence[Placing], is_guided: bool) -> None:
        by_last, loose = self._by_last_exit(placings)
        for node in self._frame.order:
            paid = [(place, self._paid(placings[place])) for place in by_last[node]]
            self._set_prices(node, placings, [(place, sum_) for place, sum_ in paid if sum_ is not None], loose[node], is_guided)
            for place, sum_ in paid:
                if sum_ is not None:
                    self.reduced[place] = sum_ - self._earned(placings[place])

    def _by_last_exit(self, placings: Sequence[Placing]) -> tuple[list[list[int]], list[set[int]]]:
        """The placings by the last of their exits in the frame's order, and for each node the classes that make it an earlier exit."""
        maker = self._frame.maker
        rank = [0] * self._frame.nodes
        for place, node in enumerate(self._frame.order):
            rank[node] = place
        by_last: list[list[int]] = [[] for _ in rank]
        loose: list[set[int]] = [set() for _ in rank]
        for place, placing in enumerate(placings):
            makes = placing.boundary.makes
            last = maker[makes[0][0]]
            if placing.boundary.exits > 1:
                exits = {maker[made[0]] for made in makes}
                last = max(exits, key=rank.__getitem__)
                for node in exits - {last}:
                    loose[node].add(placing.maker)
            by_last[last].append(place)
        return by_last, loose

    def _paid(self, placing: Placing) -> int | None:
        """Its own weight and the prices of what it reads, at the cheapest makers; None where nobody can make one of these."""
        paid = placing.own
        cheapest, reader = self._cheapest, placing.reader
        for tensor, count in placing.boundary.reads:
            least = cheapest.get((tensor, reader, count))
            if least is None:
                least = self.cheapest(tensor, reader, count)
                if least is None:
                    return None
            paid += least
        return paid

    def _set_prices(
        self, node: int, placings: Sequence[Placing], paid: Sequence[tuple[int, int]], loose: set[int], is_guided: bool
    ) -> None:
        """The highest prices of the node's readings at which none of its candidates earns more than it pays."""
        prices = self._price[node]
        for place, sum_ in paid:
            placing = placings[place]
            most = self._most(node, placing, sum_) if is_guided else 0
            known = prices[placing.maker]
            if known is None or most < known:
                prices[placing.maker] = most
        for maker in loose:
            if prices[maker] is None:
                prices[maker] = 0
        self._at_host[node] = min((price for price in prices if price is not None), default=0)

    def _most(self, node: int, placing: Placing, paid: int) -> int:
        """What a reading of `node` may be worth, as far as this candidate goes."""
        if placing.boundary.exits == 1:
            return paid // self._leaving(placing.boundary)
        mine = 0
        for tensor, count, to_host in placing.boundary.makes:
            maker = self._frame.maker[tensor]
            if maker == node:
                mine += count + to_host
            else:
                price = self._price[maker][placing.maker]
                assert price is not None
                paid -= (count + to_host) * price
        return paid // mine

    @staticmethod
    def _leaving(boundary: Boundary) -> int:
        makes = boundary.makes
        return makes[0][1] + makes[0][2] if len(makes) == 1 else sum(count + to_host for _, count, to_host in makes)

    def _earned(self, placing: Placing) -> int:
        """The prices of what leaves it. The host pays everybody what it pays the cheapest."""
        earned = 0
        for tensor, count, to_host in placing.boundary.makes:
            node = self._frame.maker[tensor]
            if count:
                price = self._price[node][placing.maker]
                assert price is not None
                earned += count * price
            if to_host:
                earned += self._at_host[node]
        return earned

    def _bound(self) -> int | None:
        bound = 0
        for tensor, node in enumerate(self._frame.maker):
            if node >= 0 and self._frame.is_output[tensor]:
                if all(price is None for price in self._price[node]):
                    return None
                bound += self._at_host[node]
        return bound
