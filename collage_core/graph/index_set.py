"""`IndexSet`: an immutable set of node indices, held as the bits of one integer.

Seeds: RFC 62 (0.81), "Util Datatypes". Bit i set means that node i is in. Hot loops work on `.bits` directly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def bits_of(indices: Iterable[int]) -> int:
    """The integer whose set bits are `indices`."""
    bits = 0
    for index in indices:
        bits |= 1 << index
    return bits


def indices_of(bits: int) -> Iterator[int]:
    """The set bits of `bits`, ascending."""
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low


class IndexSet:
    """An immutable, hashable set of node indices that iterates in ascending order."""

    __slots__ = ("bits",)

    def __init__(self, indices: Iterable[int] = ()):
        self.bits = bits_of(indices)

    @classmethod
    def from_bits(cls, bits: int) -> IndexSet:
        """The set of the 1-bits of `bits`."""
        made = cls.__new__(cls)
        made.bits = bits
        return made

    def __iter__(self) -> Iterator[int]:
        return indices_of(self.bits)

    def __len__(self) -> int:
        return self.bits.bit_count()

    def __bool__(self) -> bool:
        return self.bits != 0

    def __contains__(self, index: int) -> bool:
        return bool(self.bits >> index & 1)

    def __or__(self, other: IndexSet) -> IndexSet:
        return IndexSet.from_bits(self.bits | other.bits)

    def __and__(self, other: IndexSet) -> IndexSet:
        return IndexSet.from_bits(self.bits & other.bits)

    def __sub__(self, other: IndexSet) -> IndexSet:
        return IndexSet.from_bits(self.bits & ~other.bits)

    def isdisjoint(self, other: IndexSet) -> bool:
        """Whether the two sets share no index."""
        return not self.bits & other.bits

    def issubset(self, other: IndexSet) -> bool:
        """Whether every index of this set is in `other`."""
        return not self.bits & ~other.bits

    def first(self) -> int:
        """The least index. Raises ValueError on the empty set."""
        if not self.bits:
            raise ValueError("an empty IndexSet has no first index")
        return (self.bits & -self.bits).bit_length() - 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IndexSet) and self.bits == other.bits

    def __hash__(self) -> int:
        return hash(self.bits)

    def __repr__(self) -> str:
        return f"IndexSet({list(self)})"
