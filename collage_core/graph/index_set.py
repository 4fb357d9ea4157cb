"""`IndexSet`: an immutable set of node indices, held as the bits of one integer over a window.

RFC 62 (Collage), "Util Datatypes", has the same type. The window begins at the least index, so that a small set costs
little wherever it lies in a large model. Hot loops use `.base` and `.rel` directly; `.bits` covers the whole graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

MANY = 48
"""From this number of indices on, NumPy lists them faster than a loop."""


def bits_of(indices: Iterable[int]) -> int:
    """Return the integer whose set bits are `indices`."""
    bits = 0
    for index in indices:
        bits |= 1 << index
    return bits


def indices_of(bits: int, base: int = 0) -> Iterator[int]:
    """Return the set bits of `bits`, ascending, each counted from `base`."""
    return _one_by_one(bits, base) if bits.bit_count() < MANY else iter(_all_at_once(bits, base))


def _one_by_one(bits: int, base: int) -> Iterator[int]:
    while bits:
        low = bits & -bits
        yield base + low.bit_length() - 1
        bits ^= low


def _all_at_once(bits: int, base: int) -> list[int]:
    octets = np.frombuffer(bits.to_bytes(bits.bit_length() + 7 >> 3, "little"), np.uint8)
    return (np.flatnonzero(np.unpackbits(octets, bitorder="little")) + base).tolist()


class IndexSet:
    """An immutable, hashable set of node indices that iterates in ascending order.

    Attributes:
        base: The least index; 0 in the empty set.
        rel: Bit k is set when the set holds `base` + k. Bit 0 is always set, except in the empty set.
    """

    __slots__ = ("base", "rel")

    def __init__(self, indices: Iterable[int] = ()):
        listed = list(indices)
        self.base = min(listed, default=0)
        self.rel = bits_of(index - self.base for index in listed)

    @classmethod
    def from_bits(cls, bits: int) -> IndexSet:
        """Return the set of the 1-bits of `bits`."""
        base = (bits & -bits).bit_length() - 1 if bits else 0
        return cls.window(base, bits >> base)

    @classmethod
    def window(cls, base: int, rel: int) -> IndexSet:
        """Return the set of `base` + k for every 1-bit k of `rel`; bit 0 of `rel` must be set."""
        indices = cls.__new__(cls)
        indices.base = base
        indices.rel = rel
        return indices

    @property
    def bits(self) -> int:
        """The integer whose set bits are the indices."""
        return self.rel << self.base

    def __iter__(self) -> Iterator[int]:
        return indices_of(self.rel, self.base)

    def __len__(self) -> int:
        return self.rel.bit_count()

    def __bool__(self) -> bool:
        return self.rel != 0

    def __contains__(self, index: int) -> bool:
        return index >= self.base and bool(self.rel >> (index - self.base) & 1)

    def __or__(self, other: IndexSet) -> IndexSet:
        if not (self.rel and other.rel):
            return self if self.rel else other
        low, high = (self, other) if self.base <= other.base else (other, self)
        return IndexSet.window(low.base, low.rel | high.rel << high.base - low.base)

    def __and__(self, other: IndexSet) -> IndexSet:
        base, mine, its = self._aligned(other)
        return IndexSet._shifted(base, mine & its)

    def __sub__(self, other: IndexSet) -> IndexSet:
        base, mine, its = self._aligned(other)
        return IndexSet._shifted(base, mine & ~its)

    def isdisjoint(self, other: IndexSet) -> bool:
        """Return whether the two sets share no index."""
        _, mine, its = self._aligned(other)
        return not mine & its

    def issubset(self, other: IndexSet) -> bool:
        """Return whether every index of this set is in `other`."""
        _, mine, its = self._aligned(other)
        return not mine & ~its

    def first(self) -> int:
        """Return the least index. Raises ValueError on the empty set."""
        if not self.rel:
            raise ValueError("an empty IndexSet has no first index")
        return self.base

    def last(self) -> int:
        """Return the greatest index. Raises ValueError on the empty set."""
        return self.first() + self.rel.bit_length() - 1

    def spans(self) -> list[int]:
        """Return the first and the last index of each run of consecutive indices, in one flat list."""
        spans: list[int] = []
        for index in self:
            if spans and spans[-1] + 1 == index:
                spans[-1] = index
            else:
                spans += (index, index)
        return spans

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IndexSet) and self.rel == other.rel and self.base == other.base

    def __hash__(self) -> int:
        return hash((self.base, self.rel))

    def __repr__(self) -> str:
        return f"IndexSet({list(self)})"

    def _aligned(self, other: IndexSet) -> tuple[int, int, int]:
        """Return a common base, and the bits of this set and of `other` counted from it."""
        if self.base <= other.base:
            return self.base, self.rel, other.rel << other.base - self.base
        return other.base, self.rel << self.base - other.base, other.rel

    @staticmethod
    def _shifted(base: int, rel: int) -> IndexSet:
        if not rel:
            return IndexSet.window(0, 0)
        skipped = (rel & -rel).bit_length() - 1
        return IndexSet.window(base + skipped, rel >> skipped)
